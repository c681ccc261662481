"""Limits of coordinates and muscles: stops push by the law of contacts, never pull, and lose energy only."""

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import SpecError, load_text
from pliant.parts.formula.base import STOPS, stops

LIMITS = {"minimum": 0.0, "maximum": 0.07, "stiffness": 5e4, "dissipation": 3.0}


@pytest.mark.parametrize(("lower", "upper"), [(True, True), (True, False), (False, True)])
def test_force_and_energy_of_stops(lower: bool, upper: bool) -> None:
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    effect = stops(3, lower=lower, upper=upper).effect(q, v, STOPS.write(**LIMITS), None)
    law = ca.Function("law", [q, v], [effect.force, effect.energy, effect.dissipation])
    rng = np.random.default_rng(4)
    for _ in range(200):
        # around both ends of the range
        lengths = rng.choice([0.0, 0.07], 3) + rng.uniform(-5e-4, 5e-4, 3)
        rates = rng.uniform(-1, 1, 3)
        still, moving = law(lengths, np.zeros(3)), law(lengths, rates)
        for k in range(3):
            step = 1e-8 * np.eye(3)[k]
            slope = (float(law(lengths + step, 0)[1]) - float(law(lengths - step, 0)[1])) / 2e-8
            assert float(still[0][k]) == pytest.approx(-slope, rel=1e-5, abs=1e-5)
        lost = (np.asarray(still[0]) - np.asarray(moving[0])).ravel() @ rates
        assert float(moving[2]) == pytest.approx(lost, abs=1e-9)
        assert lost >= -1e-12
        force = np.asarray(moving[0]).ravel()
        inside = np.abs(lengths - 0.035) <= 0.035
        assert np.all(force[inside] == 0)
        # pushed back towards the middle of the range, also on the way out
        assert np.all(force * np.sign(lengths - 0.035) <= 0)
        if not lower:
            assert np.all(force[lengths < 0.035] == 0)
        if not upper:
            assert np.all(force[lengths > 0.035] == 0)


TEXT = """\
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
rods: {arm: {length: 20 cm, section: round, material: rubber, model: {kind: pcc, MODEL}}}
"""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("muscle_limits: {minimum: 0, stiffness: 1e4}", "coordinates `bending` are not lengths of muscles"),
        (
            "coordinates: muscles, muscle_radius: 1 cm, muscle_limits: {stiffness: 1e4}",
            "neither a minimum nor a maximum",
        ),
        (
            "coordinates: muscles, muscle_radius: 1 cm, muscle_limits: {minimum: 5 mm, maximum: 2 mm, stiffness: 1e4}",
            "the minimum 0.005 is not below the maximum 0.002",
        ),
        (
            "coordinates: muscles, muscle_radius: 1 cm, muscle_limits: {minimum: 0, stiffness: -1}",
            "stiffness must not be negative",
        ),
    ],
)
def test_limits_that_cannot_be(model: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as refused:
        load_text(TEXT.replace("MODEL", model))
    assert len(refused.value.faults) == 1
    assert "rods.arm.model.muscle_limits" in str(refused.value)


DOOR = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 2 N*m, input: true}}
bodies:
  door: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  hinge:
    type: revolute
    child: door
    axis: z
    angle: {input: =push, limits: {minimum: -10 deg, maximum: 30 deg, stiffness: 400 N*m/rad}}
"""


def test_a_joint_rests_at_its_stop():
    eqs = pliant.derive(load_text(DOOR))
    for push, end, sign in ((2.0, np.radians(30), 1), (-2.0, np.radians(-10), -1)):
        rest = pliant.equilibrium(eqs, inputs={"push": push})
        assert rest.q[0] == pytest.approx(end + sign * 2 / 400, abs=1e-12)
        assert rest.stable
    found = pliant.modes(eqs, undamped=True)
    assert found.frequencies[0] == pytest.approx(np.sqrt(400 / 0.1) / (2 * np.pi), rel=1e-9)


def test_a_stop_takes_the_same_energy_as_a_contact_of_the_same_law():
    """A ball on a rail against its limit, and against a wall there: the same motion."""
    head = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {ball: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}}
joints:
  rail: {type: prismatic, child: ball, axis: x, displacement: {rate: 0.5 m/s LIMITS}}
"""
    stop = head.replace("LIMITS", ", limits: {maximum: 10 cm, stiffness: 8 kN/m, dissipation: 0.4 s/m}")
    wall = (
        head.replace("LIMITS", "")
        + """
surfaces: {wall: {type: plane, position: [11 cm, 0, 0], normal: [-1, 0, 0]}}
contacts: {bump: {between: [ball, wall], stiffness: 8 kN/m, dissipation: 0.4 s/m}}
"""
    )
    method = pliant.Rosenbrock(rtol=1e-8, atol=1e-10)
    runs = [pliant.simulate(pliant.derive(load_text(x)), 0.5, method=method, save_every=0.5) for x in (stop, wall)]
    assert runs[0].v[-1] == pytest.approx(runs[1].v[-1], rel=1e-5)
    assert -0.5 < runs[0].v[-1][0] < -0.35


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("{stiffness: 400 N*m/rad}", "neither a minimum nor a maximum"),
        ("{minimum: 2, maximum: 1, stiffness: 400 N*m/rad}", "the minimum 2 is not below the maximum 1"),
        ("{minimum: 2, stiffness: 400 N*m/rad, dissipation: -1 s}", "dissipation must not be negative"),
        ("{minimum: 2}", "stiffness"),
    ],
)
def test_limits_of_joints_that_cannot_be(limits: str, message: str) -> None:
    text = DOOR.replace("{minimum: -10 deg, maximum: 30 deg, stiffness: 400 N*m/rad}", limits)
    with pytest.raises(SpecError, match=message):
        load_text(text)
