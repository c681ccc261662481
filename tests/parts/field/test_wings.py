"""Wings: their coefficients, exact glides, energy, and words for wrong tables."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import SpecError
from pliant.parts.field.wing import spline

TABLE = "{angles: [0 deg, 5 deg, 10 deg, 14 deg], lift: [0, 0.5, 0.95, 1.05], drag: [0.02, 0.025, 0.06, 0.14]}"
GLIDER = """
pliant: 1
world: {FLUID}
bodies: {glider: {mass: 80 g, inertia: {principal: [2e-3, 1e-3, 3e-3 kg*m^2]}}}
joints: {JOINT}
loads: {wing: {type: wing, frame: glider, WHERE area: 6 dm^2, chord: 10 cm, polar: POLAR}}
"""
AIR = "fluid: {density: 1.2 kg/m^3, current: [CURRENT m/s, 0, 0]}"


def glider(
    joint: str, *, polar: str = TABLE, fluid: str = AIR, where: str = "", current: float = 0.0
) -> pliant.Equations:
    text = GLIDER.replace("JOINT", joint).replace("WHERE", where).replace("POLAR", polar)
    return pliant.derive(pliant.load_text(text.replace("FLUID", fluid).replace("CURRENT", str(current))))


def coefficients(eqs: pliant.Equations, angle: float, speed: float = 7.0) -> np.ndarray:
    """Lift and drag of a body without rotation that moves against the flow at an angle of attack."""
    v = np.array([speed * np.cos(angle), 0, -speed * np.sin(angle), 0, 0, 0])
    q = eqs.initial_state().q
    force = (eqs.inverse_dynamics(q, 0 * v, 0 * v) - eqs.inverse_dynamics(q, v, 0 * v))[:3]
    pressure = 0.5 * 1.2 * 0.06 * speed**2
    return np.array([force @ [np.sin(angle), 0, np.cos(angle)], -force @ v[:3] / speed]) / pressure


FREE = "flight: {type: free, child: glider}"


def test_forces_are_those_of_the_table() -> None:
    eqs = glider(FREE)
    for angle, lift, drag in ((0, 0, 0.02), (5, 0.5, 0.025), (10, 0.95, 0.06), (14, 1.05, 0.14)):
        np.testing.assert_allclose(coefficients(eqs, np.radians(angle)), [lift, drag], atol=1e-12)
        np.testing.assert_allclose(coefficients(eqs, -np.radians(angle)), [-lift, drag], atol=1e-12)
    # stalled: a plate
    for angle in (30, 90, 150, -45):
        a = np.radians(angle)
        plate = 1.2 * np.sin(a) * np.array([np.cos(a), np.sin(a)]) + [0, 0.14]
        np.testing.assert_allclose(coefficients(eqs, a), plate, atol=1e-12)


def test_tables_are_joined_by_smooth_curves() -> None:
    x = ca.SX.sym("x")
    places, values = np.array([0.0, 1, 1.5, 3]), np.array([0.0, 1, 0.5, 2])
    (found,) = spline(x, places, [values], 4)
    at = ca.Function("at", [x], [found, ca.jacobian(found, x)])
    np.testing.assert_allclose([float(at(p)[0]) for p in places], values, atol=1e-14)
    for p in places[1:-1]:
        assert float(at(p - 1e-9)[1]) == pytest.approx(float(at(p + 1e-9)[1]), abs=1e-6)
    assert [float(at(p)[0]) for p in (-1, 4)] == [0, 2]
    # parabolas are exact
    (parabola,) = spline(x, places, [places**2], 4)
    middle = ca.Function("middle", [x], [parabola])
    assert float(middle(1.2)) == pytest.approx(1.44, abs=1e-12)


def test_a_steady_glide_is_as_steep_as_drag_over_lift() -> None:
    """A wing that keeps its attitude: the sinking flight in which lift and drag carry the weight."""
    joint = "flight: {type: planar, child: glider, rotation: {axis: x, angle: 90 deg}, angle: {motion: 0 rad}, x: {rate: 5 m/s}}"
    eqs = glider(joint, where="rotation: {axis: x, angle: -90 deg}, position: [0, 0, 0],")
    v = np.asarray(pliant.simulate(eqs, 40.0).v)[-1]
    angle = np.arctan2(abs(v[1]), v[0])
    lift, drag = coefficients(glider(FREE), angle)
    assert np.tan(angle) == pytest.approx(drag / lift, rel=1e-4)
    pressure = 0.5 * 1.2 * 0.06 * (v[0] ** 2 + v[1] ** 2)
    assert np.hypot(lift, drag) * pressure == pytest.approx(0.08 * 9.81, rel=1e-4)


def test_power_is_accounted_in_a_wind() -> None:
    joint = "flight: {type: free, child: glider, x: {rate: 6 m/s}, orientation: {rate: [0.5, 1, 0.2 rad/s]}}"
    eqs = glider(
        joint, where="position: [2 cm, 0, 0],", current=-2.0, polar=TABLE[:-1] + ", moment: [0, 0.01, 0.02, 0]}"
    )
    run = pliant.simulate(eqs, 1.0, save_every=0.05, rtol=1e-9, atol=1e-12)
    energy = {name: run.energy[name].values for name in run.energy}
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    assert (np.diff(energy["dissipated"]) > 0).all()
    assert abs(energy["supplied"][-1]) > 0.01
    np.testing.assert_allclose(balance, balance[0], atol=1e-6)


@pytest.mark.parametrize(
    ("polar", "words"),
    [
        ("{angles: [0, 10], lift: [0, 1], drag: [0.1, 0.1]}", "beyond 180 deg"),
        ("{angles: [0, 0.1, 0.05], lift: [0, 1, 1], drag: [0.1, 0.1, 0.1]}", "do not increase"),
        ("{angles: [0, 0.1], lift: [0, 1, 1], drag: [0.1, 0.1]}", "lift has 3 entries"),
        ("{angles: [0, 0.1], lift: [0, 1], drag: [0.1, -0.1]}", "not negative"),
    ],
)
def test_wrong_tables_are_said(polar: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        glider(FREE, polar=polar)


def test_a_wing_needs_a_fluid() -> None:
    with pytest.raises(SpecError, match="needs a fluid"):
        glider(FREE, fluid="")
