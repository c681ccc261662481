"""Controllers that solve the model: paths as constraints, slow control of soft arms, plans, tracking, prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import pliant
from pliant.control import (
    ConstraintControl,
    Coordinates,
    DesignError,
    FramePosition,
    Goal,
    Limits,
    Pid,
    Predictive,
    Reference,
    Sphere,
    StaticControl,
    Tracking,
    Trajectory,
    discretize,
    lqr,
    plan,
)
from pliant.control.static_model import StaticModel

ARM = """
pliant: 1
parameters:
  shoulder_torque: {value: 0 N*m, input: true}
  elbow_torque: {value: 0 N*m, input: true}
  wrist_torque: {value: 0 N*m, input: true}
  load: 0.5 kg
bodies:
  upper: {mass: 1 kg, center_of_mass: [0.15 m, 0, 0], shape: {type: slender_rod, length: 0.3 m, axis: x},
          frames: {end: {position: [0.3 m, 0, 0]}}}
  lower: {mass: 0.8 kg, center_of_mass: [0.15 m, 0, 0], shape: {type: slender_rod, length: 0.3 m, axis: x},
          frames: {end: {position: [0.3 m, 0, 0]}}}
  hand: {mass: =load, center_of_mass: [0.05 m, 0, 0], shape: {type: slender_rod, length: 0.1 m, axis: x},
         frames: {tip: {position: [0.1 m, 0, 0]}}}
joints:
  shoulder: {type: revolute, child: upper, axis: y, angle: {initial: -30 deg, damper: 0.1 N*m*s/rad, input: =shoulder_torque}}
  elbow: {type: revolute, parent: upper.end, child: lower, axis: y,
          angle: {initial: 60 deg, damper: 0.1 N*m*s/rad, input: =elbow_torque}}
  wrist: {type: revolute, parent: lower.end, child: hand, axis: y,
          angle: {initial: 10 deg, damper: 0.1 N*m*s/rad, input: =wrist_torque}}
outputs:
  tip: {frame: hand.tip, quantity: position}
"""


@pytest.fixture(scope="module")
def arm() -> pliant.Equations:
    return pliant.derive(pliant.load_text(ARM))


def circle(arm: pliant.Equations) -> tuple[Reference, pliant.State]:
    """A circle through the tip's place, in the plane of the arm, and the start on it at rest."""
    q, v = arm.initial_state()
    place = arm.frame("hand.tip", q).position[[0, 2]]
    return Reference.circle(place - [0.05, 0], [0.05, 0], [0, 0.05], 0.5), pliant.State(q, v)


def test_a_tip_follows_a_path_with_redundant_torques(arm: pliant.Equations) -> None:
    path, start = circle(arm)
    task = FramePosition("hand.tip", "xz")
    controller = ConstraintControl(arm, task, path, Pid.critical(0.05), sample_time=0.001, damping=10.0)
    run = pliant.simulate(arm, 2.0, start=start, controllers=controller, save_every=0.02)
    wanted = np.array([path.value(t) for t in run.time])
    error = np.linalg.norm(run["tip"].values[:, [0, 2]] - wanted, axis=1)
    # it starts at rest on a path that moves with 0.16 m/s: the error of that dies out with 0.05 s
    assert error.max() < 0.16 * 0.05
    assert error[run.time > 0.6].max() < 5e-4


def test_redundant_torques_are_the_least(arm: pliant.Equations) -> None:
    """Three torques for two directions: no part of them leaves the task alone."""
    path, start = circle(arm)
    controller = ConstraintControl(arm, FramePosition("hand.tip", "xz"), path, Pid.critical(0.05), sample_time=0.002)
    run = pliant.simulate(arm, 0.1, start=start, controllers=controller, save_every=0.002)
    k = 40
    torques = np.array([run.inputs[name][k] for name in arm.inputs])
    J = arm.frame_jacobian("hand.tip", run.q[k])[[0, 2]]
    idle = np.linalg.svd(J @ np.linalg.inv(arm.mass_matrix(run.q[k]).toarray()))[2][2]
    assert abs(idle @ torques) < 1e-5 * np.linalg.norm(torques)


