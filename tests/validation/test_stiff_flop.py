"""The pneumatic module against its recording.

The recording is not part of the project: it is read from the folder in PLIANT_DATA, or from ../shared/data beside the
checkout, and the tests are skipped where it is missing.
"""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from pliant import derive, equilibrium, load
from pliant.identify.compare import compare
from pliant.identify.fit import cycles, fit
from pliant.identify.recording import drive, plateaus
from pliant.language.arguments import ArgumentError
from pliant.language.recording import read_recording
from pliant.robot.rod_switch import with_rod_model
from pliant.validation.recordings import RESTS

FOLDER = Path(os.environ.get("PLIANT_DATA", Path(__file__).parents[3] / "shared" / "data"))
FILE = FOLDER / "stiff_flop_free.csv"


@pytest.fixture(scope="module")
def recording():
    if not FILE.is_file():
        pytest.skip(f"no recording at {FILE}; set PLIANT_DATA to its folder")
    return read_recording(FILE)


@pytest.mark.parametrize(("pressure", "direction"), [("p1", (0, -1)), ("p2", (-1, 1)), ("p3", (1, 1))])
def test_each_pair_bends_the_tip_as_the_recording_says(pressure, direction):
    found = equilibrium(derive(load("stiff_flop")), inputs={pressure: 40e3})
    tip = np.array(found.outputs["tip"][:2])
    for value, sign in zip(tip, direction, strict=True):
        assert abs(value) < 1e-6 if sign == 0 else np.sign(value) == sign


def test_the_answer_to_pressure_is_more_than_linear():
    eqs = derive(load("stiff_flop"))
    bends = [abs(equilibrium(eqs, inputs={"p1": p}).outputs["tip"][1]) for p in (20e3, 40e3)]
    assert bends[1] > 2.1 * bends[0]


@pytest.mark.parametrize("word", ["pcs:6", "cosserat:12", "finite_element:3", "gvs:2"])
@pytest.mark.parametrize("pressure", [0.0, 20e3, 80e3])
def test_equal_pressures_stretch_it_as_the_law_says(pressure, word):
    """The integral of the stretch along the module: its neo-Hookean silicone carries the pressure on the chambers, whose area is
    constant, and the weight of the sensor and of all that hangs below."""
    eqs = derive(load("stiff_flop").with_rod("arm", word))
    value = eqs.parameters
    length, modulus = value["length"], value["youngs_modulus"]
    chambers = 6 * np.pi * value["chamber_radius"] ** 2
    area, push = np.pi * (value["outer_radius"] ** 2 - value["inner_radius"] ** 2) - chambers, pressure * chambers

    def stretch(s):
        tension = push + 9.81 * (value["sensor_mass"] + value["density"] * area * (length - s))
        return brentq(lambda x: modulus * area / 3 * (x - 1 / x**2) - tension, 0.5, 3.0)

    rest = equilibrium(eqs, inputs={"p1": pressure, "p2": pressure, "p3": pressure})
    exact = quad(stretch, 0.0, length)[0] + value["sensor_length"]
    assert rest.outputs["tip"] == pytest.approx([0, 0, exact], rel=2e-5, abs=1e-9)


def test_errors_at_rest_are_distances_from_what_was_recorded(recording):
    rows = compare(
        derive("stiff_flop"),
        {"arm": ["cosserat:3", "pseudo_rigid:3"]},
        recording,
        begin=7.0,
        end=54.0,
        rest_at=list(RESTS),
    )
    for row in rows:
        read = 1e-3 * np.array(list(RESTS.values()))
        expected = np.linalg.norm(row.static_path - read, axis=1).mean()
        # positions were read to 0.01 mm
        assert row.static_mean_error_mm == pytest.approx(1e3 * expected, abs=0.02)


