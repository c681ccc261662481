"""Following a planned motion: feedback whose gains change along it, from the linear equations about the plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.control.discrete import held
from pliant.control.feedback import Actuation
from pliant.control.limits import Limits
from pliant.control.lqr import Regulator, Weights, weight_matrix
from pliant.control.trajectory import Trajectory
from pliant.equations.equations import Equations, Values
from pliant.solve.integrator.group import Group
from pliant.solve.linear import linearize
from pliant.solve.state import State
from pliant.solve.watch import Now


@dataclass
class Tracking:
    """u = u(t) - K(t) (x - x(t)) along a plan, and the regulator `hold` after its end.

    Gains are those of the time-varying quadratic regulator for the weights on states and inputs (as in `lqr`), found
    backwards from the cost of the regulator that holds the end.
    """

    equations: Equations
    trajectory: Trajectory
    hold: Regulator
    states: Weights = 1.0
    inputs: Weights = 1.0
    sample_time: float = 0.01
    limits: Limits | None = None
    parameters: Values | None = None
    name: str = "tracking"

    def __post_init__(self) -> None:
        names = self.trajectory.input_names
        self._group = Group(self.equations.model.system)
        self._actuation = Actuation(names, self.limits, self.sample_time)
        count = int(np.ceil(self.trajectory.time[-1] / self.sample_time - 1e-9))
        rates = self.equations.rates
        labels = rates + tuple(f"d({x})/dt" for x in rates)
        Q = weight_matrix(self.states, labels, "state", 0.0) * self.sample_time
        R = weight_matrix(self.inputs, names, "input", 1.0) * self.sample_time
        P = self.hold.cost
        self.gains = [self.hold.gain] * count
        for k in reversed(range(count)):
            q, v, u = self.trajectory.at((k + 0.5) * self.sample_time)
            about = linearize(
                self.equations, at=State(q, v), inputs=dict(zip(names, u, strict=True)), parameters=self.parameters,
                independent=rates,
            )  # fmt: skip
            A, B = held(about.A, about.B, self.sample_time)
            gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
            P = Q + A.T @ P @ (A - B @ gain)
            P = 0.5 * (P + P.T)
            self.gains[k] = gain

    def start(self, now: Now) -> None:
        """Forget the last run."""
        self._begin = now.t
        self._actuation.reset(self.trajectory.inputs[0])

    def command(self, now: Now) -> dict[str, float]:
        """The planned inputs, corrected for the deviation from the plan."""
        t = now.t - self._begin
        k = round(t / self.sample_time)
        q, v, _ = self.trajectory.at(t)
        if k < len(self.gains):
            # a held command does the work of the plan's mean over its sample
            u, gain = self.trajectory.at(t + 0.5 * self.sample_time)[2], self.gains[k]
        else:
            u, gain = self.hold.plant.input_values, self.hold.gain
        x = np.concatenate([self._group.difference(q, now.q), now.v - v])
        command = self._actuation(u - gain @ x)
        return dict(zip(self.trajectory.input_names, command.tolist(), strict=True))

    def notes(self) -> list[str]:
        """What a user should know after a run."""
        return self._actuation.notes()
