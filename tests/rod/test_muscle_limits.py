"""Stops on muscles: what they push with follows from their energy, they never pull, and they ask for muscles."""

import casadi as ca
import numpy as np
import pytest

from pliant import SpecError, load_text
from pliant.rod.muscle_limits import CONSTANTS, muscle_stops

LIMITS = {"minimum": 0.0, "maximum": 0.07, "stiffness": 5e4, "damping": 100.0, "smoothing": 1e-4}


@pytest.mark.parametrize(("lower", "upper"), [(True, True), (True, False), (False, True)])
def test_force_and_energy_of_stops(lower: bool, upper: bool) -> None:
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    effect = muscle_stops(lower=lower, upper=upper).effect(q, v, CONSTANTS.write(**LIMITS), None)
    law = ca.Function("law", [q, v], [effect.force, effect.energy, effect.dissipation])
    rng = np.random.default_rng(4)
    for _ in range(200):
        # around both ends of the range, within the width over which stops fade in and beyond it
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
            "the minimum 0.005 m is not below the maximum 0.002 m",
        ),
        (
            "coordinates: muscles, muscle_radius: 1 cm, muscle_limits: {minimum: 0, stiffness: -1}",
            "stiffness must not be below zero",
        ),
    ],
)
def test_limits_that_cannot_be(model: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as refused:
        load_text(TEXT.replace("MODEL", model))
    assert len(refused.value.faults) == 1
    assert "rods.arm.model.muscle_limits" in str(refused.value)
