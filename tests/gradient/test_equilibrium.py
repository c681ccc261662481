"""Gradients of equilibria compared with differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_systems import TEXTS, equations, largest_error, rod

import pliant
from pliant.gradient.equilibrium import EquilibriumChange

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


def test_values_with_almost_no_effect_are_at_no_kink() -> None:
    """What a tension of 1e-24 N changes is far below the round-off of forces."""
    eqs = pliant.derive("trunk")
    f = pliant.differentiable(eqs, "tip", "far_offset", analysis="equilibrium", inputs={"near1": 8.0, "far1": 1e-24})
    assert np.max(np.abs(f.vjp()[1]({"tip": np.ones(3)})["far_offset"])) < 1e-20


def test_at_a_kink_the_gradient_is_that_for_an_increasing_value() -> None:
    """A tendon without tension starts to pull, and cannot push: as in motions, not half of it."""
    f = pliant.differentiable(pliant.derive("trunk"), "tip", "near2", analysis="equilibrium")
    values, pullback = f.vjp()
    step = 0.01
    once, twice = (np.sum(f({"near2": k * step})["tip"] - values["tip"]) for k in (1, 2))
    assert pullback({"tip": 1.0})["near2"] == pytest.approx((4 * once - twice) / (2 * step), rel=1e-6)


AT_REST = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: {{value: 0 N, input: true}}, wound: {{value: 0 m, input: true}}}}
sections: {{round: {{shape: circle, radius: 1 cm}}}}
materials: {{soft: {{youngs_modulus: 1 MPa, poissons_ratio: 0.45, density: 1000 kg/m^3}}}}
rods: {{arm: {{length: 0.3 m, section: round, material: soft, model: {model}}}}}
tendons:
  near: {{type: elastic, through: [{{rod: arm, offset: [8 mm, 1 mm]}}], stiffness: 2 kN/m, shortening: =wound}}
  left: {{type: elastic, through: [{{rod: arm, offset: [-5 mm, 7 mm]}}], stiffness: 2 kN/m}}
  right: {{type: elastic, through: [{{rod: arm, offset: [-4 mm, -6 mm]}}], stiffness: 2 kN/m}}
loads: {{tip: {{frame: arm.tip, force: [=push, =0.3*push, 0]}}}}
outputs: {{tip: {{frame: arm.tip}}}}
"""
SLIDER = """
pliant: 1
parameters: {{push: {{value: 0 N, input: true}}, limit: 0 m}}
bodies: {{block: {{mass: 1 kg, frames: {{hook: {{position: [10 cm, 0, 0]}}}}}}}}
joints: {{slide: {{type: prismatic, axis: x, child: block, displacement: {{spring: 100 N/m{stop}}}}}}}
loads: {{push: {{frame: block, force: [=push, 0, 0]}}}}
{more}
outputs: {{tip: {{frame: block}}}}
"""
LINE = "tendons: {line: {type: elastic, through: [world, block.hook], stiffness: 300 N/m, rest: =10 cm + limit}}"
KINKED = {
    "pcs": (AT_REST.format(model="{kind: pcs, elements: 3}"), {"push": 1e-4, "wound": 1e-6}),
    "finite_element": (AT_REST.format(model="{kind: finite_element, elements: 4}"), {"push": 1e-4, "wound": 1e-6}),
    "line": (SLIDER.format(stop="", more=LINE), {"push": 1e-3, "limit": 1e-6}),
    "stop": (
        SLIDER.format(stop=", limits: {minimum: -1 m, maximum: =limit, stiffness: 300 N/m}", more=""),
        {"push": 1e-3, "limit": 1e-6},
    ),
}


@pytest.mark.parametrize("name", KINKED)
def test_where_forces_have_a_kink_the_pose_follows_an_increasing_value(name: str) -> None:
    """Lines at their lengths without tension and a stop at its limit: those that are pulled or pressed count, and no others."""
    text, steps = KINKED[name]
    f = pliant.differentiable(equations(text), "tip", list(steps), analysis="equilibrium")
    here, pullback = f.vjp()
    columns = [pullback({"tip": row}) for row in np.eye(3)]
    for by, step in steps.items():
        once, twice = (f({by: k * step})["tip"] - here["tip"] for k in (1, 2))
        upward = (4 * once - twice) / (2 * step)
        gradient = np.array([column[by] for column in columns])
        assert gradient == pytest.approx(upward, rel=2e-4, abs=2e-4 * float(np.max(np.abs(upward))) + 1e-6), by


def test_at_a_kink_a_change_and_its_opposite_differ() -> None:
    """A line at its length without tension resists a push, and no pull."""
    eqs = equations(SLIDER.format(stop="", more=LINE))
    rest = pliant.equilibrium(eqs)
    change = EquilibriumChange(rest.equations.binding, 0.0, rest.q, rest.multipliers, eqs.rates)
    by_q, _ = change.by(lambda x: eqs.at(inputs={"push": x}).binding, 1e-3)
    assert by_q == pytest.approx([1 / 400], rel=1e-6)
    by_q, _ = change.by(lambda x: eqs.at(inputs={"push": -x}).binding, 1e-3)
    assert by_q == pytest.approx([-1 / 100], rel=1e-6)
