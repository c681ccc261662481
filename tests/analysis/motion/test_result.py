"""Contents of a result: arrays immediately, everything else on request, with identical values."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pliant

WATCHED = """
pliant: 1
sections: {round: {shape: circle, radius: 40 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 0.1 kPa, poissons_ratio: 0.48}}
rods:
  arm:
    rotation: {axis: y, angle: 90 deg}
    length: 10 cm
    section: round
    material: rubber
    model: {kind: pcs, elements: 2}
loads:
  pull: {frame: arm.tip, force: [4, 0, 0]}
outputs:
  height: {frame: arm.tip, quantity: position, component: z}
  place: {frame: arm.tip, quantity: position}
"""


@pytest.fixture(scope="module")
def run() -> pliant.Result:
    return pliant.simulate(pliant.derive(pliant.load_text(WATCHED)), 0.2, save_every=0.02)


def test_every_way_gives_the_same(run: pliant.Result) -> None:
    data = run.dataset
    for name in ("time", "q", "v"):
        assert np.array_equal(getattr(run, name), data[name].values)
    tip = run["arm.tip"]
    k = list(data["frame"].values).index("arm.tip")
    for part in ("position", "quaternion", "velocity", "angular_velocity"):
        assert np.array_equal(getattr(tip, part), data[f"frame_{part}"].values[:, k])
    assert np.array_equal(run["height"].values, data["output.height"].values)
    assert np.array_equal(run["place"].values, tip.position)
    assert data["output.place"].dims == ("time", "output.place.part")
    assert run["height"].unit == data["output.height"].attrs["units"] == "m"
    assert np.array_equal(run.energy["total"].values, data["kinetic"].values + data["potential"].values)


def test_what_follows_does_not_depend_on_the_order_of_asking(run: pliant.Result) -> None:
    again = pliant.simulate(pliant.derive(pliant.load_text(WATCHED)), 0.2, save_every=0.02)
    whole, path = again.dataset, again["arm.tip"].position
    assert np.array_equal(path, run["arm.tip"].position)
    assert np.array_equal(whole["potential"].values, run.dataset["potential"].values)


def test_a_result_is_pickled_with_everything(run: pliant.Result) -> None:
    back = pickle.loads(pickle.dumps(run))
    assert back.dataset.identical(run.dataset)
    assert back.remarks == run.remarks
    assert (back.status, back.message, back.timing, back.method) == (run.status, run.message, run.timing, run.method)
    assert np.array_equal(back["arm.tip"].velocity, run["arm.tip"].velocity)


def test_a_frame_keeps_all_its_parts_when_it_is_pickled(run: pliant.Result) -> None:
    frame = run[run.frame_names[-1]]
    back = pickle.loads(pickle.dumps(frame))
    for part in ("position", "quaternion", "rotation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(back, part), getattr(frame, part))


def test_remarks_are_made_when_they_are_asked_for(run: pliant.Result) -> None:
    assert any("bent" in note or "stretched" in note for note in run.remarks)
    assert list(run.remarks) == json.loads(run.dataset.attrs["remarks"])


def test_arrays_that_others_follow_from_cannot_be_changed(run: pliant.Result) -> None:
    for array in (run.time, run.q, run.v, run["arm.tip"].position, run.final.q):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_frames_of_a_run_do_without_xarray() -> None:
    program = (
        "import sys, pliant\n"
        "run = pliant.simulate(pliant.derive(pliant.load('double_pendulum')), 0.1)\n"
        "run.q, run.final, run[run.frame_names[-1]].position, run.remarks\n"
        "assert 'xarray' not in sys.modules\n"
        "run.dataset\n"
        "assert 'xarray' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
