"""Files of results that are old, damaged, or malicious: read, or rejected with a clear message, in bounded time."""

import hashlib
import os
import re
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

from pliant import derive, load_result, load_text, simulate
from pliant.analysis.numerics.netcdf_files import LINE_BEGIN, LINE_SIZE, ResultFileError, has_checksum
from pliant.io import result_reader

KEPT = Path(__file__).parent / "kept"
RESULT = KEPT / "result_2.nc"


@pytest.mark.parametrize("layout", [1, 2])
def test_files_of_every_layout_are_read(layout):
    run = load_result(KEPT / f"result_{layout}.nc")
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
                with pytest.raises(ResultFileError, match=r"run\.nc is (damaged|not a result file)"):
                    load_result(file)
            os.pwrite(damaged.fileno(), sound[at : at + 1], at)
    assert has_checksum(file)


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


def test_a_file_that_hangs_hdf5_is_given_up(tmp_path, monkeypatch):
    """Layout 1 has no checksum: what HDF5 does with damage is left to another process."""
    monkeypatch.setattr(result_reader, "OLD_FILE_SECONDS", 0.05)
    with pytest.raises(ResultFileError, match="hangs on it"):
        load_result(KEPT / "result_1.nc")
    monkeypatch.undo()
    content = bytearray((KEPT / "result_1.nc").read_bytes())
    at = content.index(b"OHDR")
    content[at : at + 4] = b"XXXX"
    (tmp_path / "run.nc").write_bytes(content)
    with pytest.raises(ResultFileError, match=r"run\.nc is not a readable result file"):
        load_result(tmp_path / "run.nc")


# -- files made by hand -----------------------------------------------------------------------------------------------------


def sealed(file, change, of=RESULT):
    """A copy of a sound file, or a new one, with something changed in it and the right checksum."""
    if of is None:
        h5py.File(file, "w").attrs["format"] = "pliant-result-2"
    else:
        file.write_bytes(of.read_bytes()[:-LINE_SIZE])
    with h5py.File(file, "r+") as content:
        change(content)
    made = file.read_bytes()
    file.write_bytes(made + LINE_BEGIN + hashlib.sha256(made).hexdigest().encode() + b"\n")
    assert has_checksum(file)


def replaced(name, **options):
    """Put another array in the place of one."""

    def change(content):
        del content[name]
        made = content.create_dataset(name, **options)
        for axis, scale in enumerate(("time", "coordinate")[: made.ndim]):
            if name == scale:
                made.make_scale(scale)
            else:
                made.dims[axis].attach_scale(content[scale])

    return change


def attribute(name, value):
    return lambda content: content.attrs.__setitem__(name, value)


def external(content):
    replaced("q", shape=(3, 1), dtype="f8", external=[("/etc/hostname", 0, 24)])(content)


def virtual(content):
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource("/nowhere.nc", "x", shape=(3,))
    del content["kinetic"]
    content.create_virtual_dataset("kinetic", layout).dims[0].attach_scale(content["time"])


def moved(kind):
    def change(content):
        del content["kinetic"]
        content["kinetic"] = kind

    return change


CRAFTED = {
    "no timing": (lambda f: f.attrs.__delitem__("timing"), "'timing' is missing"),
    "no format": (lambda f: f.attrs.__delitem__("format"), "not a result of this program"),
    "no status": (attribute("status", "splendid"), "'status' has an unexpected value"),
    "a number for a text": (attribute("message", 3.0), "'message' has an unexpected value"),
    "many texts": (attribute("message", ["a", "b"]), "not a single text"),
    "broken timing": (attribute("timing", "{"), "not a readable result"),
    "unknown timing": (attribute("timing", '{"flights": 1}'), "'timing' has an unexpected value"),
    "deep": (attribute("parameters", "[" * 100_000), "not a readable result"),
    "units": (attribute("coordinate_units", '["m", "m"]'), "one entry per coordinate"),
    "later": (attribute("format", "pliant-result-9"), "later version"),
    "another kind": (attribute("format", "pliant-path-2"), "not a result of this program"),
    "a variable too much": (lambda f: f.__setitem__("weather", [1.0]), "'weather'"),
    "a variable too few": (lambda f: f.__delitem__("kinetic"), "'kinetic' is missing"),
    "no labels": (lambda f: f.__delitem__("input"), "'u'|'input'|not a readable"),
    "a group": (lambda f: f.create_group("more"), "'more' is not an array"),
    "a link": (moved(h5py.SoftLink("/other")), "'kinetic' is a link"),
    "a link to a file": (moved(h5py.ExternalLink("/etc/passwd", "/x")), "'kinetic' is a link"),
    "bytes of another file": (external, "lies in another file"),
    "a view of another file": (virtual, "lies in another file"),
    "compressed": (replaced("q", data=np.zeros((3, 1)), compression="gzip"), "compressed"),
    "text for numbers": (replaced("q", data=np.full((3, 1), b"1234")), "not numbers"),
    "numbers for text": (replaced("coordinate", data=np.zeros(1)), "not text|not a readable"),
    "a structure": (replaced("q", data=np.zeros((3, 1), dtype="f8,f8")), "not numbers"),
    "too long for its axis": (replaced("q", data=np.zeros((4, 1))), "does not have the length|not a readable"),
    "without axes": (lambda f: (f.__delitem__("q"), f.create_dataset("q", data=np.zeros((3, 1)))), "have no names"),
}  # fmt: skip


