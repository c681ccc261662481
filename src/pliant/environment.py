"""Numerical form of a task: names, bounds and sizes of observations and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.sampled_control import Controller, Now
from pliant.control.limits import Limits, actuator_limits
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.fleet.fleet import Fleet, to_numpy
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe, suggestion
from pliant.robot.learning_task import LearningTask
from pliant.robot.robot import RobotSpec
from pliant.show.sketch import sketch


@dataclass(frozen=True)
class Episode:
    """A task of a robot in SI units.

    Attributes:
        actions: inputs that the policy sets, with their bounds `lower` and `upper`.
        observations, reward, end: names of outputs; end is None if episodes do not end early.
        observe_state: whether coordinates and rates are observed, before the outputs.
        sample_time, step: between actions and of the integration [s].
        samples, substeps: number of samples of an episode, and of steps in a sample.
        drawn: smallest and largest value of each parameter that differs between episodes.
        spread: of coordinates at the start (nq).
        failure: reward of a sample in which the motion diverges.
    """

    actions: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    observations: tuple[str, ...]
    observe_state: bool
    reward: str
    end: str | None
    sample_time: float
    step: float
    samples: int
    substeps: int
    drawn: dict[str, tuple[float, float]]
    spread: np.ndarray
    failure: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """All required outputs, each once."""
        ends = () if self.end is None else (self.end,)
        return tuple(dict.fromkeys((*self.observations, self.reward, *ends)))


def episode(eqs: Equations, task: LearningTask) -> Episode:
    """The task in numbers, at the current parameters; rejects a task that does not suit this robot."""

    environment = eqs.model.environment_with(eqs.given_parameters)

    def number(scalar: Any) -> float:
        return float(environment.value(scalar))

    actions = task.actions or eqs.model.actuators
    lower, upper = actuator_limits(eqs, actions, Limits()).bounds(actions)
    for name, low, high in zip(actions, lower, upper, strict=True):
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ArgumentError(
                f"the input '{name}' has no limits, so the space of actions has none",
                "give its parameter a `minimum` and a `maximum`",
            )
    if task.start and (eqs.model.system.rows or eqs.model.system.quaternions()):
        raise ArgumentError(
            "initial states cannot be sampled for robots with closed loops, prescribed motions or free rotations",
            "remove `start` from the task",
        )
    spread = np.zeros(len(eqs.coordinates))
    check_names("coordinate", [given.coordinate for given in task.start], eqs.coordinates)
    for given in task.start:
        spread[eqs.coordinates.index(given.coordinate)] = number(given.spread)
    sample_time, step = number(task.sample_time), number(task.step)
    return Episode(
        actions=actions, lower=lower, upper=upper, observations=task.observations, observe_state=task.observe_state,
        reward=task.reward, end=task.end, sample_time=sample_time, step=step,
        samples=round(number(task.duration) / sample_time), substeps=round(sample_time / step),
        drawn={given.parameter: (number(given.minimum), number(given.maximum)) for given in task.randomize},
        spread=spread, failure=number(task.failure),
    )  # fmt: skip


def named_task(eqs: Equations, given: str | LearningTask | None) -> LearningTask:
    """A task of the robot by its name, the only one if none is named, or the given task."""
    known = eqs.model.spec.task
    if isinstance(given, LearningTask):
        return given
    if given is None and len(known) == 1:
        return next(iter(known.values()))
    if given is None:
        which = f"name one of {', '.join(known)}" if known else "add `task` to the model, or give a LearningTask"
        raise ArgumentError(f"the robot has {len(known) or 'no'} tasks", which)
    if not isinstance(given, str):
        raise ArgumentError(f"a task cannot be {describe(given)}", "give its name, or a LearningTask")
    if given not in known:
        raise ArgumentError(
            f"the robot has no task '{given}'", suggestion(given, known, f"known: {', '.join(known) or 'none'}")
        )
    return known[given]


class PolicyController(Controller):
    """Sets the actions of a task from its observations, as in the environment.

    policy: actions (in SI units) from one observation, both as arrays in one dimension.
    """

    def __init__(self, eqs: Equations, task: LearningTask | str, policy: Callable[[np.ndarray], np.ndarray]) -> None:
        self.equations = eqs
        self.task = episode(eqs, named_task(eqs, task))
        self.policy = policy
        self.sample_time = self.task.sample_time

    def start(self, now: Now) -> None:
        """There is no memory between samples."""

    def command(self, now: Now) -> dict[str, float]:
        """The policy's actions, within their limits."""
        state = [now.q, now.v] if self.task.observe_state else []
        values = now.outputs if self.task.observations else {}
        outputs = [np.atleast_1d(values[name]) for name in self.task.observations]
        seen = np.concatenate([*state, *outputs]).astype(np.float32)
        actions = np.clip(self.policy(seen), self.task.lower, self.task.upper)
        return dict(zip(self.task.actions, np.asarray(actions, dtype=float).tolist(), strict=True))


