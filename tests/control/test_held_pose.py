"""Regulators about any equilibrium: by inputs, by coordinates, by the position of a frame; stable or not, with closed loops."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.analysis.motion.sampled_control import model_controllers
from pliant.control import Coordinates, FramePosition, Limits, OutOfReach, StateFeedback, discretize, lqr, rest_with

PENDULUM = """
pliant: 1
parameters: {torque: {value: 0 N*m, input: true}}
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}
joints: {hinge: {type: revolute, child: rod, axis: y, angle: {damper: 0.1 N*m*s, input: =torque}}}
outputs: {angle: {coordinate: hinge}}
control:
  hold:
    type: lqr
    about: ABOUT
    sample_time: 10 ms
    coordinate_weights: [{coordinate: hinge, value: 100, rate: 1}]
    input_weights: [{input: torque, weight: 0.1}]
"""


def pendulum(about: str) -> pliant.Equations:
    return pliant.derive(pliant.load_text(PENDULUM.replace("ABOUT", about)))


@pytest.mark.parametrize("angle", [0.5, 1.5707963, 2.5, 3.0])
def test_a_pendulum_is_held_at_any_angle(angle: float) -> None:
    """Also beyond the horizontal, where it would fall, and at it, where its weight gives no stiffness."""
    eqs = pendulum(f"{{coordinates: [{{coordinate: hinge, value: {angle}}}]}}")
    run = pliant.simulate(eqs, 4.0, start=pliant.State(np.array([angle - 0.3]), np.zeros(1)))
    assert run.q[-1, 0] == pytest.approx(angle, abs=1e-4)
    assert run.inputs["torque"][-1] == pytest.approx(9.81 * 0.5 * np.sin(angle), abs=1e-3)
    assert not run.remarks


def test_a_pendulum_is_held_where_an_input_leaves_it() -> None:
    eqs = pendulum("{inputs: [{input: torque, value: 3 N*m}]}")
    (controller,) = model_controllers(eqs)
    angle = float(np.arcsin(3 / (9.81 * 0.5)))
    assert controller.regulator.plant.state.q == pytest.approx([angle], abs=1e-9)
    # the same torque balances the weight above the hinge too, where only a controller stays
    above = pendulum("{inputs: [{input: torque, value: 3 N*m}], near: [{coordinate: hinge, value: 140 deg}]}")
    (controller,) = model_controllers(above)
    assert controller.regulator.plant.state.q == pytest.approx([np.pi - angle], abs=1e-9)
    run = pliant.simulate(above, 4.0, start=pliant.State(np.array([np.pi - angle + 0.2]), np.zeros(1)))
    assert run.q[-1, 0] == pytest.approx(np.pi - angle, abs=1e-4)


def test_what_is_said_of_a_pose_is_checked() -> None:
    for about, message in (
        ("{}", "the pose is empty"),
        ("{inputs: [{input: torque, value: 3 kg}]}", "expected a torque or energy"),
        ("{coordinates: [{coordinate: hinge, value: 3 mm}]}", "a length"),
        ("{coordinates: [{coordinate: hing, value: 3}]}", "hinge"),
        ("{frame: rod, position: [1 m, 0]}", "2 values for 3 components"),
        ("{frame: rod, position: [1 m, 0, 0], coordinates: [{coordinate: hinge, value: 1}]}", "either"),
        ("{position: [1 m]}", "of which frame"),
        ("sideways", "equilibrium"),
    ):
        with pytest.raises(pliant.SpecError, match=message):
            pliant.load_text(PENDULUM.replace("ABOUT", about))
    text = PENDULUM.replace("ABOUT", "{inputs: [{input: other, value: 1}]}\n    inputs: torque")
    text = text.replace("parameters: {", "parameters: {other: {value: 0, input: true}, ")
    with pytest.raises(pliant.SpecError, match="'other', which this controller does not set"):
        pliant.load_text(text)


def test_a_pose_beyond_the_limits_is_refused() -> None:
    text = PENDULUM.replace(
        "ABOUT", "{coordinates: [{coordinate: hinge, value: 90 deg}]}\n    limits: [{input: torque, upper: 4 N*m}]"
    )
    with pytest.raises(
        ValueError,
        match=r"controller 'hold': no equilibrium: .* cannot hold .*'torque' at 4\.905 N\*m, above its upper limit of 4 N\*m",
    ):
        pliant.simulate(pliant.derive(pliant.load_text(text)), 0.1)


def test_a_closed_loop_is_held_where_its_crank_is_put() -> None:
    text = pliant.dump(pliant.load("four_bar"))
    motor = "parameters:\n  drive: {value: 0 N*m, input: true}"
    text = text.replace("parameters:", motor, 1) + "\nloads:\n  motor: {frame: bar1, moment: [0, 0, =drive]}\n"
    eqs = pliant.derive(pliant.load_text(text))
    rest = rest_with(eqs, Coordinates(("q1",)), [-1.2], start=pliant.equilibrium(eqs))
    assert rest.status == "converged"
    assert rest.q[0] == pytest.approx(-1.2, abs=1e-9)
    held = pliant.required_inputs(eqs, rest.q, np.zeros(3), np.zeros(3))
    assert rest.inputs["drive"] == pytest.approx(held.inputs["drive"], rel=1e-6)
    linear = pliant.linearize(eqs, at=rest, independent=("q1",))
    assert linear.residual < 1e-6
    controller = StateFeedback(eqs, lqr(discretize(linear, 0.005), states=[50.0, 1.0], inputs=0.1))
    run = pliant.simulate(eqs, 3.0, start=pliant.equilibrium(eqs), controllers=controller)
    np.testing.assert_allclose(run.q[-1], rest.q, atol=1e-4)


def test_a_soft_arm_is_held_at_a_place_of_its_tip() -> None:
    soft = pliant.derive("stiff_flop")
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 1e5))
    task = FramePosition("tip", "xy")
    rest = rest_with(soft, task, [0.01, 0.004], inputs=dict.fromkeys(soft.inputs, 2e4), limits=limits)
    np.testing.assert_allclose(rest.frames["tip"].position[:2], [0.01, 0.004], atol=1e-8)
    again = pliant.equilibrium(soft, inputs=rest.inputs)  # from the straight start
    np.testing.assert_allclose(again.frames["tip"].position, rest.frames["tip"].position, atol=1e-7)
    # of all pressures that do it those nearest to 20 kPa: what differs from them moves the tip
    change = np.array([rest.inputs[name] - 2e4 for name in soft.inputs])
    gain = []
    for name in soft.inputs:
        more = pliant.equilibrium(soft, start=rest, inputs={**rest.inputs, name: rest.inputs[name] + 10.0})
        gain.append((more.frames["tip"].position - rest.frames["tip"].position)[:2] / 10.0)
    idle = np.linalg.svd(np.array(gain).T)[2][2]
    assert abs(idle @ change) < 1e-3 * np.linalg.norm(change)
    with pytest.raises(OutOfReach, match="cannot hold the task"):
        rest_with(soft, task, [0.06, 0.0], limits=Limits(limits.lower, dict.fromkeys(soft.inputs, 2e4)))


def test_lines_that_go_slack_do_not_keep_a_pose_from_being_found() -> None:
    """The trunk on winches: winding in a slack line has no effect, and many lengths hold one pose."""
    eqs = pliant.derive("trunk@wound")
    winches = tuple(f"wound_{which}{k}" for which in ("near", "far") for k in (1, 2, 3))
    rest = rest_with(eqs, FramePosition("gripper.tip", "xy"), [0.02, 0.0], use=winches)
    np.testing.assert_allclose(rest.frames["gripper.tip"].position[:2], [0.02, 0.0], atol=1e-8)
    again = pliant.equilibrium(eqs, start=rest, inputs=rest.inputs)
    np.testing.assert_allclose(again.q, rest.q, atol=1e-7)


def test_a_robot_without_stiffness_is_put_where_the_task_says() -> None:
    """Two stacked sliders in the plane, without weight along them: only the task determines their equilibrium."""
    eqs = pliant.derive(
        pliant.load_text(
            "pliant: 1\n"
            "parameters: {push: {value: 0 N, input: true}, lift: {value: 0 N, input: true}}\n"
            "bodies: {cart: {mass: 1 kg}, hand: {mass: 2 kg}}\n"
            "joints:\n"
            "  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =push}}\n"
            "  tower: {type: prismatic, parent: cart, child: hand, axis: z, displacement: {input: =lift}}\n"
        )
    )
    rest = rest_with(eqs, FramePosition("hand", "xz"), [0.3, -0.2])
    np.testing.assert_allclose(rest.q, [0.3, -0.2], atol=1e-9)
    assert rest.inputs["push"] == pytest.approx(0, abs=1e-9)
    assert rest.inputs["lift"] == pytest.approx(2 * 9.81, rel=1e-9)
    with pytest.raises(ValueError, match="neither stiffness nor weight"):
        rest_with(eqs, FramePosition("hand", "z"), [-0.2])
