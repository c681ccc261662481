"""Rods that start curved: in their shape exactly, at rest there if they are free of stress, in every model."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load_text
from pliant.parts.rod.shape import frames_along
from pliant.robot.rod_switch import parse_rod_model, with_rod_model

LENGTH, E, RADIUS = 0.3, 1e6, 0.01
EI = E * np.pi / 4 * RADIUS**4

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {length: 0.3 m, moment: 0 N*m, angle: 80 deg}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm: {length: =length, section: round, material: rubber, frames: {inside: =0.4*length}, SHAPE}
loads: {tip: {frame: arm.tip, moment: [0, =-moment, 0]}}
"""
ARC = "shape: {type: arc, angle: =angle}"
HELIX = "shape: {type: helix, radius: 3 cm, turns: 1.3}"
POINTS = "shape: {type: points, points: [[0, 0, 0], [0, 11.1 mm, 111.2 mm], [44.5 mm, 22.2 mm, 200.2 mm], [108.2 mm, 0, 250.3 mm]]}"
POSES = """shape: {type: poses, poses: [{at: 0}, {at: 0.12 m, position: [0, 1 cm, 11 cm], rotation: {axis: x, angle: -20 deg}},
  {at: 0.3 m, position: [5 cm, 3 cm, 27 cm], rotation: [{axis: y, angle: 40 deg}, {axis: z, angle: 30 deg}]}]}"""
SHAPES = {"arc": ARC, "helix": HELIX, "points": POINTS, "poses": POSES}

KINDS = ["pcs:6", "gvs:1", "cosserat:6", "pseudo_rigid:6", "polynomial:6", "finite_element:6"]
PUBLISHED = ["pcs:6", "cosserat:6", "pseudo_rigid:6"]


def rod(word, shape, extra="", **changes):
    model = parse_rod_model(word).model_copy(update=changes)
    return derive(with_rod_model(load_text(ROD.replace("SHAPE", shape) + extra), "arm", model))


def on_helix(s, radius=0.03, turns=1.3):
    pitch = np.sqrt((LENGTH / turns) ** 2 - (2 * np.pi * radius) ** 2)
    angle = 2 * np.pi * turns * s / LENGTH
    return np.array([radius * np.cos(angle), radius * np.sin(angle), pitch * turns * s / LENGTH])


def on_arc(s, angle=80 * np.pi / 180):
    r = LENGTH / angle
    return np.array([r * (1 - np.cos(s / r)), 0, r * np.sin(s / r)])


def imbalance(eqs):
    """Largest initial force, relative to that of a unit displacement."""
    q, v = eqs.initial_state()
    stiffness = np.abs(eqs.linearization(q, v, a=v, multipliers=np.zeros(0)).stiffness).max()
    return np.abs(eqs.bias(q, v)).max() / stiffness, eqs.energy(q, v).potential


