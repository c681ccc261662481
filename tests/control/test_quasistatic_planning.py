"""Plans of slow motions: equilibria that reach a goal, satisfy bounds, and avoid obstacles."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import (
    Coordinates,
    FramePosition,
    Goal,
    Limits,
    Several,
    Sphere,
    Tracking,
    Trajectory,
    discretize,
    lqr,
    plan_slow,
)
from pliant.control.quasistatic import _Search
from pliant.control.static_model import StaticModel

PRESSURES = {"p1": 40e3, "p2": 5e3, "p3": 70e3}
"""Three pressures for three components of the tip's place: the goal below has no other solution nearby."""
HIGHEST = 120e3


@pytest.fixture(scope="module")
def soft() -> pliant.Equations:
    return pliant.derive("stiff_flop")


@pytest.fixture(scope="module")
def target(soft: pliant.Equations) -> np.ndarray:
    return pliant.equilibrium(soft, inputs=PRESSURES).frames["tip"].position


@pytest.fixture(scope="module")
def limits(soft: pliant.Equations) -> Limits:
    return Limits(dict.fromkeys(soft.inputs, 0.0), dict.fromkeys(soft.inputs, HIGHEST))


@pytest.fixture(scope="module")
def free(soft: pliant.Equations, target: np.ndarray, limits: Limits) -> Trajectory:
    return plan_slow(soft, 2.0, Goal(positions={"tip": target}), limits=limits)


def tip(eqs: pliant.Equations, q: np.ndarray) -> np.ndarray:
    return eqs.frame("tip", q).position


def test_the_goal_is_reached_with_the_only_pressures_that_hold_it(
    soft: pliant.Equations, free: Trajectory, target: np.ndarray
) -> None:
    assert free.status == "converged"
    np.testing.assert_allclose(tip(soft, free.q[-1]), target, atol=1e-6)
    np.testing.assert_allclose(free.inputs[-1], list(PRESSURES.values()), atol=0.001 * HIGHEST)


def test_every_pose_is_at_rest_and_the_rates_are_those_of_the_path(soft: pliant.Equations, free: Trajectory) -> None:
    for k in (0, 25, 60):
        rest = pliant.equilibrium(soft, inputs=dict(zip(free.input_names, free.inputs[k].tolist(), strict=True)))
        np.testing.assert_allclose(free.q[k], rest.q, atol=1e-6 * np.abs(free.q).max())
    middle = (free.q[31] - free.q[29]) / (free.time[31] - free.time[29])
    np.testing.assert_allclose(free.v[30], middle, atol=5e-3 * np.abs(middle).max())
    for end in (0, -1):
        assert np.abs(free.v[end]).max() < 1e-9 * np.abs(free.v).max()


def test_an_obstacle_on_the_way_is_passed(
    soft: pliant.Equations, free: Trajectory, target: np.ndarray, limits: Limits
) -> None:
    """The tip with its own radius avoids a ball that the free path passes through."""
    ball = Sphere(tip(soft, free.q[30]) + [5e-4, 0, 0], 0.002, {"tip": 0.001})
    assert ball.clearance(soft, free.q[30]) == pytest.approx(-0.0025, abs=1e-9)
    around = plan_slow(soft, 2.0, Goal(positions={"tip": target}), limits=limits, obstacles=[ball])
    assert around.status == "converged"
    # the clearance is checked at stations, and may be slightly smaller between them
    assert min(ball.clearance(soft, q) for q in around.q) > -1e-4
    assert around.cost > free.cost
    assert around.inputs.min() >= 0
    assert around.inputs.max() <= HIGHEST
    np.testing.assert_allclose(tip(soft, around.q[-1]), target, atol=1e-6)


