"""Workspaces: exact areas, manipulability, compliance and surfaces of simple robots."""

import numpy as np
import pytest

import pliant
from pliant import derive, load, load_text, workspace

ARM = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {length1: 1 m, length2: 0.5 m}
bodies: {upper: {mass: 1 kg}, lower: {mass: 1 kg, frames: {hand: {position: [=length2, 0, 0]}}}}
joints:
  q1: {type: revolute, child: upper, axis: z}
  q2: {type: revolute, parent: upper, child: lower, axis: z, position: [=length1, 0, 0]}
"""
BEAM = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: {value: 0, input: true, minimum: -LIMIT, maximum: LIMIT}}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 2, 2, 2], mass_per_length: 1}}
rods: {beam: {length: 3 m, section: unit, strains: [bend_y], model: {kind: pcs, elements: ELEMENTS}}}
loads: {tip: {frame: beam.tip, LOAD}}
"""


def beam(load, limit, elements):
    return derive(load_text(BEAM.replace("LOAD", load).replace("LIMIT", limit).replace("ELEMENTS", str(elements))))


# -- rigid arms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(1.0, 0.5), (0.4, 0.3)])
def test_arm_reaches_a_ring(lengths):
    first, second = lengths
    found = workspace(derive(load_text(ARM)), parameters={"length1": first, "length2": second})
    np.testing.assert_allclose(found.size, 4 * np.pi * first * second, rtol=0.02)
    exact = first * second * np.abs(np.sin(found.q[:, 1]))
    np.testing.assert_allclose(found.manipulability, exact, atol=1e-14)
    # half axes of the force ellipsoid are reciprocal to those of the velocity ellipsoid
    regular = exact > 1e-3
    np.testing.assert_allclose(found.force_axes[regular, :2], 1 / found.velocity_axes[regular, 1::-1], rtol=1e-9)
    distance = np.linalg.norm(found.points[found.border], axis=1)
    edge = np.minimum(np.abs(distance - first - second), np.abs(distance - abs(first - second)))
    assert np.quantile(edge, 0.9) < 0.1 * second


def test_limits_cut_the_ring():
    full = workspace(derive(load_text(ARM)), lower={"q1": 0}, upper={"q1": np.pi / 2}, samples=2000)
    assert full.points[:, 0].min() > -0.5 - 1e-9
    np.testing.assert_allclose(full.values.min(axis=0), [0, -np.pi], atol=0.01)
    np.testing.assert_allclose(full.values.max(axis=0), [np.pi / 2, np.pi], atol=0.01)


def test_loops_are_closed():
    eqs = derive(load("four_bar"))
    found = workspace(eqs, samples=40, lower={"q1": -1.0}, upper={"q1": 0.2})
    assert max(np.abs(eqs.constraints(q).value).max() for q in found.q) < 1e-9
    step = 1e-3
    sides = [workspace(eqs, samples=1, lower={"q1": x}, upper={"q1": x}).points[0] for x in (step, -step)]
    speed = np.linalg.norm(sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(found.velocity_axes[0, 0], speed, rtol=1e-3)


# -- robots in equilibrium ---------------------------------------------------------------------------------------------


def test_cantilever_yields_by_its_length_cubed_over_three_times_its_stiffness():
    found = workspace(beam("force: [=load, 0, 0]", "1 mN", 60), samples=4)
    np.testing.assert_allclose(found.compliances[0, 0, 0], 3**3 / (3 * 2), rtol=3e-4)
    np.testing.assert_allclose(found.velocity_axes[0, 0], 3**3 / (3 * 2), rtol=3e-4)
    np.testing.assert_allclose(found.force_axes[0, 0], 1e-3, rtol=1e-9)  # the held tip feels the load
    np.testing.assert_allclose(np.ptp(found.points[:, 0]), 4.5 * np.ptp(found.values), rtol=1e-3)


def test_constant_curvature_is_on_its_curve():
    found = workspace(beam("moment: [0, =load, 0], expressed_in: beam.tip", "3 N*m", 1), samples=60)
    bend = found.values[:, 0] / 2
    bend[bend == 0] = 1e-9
    np.testing.assert_allclose(found.points[:, 0], (1 - np.cos(3 * bend)) / bend, atol=1e-7)
    np.testing.assert_allclose(found.points[:, 2], np.sin(3 * bend) / bend, atol=1e-7)
    assert np.isnan(found.size)
    assert any("curved" in x for x in found.remarks)


def test_compliance_and_inputs_agree_with_differences():
    """Of a pneumatic module: its tip moved by a pressure, and by a force in each direction."""
    eqs = derive(load("stiff_flop"))
    names = {"p1": 40e3, "p2": 10e3, "p3": 0.0}
    at = {"inputs": names, "lower": dict.fromkeys(names, 0.0), "upper": dict.fromkeys(names, 60e3), "samples": 1}
    found = workspace(eqs, **at)
    step = 10.0
    sides = [pliant.equilibrium(eqs, inputs=names | {"p1": 40e3 + s}).frames["tip"].position for s in (step, -step)]
    moved = (np.asarray(sides[0]) - np.asarray(sides[1])) / (2 * step)
    alone = workspace(eqs, vary="p1", **at)
    np.testing.assert_allclose(alone.velocity_axes[0, 0], np.linalg.norm(moved), rtol=1e-4)
    text = pliant.dump(load("stiff_flop"))
    text = text.replace("parameters:\n", "parameters:\n  push: {value: 0 N, input: true}\n", 1)
    for k, force in enumerate(("[=push, 0, 0]", "[0, =push, 0]", "[0, 0, =push]")):
        loaded = derive(pliant.load_text(f"{text}loads: {{push: {{type: wrench, frame: tip, force: {force}}}}}\n"))
        sides = [pliant.equilibrium(loaded, inputs=names | {"push": f}).frames["tip"].position for f in (1e-3, -1e-3)]
        moved = (np.asarray(sides[0]) - np.asarray(sides[1])) / 2e-3
        np.testing.assert_allclose(found.compliances[0][:, k], moved, rtol=1e-4, atol=1e-8)


# -- what follows for all analyses -------------------------------------------------------------------------------------


def test_workspaces_are_saved_and_read(tmp_path):
    found = workspace(derive(load_text(ARM)), samples=50)
    found.save(tmp_path / "reach.nc")
    read = pliant.load_result(tmp_path / "reach.nc")
    assert repr(read) == repr(found)
    np.testing.assert_array_equal(read.points, found.points)
    found.plot()


def test_samples_do_not_depend_on_the_number_of_cores(monkeypatch):
    eqs = beam("force: [=load, 0, 0]", "0.5 N", 3)
    found = workspace(eqs, samples=40)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    np.testing.assert_array_equal(workspace(eqs, samples=40).q, found.q)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("cart_pole", {}, "force has no limits"),
        ("cantilever", {}, "neither inputs nor joints"),
        ("pendulum", {"frame": "rod.top"}, "there is no frame 'rod.top'"),
        ("pendulum", {"vary": "hing"}, "there is no input or coordinate 'hing'"),
    ],
)
def test_what_cannot_be_sampled_is_said(model, options, words):
    with pytest.raises(pliant.ArgumentError, match=words):
        workspace(derive(load(model)), **options)
