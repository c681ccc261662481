"""Tendons along rods against exact answers: constant curvature, twist by a helix, and what finitely many eyelets change."""

import numpy as np
import pytest
from scipy.optimize import fsolve

import pliant
from pliant import derive, equilibrium, load_text
from pliant.robot.rod_switch import with_rod_model

RADIUS, LENGTH, E, POISSON = 10e-3, 0.5, 2e6, 0.4
AREA, SECOND = np.pi * RADIUS**2, np.pi / 4 * RADIUS**4
EA, EI, GJ = E * AREA, E * SECOND, E / (2 * (1 + POISSON)) * 2 * SECOND

ROD = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{pull: {{value: 0 N, input: true}}}}
sections: {{round: {{shape: circle, radius: {RADIUS}}}}}
materials: {{rubber: {{density: 1000, youngs_modulus: {E}, poissons_ratio: {POISSON}}}}}
rods: {{arm: {{length: {LENGTH}, section: round, material: rubber}}}}
tendons: {{line: {{type: tension, through: [ROUTE], tension: =pull}}}}
outputs: {{length: {{tendon: line, quantity: length}}}}
"""


def rest(word, route, pull):
    """Equilibrium of the rod in a model (KIND:N) under a tendon's tension [N]."""
    eqs = derive(with_rod_model(load_text(ROD.replace("ROUTE", route)), "arm", word))
    found = equilibrium(eqs, inputs={"pull": pull})
    assert found.status == "converged", found.message
    return found


def turned(found):
    """Angle about y from base to tip."""
    R = found.frames["arm.tip"].rotation
    return np.arctan2(R[0, 2], R[2, 2])


def chord(stretch, bend, offset, span):
    """Distance of two eyelets at an offset on a piece of rod of constant strain: a chord of a circle."""
    return 2 * ((1 + stretch) / bend - offset) * np.sin(bend * span / 2)


def discrete_strains(pull, offset, pieces):
    """Stretch and bend of a rod with eyelets at the ends of equal pieces: its energy and T times length, stationary."""
    span = LENGTH / pieces

    def forces(x):
        stretch, bend = x
        half = bend * span / 2
        by_stretch = 2 / bend * np.sin(half)
        by_bend = -2 * (1 + stretch) / bend**2 * np.sin(half) + ((1 + stretch) / bend - offset) * span * np.cos(half)
        return [EA * stretch * span + pull * by_stretch, (EI * bend * span + pull * by_bend) / RADIUS]

    return fsolve(forces, [-pull / EA, pull * offset / EI], xtol=1e-13)


@pytest.mark.parametrize("word", ["pcs:4", "cosserat:4"])
def test_a_rod_of_constant_strain_meets_the_exact_answer_for_its_eyelets(word):
    offset, pull = 15e-3, 3.0
    found = rest(word, f"{{rod: arm, offset: [{offset}, 0], eyelets: 5}}", pull)
    stretch, bend = discrete_strains(pull, offset, 4)
    assert turned(found) == pytest.approx(bend * LENGTH, rel=1e-8)
    expected = (1 + stretch) / bend * np.array([1 - np.cos(bend * LENGTH), 0, np.sin(bend * LENGTH)])
    assert found.frames["arm.tip"].position == pytest.approx(expected, abs=1e-8 * LENGTH)
    assert found.outputs["length"] == pytest.approx(4 * chord(stretch, bend, offset, LENGTH / 4), rel=1e-8)


def test_with_many_eyelets_the_moment_is_tension_times_offset():
    """A line at offset r under T leaves constant strains: stretch -T/EA, bend T r/EI. Chords for arcs are off by h^2."""
    offset, pull = 15e-3, 3.0
    bend = pull * offset / EI
    errors, predicted = [], []
    for pieces in (8, 16, 32):
        found = rest(f"pcs:{pieces}", f"{{rod: arm, offset: [{offset}, 0], eyelets: {pieces + 1}}}", pull)
        errors.append(turned(found) / LENGTH / bend - 1)
        tendon = 1 - pull / EA - bend * offset  # length of the line over that of the rod
        predicted.append((bend * LENGTH / pieces) ** 2 * (tendon / (12 * bend * offset) - 1 / 24))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx(2, abs=0.1)
    # the first term of the error, by expanding the chord
    assert errors[-1] == pytest.approx(predicted[-1], rel=0.05)