def test_computed_torque_is_exact_with_the_true_model(arm: pliant.Equations) -> None:
    """Errors follow e'' + d e' + p e = 0 for any motion of the arm, up to the sampling."""
    names = ("shoulder", "elbow", "wrist")
    path = Reference.constant([-0.2, 0.9, 0.3])
    controller = ConstraintControl(arm, Coordinates(names), path, Pid(100.0, 20.0), sample_time=0.0005)
    run = pliant.simulate(arm, 0.5, controllers=controller, save_every=0.01)
    error = run.q - [-0.2, 0.9, 0.3]
    exact = error[0] * ((1 + 10 * run.time) * np.exp(-10 * run.time))[:, None]
    np.testing.assert_allclose(error, exact, atol=2e-3 * np.abs(error[0]).max())


def test_too_few_inputs_are_refused_or_do_their_best(arm: pliant.Equations) -> None:
    path, start = circle(arm)
    task = FramePosition("hand.tip", "xz")
    few = ("elbow_torque",)
    with pytest.raises(DesignError, match=r"2 components and 1 inputs .* 1 independent directions"):
        pliant.simulate(arm, 0.1, controllers=ConstraintControl(arm, task, path, Pid(1, 1), inputs=few))
    best = ConstraintControl(arm, task, path, Pid(1.0, 1.0), inputs=few, least_squares=True)
    run = pliant.simulate(arm, 0.05, start=start, controllers=best)
    assert any("could not give the prescribed acceleration" in note for note in run.remarks)
    with pytest.raises(KeyError, match=r"unknown frame 'hand\.tp'; did you mean 'hand\.tip'"):
        ConstraintControl(arm, FramePosition("hand.tp"), path, Pid(1, 1))


@pytest.fixture(scope="module")
def soft() -> pliant.Equations:
    return pliant.derive("stiff_flop")


def test_pressures_that_hold_a_soft_tip_are_found(soft: pliant.Equations) -> None:
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0))
    model = StaticModel(soft, FramePosition("tip", "xy"), None, limits, None)
    model.reset({})
    assert model.move(np.array([0.008, -0.005])) < 1e-9
    rest = pliant.equilibrium(soft, inputs=model.values)
    np.testing.assert_allclose(rest.frames["tip"].position[:2], [0.008, -0.005], atol=1e-8)
    assert min(model.u) >= 0
    # two directions, three pressures: the least of them leave one chamber empty
    assert min(model.u) == pytest.approx(0, abs=1.0)


def test_a_soft_tip_is_brought_to_its_place_by_a_wrong_model(soft: pliant.Equations) -> None:
    limits = Limits(lower=dict.fromkeys(soft.inputs, 0.0), upper=dict.fromkeys(soft.inputs, 2e5))
    target = np.array([0.008, -0.005])
    controller = StaticControl(
        soft, FramePosition("tip", "xy"), Reference.constant(target), limits=limits, integral=3.0
    )
    stiffer = {"youngs_modulus": 1.2 * soft.parameters["youngs_modulus"]}
    method = pliant.GeneralizedAlpha(step=0.005)
    start = pliant.equilibrium(soft, parameters=stiffer)
    run = pliant.simulate(soft, 2.0, start=start, controllers=controller, parameters=stiffer, method=method)
    error = np.linalg.norm(run["tip"].values[:, :2] - target, axis=1)
    at = {t: error[np.searchsorted(run.time, t)] for t in (0.3, 2.0)}
    assert at[0.3] > 3e-4  # what the wrong model alone leaves
    assert at[2.0] < 0.02 * at[0.3]


@pytest.mark.slow
def test_slow_control_does_not_stay_behind_a_moving_path(soft: pliant.Equations) -> None:
    """On a circle without feedback: damping and inertia of the motion are allowed for; without that the tip stays behind."""
    turning = Reference.circle([0.0, 0.0], [0.008, 0], [0, 0.008], 0.5)
    still = replace(turning, rate=lambda t: np.zeros(2), acceleration=lambda t: np.zeros(2))
    task, error = FramePosition("tip", "xy"), {}
    model = StaticModel(soft, task, None, None, None)
    model.reset({})
    model.move(turning.value(0.0))
    model.sensitivity()
    behind = model.lag(turning.rate(0.0), turning.acceleration(0.0))
    start = pliant.equilibrium(soft, inputs=model.values)
    for name, path in (("moving", turning), ("at rest", still)):
        controller = StaticControl(soft, task, path, sample_time=0.01, integral=0.0)
        run = pliant.simulate(
            soft, 4.0, start=start, controllers=controller, method=pliant.GeneralizedAlpha(step=0.0025)
        )
        error[name] = turning.value(run.time[-1]) - run["tip"].values[-1, :2]  # two whole turns later
    np.testing.assert_allclose(error["at rest"], behind, atol=0.1 * np.linalg.norm(behind))
    assert np.linalg.norm(error["moving"]) < 0.1 * np.linalg.norm(behind)


