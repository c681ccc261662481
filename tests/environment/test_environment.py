"""Environments on fleets: gymnasium's own checks of spaces and episodes, rewards against single simulations, draws that repeat."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.robot.learning_task import LearningTask

gymnasium = pytest.importorskip("gymnasium")
import pliant.gym  # noqa: E402

TEXT = LearningTask.example


@pytest.fixture(scope="module")
def environment():
    return pliant.gym.make(pliant.load_text(TEXT), count=12, precision="double")


def test_spaces_have_the_limits_of_the_inputs(environment) -> None:
    assert environment.single_action_space == gymnasium.spaces.Box(np.float32(-3), np.float32(3), (1,))
    assert environment.observation_names == ("hinge", "rate of hinge", "error")
    seen, _ = environment.reset(seed=3)
    assert environment.observation_space.contains(seen)
    seen, reward, ended, truncated, _ = environment.step(environment.action_space.sample())
    assert environment.observation_space.contains(seen)
    assert reward.shape == ended.shape == truncated.shape == (12,)


def test_a_seed_and_actions_repeat_an_episode(environment) -> None:
    def episode(seed: int) -> np.ndarray:
        seen, _ = environment.reset(seed=seed)
        actions = np.random.default_rng(0).uniform(-3, 3, (5, 12, 1))
        return np.array([seen, *(environment.step(a)[0] for a in actions)])

    np.testing.assert_array_equal(episode(5), episode(5))
    assert np.abs(episode(5)[0] - episode(6)[0]).max() > 0.01
    spread = episode(5)[0][:, 0]
    assert np.abs(spread).max() <= 0.5


def test_samples_are_those_of_a_simulation(environment) -> None:
    """A robot of the environment moves and is rewarded as one that `simulate` steps with the same method."""
    seen, _ = environment.reset(seed=1)
    goal = seen[:, 0] - seen[:, 2]
    action = np.linspace(-3, 3, 12)[:, None]
    seen, reward, *_ = environment.step(action)
    for k in (0, 7):
        eqs = pliant.derive(pliant.load_text(TEXT)).at(parameters={"goal": float(goal[k])})
        begin = environment.reset(seed=1)[0][k, :2].astype(float)
        run = pliant.simulate(
            eqs,
            0.02,
            start=pliant.State(begin[:1], begin[1:]),
            inputs={"torque": float(action[k, 0])},
            method=pliant.SemiImplicit(step=0.005),
            save_at=[0.02],
        )
        assert run["angle"].values[-1] == pytest.approx(seen[k, 0], abs=1e-6)
        assert run["reward"].values[-1] == pytest.approx(reward[k], abs=1e-6)


def test_episodes_end_by_time_and_begin_anew_in_the_same_step(environment) -> None:
    environment.reset(seed=2)
    for _ in range(149):
        *_, ended, truncated, infos = environment.step(np.zeros((12, 1)))
        assert not truncated.any()
        assert not ended.any()
        assert not infos
    seen, _, ended, truncated, infos = environment.step(np.zeros((12, 1)))
    assert truncated.all()
    assert not ended.any()
    assert infos["_final_obs"].all()
    assert np.abs(infos["final_obs"][:, 1]).max() > 1e-3
    assert not seen[:, 1].any()  # at rest, at its new start


def test_an_output_above_zero_ends_the_episode() -> None:
    text = TEXT.replace("outputs:\n", "outputs:\n  far: {expression: =angle/(1 rad) - 0.2}\n").replace(
        "    reward: reward\n", "    reward: reward\n    end: far\n"
    )
    environment = pliant.gym.make(pliant.load_text(text), count=64, precision="double")
    environment.reset(seed=0)
    _, _, ended, _, infos = environment.step(np.zeros((64, 1)))
    np.testing.assert_array_equal(ended, infos["final_obs"][:, 0] > 0.2)
    assert 5 < ended.sum() < 40


def test_a_policy_is_a_controller_of_simulate() -> None:
    spec = pliant.load_text(TEXT)
    eqs = pliant.derive(spec)
    seen = []

    def policy(observed: np.ndarray) -> np.ndarray:
        seen.append(observed)
        return -20 * observed[2:] - 4 * observed[1:2]

    controller = pliant.gym.PolicyController(eqs, "reach", policy)
    run = pliant.simulate(eqs, 3.0, parameters={"goal": 0.2}, controllers=controller)
    assert len(seen) == 150
    assert abs(run["error"].values[-1]) < 0.06  # a proportional law sags by gravity


def test_a_picture_is_an_array() -> None:
    environment = pliant.gym.make(pliant.load_text(TEXT), count=4, render_mode="rgb_array")
    environment.reset(seed=0)
    (picture,) = environment.render()
    assert picture.dtype == np.uint8
    assert picture.shape == (480, 640, 3)
    assert (picture < 128).any()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", minimum: -3 N*m", "", "no limits, so the space of actions has none"),
        ("reward: reward", "reward: rewards", "there is no output 'rewards'"),
        ("step: 5 ms", "step: 7 ms", "must be a multiple of `step`"),
        ("minimum: -0.3 rad", "minimum: -0.3 m", "expected a plain number or angle, got a length"),
        ("parameter: goal", "parameter: torque", "is an input and cannot be drawn"),
        ("coordinate: hinge, spread", "coordinate: hinges, spread", "there is no coordinate 'hinges'"),
    ],
)
def test_tasks_that_make_no_sense_are_faults(old: str, new: str, message: str) -> None:
    assert old in TEXT
    text = TEXT.replace("    observations: [error]", "    actions: [torque]\n    observations: [error]").replace(
        old, new
    )
    with pytest.raises(pliant.SpecError) as found:
        pliant.load_text(text)
    assert message in str(found.value)


def test_a_robot_without_a_task_is_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="has no tasks"):
        pliant.gym.make("pendulum")
    with pytest.raises(pliant.ArgumentError, match="did you mean 'reach'"):
        pliant.gym.make(pliant.load_text(TEXT), "reech")


LOOP = (
    TEXT.replace("bodies:", "bodies:\n  weight: {mass: 1 kg}\n ")
    .replace("{rod: {mass: 1 kg", "rod: {mass: 1 kg")
    .replace(
        "axis: z}}}\njoints: {hinge",
        "axis: z}}\njoints:\n  rail: {type: prismatic, child: weight, axis: x, displacement: {motion: 0 m}}\n  hinge",
    )
    .replace("damper: 0.2 N*m*s/rad}}}", "damper: 0.2 N*m*s/rad}}")
)


def test_starts_that_would_break_constraints_are_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="initial states cannot be sampled for robots with closed loops"):
        pliant.gym.make(pliant.load_text(LOOP), count=2)


def test_a_policy_for_an_unknown_task_is_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="did you mean 'reach'"):
        pliant.gym.PolicyController(pliant.derive(pliant.load_text(TEXT)), "reech", lambda seen: seen)
