"""Files of results that are damaged or of others: rejected with a clear message before HDF5 sees them."""

import hashlib
import os
import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

from pliant import load_result
from pliant.analysis.numerics.netcdf_files import LINE_BEGIN, LINE_SIZE, ResultFileError, compare_checksum

RESULT = Path(__file__).parent / "kept" / "result_2.nc"


def test_a_file_of_an_earlier_day_is_read():
    run = load_result(RESULT)
    assert run.status == "completed"
    assert run.message == "simulated to t = 0.2 s"
    np.testing.assert_allclose(run.time, [0, 0.1, 0.2])
    np.testing.assert_allclose(run["left/swing"].values[-1], -2.44843727, rtol=1e-6)
    assert run["left/rod"].position.shape == (3, 3)
    np.testing.assert_allclose(run.energy.total, run.energy.total[0], atol=1e-6)
    assert run["left/height"].unit == "m"
    assert run.timing.steps > 0


def test_other_programs_read_them_as_netcdf():
    import xarray

    with xarray.open_dataset(RESULT) as plain:
        assert plain.attrs["format"].endswith("-2")
    with xarray.open_dataset(RESULT) as plain:
        assert plain.identical(
            load_result(RESULT).dataset.rename(
                {f"output.left/{name}": f"output.left::{name}" for name in ("height", "swing")}
            )
        )


# -- damage -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound():
    return RESULT.read_bytes()


def test_every_damaged_byte_is_found_before_hdf5_sees_it(sound, tmp_path, monkeypatch):
    monkeypatch.setattr(h5py, "File", lambda *_, **__: pytest.fail("opened"))
    file = tmp_path / "run.nc"
    file.write_bytes(sound)
    ends = [*range(200), *range(len(sound) - 200, len(sound))]
    with open(file, "r+b", buffering=0) as damaged:
        for at in [*ends, *range(200, len(sound) - 200, 101)]:
            for flip in (0x01, 0xFF):
                os.pwrite(damaged.fileno(), bytes([sound[at] ^ flip]), at)
                with pytest.raises(ResultFileError, match=r"run\.nc is not a result of this program, or it is damaged"):
                    load_result(file)
            os.pwrite(damaged.fileno(), sound[at : at + 1], at)
    compare_checksum(file)


def test_files_that_are_cut_short_or_go_on_are_refused(sound, tmp_path):
    file = tmp_path / "run.nc"
    for length in (0, 7, 8, 20, 50, 100, len(sound) // 2, len(sound) - LINE_SIZE - 1, len(sound) - 1):
        file.write_bytes(sound[:length])
        with pytest.raises(ResultFileError, match=r"run\.nc is (damaged|not)"):
            load_result(file)
    file.write_bytes(sound + b"x")
    with pytest.raises(ResultFileError, match="damaged"):
        load_result(file)
    file.write_bytes(sound[:-LINE_SIZE])  # whole for HDF5
    with pytest.raises(ResultFileError, match="checksum is missing"):
        load_result(file)


# -- files made by hand -----------------------------------------------------------------------------------------------------


def sealed(file, change):
    """A copy of a sound file, with something changed in it and the right checksum."""
    file.write_bytes(RESULT.read_bytes()[:-LINE_SIZE])
    with h5py.File(file, "r+") as content:
        change(content)
    made = file.read_bytes()
    file.write_bytes(made + LINE_BEGIN + hashlib.sha256(made).hexdigest().encode() + b"\n")
    compare_checksum(file)


def attribute(name, value):
    return lambda content: content.attrs.__setitem__(name, value)


CHANGED = {
    "no timing": (lambda f: f.attrs.__delitem__("timing"), "'timing'"),
    "no format": (lambda f: f.attrs.__delitem__("format"), "its format is None"),
    "no status": (attribute("status", "splendid"), "not a readable result"),
    "unknown timing": (attribute("timing", '{"flights": 1}'), "not a readable result"),
    "later": (attribute("format", "pliant-result-9"), "pliant-result-9"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_results_do_not_have_is_refused(tmp_path, case):
    change, words = CHANGED[case]
    sealed(tmp_path / "run.nc", change)
    with pytest.raises(ResultFileError, match=words) as refused:
        load_result(tmp_path / "run.nc")
    assert str(tmp_path / "run.nc") in str(refused.value)


# -- runs that do not come to their end -------------------------------------------------------------------------------------


def test_partial_results_say_so(tmp_path):
    sealed(tmp_path / "run.partial.nc", attribute("message", "still running at t = 0.2 s; results so far are kept"))
    with pytest.warns(UserWarning, match=r"run\.partial\.nc is partial \(3 saved states\): still running"):
        assert load_result(tmp_path / "run.partial.nc").is_partial
    words = re.escape(f"there is no file {tmp_path / 'run.nc'}, but {tmp_path / 'run.partial.nc'} contains")
    with pytest.raises(ResultFileError, match=words):
        load_result(tmp_path / "run.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not load_result(RESULT).is_partial