class FleetEnvironment(gymnasium.vector.VectorEnv):
    """Many robots with one task, with the interface of gymnasium's vector environments.

    Actions are inputs in SI units within their limits (`single_action_space`); observations are coordinates, rates and outputs in
    SI units, in the order of `observation_names`. Episodes that end restart in the same step: `infos["final_obs"]` has the
    last observations of those that `infos["_final_obs"]` marks. Arrays are NumPy's on the CPU and CuPy's on a GPU. Episodes are
    drawn from `reset(seed=...)`; the same seed and actions give the same numbers.
    """

    metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 (gymnasium's own)

    def __init__(
        self, robot: RobotSpec | Equations | str | Path, task: str | LearningTask | None = None, *, count: int = 1024,
        device: Literal["cpu", "cuda"] = "cpu", precision: Literal["double", "single"] | None = None,
        render_mode: str | None = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        """The environment of a task of a robot, at the start of first episodes; `reset` draws these.

        robot: a model file, the name of a bundled robot, a RobotSpec, or equations. task: the name of one of the model's tasks,
        which may be omitted if there is only one, or a task created in Python. count: number of robots. device, precision and
        threads are those of the `Fleet`; by default, precision is single, and double for robots that the runtime steps, such as
        those with contacts. render_mode: "rgb_array" for `render`.
        """
        eqs = robot if isinstance(robot, Equations) else derive(robot)
        given = named_task(eqs, task)
        self.task: Episode = episode(eqs, given)
        drawn = {name: np.full(count, eqs.parameters[name]) for name in self.task.drawn}
        self.fleet = Fleet(
            eqs, count, device=device, precision=precision, method=given.method, step=self.task.step,
            inputs=self.task.actions, parameters=drawn, threads=threads,
        )  # fmt: skip
        self.num_envs, self.render_mode = count, render_mode
        self._sizes = {name: _size(x) for name, x in self.fleet.outputs(self.task.outputs).items()}
        for name in (self.task.reward, *(() if self.task.end is None else (self.task.end,))):
            if self._sizes[name] != 1:
                raise ArgumentError(f"the output '{name}' is a vector, not a number", "add an output for its length")
        box = gymnasium.spaces.Box
        self.single_action_space = box(self.task.lower.astype(np.float32), self.task.upper.astype(np.float32))
        self.single_observation_space = box(-np.inf, np.inf, (len(self.observation_names),), np.float32)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, count)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, count)
        self._samples = self._own(np.zeros(count, dtype=np.int64))

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Names of the entries of an observation: coordinates, rates, and components of outputs."""
        eqs, task = self.fleet.eqs, self.task
        state = (*eqs.coordinates, *(f"rate of {name}" for name in eqs.rates)) if task.observe_state else ()
        outputs = (
            f"{name}[{k + 1}]" if self._sizes[name] > 1 else name
            for name in task.observations
            for k in range(self._sizes[name])
        )
        return (*state, *outputs)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes for all robots, or for those of `options["reset_mask"]`; returns observations and an empty
        dictionary."""
        if seed is not None:
            self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(seed)
        mask = None if options is None else options.get("reset_mask")
        which = np.arange(self.num_envs) if mask is None else np.flatnonzero(to_numpy(mask))
        self._begin(which)
        return self._observed(self._outputs()), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Hold the actions (count x actions) for a sample; observations, rewards, ends, ends by time, and infos.

        Actions beyond the limits are clipped.
        """
        xp, task = self._arrays, self.task
        held = xp.clip(self._own(actions), self._own(task.lower), self._own(task.upper))
        self.fleet.step(held, task.substeps)
        self._samples += 1
        outputs = self._outputs()
        failed = xp.asarray(self.fleet.failed) | ~xp.isfinite(outputs[task.reward])
        ended = failed if task.end is None else failed | (outputs[task.end] > 0)
        rewards = xp.where(failed, task.failure, outputs[task.reward])
        truncated = (self._samples >= task.samples) & ~ended
        observed, infos = self._observed(outputs), {}
        over = to_numpy(ended | truncated)
        if over.any():
            infos = {"final_obs": observed.copy(), "_final_obs": over}
            self._begin(np.flatnonzero(over))
            observed = self._observed(self._outputs())
        return observed, rewards, ended, truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of the first robot (height x width x 3, 8 bit), if `render_mode` is "rgb_array"."""
        if self.render_mode != "rgb_array":
            return None
        return (picture(self.fleet, 0),)

    def close_extras(self, **kwargs: Any) -> None:
        """There is nothing to close."""

    # -- helpers --------------------------------------------------------------------------------------------------------------

    @property
    def _arrays(self) -> Any:
        """NumPy or CuPy, according to the fleet's arrays."""
        if isinstance(self.fleet.q, np.ndarray):
            return np
        import cupy

        return cupy

    def _own(self, values: Any) -> Any:
        return self._arrays.asarray(values)

    def _begin(self, which: np.ndarray) -> None:
        """Begin new episodes of these robots."""
        task, random = self.task, self.np_random
        drawn = {name: random.uniform(low, high, len(which)) for name, (low, high) in task.drawn.items()}
        if drawn:
            self.fleet.set_parameters(drawn, which)
        self.fleet.reset(which)
        rows = self._own(which)
        if task.spread.any():
            q = self.fleet.q
            away = random.uniform(-1, 1, (len(which), len(task.spread))) * task.spread
            q[rows] = q[rows] + self._own(away).astype(q.dtype)
        self._samples[rows] = 0

    def _outputs(self) -> dict[str, Any]:
        return self.fleet.outputs(self.task.outputs)

    def _observed(self, outputs: Mapping[str, Any]) -> Any:
        xp, fleet = self._arrays, self.fleet
        state = [fleet.q, fleet.v] if self.task.observe_state else []
        seen = [outputs[name].reshape(self.num_envs, -1) for name in self.task.observations]
        none = xp.zeros((self.num_envs, 0))  # a task may observe nothing
        found = xp.concatenate([none, *state, *seen], axis=1).astype(np.float32)
        return xp.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)  # robots that have diverged


make = FleetEnvironment


def _size(values: Any) -> int:
    return 1 if values.ndim == 1 else int(values.shape[1])


def picture(fleet: Fleet, robot: int) -> np.ndarray:
    """A picture of the current state of a robot (height x width x 3, 8 bit)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = FigureCanvasAgg(figure)
    inputs = dict(zip(fleet.input_names, to_numpy(fleet.inputs)[robot].tolist(), strict=True))
    q = np.asarray(to_numpy(fleet.q)[robot], dtype=float)
    sketch(fleet.eqs, q, inputs=inputs, ax=figure.add_subplot(), labels=False, frames=False)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
