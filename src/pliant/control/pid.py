"""PID control of joints, frames and soft arms, with or without compensation of gravity and elasticity.

The feedback is a force on the task, as springs and dampers between the task and its path would give. The inputs that
best approximate it are computed by `required_inputs` at rest, which includes the static loads of the pose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from pliant.analysis.motion.events import Now
from pliant.control.limits import Limits, Shortfalls, actuator_limits, named
from pliant.control.pid_derivatives import command_cotangents, refuse_task
from pliant.control.required_inputs import Actuation, ForceMetric, InputsNotConverged, required_inputs
from pliant.control.sample_derivatives import CommandCotangents, Sample, new_gains
from pliant.control.static_model import StaticModel
from pliant.control.task import Reference, Task, check_task, refuse_at_rest_only
from pliant.engine.equations import Equations, Values, with_independent_rows
from pliant.language.arguments import real
from pliant.robot.controllers import GAINS

Gain: TypeAlias = float | Sequence[float] | np.ndarray
Compensation: TypeAlias = Literal["none", "measured", "reference"]

SOFT = 1e-9
"""A robot whose smallest stiffness is below this fraction of its largest is free in some direction."""


@dataclass(frozen=True)
class Pid:
    """Feedback of an error e: proportional e + derivative de/dt + integral of e, one number each or one per component.

    For `ConstraintControl` it is an acceleration [1/s^2, 1/s, 1/s^3 times the unit of e], for `PidControl` a force
    [N/m, N s/m, N/(m s); for angles N m, N m s, N m/s].
    """

    proportional: Gain
    derivative: Gain = 0.0
    integral: Gain = 0.0

    @classmethod
    def critical(cls, time: float, *, integral: bool = False) -> Pid:
        """Gains for accelerations with all poles at -1/time: errors decay without oscillation within a few times `time` [s]."""
        w = 1 / time
        return cls(3 * w * w, 3 * w, w**3) if integral else cls(w * w, 2 * w)

    def check(self, size: int) -> None:
        """Reject gains that are not finite, negative, or not one for each of `size` components."""
        for name in GAINS:
            gain = real(f"the {name} gain", getattr(self, name))
            if gain.shape not in ((), (size,)):
                raise ValueError(
                    f"the {name} gain has {gain.size} values for {size} components; give one, or one for each"
                )
            if not np.all(np.isfinite(gain)) or np.any(gain < 0):
                raise ValueError(f"the {name} gain must be a nonnegative number; it is {gain}")

    def __call__(self, error: np.ndarray, rate: np.ndarray, integral: np.ndarray) -> np.ndarray:
        """The feedback for an error, its rate and its integral (k)."""
        p, d, i = (np.asarray(x, dtype=float) for x in (self.proportional, self.derivative, self.integral))
        return np.asarray(p * error + d * rate + i * integral)


class UnderActuated(ValueError):
    """The inputs cannot move the task in all its directions."""


@dataclass
class PidControl:
    """Controller that pulls a task to a path by proportional, integral and derivative feedback.

    The feedback f is a force on the task (k), with generalized forces T'f, where T is the Jacobian of the task. The inputs
    approximate them in least squares; if there are many solutions, the one nearest to the initial inputs is used (which keeps a
    pretension). Forces are weighted by the initial compliance of the robot if it has stiffness in all directions (soft arms: by
    their effect on the equilibrium), otherwise by its mass; for fully actuated robots the weighting does not matter.

    Attributes:
        equations: the model; the robot may differ from it (`parameters`).
        task, path: the task and the path that it follows.
        gains: of the force on the task.
        compensation: "measured" adds the inputs that balance gravity, springs and the elasticity of rods in the current pose;
            with an exact model there is no steady-state error, and only the feedback provides stiffness. "reference" adds those
            at which the model is in equilibrium with the task on the path; the robot keeps its own stiffness. "none" adds the
            initial inputs of the run.
        inputs: those to use; by default all but those of `loads`. limits: of the inputs; by default those of the model. While
        inputs are saturated, errors that would increase the saturation are not integrated. least_squares: use least squares if
        the inputs cannot move the task in all its directions, or cannot balance it on the path.
    """

    equations: Equations
    task: Task
    path: Reference
    gains: Pid
    compensation: Compensation = "measured"
    sample_time: float = 0.001
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    least_squares: bool = False
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "pid"

    def __post_init__(self) -> None:
        check_task(self.equations, self.task)
        refuse_at_rest_only(self.task, named(self))
        if self.compensation not in ("none", "measured", "reference"):
            raise ValueError(f"compensation is none, measured or reference, not '{self.compensation}'")
        self._path = self.path.checked(self.task.size, named(self))
        self._inputs = self.inputs or self.equations.model.actuators
        if not self._inputs:
            raise ValueError("the model has no inputs; mark parameters with `input: true`")
        self._limits = actuator_limits(self.equations, self._inputs, self.limits)
        self._shortfalls = Shortfalls(self.equations, self._inputs, self._limits)
        self._statics: StaticModel | None = None
        if self.compensation == "reference":
            self._statics = StaticModel(self.equations, self.task, self._inputs, self.limits, self.parameters)

    def start(self, now: Now) -> None:
        """Reset the controller; reject a task that the inputs cannot move, or cannot balance on the path."""
        values = dict(zip(self.equations.inputs, self.equations.input_vector(), strict=True)) | now.inputs
        self._last = np.array([values[name] for name in self._inputs])
        self._about = dict(zip(self._inputs, self._last.tolist(), strict=True))
        self.gains.check(self.task.size)
        self.integral = np.zeros(self.task.size)
        self._shortfalls.reset()
        self._lost = 0
        self._metric = self._stiffness(now)
        self._check_reach(now)
        if self._statics is not None:
            self._statics.reset(now.inputs, near=now.q)
            self._statics.enter(self._path.value(now.t), nearest=self.least_squares, title=named(self))

    def _stiffness(self, now: Now) -> np.ndarray | None:
        """The stiffness of the robot (nv x nv) if it is positive in all directions; None otherwise."""
        values = self.equations.at(inputs=now.inputs, parameters=self.parameters).binding
        zero = np.zeros(values.nv)
        bound = with_independent_rows(values, now.t, now.q, zero)
        _, multipliers = bound.forward(now.t, now.q, zero)
        K = bound.linearized(now.t, now.q, zero, zero, multipliers).stiffness.toarray()
        K = 0.5 * (K + K.T)
        Z = ForceMetric(bound, now.t, now.q).Z
        values = scipy.linalg.eigvalsh(Z.T @ K @ Z)
        if not len(values) or values[0] <= SOFT * values[-1]:
            return None
        # directions that constraints forbid here may be allowed later
        allowed = Z @ Z.T
        return np.asarray(allowed @ K @ allowed + values[-1] * (np.eye(bound.nv) - allowed))

    def _check_reach(self, now: Now) -> None:
        bound = self.equations.at(inputs=now.inputs, parameters=self.parameters).binding
        weighed = ForceMetric(bound, now.t, now.q, self._metric)
        columns = [self.equations.inputs.index(name) for name in self._inputs]
        by_input = self.equations.input_derivative(
            now.q, np.zeros(bound.nv), t=now.t, inputs=now.inputs, parameters=self.parameters
        )[:, columns]
        T = self.task.jacobian(self.equations, now.q, self.parameters)
        effect = weighed(T.T).T @ weighed(by_input)
        size = np.linalg.norm(effect, axis=0)
        effect = effect[:, size > 0] / size[size > 0]
        reached = int(np.linalg.matrix_rank(effect, tol=1e-9)) if effect.size else 0
        if reached < len(T) and not self.least_squares:
            raise UnderActuated(
                f"{named(self)}: the task has {len(T)} components and {len(self._inputs)} inputs act on it, but in this pose they "
                f"move it in {reached} independent directions only. Add inputs, drop components, or set least_squares"
            )

    def command(self, now: Now) -> dict[str, float]:
        """The inputs at this sample."""
        model, zero = self.equations, np.zeros(len(now.v))
        motion = self.task.motion(model, now.q, now.v, None, self.parameters)
        error, slip = self._path.value(now.t) - motion.value, self._path.rate(now.t) - motion.rate
        T = self.task.jacobian(model, now.q, self.parameters)
        forces = T.T @ self.gains(error, slip, self.integral)
        if self._statics is not None:
            self._statics.move(self._path.value(now.t + 0.5 * self.sample_time), steps=2)
            self._about = {name: self._statics.values[name] for name in self._inputs}
        if self.compensation != "measured":
            # static loads that these inputs cannot balance are left to the robot
            about = now.inputs | self._about
            forces = forces - model.inverse_dynamics(
                now.q, zero, zero, t=now.t, inputs=about, parameters=self.parameters
            )
        try:
            found = self._found(now, forces)
        except InputsNotConverged:
            self._lost += 1  # inputs with a kink here (a line that goes slack): keep the last command
            return dict(zip(self._inputs, self._last.tolist(), strict=True))
        self._last = np.array(list(found.inputs.values()))
        binding = np.array([name in found.binding for name in self._inputs])
        short = self._shortfalls.add(now.t, self._last, binding, found.cut)
        # anti-windup: if the feedback is saturated, errors in that direction are not integrated
        waits = (T @ found.cut_forces) * error > 0 if short else np.zeros(len(error), dtype=bool)
        self.integral = self.integral + np.where(waits, 0.0, self.sample_time * error)
        return found.inputs

    def _found(self, now: Now, forces: np.ndarray) -> Actuation:
        """The inputs within their limits that balance the current pose and add these forces."""
        zero = np.zeros(len(now.v))
        lower, upper = self.bounds(self._last)
        bounds = Limits(*(dict(zip(self._inputs, x.tolist(), strict=True)) for x in (lower, upper)))
        return required_inputs(
            self.equations, now.q, zero, zero, use=self._inputs, limits=bounds, forces=forces, metric=self._metric, t=now.t,
            preferred=self._about, inputs=now.inputs | dict(zip(self._inputs, self._last.tolist(), strict=True)),
            parameters=self.parameters,
        )  # fmt: skip

    # -- derivatives, see `SmoothController` ------------------------------------------------------------------------------

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs that it commands."""
        return self._inputs

    @property
    def gain_values(self) -> dict[str, np.ndarray]:
        """proportional, derivative and integral."""
        return {name: np.array(getattr(self.gains, name), dtype=float) for name in GAINS}

    def with_gains(self, values: Mapping[str, Any]) -> PidControl:
        """The same with other gains."""
        refuse_task(self.task, named(self))
        return replace(self, gains=Pid(**new_gains(self, values)))

    @property
    def measured(self) -> tuple[str, ...]:
        """No outputs: it uses the state."""
        return ()

    @property
    def memory(self) -> np.ndarray:
        """The integral, the last command, and the inputs that feedback is added to."""
        return np.concatenate([self.integral, self._last, [self._about[name] for name in self._inputs]])

    @memory.setter
    def memory(self, values: np.ndarray) -> None:
        self.integral, self._last, about = self.remembered(values)
        self._about = dict(zip(self._inputs, about.tolist(), strict=True))

    def remembered(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The parts of `memory`."""
        integral, last, about = np.split(memory, np.cumsum([self.task.size, len(self._inputs)]))
        return integral, last, about

    @property
    def metric(self) -> np.ndarray | None:
        """Metric of forces: a stiffness (nv x nv); None for the mass."""
        return self._metric

    @property
    def design(self) -> np.ndarray:
        """The metric."""
        return np.zeros(0) if self._metric is None else self._metric.ravel()

    def bounds(self, last: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the inputs; after a command, within the rate limits."""
        return self._limits.within(self._inputs, last, self.sample_time)

    def command_cotangents(
        self, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
    ) -> CommandCotangents:
        """See `SmoothController`."""
        return command_cotangents(self, sample, by_command, by_memory, inputs)

    def notes(self) -> list[str]:
        """Warnings of a run."""
        notes = self._shortfalls.notes(named(self))
        if self._lost:
            notes.append(
                f"{named(self)}: at {self._lost} samples no inputs were found, because they act with a kink there (a line that "
                "goes slack); the previous command was kept"
            )
        return notes
