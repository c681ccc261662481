"""Gradients of equilibria compared with differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_systems import TEXTS, equations, largest_error, rod

import pliant

CASES = {
    "rod": (rod("{kind: cosserat, elements: 3}"), ["E", "length", "push"], ["tip"]),
    "loop": (TEXTS["loop"], ["bar", "crank", "torque"], ["end", "force"]),
    "tendon": (
        TEXTS["tendon"].replace("friction: 0.15", "friction: 0.15, at_rest: pulled"),
        ["E", "wound", "push"],
        ["tip"],
    ),
    "mesh": (TEXTS["mesh"], ["stiffness", "push"], ["at"]),
    "cart": (TEXTS["cart"], ["drive"], ["end"]),
}


@pytest.mark.parametrize("name", CASES)
def test_poses_and_constraint_forces_at_rest(name: str) -> None:
    text, by, of = CASES[name]
    f = pliant.differentiable(equations(text), of, by, analysis="equilibrium")
    assert largest_error(f, at={n: x or 0.01 for n, x in f.initial.items()}) < 1e-6


def test_bundled_arm_as_the_example_has_it() -> None:
    eqs = pliant.derive("stiff_flop")
    by = ["youngs_modulus", "length", "p1", "p2"]
    f = pliant.differentiable(eqs, "tip", by, analysis="equilibrium", inputs={"p1": 2e4, "p2": 1e4})
    assert f.shapes == {"tip": (3,)}
    assert largest_error(f) < 1e-8
    # along the arm, the tip goes as far as it gets longer but for its weight
    hanging = pliant.differentiable(eqs, "tip", "length", analysis="equilibrium")
    assert hanging.vjp()[1]({"tip": np.array([0, 0, 1.0])})["length"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("spring", ["0", "1e-3 N*m/rad"])
def test_a_pose_that_can_drift_has_no_derivatives(spring: str) -> None:
    """A body on an upright hinge rests at any angle; the weakest spring settles where it is."""
    text = f"""
pliant: 1
parameters: {{reach: 0.3 m}}
bodies: {{arm: {{mass: 1 kg, center_of_mass: [=reach/2, 0, 0], frames: {{end: {{position: [=reach, 0, 0]}}}}}}}}
joints:
  turn: {{type: revolute, child: arm, axis: z, angle: {{spring: {spring}}}}}
outputs: {{at: {{frame: arm.end}}}}
"""
    f = pliant.differentiable(equations(text), "at", "reach", analysis="equilibrium")
    if spring == "0":
        with pytest.raises(pliant.ArgumentError, match="can drift along 'turn' without force"):
            f.vjp()[1]({"at": np.array([1.0, 0, 0])})
    else:
        assert f.vjp()[1]({"at": np.array([1.0, 0, 0])})["reach"] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    "model", ["{kind: pcs, elements: 3}", "{kind: cosserat, elements: 5}"], ids=["pcs", "cosserat"]
)
def test_a_toppled_rod_has_no_derivatives(model: str) -> None:
    """A round rod that is too soft to stand falls to any side: the direction is a combination of all its bends."""
    text = (
        rod(model)
        .replace("E: 400 kPa, length: 20 cm", "E: 200 kPa, length: 22 cm")
        .replace("value: 0.02 N", "value: 0 N")
    )
    f = pliant.differentiable(equations(text), "tip", ["E", "radius"], analysis="equilibrium")
    values, pullback = f.vjp()
    assert np.hypot(*values["tip"][:2]) > 0.1
    with pytest.raises(pliant.ArgumentError, match=r"can drift along 'arm.* without force"):
        pullback({"tip": np.ones(3)})


def test_a_tendon_that_is_barely_slack_has_no_effect() -> None:
    """Its rest length is 3 um from where it would pull, far less than differences by parameters usually span."""
    eqs = pliant.derive("leg")
    of, by = ["end_force", "middle"], ["tendon_rest", "tendon_stiffness", "length3"]
    f = pliant.differentiable(eqs, of, by, analysis="equilibrium")
    pulled = f({"tendon_rest": 0.49999})["end_force"]
    assert np.max(np.abs(pulled - f()["end_force"])) > 1e-6
    values, pullback = f.vjp()
    gradient = pullback({name: np.ones_like(x) for name, x in values.items()})
    assert abs(gradient["tendon_rest"]) < 1e-12 < abs(gradient["length3"])
    assert abs(gradient["tendon_stiffness"]) < 1e-16
    moving = pliant.differentiable(eqs, of, by, until=5e-3, method=pliant.GeneralizedAlpha(step=1e-3))
    at = moving.linearize()
    back = at.vjp({name: np.ones_like(x) for name, x in at.outputs.items()})
    assert abs(back["tendon_rest"]) < 1e-9
    assert back["length3"] == pytest.approx(gradient["length3"], rel=1e-6)
    assert max(np.max(np.abs(x)) for x in at.jvp({"tendon_rest": 1.0}).values()) < 1e-6


def test_at_a_kink_the_gradient_is_that_for_an_increasing_value() -> None:
    """A tendon without tension starts to pull, and cannot push: as in motions, not half of it."""
    f = pliant.differentiable(pliant.derive("trunk"), "tip", "near2", analysis="equilibrium")
    values, pullback = f.vjp()
    step = 0.01
    once, twice = (np.sum(f({"near2": k * step})["tip"] - values["tip"]) for k in (1, 2))
    assert pullback({"tip": 1.0})["near2"] == pytest.approx((4 * once - twice) / (2 * step), rel=1e-6)
