"""Following a planned motion: feedback whose gains change along it, from the linear equations about the plan."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from pliant.analysis.linearize import linearize
from pliant.analysis.motion.events import Now
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.control.discrete import DiscreteStateSpace, held
from pliant.control.feedback import Actuation
from pliant.control.limits import Limits, named
from pliant.control.lqr import Regulator, Weights, weight_matrix
from pliant.control.task import Task, check_task, refuse_at_rest_only
from pliant.control.trajectory import Trajectory
from pliant.engine.equations import Equations, Values
from pliant.engine.state import State


@dataclass
class Tracking:
    """u = u(t) - K(t) (x - x(t)) along a plan, and the regulator `hold` after its end.

    Gains are those of the time-varying quadratic regulator for the weights on states and inputs (as in `lqr`), computed
    backwards from the cost of the regulator of the final state.

    Attributes:
        task, integral: the error of this task that an inexact model leaves is fed back through its integral with this rate
        [1/s].
        seconds: computation time of each command [s].
    """

    equations: Equations
    trajectory: Trajectory
    hold: Regulator
    states: Weights = 1.0
    inputs: Weights = 1.0
    sample_time: float = 0.01
    limits: Limits | None = None
    parameters: Values | None = None
    task: Task | None = None
    integral: float = 0.0
    name: str = "tracking"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.trajectory.status != "converged":
            raise ValueError(f"{named(self)}: there is no trajectory to follow: {self.trajectory.message}")
        names = self.trajectory.input_names
        self._group = ConfigurationGroup(self.equations.model.system)
        self._actuation = Actuation(self.equations, names, self.limits, self.sample_time)
        count = int(np.ceil(self.trajectory.time[-1] / self.sample_time - 1e-9))
        rates = self.equations.rates
        labels = rates + tuple(f"d({x})/dt" for x in rates)
        Q = weight_matrix(self.states, labels, "state", 0.0) * self.sample_time
        R = weight_matrix(self.inputs, names, "input", 1.0) * self.sample_time
        # the cost of a sampled regulator is a sum over samples, here an integral over time
        design = self.hold.linear
        P = self.hold.cost * (design.sample_time if isinstance(design, DiscreteStateSpace) else 1.0)
        self.gains = [self.hold.gain] * count
        if self.task is not None:
            check_task(self.equations, self.task)
            refuse_at_rest_only(self.task, named(self))
        plant = self.hold.plant
        self._push = [self._through(plant.state.q, *held(plant.A, plant.B, self.sample_time), self.hold.gain)] * (
            count + 1
        )
        for k in reversed(range(count)):
            q, v, u = self.trajectory.at((k + 0.5) * self.sample_time)
            about = linearize(
                self.equations, at=State(q, v), inputs=dict(zip(names, u, strict=True)), parameters=self.parameters,
                independent=rates,
            ).select(inputs=names)  # fmt: skip
            A, B = held(about.A, about.B, self.sample_time)
            gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
            P = Q + A.T @ P @ (A - B @ gain)
            P = 0.5 * (P + P.T)
            self.gains[k], self._push[k] = gain, self._through(q, A, B, gain)

    def _through(self, q: np.ndarray, A: np.ndarray, B: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """The smallest steady change of the inputs per steady change of the task (m x k), including the feedback."""
        if self.task is None or not self.integral:
            return np.zeros((B.shape[1], 0))
        J = self.task.jacobian(self.equations, q, self.parameters)
        states = np.linalg.solve(np.eye(len(A)) - A + B @ gain, B)
        return np.linalg.pinv(J @ states[: J.shape[1]], rcond=1e-6)

    def start(self, now: Now) -> None:
        """Reset the internal state."""
        self._begin = now.t
        self._actuation.reset(self.trajectory.inputs[0])
        self._sum: np.ndarray | float = 0.0
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The planned inputs, corrected for the deviation from the plan."""
        begin = time.perf_counter()
        t = now.t - self._begin
        k = min(round(t / self.sample_time), len(self.gains))
        q, v, _ = self.trajectory.at(t)
        if k < len(self.gains):
            # a constant command is equivalent to the plan's mean over its sample
            u, gain = self.trajectory.at(t + 0.5 * self.sample_time)[2], self.gains[k]
        else:
            u, gain = self.hold.plant.input_values, self.hold.gain
        x = np.concatenate([self._group.difference(q, now.q), now.v - v])
        wanted = u - gain @ x
        if self.task is not None and self.integral:
            wanted = wanted + self._push[k] @ (self.integral * self._learn(q, v, now))
        command = self._actuation(now.t, wanted)
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(self.trajectory.input_names, command.tolist(), strict=True))

    def _learn(self, q: np.ndarray, v: np.ndarray, now: Now) -> np.ndarray:
        """Integral of the task's error; it is held while commands are saturated."""
        assert self.task is not None
        wanted = self.task.motion(self.equations, q, v, None, self.parameters).value
        error = wanted - self.task.motion(now.equations, now.q, now.v, None, now.parameters).value
        if not self._actuation.short:
            self._sum = self._sum + self.sample_time * error
        return np.asarray(self._sum + np.zeros_like(error))

    def notes(self) -> list[str]:
        """Warnings of a run."""
        return self._actuation.shortfalls.notes(named(self))