def test_where_the_line_is_the_rod_is_short():
    """Eyelets at offset +x, so the rod bends towards +x and the line's side is the inner one."""
    found = rest("pcs:4", "{rod: arm, offset: [15 mm, 0]}", 1.0)
    assert found.frames["arm.tip"].position[0] > 0.02
    assert found.outputs["length"] < LENGTH * (1 - 1.0 * 15e-3**2 / EI * 0.9)


@pytest.mark.parametrize("word", ["pcs:8", "cosserat:8", "pseudo_rigid:8", "polynomial:4", "finite_element:4"])
def test_a_helix_twists_the_rod_and_shortens_it(word):
    """Under a small tension T a helix of slope a = 2 pi turns / length at radius r gives, with c = 1/sqrt(1 + (r a)^2),
    the torque -T r^2 a c and the compression T c. A whole number of turns bends one way as much as the other."""
    radius, turns, pull = 12e-3, 2, 1e-3
    found = rest(word, f"{{rod: arm, radius: {radius}, turns: {turns}, eyelets: 129}}", pull)
    slope = 2 * np.pi * turns / LENGTH
    cosine = 1 / np.sqrt(1 + (radius * slope) ** 2)
    R = found.frames["arm.tip"].rotation
    twist = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    assert twist == pytest.approx(-pull * radius**2 * slope * cosine / GJ * LENGTH, rel=2e-3)
    assert found.frames["arm.tip"].position[2] / LENGTH - 1 == pytest.approx(-pull * cosine / EA, rel=2e-3)


def test_all_rod_models_agree_as_they_are_refined():
    """Bending, twist and shortening at once; the same eyelets for all."""
    route = "{rod: arm, points: [{at: 0, offset: [15 mm, 0]}, {at: 0.3, offset: [0, 15 mm]}], between: 5}, arm.tip"
    tips = {}
    for word in ("pcs:20", "cosserat:20", "pseudo_rigid:40", "polynomial:6", "finite_element:10"):
        tips[word] = rest(word, route, 1.5).frames["arm.tip"].position
    assert np.linalg.norm(tips["pcs:20"] - [0, 0, LENGTH]) > 0.1 * LENGTH
    for word, tip in tips.items():
        assert np.linalg.norm(tip - tips["pcs:20"]) < 5e-3 * LENGTH, word


@pytest.mark.parametrize("place", ["0, 0, 0", "0.3, -0.2, 0.7"])
@pytest.mark.parametrize("method", [None, "explicit", "generalized_alpha"])
@pytest.mark.parametrize(
    "line",
    [
        "tendons: {rope: {type: tension, through: [{frame: world, position: [PLACE]}, load], tension: PULL}}",
        "links: {rope: {type: axial, between: [{frame: world, position: [PLACE]}, load], input: PULL}}",
    ],
)
def test_a_line_whose_ends_meet_holds_what_weighs_less_than_its_tension(
    line: str, method: str | None, place: str
) -> None:
    """At its start the load is where the line is fixed: it falls from there with what its weight exceeds the tension by."""
    robot = f"""
pliant: 1
bodies: {{load: {{mass: 2 kg, shape: {{type: sphere, radius: 5 cm}}}}}}
joints: {{rail: {{type: prismatic, child: load, axis: z, position: [{place}]}}}}
{line.replace("PLACE", place)}
"""
    for pull, fallen in (("5 N", 0.5 * (9.81 - 2.5) * 0.25), ("0 N", 0.5 * 9.81 * 0.25)):
        run = pliant.simulate(pliant.derive(pliant.load_text(robot.replace("PULL", pull))), 0.5, method=method)
        assert run.q[-1, 0] == pytest.approx(-fallen, rel=0.02)
    if method != "explicit":
        held = pliant.simulate(pliant.derive(pliant.load_text(robot.replace("PULL", "25 N"))), 0.5, method=method)
        assert np.abs(held.q).max() < 1e-4  # it buzzes there: the line pulls from either side
