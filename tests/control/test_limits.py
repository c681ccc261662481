"""Limits of inputs: poses that cannot be held are rejected by name, saturation in a run is reported."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import (
    ConstraintControl,
    Coordinates,
    FramePosition,
    Goal,
    Limits,
    OutOfReach,
    Pid,
    Reference,
    StateFeedback,
    StaticControl,
    allocate,
    discretize,
    lqr,
    plan,
)
from pliant.control.limits import actuator_limits

FINGER = """
pliant: 1
parameters:
  flexor: {value: 5 N, maximum: 60 N, input: true}
  extensor: {value: 5 N, input: true}
bodies: {bone: {mass: 1 kg, center_of_mass: [10 cm, 0, 0], shape: {type: slender_rod, length: 20 cm, axis: x},
  frames: {above: {position: [2 cm, 0, 1 cm]}, below: {position: [2 cm, 0, -1 cm]}}},
  palm: {frames: {above: {position: [-10 cm, 0, 1 cm]}, below: {position: [-10 cm, 0, -1 cm]}}}}
joints:
  knuckle: {type: revolute, child: bone, axis: y, angle: {damper: 0.05 N*m*s}}
  wall: {type: weld, child: palm}
tendons:
  lift: {type: tension, through: [palm.above, bone.above], tension: =extensor}
  lower: {type: tension, through: [palm.below, bone.below], tension: =flexor}
outputs: {angle: {coordinate: knuckle}}
"""
WEIGHT = 9.81 * 0.1
"""Torque of the bone's weight about the level knuckle [N m]; each tendon has an arm of about 1 cm."""


@pytest.fixture(scope="module")
def finger() -> pliant.Equations:
    return pliant.derive(pliant.load_text(FINGER))


def test_what_the_model_declares_holds_where_nothing_else_is_said(finger: pliant.Equations) -> None:
    limits = actuator_limits(finger, finger.inputs, None)
    assert dict(limits.lower) == {"flexor": 0.0, "extensor": 0.0}  # tendons pull
    assert dict(limits.upper) == {"flexor": 60.0, "extensor": np.inf}
    own = actuator_limits(finger, finger.inputs, Limits(lower={"flexor": 2.0}, upper={"flexor": 80.0}))
    assert own.lower["flexor"] == 2.0
    assert own.upper["flexor"] == 80.0
    with pytest.raises(ValueError, match="exclude each other"):
        actuator_limits(finger, finger.inputs, Limits(lower={"flexor": 90.0}))