@pytest.mark.parametrize("word", KINDS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_rod_free_of_stress_rests_in_its_shape(word, name):
    force, energy = imbalance(rod(word, SHAPES[name]))
    assert force < 1e-12
    assert 0 <= energy < 1e-12 * EI / LENGTH


@pytest.mark.parametrize("word", PUBLISHED)
def test_so_it_does_with_the_published_maps(word):
    force, energy = imbalance(rod(word, HELIX, map="published"))
    assert force < 1e-12
    assert 0 <= energy < 1e-12 * EI / LENGTH


@pytest.mark.parametrize("word", KINDS)
def test_it_stands_on_the_exact_curve(word):
    # sections of segments and nodes are on the curve; a frame inside a rigid link is off by the sagitta of a link
    curvature, link = 22.3, LENGTH / 6
    within = {"pseudo_rigid:6": curvature * (0.4 * link) ** 2 / 2, "polynomial:6": 1e-3}.get(word, 1e-12)
    for shape, curve in ((ARC, on_arc), (HELIX, on_helix)):
        eqs = rod(word, shape)
        q = eqs.initial_state().q
        assert eqs.frame("arm", q).position == pytest.approx(curve(0), abs=1e-12)
        assert eqs.frame("arm.tip", q).position == pytest.approx(curve(LENGTH), abs=1e-12)
        assert eqs.frame("arm.inside", q).position == pytest.approx(curve(0.4 * LENGTH), abs=within)
        step = 1e-6
        tangent = (curve(LENGTH + step) - curve(LENGTH - step)) / (2 * step)
        assert eqs.frame("arm.tip", q).rotation[:, 2] == pytest.approx(tangent, abs=1e-8)


def test_a_left_handed_helix_mirrors_the_right_handed_one():
    q = [
        rod("pcs:4", f"shape: {{type: helix, radius: 3 cm, pitch: 12 cm, hand: {hand}}}") for hand in ("right", "left")
    ]
    a, b = (eqs.frame("arm.tip", eqs.initial_state().q).position for eqs in q)
    assert b == pytest.approx(a * [1, -1, 1], abs=1e-12)
    height = LENGTH / np.sqrt((2 * np.pi * 0.03) ** 2 + 0.12**2) * 0.12
    assert a[2] == pytest.approx(height, rel=1e-12)


@pytest.mark.parametrize("word", KINDS)
def test_the_moment_that_straightens_an_arc_is_exact(word):
    angle = np.radians(80)
    eqs = rod(word, ARC)
    found = equilibrium(eqs, parameters={"moment": EI * angle / LENGTH}, stability="any")
    assert found.status == "converged"
    # links stand on the arc with their ends, and are longer than its sixth by theta^2 / 12
    within = {"pseudo_rigid:6": 1.01 * (angle / 6) ** 2 / 12 * LENGTH, "polynomial:6": 1e-6}.get(word, 1e-9)
    assert found.frames["arm.tip"].position == pytest.approx([0, 0, LENGTH], abs=within)
    energy = eqs.energy(found.q, np.zeros(len(eqs.rates)), parameters={"moment": EI * angle / LENGTH}).potential
    assert energy == pytest.approx(EI * angle**2 / (2 * LENGTH), rel=1e-4 if word == "polynomial:6" else 1e-9)


@pytest.mark.parametrize("word", KINDS)
def test_a_straight_rod_bent_into_an_arc_springs_back(word):
    angle = np.radians(80)
    eqs = rod(word, ARC + ", stress_free: false")
    q, v = eqs.initial_state()
    assert eqs.frame("arm.tip", q).position == pytest.approx(on_arc(LENGTH), abs=1e-12)
    if "pseudo_rigid" not in word:  # its links are longer than the arc: they start stretched
        assert eqs.energy(q, v).potential == pytest.approx(EI * angle**2 / (2 * LENGTH), rel=1e-4)
    assert equilibrium(eqs).frames["arm.tip"].position == pytest.approx([0, 0, LENGTH], abs=1e-8)


def test_rest_strains_may_differ_from_the_shape():
    # bent to one side, free of stress on the other: the rod goes there
    eqs = rod("pcs:4", ARC + ", stress_free: false, rest: [0, 0, 0, 0, -2, 0]")
    angle = -2 * LENGTH
    expected = [-(1 - np.cos(angle)) / 2, 0, np.sin(-angle) / 2]
    assert equilibrium(eqs).frames["arm.tip"].position == pytest.approx(expected, abs=1e-9)
    # straight at the start, though free of stress when bent
    straight = rod("cosserat:4", "stress_free: false, rest: [0, 0, 0, 0, -2, 0]")
    assert straight.frame("arm.tip", straight.initial_state().q).position == pytest.approx([0, 0, LENGTH], abs=1e-12)
    assert equilibrium(straight).frames["arm.tip"].position == pytest.approx(expected, abs=1e-9)


def test_a_shape_follows_parameters():
    eqs = rod("pcs:4", ARC)
    for angle in (0.3, 1.0):
        q = eqs.initial_state({"angle": angle}).q
        assert eqs.frame("arm.tip", q, parameters={"angle": angle}).position == pytest.approx(on_arc(LENGTH, angle))


@pytest.mark.parametrize("word", ["pcs:12", "cosserat:12", "polynomial:6"])
def test_a_spring_of_many_turns_rests(word):
    shape = "shape: {type: helix, radius: 1 cm, turns: 3}"
    force, energy = imbalance(rod(word, shape))
    assert force < 1e-12
    assert 0 <= energy < 1e-12 * EI / LENGTH


def test_all_models_of_a_bent_helix_agree():
    tips = []
    # second, second and first order in the number of elements; polynomials are the most accurate
    for word in ("polynomial:6", "pcs:32", "cosserat:32", "pseudo_rigid:64"):
        eqs = rod(word, HELIX)
        found = equilibrium(eqs, parameters={"moment": 0.02}, stability="any")
        assert found.status == "converged"
        tips.append(found.frames["arm.tip"].position)
    start = on_helix(LENGTH)
    assert np.linalg.norm(tips[0] - start) > 0.02
    for tip, within in zip(tips[1:], (2e-3, 2e-3, 7e-3), strict=True):
        assert tip == pytest.approx(tips[0], abs=within * LENGTH)


def test_frames_along_a_circle_do_not_twist():
    angles = np.linspace(0, 2, 9)
    arcs, rotations, positions = frames_along(np.column_stack([np.cos(angles), np.sin(angles), 0 * angles]))
    assert arcs[-1] == pytest.approx(2, rel=1e-4)
    assert np.linalg.norm(positions, axis=1) == pytest.approx(np.ones(len(positions)), abs=2e-4)
    for R in rotations:
        assert pytest.approx(np.eye(3), abs=1e-12) == R.T @ R
    # in a plane, the direction across it stays
    across = rotations[0].T @ [0, 0, 1]
    assert rotations @ across == pytest.approx(np.tile([0, 0, 1.0], (len(rotations), 1)), abs=1e-12)
