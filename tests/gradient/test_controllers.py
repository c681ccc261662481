"""Gradients of motions under controllers, by gains, parameters, inputs and starts, against differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gradient_systems import METHODS, TEXTS, equations, largest_error, rod

import pliant
from pliant.control import Coordinates, FramePosition, Limits, Pid, PidControl, Reference

ARM = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {mass: 1.5, torque: {value: 0.3 N*m, input: true}, t2: {value: 0.1 N*m, input: true}, kp: 20 N*m/rad, kd: 2 N*m*s/rad}
bodies:
  a: {mass: =mass, center_of_mass: [0.2, 0, 0], shape: {type: slender_rod, length: 0.4, axis: x},
      frames: {end: {position: [0.4, 0, 0]}}}
  b: {mass: 0.5, center_of_mass: [0.2, 0, 0], shape: {type: slender_rod, length: 0.4, axis: x},
      frames: {end: {position: [0.4, 0, 0]}}}
joints:
  h1: {type: revolute, child: a, axis: y, angle: {initial: 0.4, input: =torque}}
  h2: {type: revolute, parent: a.end, child: b, axis: y, angle: {initial: 0.8, input: =t2, spring: 1}}
outputs:
  tip: {frame: b.end}
  turning: {coordinate: h1, quantity: acceleration}
"""
DESCRIBED = """
control:
  raise: {type: pid, coordinates: [h1, h2], path: ["=0.1+mass*0.02", 0.3], proportional: =kp, derivative: =kd, integral: 20 N*m/s,
          sample_time: 10 ms}
"""
BALL = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {mass: 1.5, tx: {value: 0.3 N*m, input: true}, ty: {value: 0.1 N*m, input: true}, tz: {value: 0.1 N*m, input: true}}
bodies:
  a: {mass: =mass, center_of_mass: [0.2, 0.05, 0], inertia: {principal: [0.02, 0.05, 0.06]},
      frames: {end: {position: [0.4, 0.1, 0]}}}
joints:
  ball: {type: spherical, child: a, orientation: {rate: [1, 2, -1], damper: 0.05}}
loads: {turn: {frame: a, moment: [=tx, =ty, =tz]}}
outputs:
  tip: {frame: a.end}