def test_a_fit_on_odd_cycles_holds_on_even_ones(recording, monkeypatch):
    monkeypatch.setenv("PLIANT_COMPILE", "wait")  # it runs long enough for optimized kernels to pay
    eqs = derive(with_rod_model(load("stiff_flop"), "arm", "cosserat:3"))
    odd = cycles(recording, ["p1", "p2", "p3"]) % 2 == 1
    names = ["youngs_modulus", "damping_time", "chamber_offset"]
    found = fit(eqs, names, recording, use=odd, begin=7.0, end=54.0)
    assert found.derivatives == "exact"
    assert found.after_test_mm < 1.85 < found.before_test_mm
    # the chambers end where the wall would become too thin; a fit without that bound would put them through it
    assert found.at_bounds == ("chamber_offset",)
    load("stiff_flop", set=dict(found.parameters))


def test_the_nine_loaded_rests_are_found(recording):
    _, driven = drive(derive(load("stiff_flop")), recording)
    assert len(plateaus(recording, driven)) == 9


BAD = {
    "empty.csv": ("", "has no rows"),
    "short.csv": ("t_s,p1_Pa\n0\n", "1 entry for 2 columns"),
    "back.csv": ("t_s,p1_Pa\n0,1\n1,1\n0.5,1\n", "must increase"),
    "gap.csv": ("t_s,p1_Pa\n" + "".join(f"{t},1\n" for t in (0, 1, 2, 3, 99)), "gap of 96 s at t = 3 s"),
    "no_time.csv": ("p1_Pa,x_m\n0,1\n", "no time column"),
    "time_in_mm.csv": ("t_mm,p1_Pa\n0,1\n", "given in a unit of length"),
    "twice.csv": ("t_s,p1_Pa,p1_kPa\n0,1,1\n", "two columns 'p1'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_recordings_are_refused_with_their_place(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ArgumentError, match=message):
        read_recording(tmp_path / name)


def test_units_of_columns_are_read(tmp_path):
    (tmp_path / "r.csv").write_text("t_ms,p1_kPa,x_mm,label\n0,1,2,3\n500,2,4,3\n")
    found = read_recording(tmp_path / "r.csv")
    np.testing.assert_allclose(found.time, [0, 0.5])
    np.testing.assert_allclose(found.column("p1"), [1e3, 2e3])
    np.testing.assert_allclose(found.column("x"), [2e-3, 4e-3])
    with pytest.raises(ArgumentError, match="no column 'p2'; it has p1, x"):
        found.column("p2")


def test_a_recording_that_drives_nothing_is_refused(tmp_path):
    (tmp_path / "r.csv").write_text("t_s,q_Pa\n0,1\n1,2\n")
    with pytest.raises(ArgumentError, match="drives none of the model's inputs"):
        drive(derive(load("stiff_flop")), read_recording(tmp_path / "r.csv"))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t_s,p1_Pa,p2_mm,p3_Pa", "unit of length, but the input 'p2' is a pressure"),
        ("t_s,p1_Pa,p2_psj,p3_Pa", "'psj' is no known unit"),
    ],
)
def test_inputs_in_wrong_units_are_refused(tmp_path, header, message):
    (tmp_path / "r.csv").write_text(f"{header}\n0,1,1,1\n1,2,2,2\n")
    with pytest.raises(ArgumentError, match=message):
        drive(derive(load("stiff_flop")), read_recording(tmp_path / "r.csv"))


def test_pressures_along_the_recorded_path(recording):
    """Two pressure steps of the example that follows the recorded tip; the pressures are found from the model alone."""
    file = Path(__file__).parents[2] / "examples" / "stiff_flop_path.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    reference = example.recorded(FILE, 24.5, 33.0)
    assert len(reference.rests) == 2
    found = example.follow(reference)
    assert example.rms(found.error) < 1e-4
    assert example.rms(example.follow(reference, stiffness=1.1).error) < 4e-4
    assert found.pressures.min() >= 0
    apart = found.pressures - reference.pressures
    # the model misses the recorded tip by about 2 mm, which is worth a few kPa
    assert example.rms(apart) < 0.1 * example.rms(reference.pressures)
    for t in reference.rests:
        k = int(np.searchsorted(reference.time, t))
        assert np.argmax(found.pressures[k]) == np.argmax(reference.pressures[k])
        assert np.abs(apart[k]).max() < 6e3
