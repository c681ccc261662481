"""Control by constraints: a prescribed path as a constraint whose forces the actuators provide.

The acceleration of the task is prescribed, that of the path plus feedback of the error, and the equations of motion are
solved for the inputs in place of constraint forces. With plain coordinates as the task it is the computed-torque method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.analysis.linearize import StateSpace
from pliant.analysis.motion.events import Now
from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.control.discrete import held_commands
from pliant.control.limits import SHORT, DesignError, Limits, Shortfalls, actuator_limits, closest_inputs, named
from pliant.control.pid import Pid
from pliant.control.task import Reference, Task, check_task, refuse_at_rest_only
from pliant.engine.equations import Equations, Values, with_independent_rows
from pliant.engine.state import State

GROWING = 1e-3
"""Errors that grow by less than this fraction per sample are attributed to feedback without damping."""


def error_growth(feedback: Pid, size: int, sample_time: float, delay: float) -> float:
    """The largest pole per sample of errors whose acceleration is fed back, held between samples and delayed [s]."""
    gains = [
        np.broadcast_to(np.asarray(x, dtype=float), size)
        for x in (feedback.proportional, feedback.derivative, feedback.integral)
    ]
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    free = StateSpace(
        A, B, np.eye(2), np.zeros((2, 1)), ("error", "rate"), ("acceleration",), ("error", "rate"), ("error",),
        State(np.zeros(1), np.zeros(1)), np.zeros(1), 0.0,
    )  # fmt: skip
    sampled = held_commands(free, sample_time, delay)
    n, largest = len(sampled.A), 0.0
    for p, d, i in zip(*gains, strict=True):
        # states: the error, its rate, pending commands; then the integral if it is fed back
        loop = np.zeros((n + 1, n + 1))
        loop[:n, :n], loop[n, 0], loop[n, n] = sampled.A, sample_time, 1.0
        row = np.zeros((1, n + 1))
        row[0, 0], row[0, 1], row[0, n] = p, d, i
        loop[:n] -= sampled.B @ row
        kept = n + 1 if i else n
        largest = max(largest, float(np.max(np.abs(np.linalg.eigvals(loop[:kept, :kept])))))
    return largest


@dataclass
class ConstraintControl:
    """Controller that makes a task follow a path.

    Attributes:
        equations: the model; the robot may differ from it (`parameters`).
        task, path: the task and the path that it follows.
        feedback: of the error.
        inputs: those to use; by default all but those of `loads`. If there are more than the task needs, the smallest solution
            is used, or with `damping` [1/s] the one closest to inputs that damp all motions, so that motions outside the task
            stay bounded. If there are fewer, an error is raised unless `least_squares` is set.
        limits: of the inputs.
        remarks: problems of the design, repeated in the remarks of a run.
    """

    equations: Equations
    task: Task
    path: Reference
    feedback: Pid
    sample_time: float = 0.001
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    damping: float = 0.0
    least_squares: bool = False
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "constraint control"
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_task(self.equations, self.task)
        refuse_at_rest_only(self.task, named(self))
        self._path = self.path.checked(self.task.size, named(self))
        self._inputs = self.inputs or self.equations.model.actuators
        self._limits = actuator_limits(self.equations, self._inputs, self.limits)
        self._shortfalls = Shortfalls(self.equations, self._inputs, self._limits)
        self.feedback.check(self.task.size)
        largest = error_growth(self.feedback, self.task.size, self.sample_time, self.delay)
        if largest > 1 + GROWING:
            self.remarks += (
                f"errors grow: with a sample time of {self.sample_time:g} s and a delay of {self.delay:g} s they "
                f"grow by a factor of {largest:.3g} per sample. Sample faster, or let errors settle more slowly",
            )

    def start(self, now: Now) -> None:
        """Reset the controller; reject a task that the inputs cannot move."""
        values = dict(zip(self.equations.inputs, self.equations.input_vector(), strict=True)) | now.inputs
        self._last = np.array([values[name] for name in self._inputs])
        self._integral = np.zeros(self.task.size)
        self._missed, self._samples, self._worst = 0, 0, 0.0
        self._shortfalls.reset()
        effect, _ = self._effect(now)
        reached = int(np.linalg.matrix_rank(effect, tol=1e-9 * np.linalg.norm(effect))) if effect.size else 0
        if reached < len(effect) and not self.least_squares:
            raise DesignError(
                f"the task has {len(effect)} components and {len(self._inputs)} inputs act on it, but in this pose they move it "
                f"in {reached} independent directions only. Add inputs, drop components, or set least_squares"
            )

    def _effect(self, now: Now) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of the task per input (k x m), and those with the last command (k)."""
        eqs = self.equations
        inputs = now.inputs | dict(zip(self._inputs, self._last.tolist(), strict=True))
        values = eqs.at(inputs=inputs, parameters=self.parameters).binding
        bound = with_independent_rows(values, now.t, now.q, now.v)
        a, _ = eqs.forward_dynamics(now.q, now.v, t=now.t, inputs=inputs, parameters=self.parameters)
        columns = [eqs.inputs.index(name) for name in self._inputs]
        by_input = -eqs.input_derivative(now.q, now.v, t=now.t, inputs=inputs, parameters=self.parameters)[:, columns]
        on = bound.active_rows
        J = bound.constraints(now.t, now.q, now.v)[3].toarray()[on]
        n, m = len(a), len(J)
        kkt = saddle_matrix(bound.mass_matrix(now.q).toarray(), J)
        change = np.linalg.solve(kkt, np.vstack([by_input, np.zeros((m, len(columns)))]))[:n]
        here = self._acceleration(now, a)
        return self.task.jacobian(eqs, now.q, self.parameters) @ change, here

    def _braking(self, now: Now) -> np.ndarray | None:
        """The inputs that best approximate damping of all motions."""
        if not self.damping:
            return None
        eqs = self.equations
        inputs = now.inputs | dict(zip(self._inputs, self._last.tolist(), strict=True))
        how: Any = {"t": now.t, "inputs": inputs, "parameters": self.parameters}
        lacking = eqs.inverse_dynamics(now.q, now.v, -self.damping * now.v, **how)
        columns = [eqs.inputs.index(name) for name in self._inputs]
        by_input = -eqs.input_derivative(now.q, now.v, **how)[:, columns]
        return np.asarray(self._last + np.linalg.lstsq(by_input, lacking, rcond=None)[0])

    def _acceleration(self, now: Now, a: np.ndarray) -> np.ndarray:
        motion = self.task.motion(self.equations, now.q, now.v, a, self.parameters)
        assert motion.acceleration is not None, "accelerations are given"
        return motion.acceleration

    def command(self, now: Now) -> dict[str, float]:
        """The inputs that produce the prescribed acceleration of the task."""
        effect, here = self._effect(now)
        motion = self.task.motion(self.equations, now.q, now.v, None, self.parameters)
        error, slip = self._path.value(now.t) - motion.value, self._path.rate(now.t) - motion.rate
        wanted = self._path.acceleration(now.t) + self.feedback(error, slip, self._integral)
        lower, upper = self._limits.within(self._inputs, self._last, self.sample_time)
        target = wanted - here + effect @ self._last
        closest = closest_inputs(effect, target, lower, upper, preferred=self._braking(now), regularization=1e-12)
        self._samples += 1
        if self._shortfalls.add(now.t, closest.inputs, closest.binding, closest.cut):
            pass  # saturated: the integral is held
        elif closest.missed > SHORT:
            self._missed += 1
            self._worst = max(self._worst, closest.missed)
        else:
            self._integral = self._integral + self.sample_time * error
        self._last = closest.inputs
        return dict(zip(self._inputs, closest.inputs.tolist(), strict=True))

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        texts = [*(f"{named(self)}: {text}" for text in self.remarks), *self._shortfalls.remarks(named(self))]
        if self._missed:
            texts.append(
                f"{named(self)}: the inputs could not give the prescribed acceleration at {self._missed} of {self._samples} "
                f"samples (missed up to {100 * self._worst:.0f} %)"
            )
        return texts