"""
CART = """
pliant: 1
parameters: {force: {value: 0.2 N, input: true}, twist: {value: 0 N*m, input: true}, length: 1 m, effort: 0.1}
bodies:
  cart: {mass: 1 kg}
  pole: {mass: 100 g, center_of_mass: [0, 0, =length/2], shape: {type: slender_rod, length: =length, axis: z},
         frames: {top: {position: [0, 0, =length]}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {initial: 0.1, input: =force}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y, angle: {initial: 0.1, input: =twist}}
outputs:
  cart: {coordinate: rail}
  pole: {coordinate: hinge}
  top: {frame: pole.top}
control:
  balance:
    type: lqr
    about: {coordinates: [{coordinate: rail, value: 0}, {coordinate: hinge, value: 0}]}
    inputs: force
    sample_time: 20 ms
    delay: 5 ms
    coordinate_weights: [{coordinate: rail, value: 10, rate: 1}, {coordinate: hinge, value: 50, rate: 1}]
    input_weights: [{input: force, weight: =effort}]
"""
SENSORS = "    sensors: [{output: cart, noise: 1 mm}, {output: pole, noise: 1e-3}]\n"
LIMITS = "    limits: [{input: force, lower: -20 N, upper: 5 N, rate: 300 N/s}]\n"
GAINS = ["pid.proportional", "pid.derivative", "pid.integral"]
FIXED = pliant.Rosenbrock(step=4e-3)


def pid(eqs: pliant.Equations, task: Any, target: list[float], gain: float, **more: Any) -> PidControl:
    path = Reference(lambda t: np.array(target) * (1 + t), lambda t: np.array(target), lambda t: 0 * np.array(target))
    return PidControl(eqs, task, path, Pid(gain, 0.1 * gain, gain), **({"sample_time": 0.01} | more))


def error(
    eqs: pliant.Equations, by: list[str], method: pliant.Method = FIXED, share: float = 1e-4, **options: Any
) -> float:
    """Outputs are evaluated at a sample of the controller and between two."""
    options = {"until": 0.06, "save_at": [0.03, 0.055]} | options
    f = pliant.differentiable(eqs, list(eqs.model.spec.outputs), by, method=method, **options)
    return largest_error(f, share=share)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_pid_of_joints_and_frames(method: str) -> None:
    eqs = equations(ARM)
    for task, target, gain in (
        (Coordinates(("h1", "h2")), [0.1, 0.3], 20.0),
        (FramePosition("b.end", "xz"), [0.5, -0.3], 100.0),
    ):
        acting = pid(eqs, task, target, gain)
        assert error(eqs, [*GAINS, "h1", "d(h2)/dt", "mass"], METHODS[method], controllers=acting) < 5e-7


@pytest.mark.parametrize("compensation", ["none", "reference"])
def test_pid_with_each_compensation(compensation: str) -> None:
    """Without compensation feedback is added to the inputs of the start."""
    eqs = equations(ARM)
    acting = pid(eqs, FramePosition("b.end", "xz"), [0.5, -0.3], 100.0, compensation=compensation)
    by = [*GAINS, "h1", *(["torque"] if compensation == "none" else [])]
    assert error(eqs, by, METHODS["generalized_alpha"], controllers=acting) < 5e-7


def test_pid_has_a_gain_for_each_component_or_one_for_all() -> None:
    eqs = equations(ARM)
    acting = replace(pid(eqs, Coordinates(("h1", "h2")), [0.1, 0.3], 20.0), gains=Pid([20.0, 18.0], 2.0, [5.0, 6.0]))
    f = pliant.differentiable(eqs, "tip", GAINS, until=0.06, method=FIXED, controllers=acting)
    assert {name: x.shape for name, x in f.initial.items()} == dict(zip(GAINS, [(2,), (), (2,)], strict=True))
    assert largest_error(f) < 5e-7
    higher = Pid([40.0, 18.0], 2.0, [5.0, 6.0])
    run = pliant.simulate(eqs, 0.06, method=FIXED, controllers=replace(acting, gains=higher), save_at=[0.06])
    np.testing.assert_array_equal(f({"pid.proportional": higher.proportional})["tip"], run["tip"].values)


def test_pid_where_inputs_are_too_few_or_too_many() -> None:
    """Forces are weighed: by the stiffness of a soft arm, by the mass where constraints, rotations or free joints are left."""
    arm, by = pliant.derive("stiff_flop"), ["pid.proportional", "pid.integral"]
    soft = pid(arm, FramePosition("tip", "xy"), [0.02, 0.01], 20.0, sample_time=0.02)
    assert error(arm, [*by, "p1"], controllers=replace(soft, delay=0.007), inputs={"p1": 5e3}, save_at=[0.06]) < 5e-7
    limited = replace(soft, limits=Limits(rate={"p1": 2e5, "p2": 1e5}))
    assert error(arm, by, controllers=limited, save_at=[0.06]) < 5e-7
    text = TEXTS["loop"].replace("input: true}}", "input: true}, t3: {value: 0, input: true}}")
    loop = equations(text.replace("initial: 0.5}", "initial: 0.5, input: =t3}"))
    acting = pid(loop, FramePosition("bar3.tip", "x"), [0.15], 60.0)
    assert error(loop, [*by, "j1"], share=1e-3, controllers=acting) < 5e-7
    ball = equations(BALL)
    few = pid(ball, FramePosition("a.end", "yz"), [0.2, -0.1], 60.0, inputs=("tx", "tz"), least_squares=True)
    assert error(ball, [*GAINS, "d(ball.wy)/dt", "ty"], controllers=few) < 5e-7


def test_pid_on_rods_starts_where_they_rest() -> None:
    """The metric is computed in that pose, which changes with the modulus and with the input."""
    eqs = equations(rod("{kind: pcs, elements: 2}"))
    acting = pid(eqs, FramePosition("arm.tip", "xy"), [0.05, 0.02], 5.0, least_squares=True, delay=0.004)
    options = {"controllers": acting, "start": "equilibrium", "save_at": [0.06]}
    for method in (METHODS["generalized_alpha"], METHODS["semi_implicit"]):
        assert error(eqs, [*GAINS, "E", "push"], method, share=1e-3, **options) < 5e-7


def test_controllers_of_the_model_change_with_its_parameters() -> None:
    """Gains, paths, and the controller's model of the robot."""
    eqs = equations(ARM + DESCRIBED)
    assert error(eqs, ["kp", "kd", "mass"]) < 5e-7
    assert error(eqs, ["raise.integral", "kp"], share=1e-3) < 5e-7
    # the gain itself and the parameter that it is equal to
    f = pliant.differentiable(eqs, "tip", ["kp"], until=0.06)
    g = pliant.differentiable(eqs, "tip", ["raise.proportional"], until=0.06)
    one, other = (x.vjp()[1]({"tip": 1.0}) for x in (f, g))
    assert one["kp"] == pytest.approx(other["raise.proportional"].sum(), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rosenbrock", "generalized_alpha", "explicit_runge_kutta"])
@pytest.mark.parametrize("more", ["", SENSORS, LIMITS, SENSORS + LIMITS], ids=["state", "sensors", "limits", "both"])
def test_state_feedback(more: str, method: str) -> None:
    eqs = equations(CART + more)
    by = [
        "balance.gain",
        "length",
        "hinge",
        "d(rail)/dt",
        "twist",
        "force",
        *(["balance.observer_gain"] if "sensors" in more else []),
    ]
    assert error(eqs, by, METHODS[method], share=3e-5, until=0.1, save_at=[0.05, 0.1]) < 5e-7
    assert error(eqs, ["effort", "length"], METHODS[method], until=0.1, save_at=[0.1]) < 5e-7


def test_state_feedback_on_modes_and_with_shared_limits() -> None:
    text = CART.replace("delay: 5 ms", "delay: 0 ms\n    keep: 2")
    assert error(equations(text), ["balance.gain", "hinge"], share=1e-5, until=0.1) < 5e-7
    shared = CART.replace("    inputs: force\n", "    share: true\n") + LIMITS
    assert error(equations(shared), ["balance.gain", "hinge"], share=1e-5, until=0.1) < 5e-7


def test_two_controllers_read_what_the_other_commands() -> None:
    eqs = equations(ARM)
    first = pid(eqs, Coordinates(("h1",)), [0.1], 20.0, inputs=("torque",), name="first")
    second = pid(eqs, Coordinates(("h2",)), [0.3], 20.0, inputs=("t2",), name="second", sample_time=0.015, delay=0.004)
    by = ["first.proportional", "second.derivative", "t2", "h1"]
    assert error(eqs, by, controllers=[first, second]) < 5e-7


def test_a_thinned_record_gives_the_same_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """States between those that are kept are computed again, over samples too."""
    eqs = equations(CART + SENSORS)
    f = pliant.differentiable(eqs, "top", ["balance.gain", "length"], until=0.5, method=pliant.Rosenbrock(step=2e-3))
    whole = f.vjp()[1]({"top": 1.0})
    monkeypatch.setattr("pliant.gradient.motion.MEGABYTES", 0.01)
    thinned = f.vjp()[1]({"top": 1.0})
    for name, x in whole.items():
        np.testing.assert_allclose(thinned[name], x, rtol=1e-8, atol=1e-9 * np.max(np.abs(x)))


def test_measured_accelerations_and_inputs_with_kinks_are_refused() -> None:
    eqs = equations(
        CART.replace("pole: {coordinate: hinge}", "pole: {coordinate: hinge, quantity: acceleration}") + SENSORS
    )
    with pytest.raises(pliant.ArgumentError, match="'pole', which it measures, depends on accelerations"):
        pliant.differentiable(eqs, "top", "balance.gain", until=0.1).vjp()
    bent = equations(ARM.replace("input: =torque", "input: =torque+torque^2/(3 N*m)"))
    acting = pid(bent, Coordinates(("h1", "h2")), [0.1, 0.3], 20.0)
    with pytest.raises(pliant.ArgumentError, match="inputs do not act linearly"):
        pliant.differentiable(bent, "tip", GAINS, until=0.03, controllers=acting).vjp()[1]({"tip": 1.0})


def test_a_regulator_designed_on_the_slow_modes_of_a_stiff_robot() -> None:
    """Its eigenvalues range from 0 (three of them) to 1e7 1/s; the design is a smooth function of the mass nevertheless."""
    eqs = pliant.derive("arm_with_rod")
    f = pliant.differentiable(eqs, "tip", "weight", until=0.3, step=2e-3, save_at=[0.25, 0.3])
    assert largest_error(f, share=3e-3) < 1e-6
