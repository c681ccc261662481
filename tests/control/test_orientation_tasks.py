"""Tasks of orientation: derivatives by finite differences, poses that forward statics reach, every controller that takes them."""

import numpy as np
import pytest

import pliant
from pliant.control import (
    ConstraintControl,
    Coordinates,
    DesignError,
    FrameDirection,
    FrameOrientation,
    FramePosition,
    Goal,
    Limits,
    OutOfReach,
    Pid,
    PidControl,
    Reference,
    Several,
    StaticControl,
    frame_pose,
    plan,
    plan_slow,
    rest_with,
)
from pliant.parts.geometry import so3

PRESSURES = {"p1": 40e3, "p2": 10e3, "p3": 25e3}
WRIST = """
pliant: 1
parameters:
  m1: {value: 0 N*m, input: true}
  m2: {value: 0 N*m, input: true}
  m3: {value: 0 N*m, input: true}
bodies:
  a: {mass: 1 kg, shape: {type: box, size: [0.1 m, 0.1 m, 0.1 m]}}
  b: {mass: 1 kg, shape: {type: box, size: [0.1 m, 0.2 m, 0.1 m]}}
  c: {mass: 1 kg, center_of_mass: [0, 0, 0.1 m], shape: {type: box, size: [0.1 m, 0.1 m, 0.3 m]}}
joints:
  q1: {type: revolute, child: a, axis: x, angle: {input: =m1, damper: 0.1}}
  q2: {type: revolute, parent: a, child: b, axis: y, angle: {input: =m2, damper: 0.1}}
  q3: {type: revolute, parent: b, child: c, axis: z, angle: {input: =m3, damper: 0.1}}
"""


@pytest.fixture(scope="module")
def soft():
    return pliant.derive("stiff_flop")


@pytest.fixture(scope="module")
def wrist():
    return pliant.derive(pliant.load_text(WRIST))


@pytest.fixture(scope="module")
def rest(soft):
    return pliant.equilibrium(soft, inputs=PRESSURES)


TASKS = [
    FrameOrientation("tip", [0.9, 0.1, -0.2, 0.3]),
    FrameOrientation("tip", {"axis": "y", "angle": "30 deg"}, "xz"),
    FrameOrientation("tip", [-0.1, 0.9, 0.4, 0.2]),  # near half a turn
    FrameDirection("tip", [0.3, 0.5, 1.0]),
    FrameDirection("tip", [0.3, 0.5, -1.0], axis="x"),
    frame_pose("tip", [1, 0, 0, 0], "xz"),
]


@pytest.mark.parametrize("task", TASKS)
def test_rates_accelerations_and_jacobians_are_exact(soft, rest, task):
    rng = np.random.default_rng(3)
    n, h, move = len(soft.rates), 1e-5, soft.binding.increment
    q, v, a = move(rest.q, 0.2 * rng.normal(size=n)), rng.normal(size=n), rng.normal(size=n)
    task.check(soft)
    here = task.motion(soft, q, v, a, None)
    before, after = (task.motion(soft, move(q, v * t + a * t * t / 2), v + a * t, None, None) for t in (-h, h))
    np.testing.assert_allclose((after.value - before.value) / (2 * h), here.rate, atol=1e-8)
    np.testing.assert_allclose((after.rate - before.rate) / (2 * h), here.acceleration, atol=1e-8)
    assert before.acceleration is None
    J = task.jacobian(soft, q, None)
    assert J.shape == (task.size, n)
    np.testing.assert_allclose(J @ v, here.rate, atol=1e-12)
    for k in range(n):
        e = h * np.eye(n)[k]
        ends = [task.motion(soft, move(q, x), v, None, None).value for x in (e, -e)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), J[:, k], atol=1e-8)


