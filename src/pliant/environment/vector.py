"""A vector environment of gymnasium whose robots are a fleet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from pliant.analysis.derivation.derive import derive
from pliant.engine.equations import Equations
from pliant.environment.episode import Episode, episode, named_task
from pliant.fleet.fleet import Fleet, to_numpy
from pliant.language.arguments import ArgumentError
from pliant.robot.learning_task import LearningTask
from pliant.robot.robot import RobotSpec
from pliant.show.sketch import sketch


def make(
    robot: RobotSpec | Equations | str | Path,
    task: str | LearningTask | None = None,
    *,
    count: int = 1024,
    device: Literal["cpu", "cuda"] = "cpu",
    precision: Literal["double", "single"] | None = None,
    render_mode: str | None = None,
    threads: int | None = None,
) -> FleetEnvironment:
    """The environment of a task of a robot.

    robot: a model file, the name of a bundled robot, a RobotSpec, or equations. task: the name of one of the model's tasks, which
    may be omitted if there is only one, or a task created in Python. count: number of robots. device, precision and threads are
    those of the `Fleet`; by default, precision is single, and double for robots that the runtime steps, such as those with
    contacts. render_mode: "rgb_array" for `render`.
    """
    eqs = robot if isinstance(robot, Equations) else derive(robot)
    return FleetEnvironment(
        eqs,
        named_task(eqs, task),
        count=count,
        device=device,
        precision=precision,
        render_mode=render_mode,
        threads=threads,
    )


class FleetEnvironment(gymnasium.vector.VectorEnv):
    """Many robots with one task, with the interface of gymnasium's vector environments.

    Actions are inputs in SI units within their limits (`single_action_space`); observations are coordinates, rates and outputs in
    SI units, in the order of `observation_names`. Episodes that end restart in the same step: `infos["final_obs"]` has the
    last observations of those that `infos["_final_obs"]` marks. Arrays are NumPy's on the CPU and CuPy's on a GPU. Episodes are
    drawn from `reset(seed=...)`; the same seed and actions give the same numbers.
    """

    metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 (gymnasium's own)

    def __init__(
        self,
        eqs: Equations,
        task: LearningTask,
        *,
        count: int,
        device: Literal["cpu", "cuda"] = "cpu",
        precision: Literal["double", "single"] | None = None,
        render_mode: str | None = None,
        threads: int | None = None,
    ) -> None:
        """The robots of the fleet, at the start of their first episodes; `reset` draws these. See `make`."""
        self.task: Episode = episode(eqs, task)
        drawn = {name: np.full(count, eqs.parameters[name]) for name in self.task.drawn}
        self.fleet = Fleet(
            eqs,
            count,
            device=device,
            precision=precision,
            method=task.method,
            step=self.task.step,
            inputs=self.task.actions,
            parameters=drawn,
            threads=threads,
        )
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
