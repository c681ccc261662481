"""Gradients of motions against differences: every method, rod kind and part of a robot, inputs over time, starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gradient_systems import METHODS, TEXTS, equations, largest_error, rod

import pliant
from pliant.gradient import motion

BY = {
    "tree": ["mass", "arm", "torque", "hinge", "d(flight.x)/dt", "d(socket.wy)/dt"],
    "loop": ["crank", "bar", "torque", "j1", "d(j1)/dt"],
    "cart": ["length", "drive", "hinge"],
    "tendon": ["E", "length", "push", "wound"],
    "mesh": ["stiffness", "push"],
    "shell": ["E", "push"],
}
SMALL_STEPS = {"tendon": 1e-5, "mesh": 2e-4, "shell": 2e-4}
"""Of the explicit methods, where the robot is stiff [s]."""


def function(text: str, by: list[str], method: pliant.Method, until: float = 0.04, **options: Any) -> Any:
    eqs = equations(text)
    options.setdefault("save_at", [until / 2, until])
    return pliant.differentiable(eqs, list(eqs.model.spec.outputs), by, until=until, method=method, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TEXTS)
def test_every_method_goes_back_over_every_part(name: str, method: str) -> None:
    chosen = METHODS[method]
    stiff = chosen.explicit and name in SMALL_STEPS
    chosen = replace(chosen, step=SMALL_STEPS[name]) if stiff else chosen
    until = 0.004 if stiff else 0.04
    assert largest_error(function(TEXTS[name], BY[name], chosen, until)) < 5e-7


@pytest.mark.parametrize("method", ["rosenbrock", "generalized_alpha"])
@pytest.mark.parametrize(
    "model",
    ["pcs, elements: 2", "pcs, elements: 2, map: published", "cosserat, elements: 2", "finite_element, elements: 2",
     "polynomial, order: 2", "pcc", "pcc, coordinates: muscles, muscle_radius: 8 mm", "pcc_cog", "gvs, order: 1",
     "pseudo_rigid, elements: 3", "timoshenko, elements: 2"],
)  # fmt: skip
def test_every_kind_of_rod(model: str, method: str) -> None:
    f = function(rod(f"{{kind: {model}}}"), ["E", "length", "radius", "push"], METHODS[method])
    assert largest_error(f) < 5e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interpolation", ["linear", "previous", "cubic"])
def test_inputs_over_time(interpolation: str, method: str) -> None:
    """Times of the input lie within steps and on samples, and end before the run does."""
    times = np.array([0.0, 0.013, 0.02, 0.034, 0.05])
    f = function(
        TEXTS["tree"], ["torque", "mass"], METHODS[method], 0.06,
        inputs={"torque": (times, np.array([0.3, -0.5, 0.8, 0.1, -0.6]), interpolation)}, save_at=[0.02, 0.06],
    )  # fmt: skip
    assert f.initial["torque"].shape == (5,)
    assert largest_error(f) < 5e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_inputs_that_prescribe_positions(interpolation: str, method: str) -> None:
    """The start follows them, and with straight lines velocities jump."""
    times = np.linspace(0, 0.08, 5)
    values = 0.03 * np.sin(1.0 + np.arange(5))
    f = function(
        TEXTS["cart"], ["drive", "length"], METHODS[method], 0.08, inputs={"drive": (times, values, interpolation)}
    )  # fmt: skip
    assert largest_error(f) < 5e-7


def test_lengths_of_tendons_that_follow_inputs() -> None:
    """Their rates count too, through the damper."""
    times = np.linspace(0, 0.04, 4)
    for method in ("rosenbrock", "generalized_alpha", "semi_implicit"):
        f = function(
            TEXTS["tendon"], ["wound"], METHODS[method], inputs={"wound": (times, np.array([1e-3, 3e-3, 2e-3, 4e-3]))}
        )
        assert largest_error(f) < 5e-7


@pytest.mark.parametrize("method", ["rosenbrock", "generalized_alpha", "semi_implicit"])
def test_a_start_at_equilibrium_changes_with_parameters_and_inputs(method: str) -> None:
    times = np.array([0.0, 0.02, 0.04])
    f = function(
        rod("{kind: pcs, elements: 2}"), ["E", "length", "push"], METHODS[method], start="equilibrium",
        inputs={"push": (times, np.array([0.02, 0.05, 0.01]))},
    )  # fmt: skip
    assert largest_error(f) < 5e-7
    g = function(TEXTS["loop"], ["bar", "torque"], METHODS[method], start="equilibrium", inputs={"torque": 0.1})
    values, pullback = g.vjp()
    # at rest nothing moves: the motion's end is the pose, and its gradient that of the pose
    rest = pliant.differentiable(g.eqs, "end", ["bar", "torque"], analysis="equilibrium", inputs={"torque": 0.1})
    expected, by_pose = rest.vjp()
    assert values["end"][-1] == pytest.approx(expected["end"], abs=1e-9)
    weights = np.array([1.0, -2.0, 0.5])
    found = pullback({"end": np.array([0 * weights, weights])})
    for name, derivative in by_pose({"end": weights}).items():
        assert found[name] == pytest.approx(derivative, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["tree", "cart"])
def test_a_thinned_record_gives_the_same_gradient(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.linspace(0, 0.2, 9)
    driven = "torque" if name == "tree" else "drive"
    given = {driven: (times, 0.02 * np.cos(np.arange(9.0)), "linear")}
    f = function(TEXTS[name], [driven, *BY[name][:1]], METHODS[method], 0.2, inputs=given)

    def gradient() -> dict[str, np.ndarray]:
        values, pullback = f.vjp()
        return pullback({output: np.cos(np.arange(x.size)).reshape(x.shape) for output, x in values.items()})

    whole = gradient()
    monkeypatch.setattr(motion, "MEGABYTES", 0.01)  # a few states of fifty and more
    for name_, thinned in gradient().items():
        np.testing.assert_allclose(thinned, whole[name_], rtol=1e-9, atol=1e-9 * np.max(np.abs(whole[name_])))


@pytest.mark.parametrize("method", METHODS)
def test_a_pullback_may_be_called_again(method: str) -> None:
    f = function(TEXTS["loop"], ["bar", "torque"], METHODS[method])
    _, pullback = f.vjp()
    first, other, again = pullback({"end": 1.0}), pullback({"force": 1.0}), pullback({"end": 1.0})
    assert first == again
    assert first["bar"] != other["bar"]


def test_adaptive_steps_and_the_default_method() -> None:
    """Differences change steps too, so they agree to the tolerance only; with strict ones closely."""
    eqs = equations(rod("{kind: pcs, elements: 2}"))
    f = pliant.differentiable(eqs, "tip", ["E", "push"], until=0.1)
    assert f.shapes == {"tip": (1, 3)}
    assert largest_error(f, share=1e-2) < 1e-3
    strict = pliant.differentiable(eqs, "tip", ["E", "push"], until=0.1, rtol=1e-7)
    assert largest_error(strict, share=1e-2) < 1e-5


def test_long_runs_begin_where_they_are_told_to() -> None:
    f = function(TEXTS["tree"], ["mass", "torque"], METHODS["rosenbrock"], 1.04, begin=1.0, save_at=[1.02, 1.04])
    assert largest_error(f) < 5e-7


def test_value_and_gradient() -> None:
    f = function(TEXTS["tree"], ["mass", "hinge"], METHODS["rosenbrock"])

    def squares(found: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        return float(np.sum(found["at"] ** 2)), {"at": 2 * found["at"]}

    value, gradient = f.value_and_gradient(squares, {"mass": 1.6})
    step = 1e-3
    sides = [float(np.sum(f({"mass": 1.6 + k * step})["at"] ** 2)) for k in (1, -1, 2, -2)]
    assert value == pytest.approx(float(np.sum(f({"mass": 1.6})["at"] ** 2)), rel=1e-14)
    assert gradient["mass"] == pytest.approx(
        (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12 * step), rel=1e-6
    )


def test_long_steps_beside_fast_vibrations() -> None:
    """Second derivatives along the stages are differences, which must not notice how long a stage is."""
    eqs = pliant.derive(pliant.load("trunk"))
    f = pliant.differentiable(
        eqs, "tip", ["near2"], until=0.2, method=pliant.Rosenbrock(step=0.02), inputs={"near2": 3.0}, save_at=[0.2]
    )
    assert largest_error(f) < 5e-7


@pytest.mark.parametrize("method", ["newmark", "generalized_alpha", "semi_implicit", "rosenbrock"])
def test_constraint_forces_of_a_stiff_rod_at_rest(method: str) -> None:
    """Nothing moves, so the gradient is that of the equilibrium, although cotangents of single coordinates are up to 1e8 N/m."""
    eqs = pliant.derive("leg")
    names = ["hold", "length1"]
    f = pliant.differentiable(eqs, "end_force", names, until=0.02, method=replace(METHODS[method], step=1e-3))
    rest = pliant.differentiable(eqs, "end_force", names, analysis="equilibrium")
    pullbacks = f.vjp()[1], rest.vjp()[1]
    for weights in np.eye(2):
        found, expected = pullbacks[0]({"end_force": weights[None]}), pullbacks[1]({"end_force": weights})
        for name in names:
            assert found[name] == pytest.approx(expected[name], rel=1e-6)


@pytest.mark.parametrize("method", ["semi_implicit", "generalized_alpha", "explicit"])
def test_a_robot_without_coordinates(method: str) -> None:
    """Nothing moves, but its outputs depend on its parameters, and a state of no numbers is recorded."""
    text = """