def test_the_value_is_the_rotation_vector_in_world_axes(wrist):
    """R = exp(value) R_target, and a direction's value is as long as the angle to its target."""
    q = np.array([0.4, -0.7, 1.1])
    R = wrist.frame("c", q).rotation
    task = FrameOrientation("c", {"euler": ["10 deg", "0 deg", "5 deg"], "order": "xyz"})
    value = task.motion(wrist, q, 0 * q, None, None).value
    np.testing.assert_allclose(np.array(so3.exp(value)) @ np.array(task.target), R, atol=1e-14)
    pointing = FrameDirection("c", [0, 0, 2.0])
    away = pointing.motion(wrist, q, 0 * q, None, None).value
    assert np.linalg.norm(away) == pytest.approx(np.arccos(R[2, 2]), abs=1e-14)


@pytest.mark.parametrize(
    "given",
    [
        [0.5, 0.5, 0.5, 0.5],
        [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
        {"vector": (2 * np.pi / 3 * np.ones(3) / np.sqrt(3)).tolist()},
        [{"axis": "x", "angle": "90 deg"}, {"axis": "y", "angle": "90 deg"}],
        {"axis": [1, 1, 1], "angle": "120 deg"},
    ],
)
def test_a_target_may_be_written_in_many_ways(given):
    expected = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(FrameOrientation("tip", given).target, expected, atol=1e-14)


@pytest.mark.parametrize(
    "given", [[1, 0, 0], [0, 0, 0, 0], np.ones((3, 3)), "up", {"axis": "u", "angle": 1}, [np.nan] * 4]
)
def test_what_is_no_rotation_is_refused(given):
    with pytest.raises(ValueError, match="rotation"):
        FrameOrientation("tip", given)


def test_a_whole_pose_that_pressures_reach_is_found_again(soft, rest):
    tip = rest.frames["tip"]
    found = rest_with(soft, frame_pose("tip", tip), [*tip.position, 0, 0, 0])
    for name, value in PRESSURES.items():
        assert found.inputs[name] == pytest.approx(value, rel=1e-6)


def test_a_direction_and_a_height_that_pressures_reach_are_found_again(soft, rest):
    tip = rest.frames["tip"]
    task = Several((FrameDirection("tip", tip.rotation[:, 2]), FramePosition("tip", "z")))
    found = rest_with(soft, task, [0, 0, tip.position[2]])
    for name, value in PRESSURES.items():
        assert found.inputs[name] == pytest.approx(value, rel=1e-6)


def test_what_cannot_be_reached_is_refused_with_what_is_missing(soft, rest):
    tip = rest.frames["tip"]
    with pytest.raises(
        OutOfReach, match=r"turn of tip about z 0.3.*6 components, and 3 inputs move it in 3 directions"
    ):
        rest_with(soft, frame_pose("tip", tip), [*tip.position, 0, 0, 0.3])


def test_static_control_holds_a_direction(soft, rest):
    """By the default settings, on a model that is 10 % too soft."""
    wanted = rest.frames["tip"].rotation[:, 2]
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 2e5))
    controller = StaticControl(soft, FrameDirection("tip", wanted), Reference.constant([0, 0]), limits=limits)
    method = pliant.GeneralizedAlpha(step=0.01)
    stiffer = {"youngs_modulus": 1.1 * soft.parameters["youngs_modulus"]}
    run = pliant.simulate(soft, 3.0, controllers=controller, method=method, parameters=stiffer, save_every=0.1)
    R = soft.frame("tip", run.q[-1], run.v[-1]).rotation
    assert np.arccos(min(1.0, R[:, 2] @ wanted)) < 2e-3
    assert not [note for note in run.remarks if "could not be reached" in note]


@pytest.mark.parametrize("kind", ["constraint", "pid"])
def test_rigid_wrists_turn_to_an_orientation(wrist, kind):
    target = {"axis": [1, 2, 3], "angle": "50 deg"}
    task, path = FrameOrientation("c", target), Reference.constant([0, 0, 0])
    if kind == "constraint":
        controller = ConstraintControl(wrist, task, path, Pid.critical(0.1), sample_time=0.005)
    else:
        controller = PidControl(wrist, task, path, Pid(3.0, 0.3), sample_time=0.004)
    run = pliant.simulate(wrist, 2.0, controllers=controller, save_every=0.05)
    R = wrist.frame("c", run.q[-1], run.v[-1]).rotation
    np.testing.assert_allclose(R, task.target, atol=1e-4)


