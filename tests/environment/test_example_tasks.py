"""The tasks of `examples/learning`: rewards that motions by hand earn, ends of episodes, and contacts in the full simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant

pytest.importorskip("gymnasium")
import pliant.gym

FOLDER = Path(__file__).parents[2] / "examples" / "learning"
TOWARDS_THE_PILLAR = [8.0, 0, 4, 0, 2, 0]
SIDEWAYS = [0.0, 8, 0, 4, 0, 2]


# -- a trunk around a pillar --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trunk():
    return pliant.gym.make(FOLDER / "trunk.yaml", count=16, threads=1)


@pytest.mark.slow
def test_the_trunk_that_touches_the_pillar_ends_its_episode(trunk) -> None:
    """Half of the robots bend towards the pillar and touch it; the others bend sideways and do not."""
    assert trunk.fleet.engine == "straight-line code"
    assert trunk.fleet.q.dtype == np.float32
    trunk.reset(seed=0)
    pulls = np.array([TOWARDS_THE_PILLAR] * 8 + [SIDEWAYS] * 8)
    touched = np.zeros(16, dtype=bool)
    for _ in range(25):
        _, reward, ended, _, _ = trunk.step(pulls)
        gap = trunk.fleet.outputs("gap")["gap"]
        assert (reward[ended & ~touched] < 0.5).all()
        assert (gap > 0).all()  # episodes that ended have begun again
        touched |= ended
    np.testing.assert_array_equal(touched, np.arange(16) < 8)


@pytest.mark.slow
def test_the_gap_is_the_distance_of_the_surfaces(trunk) -> None:
    """Outputs against the places of all frames, and the reward of a trunk near the pillar."""
    trunk.reset(seed=0)
    trunk.fleet.step(np.array([TOWARDS_THE_PILLAR] * 16), 120)
    names = [f"trunk[{k}].{x}" for k in (1, 2, 3) for x in ("point[1]", "point[2]", "point[3]", "tip")]
    places = np.array([trunk.fleet.frame(name).position for name in names])
    found = trunk.fleet.outputs(["gap", "miss", "reward", "away_x", "away_y", "away_z", "pillar_side"])
    away = np.hypot(places[..., 0] - 0.06, places[..., 1] - found["pillar_side"])
    np.testing.assert_allclose(found["gap"], away.min(axis=0) - 0.032, atol=1e-6)
    np.testing.assert_allclose(found["miss"], np.sqrt(sum(found[f"away_{x}"] ** 2 for x in "xyz")), atol=1e-6)
    near = np.exp(-((found["miss"] / 0.02) ** 2)) + np.exp(-found["miss"] / 0.08)
    np.testing.assert_allclose(found["reward"], near - np.maximum(0, 1 - found["gap"] / 12e-3), atol=1e-5)
    assert (found["gap"] < 12e-3).any()


def test_goals_are_hidden_by_the_pillar() -> None:
    """The straight line from where the tip starts to each goal passes through the pillar."""
    eqs = pliant.derive(pliant.load(FOLDER / "trunk.yaml"))
    drawn = pliant.gym.PolicyController(eqs, "reach", lambda seen: seen[:6]).task.drawn
    random = np.random.default_rng(0)
    for _ in range(200):
        x, y, side = (random.uniform(*drawn[name]) for name in ("goal_x", "goal_y", "pillar_y"))
        along = np.linspace(0, 1, 200)
        assert np.hypot(along * x - 0.06, along * y - side).min() < 0.032


def test_contact_begins_where_the_gap_ends() -> None:
    """In the variant with the pillar as a surface, the trunk is pushed where the gap is negative, and nowhere else."""
    eqs = pliant.derive(pliant.load(FOLDER / "trunk.yaml@touching"))
    inputs = {f"pull[{k + 1}]": pull for k, pull in enumerate(TOWARDS_THE_PILLAR)}
    run = pliant.simulate(eqs, 0.8, inputs=inputs, save_every=0.01)
    gap, push = run["gap"].values, run["push"].values
    assert gap.min() < 0  # between the twelve points of the gap the trunk is nearer by less than half a millimetre
    assert (push[gap > 5e-4] == 0).all()
    assert (push[gap < -1e-5] > 0).all()
    assert push.max() > 0.1


# -- a gripper that picks up a ball -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grasp():
    return pliant.gym.make(FOLDER / "grasp.yaml", count=4, threads=1)


def by_hand(k: int, goal: np.ndarray) -> np.ndarray:
    """Close the fingers for half a second, then lift."""
    return np.stack([np.full(len(goal), 240e3), np.where(k < 12, 0.0, goal)], axis=1)


def test_the_ball_is_lifted_by_hand_and_not_without_grip(grasp) -> None:
    assert grasp.fleet.engine == "runtime"
    assert grasp.fleet.q.dtype == np.float64
    rewards = {}
    for squeeze in (True, False):
        grasp.reset(seed=0)
        goal = grasp.fleet.outputs("wanted")["wanted"]
        for k in range(70):
            actions = by_hand(k, goal) * [squeeze, 1]
            _, reward, ended, truncated, _ = grasp.step(actions)
            assert not (ended | truncated).any()
        rewards[squeeze] = reward
    assert (rewards[True] > 1.0).all()
    assert (rewards[False] < 0.4).all()


def test_a_grasp_is_that_of_a_simulation(grasp) -> None:
    """A robot of the environment moves as one that `simulate` steps with the same method, also after its episode was reset."""
    for _ in range(2):
        seen, _ = grasp.reset(seed=3)
        start = seen[:, 5].astype(float)
        for _ in range(15):
            seen, *_ = grasp.step(np.tile([240e3, 0.0], (4, 1)))
    place = grasp.fleet._parameters[
        :, [grasp.fleet.eqs.model.parameter_defaults[1][x] for x in ("ball_mass", "friction")]
    ]
    run = pliant.simulate(
        grasp.fleet.eqs,
        0.6,
        start={"flight.x": float(start[2])},
        parameters={"ball_mass": place[2, 0], "friction": place[2, 1]},
        inputs={"pressure": 240e3, "lift": 0.0},
        method=pliant.SemiImplicit(step=8e-3),
        save_at=[0.6],
    )
    assert run["grip"].values[-1] > 0.5
    names = grasp.observation_names
    for name, output in (("height", "height"), ("grip", "grip"), ("carried", "carried")):
        assert run[output].values[-1] == pytest.approx(seen[2, names.index(name)], abs=1e-5)
