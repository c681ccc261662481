"""A trained policy as a controller of `simulate`, with its adaptive steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.control.learning_task import LearningTask
from pliant.environment.episode import episode, named_task
from pliant.equations.equations import Equations
from pliant.solve.motion.sampled_control import Controller, Now


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