pliant: 1
parameters: {reach: 0.5 m}
bodies: {arm: {mass: 1 kg, frames: {tip: {position: [0, =2*reach, 0]}}}}
joints: {hold: {type: weld, child: arm}}
outputs: {tip: {frame: arm.tip, component: y}}
"""
    options = {} if method == "explicit" else {"step": 1e-3}
    f = pliant.differentiable(equations(text), "tip", ["reach"], until=0.01, method=method, **options)
    values, pullback = f.vjp()
    assert values["tip"] == pytest.approx(1.0)
    assert pullback({"tip": np.ones_like(values["tip"])})["reach"] == pytest.approx(2.0)
    rest = pliant.differentiable(equations(text), "tip", ["reach"], analysis="equilibrium")
    assert rest.vjp()[1]({"tip": np.array(1.0)})["reach"] == pytest.approx(2.0)


BLOCK = """
pliant: 1
parameters: {{push: {{value: 0 N, input: true}}, limit: 0 m}}
bodies: {{block: {{mass: 1 kg, frames: {{hook: {{position: [10 cm, 0, 0]}}}}}}}}
joints: {{slide: {{type: prismatic, axis: x, child: block, displacement: {{spring: 100 N/m{stop}}}}}}}
loads: {{push: {{frame: block, force: [=push, 0, 0]}}}}
{more}
outputs: {{tip: {{frame: block}}}}
"""
LINE = "tendons: {line: {type: elastic, through: [world, block.hook], stiffness: 300 N/m, rest: =10 cm + limit}}"
STOP = ", limits: {minimum: -1 m, maximum: =limit, stiffness: 300 N/m}"


@pytest.mark.parametrize("by", ["push", "limit"])
@pytest.mark.parametrize("stop", [False, True])
def test_a_motion_that_rests_at_a_kink_follows_an_increasing_value(by: str, stop: bool) -> None:
    """A line at its length without tension, or a stop at its limit: neither side's stiffness is that of both."""
    text = BLOCK.format(stop=STOP if stop else "", more="" if stop else LINE)
    f = pliant.differentiable(pliant.derive(pliant.load_text(text)), "tip", by, until=0.2)
    here, pullback = f.vjp()
    last = np.zeros_like(here["tip"])
    last[-1, 0] = 1
    step = 1e-5
    upward = (f({by: step})["tip"] - here["tip"])[-1, 0] / step
    assert pullback({"tip": last})[by] == pytest.approx(upward, rel=1e-4, abs=1e-6)


DAMPED = """
pliant: 1
parameters: {offset: 5 cm}
bodies: {bob: {mass: 0.3 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}}}
joints: {swing: {type: revolute, axis: y, child: bob, angle: {initial: 20 deg}}}
tendons:
  cord:
    {type: elastic, through: [{frame: world, position: [30 cm, 0, 10 cm]}, {frame: bob, position: [=offset, 0, 10 cm]}],
     axial_stiffness: 3 N, rest: 10 cm, damper: {coefficient: 0.2, power: 0.6}}
outputs: {swing: {coordinate: swing}, speed: {coordinate: swing, quantity: rate}}
"""
"""A damper with a power below one is almost rigid near its rest, and in a step from rest it is not."""


@pytest.mark.parametrize("method", ["semi_implicit", "generalized_alpha", "rosenbrock"])
def test_dampers_that_are_almost_rigid_at_rest(method: str) -> None:
    f = function(DAMPED, ["offset"], METHODS[method], until=0.01)
    assert largest_error(f) < 1e-4
