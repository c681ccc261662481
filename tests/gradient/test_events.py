"""Gradients of motions with events: impacts against the closed form, every method, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_systems import METHODS, equations, largest_error

import pliant
from pliant.analysis.motion.current_state import Now

BALL = """
pliant: 1
parameters: {g: 9.81 m/s^2, drag: 0 N*s/m}
world: {gravity: [0, 0, =-g]}
bodies: {ball: {mass: 0.2, inertia: {principal: [1e-5, 1e-5, 1e-5]}}}
joints: {slide: {type: prismatic, child: ball, axis: z, displacement: {initial: 0.5 m, damper: =drag}}}
outputs: {z: {coordinate: slide}}
"""
RESTITUTION = 0.7


def bounce(now: Now) -> None:
    now.v[0] *= -RESTITUTION


FLOOR = pliant.Event("z", "falling", then=bounce, name="impact")


def height(z: float, v: float, g: float, t: float) -> float:
    """Of a ball that bounces once."""
    fall = (v + np.sqrt(v * v + 2 * g * z)) / g
    up, left = RESTITUTION * (g * fall - v), t - fall
    return float(up * left - 0.5 * g * left**2)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"method": "implicit"}, {"method": "explicit", "step": 3e-3}])
def test_a_ball_that_bounces_off_a_floor(options: dict[str, object]) -> None:
    """By its start, and by gravity, which moves the impact."""
    by = ["slide", "d(slide)/dt", "g"]
    f = pliant.differentiable(
        equations(BALL), "z", by, until=0.6, events=[FLOOR], start={"slide": 0.5, "d(slide)/dt": 0.3}, **options
    )
    values, pullback = f.vjp()
    here = np.array([0.5, 0.3, 9.81])
    assert values["z"] == pytest.approx(height(*here, 0.6), rel=1e-5)
    found = pullback({"z": 1.0})
    for name, step in zip(by, 1e-5 * np.eye(3), strict=True):
        expected = (height(*(here + step), 0.6) - height(*(here - step), 0.6)) / 2e-5
        assert found[name] == pytest.approx(expected, rel=1e-6)
        assert f.jvp(None, {name: 1.0})[1]["z"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_through_impacts(method: str) -> None:
    """Of fixed steps, which are cut where the ball bounces, twice."""
    f = pliant.differentiable(
        equations(BALL), "z", ["slide", "g", "drag"], until=0.8, events=[FLOOR], method=METHODS[method],
        parameters={"drag": 0.3}, start={"slide": 0.4},
    )  # fmt: skip
    assert largest_error(f, share=1e-4) < 1e-6


def test_events_that_change_nothing_have_the_adjoint() -> None:
    top = pliant.Event(lambda now: float(now.v[0]), "falling", stop=False, name="top")
    f = pliant.differentiable(
        equations(BALL), "z", ["g"], until=0.2, events=[top], start={"slide": 0.5, "d(slide)/dt": 1.0}
    )
    assert f.linearize()._pullback is not None
    assert f.vjp()[1]({"z": 1.0})["g"] == pytest.approx(-0.5 * 0.2**2, rel=1e-6)


def test_what_has_no_derivative_is_said() -> None:
    eqs = equations(BALL)
    end = pliant.Event("z", "falling", name="floor")
    with pytest.raises(pliant.ArgumentError, match=r"an event ends the simulation at t = 0\.319"):
        pliant.differentiable(eqs, "z", "g", until=0.6, events=[end]).vjp()
    with pytest.raises(pliant.ArgumentError, match="functions between steps have no derivatives"):
        pliant.differentiable(eqs, "z", "g", until=0.6, mid_step=bounce)
    # it just reaches the floor at the end of the motion
    last = pliant.differentiable(eqs, "z", "g", until=float(np.sqrt(1 / 9.81)) * (1 + 1e-9), events=[FLOOR])
    with pytest.raises(pliant.ArgumentError, match=r"is discontinuous|not differentiable"):
        last.vjp()[1]({"z": 1.0})