@pytest.mark.parametrize("case", CRAFTED)
def test_what_results_do_not_have_is_refused(tmp_path, case):
    change, words = CRAFTED[case]
    sealed(tmp_path / "run.nc", change)
    with pytest.raises(ResultFileError, match=words) as refused:
        load_result(tmp_path / "run.nc")
    assert str(tmp_path / "run.nc") in str(refused.value)


def test_numbers_that_are_not_in_the_file_are_not_made_up(tmp_path):
    """Two hundred million zeros that were never written: 1.6 GB in memory, nothing on disk."""

    def change(content):
        content.create_dataset("time", shape=(200_000_000,), dtype="f8").make_scale("time")

    sealed(tmp_path / "run.nc", change, of=None)
    before = time.process_time()
    with pytest.raises(ResultFileError, match="not all in the file"):
        load_result(tmp_path / "run.nc")
    assert time.process_time() - before < 1.0


def test_texts_that_are_one_text_many_times_are_not_read(tmp_path, monkeypatch):
    """HDF5 keeps texts in a heap, and several may point to one place there."""
    count, found = 64, {}

    def change(content):
        labels = content.create_dataset("coordinate", data=["x" * 20_000, *"b" * (count - 1)])
        labels.make_scale("coordinate")
        content.flush()
        found["at"] = labels.id.get_offset()

    sealed(tmp_path / "run.nc", change, of=None)
    made = bytearray((tmp_path / "run.nc").read_bytes()[:-LINE_SIZE])
    for k in range(1, count):
        made[found["at"] + 16 * k : found["at"] + 16 * (k + 1)] = made[found["at"] : found["at"] + 16]
    (tmp_path / "run.nc").write_bytes(made + LINE_BEGIN + hashlib.sha256(made).hexdigest().encode() + b"\n")
    for at_once in (1, 1 << 30):
        monkeypatch.setattr(result_reader, "READ_AT_ONCE", at_once)
        with pytest.raises(ResultFileError, match="longer than the file"):
            load_result(tmp_path / "run.nc")


@pytest.mark.parametrize("times", [[0, np.nan, 0.2], [0, 0.1, np.inf], [0.2, 0.1, 0]])
def test_times_that_cannot_be_are_refused(tmp_path, times):
    sealed(tmp_path / "run.nc", lambda content: content["time"].write_direct(np.array(times, dtype=float)))
    with pytest.raises(ResultFileError, match="not in increasing order"):
        load_result(tmp_path / "run.nc")


def test_contacts_that_cannot_be_are_refused(tmp_path):
    text = """
        pliant: 1
        bodies: {ball: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
        joints: {fall: {type: prismatic, axis: z, child: ball, displacement: {initial: 4.99 cm}}}
        surfaces: {floor: {type: plane}}
        contacts: {ground: {between: [ball, floor], stiffness: 10 kN/m}}
    """
    run = simulate(derive(load_text(text)), 0.01)
    run.save(tmp_path / "run.nc")
    assert len(load_result(tmp_path / "run.nc").contacts) == len(run.contacts) > 0
    for name, words in (("contact_count", "is inconsistent"), ("contact_first", "'contact_first' refers")):
        sealed(
            tmp_path / "wrong.nc",
            lambda content, name=name: content[name].write_direct(np.full(content[name].shape, 9, content[name].dtype)),
            tmp_path / "run.nc",
        )
        with pytest.raises(ResultFileError, match=words):
            load_result(tmp_path / "wrong.nc")


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
