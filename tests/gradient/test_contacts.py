"""Gradients of motions with contacts: those that stay closed, bounces, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_systems import ROD, equations, largest_error

import pliant

BALL = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {mass: 0.2, push: {value: 1 N, input: true}, k: 2000 N/m^1.5, loss: 20 s/m}
bodies:
  ball: {mass: =mass, inertia: {principal: [1e-5, 1e-5, 1e-5]}, shape: {type: sphere, radius: 1 cm}}
joints:
  slide: {type: prismatic, child: ball, axis: z, displacement: {initial: 8 mm}}
loads: {down: {frame: ball, force: [0, 0, =-push]}}
surfaces: {floor: {type: plane, normal: [0, 0, 1]}}
contacts: {ground: {between: [ball, floor], stiffness: =k, exponent: 1.5, dissipation: =loss, friction: 0}}
outputs: {z: {coordinate: slide}}
"""
FINGER = (
    ROD.replace("MODEL", "{kind: pcs, elements: 2}")
    + """
surfaces: {wall: {type: plane, position: [18 mm, 0, 0], normal: [-1, 0, 0]}}
contacts: {grip: {between: [arm, wall], stiffness: 3000 N/m, friction: 0.6, dissipation: 2 s/m}}
"""
)


def test_a_contact_that_stays_closed() -> None:
    """At rest k d^1.5 is the load."""
    f = pliant.differentiable(equations(BALL), "z", ["mass", "push", "k"], until=3.0)
    values, pullback = f.vjp()
    load = 0.2 * 9.81 + 1
    depth = (load / 2000) ** (1 / 1.5)
    assert values["z"] == pytest.approx(0.01 - depth, rel=1e-5)
    found = pullback({"z": 1.0})
    by_load = -depth / 1.5 / load
    assert found["push"] == pytest.approx(by_load, rel=1e-5)
    assert found["mass"] == pytest.approx(9.81 * by_load, rel=1e-5)
    assert found["k"] == pytest.approx(depth / 1.5 / 2000, rel=1e-5)


@pytest.mark.parametrize("method", [pliant.GeneralizedAlpha(step=2e-4), pliant.Rosenbrock(step=2e-4)])
def test_a_soft_finger_presses_and_sticks(method: pliant.Method) -> None:
    eqs = equations(FINGER)
    run = pliant.simulate(eqs, 0.2, inputs={"push": 0.3}, method=method, save_at=[0.2])
    assert "sticks" in str(run.contacts)
    f = pliant.differentiable(eqs, "tip", ["E", "push"], until=0.05, inputs={"push": 0.3}, method=method, start=run)
    assert largest_error(f, share=3e-4) < 1e-5


def test_a_bounce() -> None:
    """Against differences of motions with strict tolerances; steps that adapt to looser ones agree to these."""
    eqs = equations(BALL.replace("loss: 20", "loss: 0.1"))
    options = {"until": 0.2, "save_at": [0.11, 0.15, 0.2], "start": {"slide": 0.06}}
    by = ["mass", "push", "k", "slide"]
    strict = pliant.differentiable(eqs, "z", by, method=pliant.ExplicitRungeKutta(rtol=1e-10, atol=1e-14), **options)
    usual, close = (pliant.differentiable(eqs, "z", by, **options, **more) for more in ({}, {"rtol": 1e-6}))
    found = [f.vjp()[1]({"z": 1.0}) for f in (usual, close)]
    for name in by:
        x = float(strict.initial[name])
        sides = [float(np.sum(strict({name: x * (1 + k * 1e-3)})["z"])) for k in (1, -1)]
        expected = (sides[0] - sides[1]) / (2e-3 * x)
        assert found[0][name] == pytest.approx(expected, rel=1e-2)
        assert found[1][name] == pytest.approx(expected, rel=5e-4)


def test_where_a_contact_is_about_to_begin_there_is_no_gradient() -> None:
    """The ball just touches the floor, and hovers: pushed down it sinks in, pulled up it goes."""
    eqs = equations(BALL.replace("-9.81", "0").replace("initial: 8 mm", "initial: 10 mm"))
    f = pliant.differentiable(
        eqs, "z", "push", until=0.2, inputs={"push": 0.0}, method=pliant.GeneralizedAlpha(step=1e-3)
    )
    with pytest.raises(pliant.ArgumentError, match="'z' is not differentiable at these values"):
        f.vjp()[1]({"z": 1.0})