def test_plans_keep_to_what_the_model_declares() -> None:
    text = """
pliant: 1
parameters: {push: {value: 0 N, input: true, minimum: -1 N, maximum: 1 N}}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {input: =push, damper: 0.1}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    # without bounds 1 m in 2.2 s takes up to 6 * 1 m * 1 kg / (2.2 s)^2 = 1.24 N
    found = plan(eqs, 2.2, Goal({"rail": 1.0}), intervals=20)
    assert found.status == "converged"
    assert np.abs(found.inputs).max() <= 1 + 1e-6
    free = plan(eqs, 2.2, Goal({"rail": 1.0}), limits=Limits({"push": -9.0}, {"push": 9.0}), intervals=20)
    assert np.abs(free.inputs).max() > 1.2


def test_a_command_outside_its_bounds_comes_back_at_its_rate() -> None:
    limits = Limits({"pull": 0.0}, {"pull": 1.0}, {"pull": 10.0})
    for before, low, high in ((10.0, 9.0, 9.0), (1.5, 0.5, 1.0), (0.5, 0.0, 1.0), (-3.0, -2.0, -2.0)):
        assert [x.tolist() for x in limits.within(("pull",), np.array([before]), 0.1)] == [[low], [high]]


def test_allocations_tell_bounds_from_what_cannot_be_done() -> None:
    effect = np.array([[1.0, -1.0], [0.0, 0.0]])
    free = allocate(effect, np.array([3.0, 0.0]), np.zeros(2), np.full(2, 10.0))
    np.testing.assert_allclose(free.inputs, [3.0, 0.0], atol=1e-6)
    assert free.cut < 1e-6
    assert free.asked[1] < 0  # it would share the work, but one cannot push
    # no input acts in the second direction: missed, but not because of bounds
    other = allocate(effect, np.array([3.0, 4.0]), np.zeros(2), np.full(2, 10.0))
    assert other.missed == pytest.approx(0.8, abs=1e-6)
    assert other.cut < 1e-6
    assert not np.any(free.binding)
    assert not np.any(other.binding)
    cut = allocate(effect, np.array([3.0, 0.0]), np.zeros(2), np.full(2, 1.2))
    assert cut.binding.tolist() == [True, True]
    assert cut.cut == pytest.approx(0.6, abs=1e-6)


def level(finger: pliant.Equations, **inputs: float) -> StateFeedback:
    """A regulator about the level finger, held by these tensions."""
    linear = pliant.linearize(finger, at=np.zeros(1), inputs=inputs)
    regulator = lqr(discretize(linear, 0.005), states=[100.0, 1.0], inputs=1e-3)
    return StateFeedback(finger, regulator, limits=Limits(upper={"extensor": 120.0}), name="hold")


def test_a_state_that_tendons_cannot_hold_is_refused_by_name(finger: pliant.Equations) -> None:
    found = pliant.required_inputs(finger, [0.0], [0.0], [0.0], limits=Limits())
    # without limits one would push: half the torque each
    assert min(found.inputs.values()) < -40
    with pytest.raises(
        OutOfReach, match=r"controller 'hold': .* needs the input 'flexor' \(tension of tendon lower\) at -4"
    ) as told:
        level(finger, **found.inputs)
    assert "below its lower limit of 0 N" in str(told.value)
    assert "pretension" in str(told.value)
    enough = pliant.required_inputs(finger, [0.0], [0.0], [0.0])
    assert enough.inputs["extensor"] == pytest.approx(WEIGHT / 0.01, rel=1e-6)
    slack = level(finger, **enough.inputs)
    assert any("the input 'flexor'" in text and "one direction only" in text for text in slack.remarks)
    with pytest.raises(
        OutOfReach, match=r"'extensor' \(tension of tendon lift\) at 128.1 N, above its upper limit of 120 N"
    ):
        level(finger, extensor=30 + WEIGHT / 0.01, flexor=30.0)


def test_a_run_says_which_tension_was_asked_for_and_how_much_was_missing(finger: pliant.Equations) -> None:
    tight = Limits(upper={"extensor": 90.0})
    path = Reference.constant([-0.3])
    fast = ConstraintControl(
        finger, Coordinates(("knuckle",)), path, Pid.critical(0.05), 0.005, limits=tight, name="lift"
    )
    run = pliant.simulate(finger, 0.3, controllers=fast, save_every=0.005)
    (note,) = (text for text in run.remarks if text.startswith("controller 'lift'"))
    assert "inputs were saturated at 60 of 60 samples" in note
    assert "the input 'extensor' (tension of tendon lift)" in note
    assert "at its upper limit of 90 N" in note
    assert "at its lower limit of 0 N" in note  # and the other cannot push
    share = float(note.split("s, ")[1].split(" %")[0])
    # the first and worst: 0.3 rad / (0.05 s)^2 and the weight are wanted, 90 N on an arm of 1 cm are there
    inertia = finger.mass_matrix([0.0]).toarray().item()
    wanted = 0.3 / 0.05**2 + WEIGHT / inertia
    assert share >= 100 * (1 - 0.9 / (inertia * wanted)) - 1
    assert max(run.inputs["extensor"]) <= 90
    assert min(run.inputs["flexor"]) >= 0
    strong = ConstraintControl(finger, Coordinates(("knuckle",)), path, Pid.critical(0.05), 0.005, name="lift")
    assert not pliant.simulate(finger, 0.3, controllers=strong).remarks


def test_a_path_that_begins_out_of_reach_is_refused_or_approached() -> None:
    soft = pliant.derive("stiff_flop")
    weak = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 2e4))
    task, path = FramePosition("tip", "xy"), Reference.constant([0.02, 0.0])
    with pytest.raises(
        OutOfReach, match=r"cannot hold the task at \(0\.02, 0\) within their limits; without them it needs the input"
    ) as told:
        pliant.simulate(soft, 0.1, controllers=StaticControl(soft, task, path, limits=weak))
    assert "upper limit of 2e+04 Pa" in str(told.value)
    near = StaticControl(soft, task, path, limits=weak, least_squares=True)
    run = pliant.simulate(soft, 0.5, controllers=near, method=pliant.GeneralizedAlpha(step=0.005))
    assert any("could not be reached within the inputs' limits at 25 of 25 samples" in note for note in run.remarks)
    far = np.linalg.norm(run["tip"].values[-1, :2] - [0.02, 0.0])
    assert f"{far:.2g}"[:5] in "".join(run.remarks)  # the reported distance is that of the motion


def test_rates_of_change_are_named(finger: pliant.Equations) -> None:
    slow = Limits(rate={"extensor": 20.0, "flexor": 20.0})
    control = ConstraintControl(
        finger, Coordinates(("knuckle",)), Reference.constant([0.0]), Pid.critical(0.1), 0.01, limits=slow
    )
    run = pliant.simulate(finger, 0.2, controllers=control, inputs={"extensor": 5.0, "flexor": 5.0})
    assert any("changing at its rate of 20 N/s" in note for note in run.remarks)