def upside_down() -> pliant.State:
    return pliant.State(np.array([0.0, np.pi]), np.zeros(2))


def test_a_planned_swing_up_is_a_motion_of_the_robot_and_can_be_tracked() -> None:
    eqs = pliant.derive("cart_pole")
    limits = Limits(lower={"force": -15.0}, upper={"force": 15.0})
    goal = Goal({"rail": 0.0, "hinge": 0.0})
    trajectory = plan(eqs, 2.5, goal, start=upside_down(), limits=limits, intervals=40)
    assert trajectory.status == "converged"
    assert np.abs(trajectory.inputs).max() <= 15 + 1e-6
    finer = plan(eqs, 2.5, goal, start=upside_down(), limits=limits, intervals=80, guess=trajectory)
    # Hermite-Simpson converges with the fourth power of the interval: the cost of both agrees to that
    assert trajectory.cost == pytest.approx(finer.cost, rel=1e-3)
    error = [np.abs(_replayed(eqs, x) - x.q[-1]).max() for x in (trajectory, finer)]
    assert error[1] < error[0] / 8
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    weights = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}
    hold = lqr(discretize(upright, 0.02), **weights)
    controller = Tracking(eqs, trajectory, hold, sample_time=0.02, limits=limits, **weights)
    disturbed = pliant.State(np.array([0.1, np.pi - 0.2]), np.array([0.0, 0.3]))
    run = pliant.simulate(eqs, 6.0, start=disturbed, controllers=controller, parameters={"friction": 0.7})
    assert np.abs(run.q[-1]).max() < 1e-3
    assert np.abs(run.inputs["force"]).max() <= 15


def test_tracking_a_pose_at_rest_is_holding_it() -> None:
    """About a plan that stays where it ends, every gain is that of the regulator: its cost is carried over in the same unit."""
    eqs = pliant.derive("cart_pole")
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    weights = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}
    hold = lqr(discretize(upright, 0.02), **weights)
    n = 11
    rest = Trajectory(
        "converged", "", np.linspace(0, 1, n), *(np.zeros((n, k)) for k in (2, 2, 2, 1)), ("force",), 0.0, 0
    )
    tracking = Tracking(eqs, rest, hold, sample_time=0.02, **weights)
    assert len(tracking.gains) == 50
    for gain in tracking.gains:
        np.testing.assert_allclose(gain, hold.gain, rtol=1e-6)


def _replayed(eqs: pliant.Equations, trajectory: object) -> np.ndarray:
    """Where the robot ends when it is driven with the planned inputs alone."""
    from scipy.integrate import solve_ivp

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        u = trajectory.at(t)[2]
        a, _ = eqs.forward_dynamics(x[:2], x[2:], inputs={"force": float(u[0])})
        return np.concatenate([x[2:], a])

    x = np.concatenate([trajectory.q[0], trajectory.v[0]])
    for begin, end in zip(trajectory.time[:-1], trajectory.time[1:], strict=True):
        x = solve_ivp(rate, (begin, end), x, method="DOP853", rtol=1e-9, atol=1e-11).y[:, -1]
    return x[:2]