def test_more_components_than_inputs_are_refused(wrist):
    task = Several((FrameOrientation("c", [1, 0, 0, 0]), FramePosition("c", "x")))
    with pytest.raises(DesignError, match="4 components and 3 inputs"):
        pliant.simulate(
            wrist, 1.0, controllers=ConstraintControl(wrist, task, Reference.constant([0] * 4), Pid.critical(0.1))
        )


def test_plans_end_in_an_orientation(wrist):
    target = FrameOrientation("c", {"axis": "y", "angle": "40 deg"})
    found = plan(wrist, 1.0, Goal(orientations={"c": target.target}), intervals=8)
    assert found.status == "converged"
    np.testing.assert_allclose(wrist.frame("c", found.q[-1]).rotation, target.target, atol=1e-6)
    pointed = plan(wrist, 1.0, Goal(directions={"c": [0.3, 0, 1]}), intervals=8)
    np.testing.assert_allclose(
        wrist.frame("c", pointed.q[-1]).rotation[:, 2], np.array([0.3, 0, 1]) / np.hypot(0.3, 1), atol=1e-6
    )


def test_slow_plans_end_in_a_direction(soft, rest):
    goal = Goal(directions={"tip": rest.frames["tip"].rotation[:, 2]})
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 2e5))
    found = plan_slow(soft, 2.0, goal, limits=limits, intervals=10)
    assert found.status == "converged"
    np.testing.assert_allclose(
        soft.frame("tip", found.q[-1]).rotation[:, 2], rest.frames["tip"].rotation[:, 2], atol=1e-4
    )


POSE = """
control:
  hold:
    type: constraint
    frame: c
    orientation: [{axis: x, angle: 20 deg}, {axis: y, angle: 10 deg}]
    settling: 0.1 s
    sample_time: 5 ms
"""


def test_a_model_file_holds_an_orientation_or_a_direction():
    eqs = pliant.derive(pliant.load_text(WRIST + POSE))
    run = pliant.simulate(eqs, 1.5, save_every=0.5)
    target = np.array(
        FrameOrientation("c", [{"axis": "x", "angle": "20 deg"}, {"axis": "y", "angle": "10 deg"}]).target
    )
    np.testing.assert_allclose(eqs.frame("c", run.q[-1]).rotation, target, atol=1e-4)
    again = pliant.load_text(pliant.dump(eqs.model.spec))
    assert again.control == eqs.model.spec.control
    turned = POSE.replace(
        "orientation: [{axis: x, angle: 20 deg}, {axis: y, angle: 10 deg}]", "direction: {target: [1, 0, 2]}"
    )
    pointing = pliant.derive(pliant.load_text(WRIST + turned))
    run = pliant.simulate(pointing, 1.5, save_every=0.5)
    np.testing.assert_allclose(
        pointing.frame("c", run.q[-1]).rotation[:, 2], np.array([1, 0, 2]) / np.sqrt(5), atol=1e-4
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("    direction: {target: [0, 0, 1]}", "an orientation includes every direction"),
        ("    path: [0.1, 0.2]", "the path has 2 values for 3 components"),
        ("    coordinates: q1", "either a `frame` or `coordinates`"),
    ],
)
def test_a_model_file_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(pliant.SpecError, match=message):
        pliant.load_text(WRIST + POSE + change + "\n")


def test_a_model_file_without_anything_to_follow_is_refused():
    text = POSE.replace("    orientation: [{axis: x, angle: 20 deg}, {axis: y, angle: 10 deg}]\n", "")
    with pytest.raises(pliant.SpecError, match="there is nothing to follow"):
        pliant.load_text(WRIST + text)
    with pytest.raises(pliant.SpecError, match="cannot be zero"):
        pliant.load_text(WRIST + text + "    direction: {target: [0, 0, 0]}\n")


def test_coordinates_follow_beside_an_orientation(wrist):
    """Tasks of any kind go together."""
    task = Several((Coordinates(("q3",)), FrameDirection("c", [0.2, 0.1, 1.0])))
    found = rest_with(wrist, task, [0.4, 0, 0])
    assert found.q[2] == pytest.approx(0.4, abs=1e-9)
