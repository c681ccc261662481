"""Numerical form of a task: names, bounds and sizes of observations and actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.analysis.motion.sampled_control import Controller, Now
from pliant.control.limits import Limits, actuator_limits
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe, suggestion
from pliant.robot.learning_task import LearningTask


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
        actions=actions,
        lower=lower,
        upper=upper,
        observations=task.observations,
        observe_state=task.observe_state,
        reward=task.reward,
        end=task.end,
        sample_time=sample_time,
        step=step,
        samples=round(number(task.duration) / sample_time),
        substeps=round(sample_time / step),
        drawn={given.parameter: (number(given.minimum), number(given.maximum)) for given in task.randomize},
        spread=spread,
        failure=number(task.failure),
    )


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