def test_plans_go_around_obstacles_and_say_when_they_cannot(arm: pliant.Equations) -> None:
    q, v = arm.initial_state()
    here = arm.frame("hand.tip", q).position
    there = here + [-0.1, 0, 0.25]
    bounds = dict.fromkeys(arm.inputs, 60.0)
    limits = Limits(lower={k: -x for k, x in bounds.items()}, upper=bounds)
    common = {"start": pliant.State(q, v), "limits": limits, "intervals": 15}
    free = plan(arm, 1.0, Goal(positions={"hand.tip": there}), **common)
    middle = arm.frame("hand.tip", free.q[7]).position
    sphere = Sphere(middle, 0.05, ("hand.tip",))
    around = plan(arm, 1.0, Goal(positions={"hand.tip": there}), obstacles=[sphere], **common)
    assert free.status == around.status == "converged"

    def gap(x: object) -> float:
        return min(float(np.linalg.norm(arm.frame("hand.tip", q).position - middle)) for q in x.q)

    assert gap(free) < 1e-9
    assert gap(around) > 0.05 - 1e-6
    assert around.cost > free.cost
    far = plan(arm, 1.0, Goal(positions={"hand.tip": [2.0, 0, 0]}), iterations=60, **common)
    assert far.status == "failed"
    assert "allow more" in far.message or "try another" in far.message
    with pytest.raises(ValueError, match="closed loops"):
        plan(pliant.derive("four_bar"), 1.0, Goal())


def test_prediction_keeps_within_bounds_and_reaches_its_reference() -> None:
    eqs = pliant.derive("cart_pole")
    limits = Limits(lower={"force": -3.0}, upper={"force": 3.0})
    controller = Predictive(
        eqs, ("cart", "pole"), lambda t: (0.5, 0.0), sample_time=0.04, horizon=25, change=1e-3, limits=limits
    )
    start = pliant.State(np.array([0.0, 0.15]), np.zeros(2))
    run = pliant.simulate(eqs, 4.0, start=start, controllers=controller)
    np.testing.assert_allclose(run.q[-1], [0.5, 0.0], atol=5e-3)
    assert abs(np.abs(run.inputs["force"]).max() - 3) < 1e-9
    assert len(controller.seconds) == 100
    assert controller.step_times.worst == max(controller.seconds)
    assert controller.step_times.setup > 0
    assert any("'force' at its upper limit of 3 N" in note for note in run.remarks)
    # with a little more room the force stays below the limit, though it is chosen with the limit in view: nothing was cut
    controller = Predictive(
        eqs, ("cart", "pole"), lambda t: (0.5, 0.0), sample_time=0.04, horizon=25, change=1e-3,
        limits=Limits(lower={"force": -4.0}, upper={"force": 4.0}),
    )  # fmt: skip
    run = pliant.simulate(eqs, 4.0, start=start, controllers=controller)
    assert np.abs(run.inputs["force"]).max() < 3.9
    assert not run.remarks


def test_predictions_are_prepared_before_the_first_sample() -> None:
    """Functions of the outputs are built on first use: that happens in `start`, and no command builds anything."""
    eqs = pliant.derive(pliant.load_text(pliant.dump(pliant.load("cart_pole"))))
    controller = Predictive(eqs, ("cart", "pole"), lambda t: (0.0, 0.0), sample_time=0.04, horizon=5)
    with pytest.raises(ValueError, match="no command was computed yet"):
        controller.step_times.median  # noqa: B018
    state = pliant.State(np.array([0.0, 0.05]), np.zeros(2))
    now = pliant.Now(0.0, state.q, state.v, eqs, {}, {})
    controller.start(now)
    built = dict(eqs.model._made)
    assert {"output_function", "output_jacobians"} <= built.keys()
    first = controller.command(now)
    assert eqs.model._made == built
    controller.start(now)
    assert controller.command(now) == first  # the preparation has no side effect


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Goal({"rail": float("nan")}), "Goal: rail must be a finite number"),
        (lambda: Goal(positions={"tip": [0.1, 0.2]}), "place of tip must have 3 entries"),
        (lambda: Goal(["rail"]), "Goal: coordinates must map names to numbers"),
        (lambda: Sphere([0, 0], 0.1, ("tip",)), "Sphere: center must have 3 entries"),
        (lambda: Sphere([0, 0, 0], -0.1, ("tip",)), "Sphere: radius must be a number at least 0"),
        (lambda: Sphere([0, 0, 0], 0.1, {"tip": -1.0}), "radius around tip must be a number at least 0"),
    ],
)
def test_goals_and_obstacles_that_make_no_sense(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