def test_derivatives_of_the_program_are_exact(soft: pliant.Equations, target: np.ndarray, limits: Limits) -> None:
    ball = Sphere(0.5 * target, 0.002, ("tip", "sensor"))
    search = _Search(soft, Goal({"arm.bend_x[1]": 0.1}, {"tip": target}), soft.inputs, limits, [ball], (4, 6), None)
    search.begin({}, None)
    w = (search.guess / search.scale).ravel()
    goal, by_goal, gaps, by_gaps = search._walk(w)
    direction, h = np.random.default_rng(3).normal(size=w.size), 1e-5
    ahead, behind = search._walk(w + h * direction), search._walk(w - h * direction)
    assert len(goal) == 4
    assert len(gaps) == 12
    np.testing.assert_allclose(by_goal @ direction, (ahead[0] - behind[0]) / (2 * h), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_gaps @ direction, (ahead[2] - behind[2]) / (2 * h), rtol=1e-6, atol=1e-7)


def test_what_cannot_be_planned_is_said(soft: pliant.Equations, target: np.ndarray, limits: Limits) -> None:
    far = plan_slow(soft, 2.0, Goal(positions={"tip": [0.1, 0, 0]}), limits=limits, iterations=8)
    assert far.status == "failed"
    assert "allow more time" in far.message
    goal = Goal(positions={"tip": target})
    with pytest.raises(ValueError, match="'p1' starts at -1, outside its bounds"):
        plan_slow(soft, 2.0, goal, limits=limits, start={"p1": -1.0})
    with pytest.raises(ValueError, match="ends at rest"):
        plan_slow(soft, 2.0, Goal(positions={"tip": target}, at_rest=False))
    with pytest.raises(KeyError, match="unknown input 'p9'"):
        plan_slow(soft, 2.0, goal, inputs=("p9",))


def test_a_path_too_quick_for_the_actuators_says_how_long_it_takes(
    soft: pliant.Equations, target: np.ndarray, limits: Limits, free: Trajectory
) -> None:
    column = free.inputs[:, free.input_names.index("p3")]
    quickest = float(np.abs(np.diff(column) / np.diff(free.time)).max())
    slower = Limits(limits.lower, limits.upper, {"p3": quickest / 2})
    with pytest.raises(ValueError, match=r"'p3' at .* per second, above its rate of .*; give it 4 s or more"):
        plan_slow(soft, 2.0, Goal(positions={"tip": target}), limits=slower)
    assert plan_slow(soft, 4.01, Goal(positions={"tip": target}), limits=slower).status == "converged"


def test_several_tasks_are_one(soft: pliant.Equations) -> None:
    model = StaticModel(soft, FramePosition("tip", "xy"), None, None, None)
    model.reset({"p1": 30e3})
    parts = Several((FramePosition("tip", "x"), FramePosition("tip", "y"), Coordinates(("arm.bend_x[1]",))))
    q, v = model.q, np.linspace(0, 1, len(soft.rates))
    both, one = (task.motion(soft, q, v, 0 * v, None) for task in (parts, FramePosition("tip", "xy")))
    for name in ("value", "rate", "acceleration"):
        np.testing.assert_array_equal(getattr(both, name)[:2], getattr(one, name))
    assert both.rate[2] == v[soft.rates.index("arm.bend_x[1]")]
    J = parts.jacobian(soft, q, None)
    np.testing.assert_allclose(J @ v, both.rate)


def test_tracking_learns_what_a_wrong_model_misses(
    soft: pliant.Equations, free: Trajectory, target: np.ndarray
) -> None:
    there = pliant.linearize(
        soft, at=free.final, inputs=dict(zip(free.input_names, free.inputs[-1].tolist(), strict=True)),
        independent=soft.rates,
    )  # fmt: skip
    hold = lqr(discretize(there, 0.02), states=1e-6, inputs=1e-6)
    stiffer = {"youngs_modulus": 1.2 * soft.parameters["youngs_modulus"]}
    left = {}
    for integral in (0.0, 4.0):
        controller = Tracking(
            soft, free, hold, states=1e-6, inputs=1e-6, sample_time=0.02, task=FramePosition("tip"), integral=integral
        )
        run = pliant.simulate(
            soft, 4.0, start=pliant.equilibrium(soft, parameters=stiffer), parameters=stiffer, controllers=controller,
            method=pliant.GeneralizedAlpha(step=0.005),
        )  # fmt: skip
        left[integral] = np.linalg.norm(run["tip"].values[-1] - target)
        assert len(controller.seconds) == 200
    assert left[0.0] > 1e-3
    assert left[4.0] < 0.01 * left[0.0]
