"""Controllers that make joints, frames and soft arms follow a path: PID control, and control by constraints.

`PidControl` feeds the error back as a force on the task, as springs and dampers between the task and its path would give, with or
without compensation of gravity and elasticity. The inputs that best approximate it are computed by `balancing_inputs` at rest,
which includes the static loads of the pose.
`ConstraintControl` prescribes the acceleration of the task, that of the path plus feedback of the error, and solves the
equations of motion for the inputs in place of constraint forces; with plain coordinates it is the computed-torque method.

Derivatives: cotangents are propagated through the feedback and the least-squares inputs.
The inputs u minimize the distance of B u from c = T'f + r, the generalized forces required by the feedback f and by the pose: A =
P'B, b = P'c, with W = P P' the inverse of the metric on the motions allowed by constraints. All derivatives with respect to the
configuration are products with the tangent K of the equations at rest, which is linear in inputs, accelerations and multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.motion.events import Now
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.control.discrete import held_commands
from pliant.control.limits import SHORT, DesignError, Limits, Shortfalls, actuator_limits, closest_inputs, named
from pliant.control.required_inputs import SEARCH, Actuation, ForceMetric, InputsNotConverged, balancing_inputs
from pliant.control.sample_derivatives import (
    CommandCotangents,
    LeastSquares,
    Sample,
    by_last,
    new_gains,
    undo_least_squares,
)
from pliant.control.static_model import StaticModel
from pliant.control.task import Coordinates, FramePosition, Reference, Task, check_task, parts, refuse_at_rest_only
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations, Values, with_independent_rows
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, real
from pliant.robot.controllers import GAINS

OFFSETS, WEIGHTS = np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
"""Fourth-order differences: offsets of evaluations, in steps, and the weights of their values in derivative times step."""


@dataclass(frozen=True)
class PidNumbers:
    """Steps and tolerances of derivatives and of the inputs."""

    step: float = 2e-3
    """Steps of differences: of configurations [m or rad], and of inputs relative to their values."""
    linear: float = 1e-7
    optimal: float = 1e-6
    """Relative tolerances for the linearity of forces in the inputs, and for the optimality of the inputs."""
    soft: float = 1e-9
    """A robot whose smallest stiffness is below this fraction of its largest is free in some direction."""


NUMBERS = PidNumbers()


def refuse_task(task: Task, title: str) -> None:
    """Raise ArgumentError for tasks without implemented second derivatives."""
    for part in parts(task):
        if not isinstance(part, FramePosition | Coordinates):
            raise ArgumentError(
                f"{title} has no derivatives: its task is the {part.labels[0]}", "use positions or coordinates"
            )


@dataclass(frozen=True)
class SampleModel:
    """The model of a controller at a sample: at rest in its configuration, with any inputs, accelerations and multipliers."""

    control: PidControl
    sample: Sample
    u: np.ndarray

    def bound(self, u: np.ndarray, others: dict[str, float] | None = None) -> Binding:
        """With the inputs u of the controller, and other values of the remaining inputs."""
        own = dict(zip(self.control.used, u.tolist(), strict=True))
        values = self.sample.now.inputs | (others or {}) | own
        return self.control.equations.at(inputs=values, parameters=self.control.parameters).binding

    def tangent(self, u: np.ndarray, a: np.ndarray | None = None, multipliers: np.ndarray | None = None) -> Any:
        """K, nv x nv."""
        now, bound = self.sample.now, self.bound(u)
        zero = np.zeros(bound.nv)
        a = zero if a is None else a
        multipliers = np.zeros(bound.m) if multipliers is None else multipliers
        return bound.linearized(now.t, np.asarray(now.q), zero, a, multipliers).stiffness

    def forces(self, u: np.ndarray, others: dict[str, float] | None = None) -> np.ndarray:
        """r(q, u): the forces required by the pose, nv."""
        now, bound = self.sample.now, self.bound(u, others)
        zero = np.zeros(bound.nv)
        return bound.inverse(now.t, np.asarray(now.q), zero, zero)

    def by_input(self, u: np.ndarray, others: dict[str, float] | None = None) -> np.ndarray:
        """B = -dr/du, nv x m."""
        eqs, now = self.control.equations, self.sample.now
        values = now.inputs | (others or {}) | dict(zip(self.control.used, u.tolist(), strict=True))
        columns = [eqs.inputs.index(name) for name in self.control.used]
        found = eqs.input_derivative(
            now.q, np.zeros(len(now.v)), t=now.t, inputs=values, parameters=self.control.parameters
        )
        return np.asarray(-found[:, columns])

    @cached_property
    def weighing(self) -> ForceMetric:
        """The metric in this configuration."""
        now = self.sample.now
        bound = self.control.equations.at(inputs=now.inputs, parameters=self.control.parameters).binding
        return ForceMetric(bound, now.t, np.asarray(now.q), self.control.metric)

    @cached_property
    def metric(self) -> np.ndarray:
        """G, nv x nv: the stiffness at the start, or the mass in this configuration."""
        if self.control.metric is not None:
            return self.control.metric
        return np.asarray(self.bound(self.u).mass_matrix(np.asarray(self.sample.now.q)).toarray())

    @cached_property
    def P(self) -> np.ndarray:
        """The weighting of forces: P'f."""
        w = self.weighing
        return np.asarray(w.Z @ scipy.linalg.solve_triangular(w.factor, np.eye(len(w.factor)), lower=True).T)


def command_cotangents(
    control: PidControl, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
) -> CommandCotangents:
    """See `SmoothController`."""
    now, eqs, task = sample.now, control.equations, control.task
    integral, last, _ = control.remembered(sample.before)
    about = control.remembered(sample.after)[2]
    by_integral, by_last_after, by_about = control.remembered(by_memory)
    u = np.array([sample.command[name] for name in control.used])
    at = SampleModel(control, sample, u)
    motion = task.motion(eqs, now.q, now.v, None, control.parameters)
    error = control.path.value(now.t) - motion.value
    slip = control.path.rate(now.t) - motion.rate
    T = task.jacobian(eqs, now.q, control.parameters)
    f = control.gains(error, slip, integral)

    asked = T.T @ f
    if control.compensation != "measured":
        asked = asked - at.forces(about)
    back = _undo_inputs(at, asked, last, about, by_command + by_last_after)
    w = back.by_forces
    q = back.q + _by_configuration(task, control, now.q, f, w)
    if control.compensation != "measured":
        q -= at.tangent(about).T @ w
        by_about = by_about + back.by_input.T @ w
    by_about = by_about + back.by_preferred

    by_f = T @ w
    p, d, i = (
        np.asarray(x, dtype=float)
        for x in (control.gains.proportional, control.gains.derivative, control.gains.integral)
    )
    integrated = sample.after[: len(error)] != sample.before[: len(error)]
    by_error = p * by_f + np.where(integrated, control.sample_time * by_integral, 0.0)
    by_slip = d * by_f
    q -= T.T @ by_error + _by_configuration(task, control, now.q, by_slip, np.asarray(now.v))
    if control.compensation == "reference":  # they depend on the path, not on the internal state
        by_about = np.zeros_like(by_about)
    gains = {"proportional": by_f * error, "derivative": by_f * slip, "integral": by_f * integral}
    return CommandCotangents(
        q, -T.T @ by_slip, np.concatenate([by_integral + i * by_f, back.by_last, by_about]),
        {name: _like(getattr(control.gains, name), x) for name, x in gains.items()},
        design=back.by_metric, inputs=_by_others(at, back, inputs, about),
    )  # fmt: skip


def _like(gain: Any, by: np.ndarray) -> np.ndarray:
    """One number for all components, or one for each."""
    return np.asarray(np.sum(by)) if np.ndim(gain) == 0 else by


@dataclass(frozen=True)
class InputCotangents:
    """Cotangents of least-squares inputs: of the forces, of the configuration through everything else, of the preferred inputs,
    of the previous command, and of the metric if it is given. by_input: B; by_effect: cotangents of B."""

    by_forces: np.ndarray
    q: np.ndarray
    by_preferred: np.ndarray
    by_last: np.ndarray
    by_metric: np.ndarray
    by_input: np.ndarray
    by_effect: np.ndarray


def _undo_inputs(
    at: SampleModel, asked: np.ndarray, last: np.ndarray, about: np.ndarray, by: np.ndarray
) -> InputCotangents:
    """Propagate cotangents of the inputs. asked: forces in addition to those required by the pose."""
    u, P, control = at.u, at.P, at.control
    B, r = at.by_input(u), at.forces(u)
    c = asked + r + B @ u
    A, b = P.T @ B, P.T @ c
    size = np.linalg.norm(A, axis=0)
    scale = np.where(size > 0, size, 1.0)
    bounds, within = control.bounds(), control.bounds(last)
    clamped = (u <= within[0]) | (u >= within[1])
    least = LeastSquares(A / scale, b, about * scale, u * scale, clamped, SEARCH.preference)
    _check(at, least, B, r)
    cotangents = undo_least_squares(least, by / scale)
    # columns were scaled to the same size
    by_scale = (
        -by * u / scale
        + cotangents.preferred * about
        + cotangents.bounds * u
        - np.sum(cotangents.effect * A, axis=0) / scale**2
    )
    by_A = cotangents.effect / scale + A * np.where(size > 0, by_scale / scale, 0.0)
    w, w_c = P @ by_A, P @ cotangents.wanted
    q, by_metric = _through_metric(at, np.column_stack([B, c]), np.column_stack([A, b]), np.column_stack([w, w_c]))
    here = at.tangent(u)
    q += here.T @ w_c
    for j, name in enumerate(control.used):  # also through c, in which r + B u is r without inputs
        step = _input_step(control, name, u[j])
        q -= (at.tangent(u + step * np.eye(len(u))[j]) - here).T @ (w[:, j] + u[j] * w_c) / step
    by_limits = by_last(*bounds, within, u, cotangents.bounds * scale)
    return InputCotangents(w_c, q, cotangents.preferred * scale, by_limits, by_metric, B, w)


def _input_step(control: PidControl, name: str, value: float) -> float:
    """An input in which K is locally linear, away from zero, where lines go slack [its unit]."""
    eqs = control.equations
    declared = eqs.input_vector()[eqs.inputs.index(name)]
    size = max(abs(value), abs(declared)) or 1.0
    return size if value >= 0 else -size


def _check(at: SampleModel, least: LeastSquares, B: np.ndarray, r: np.ndarray) -> None:
    """Reject inputs that do not act linearly, and commands that are not optimal."""
    control, u, title = at.control, at.u, named(at.control)
    more = np.array([_input_step(control, name, x) for name, x in zip(control.used, u, strict=True)])
    linear = np.linalg.norm(at.forces(u + more) - (r - B @ more))
    free = ~least.clamped
    gap = least.wanted - least.effect @ least.inputs
    left = least.effect[:, free].T @ gap
    size = np.linalg.norm(least.wanted) + np.linalg.norm(least.effect @ least.inputs) + 1e-300
    if linear > NUMBERS.linear * (np.linalg.norm(r) + np.linalg.norm(B @ more)):
        why = "its inputs do not act linearly"
    elif np.linalg.norm(left) > NUMBERS.optimal * size:
        why = f"at t = {at.sample.now.t:g} s no inputs were found and the previous command was kept"
    else:
        return
    raise ArgumentError(f"{title} has no derivatives: {why}", "use finite differences")


def _through_metric(at: SampleModel, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cotangents of the configuration, and of the metric if it is given, through the weighting Y = P'X of forces.

    With s = W x and its multipliers l, G s - J'l = x, the cotangent w = P Y_bar of each x contributes
    -w.dG s / 2 + w.dJ'l to the derivative.
    """
    S, J = at.P @ Y, at.weighing.J
    given = at.control.metric is not None
    by_metric = -0.5 * (w @ S.T) if given else np.zeros(0)
    q = np.zeros(len(w))
    if given and not len(J):
        return q, by_metric.ravel()
    multipliers = np.linalg.lstsq(J.T, at.metric @ S - X, rcond=None)[0] if len(J) else np.zeros((0, X.shape[1]))
    here = at.tangent(at.u)
    for k in range(X.shape[1]):
        a = np.zeros(len(w)) if given else 0.5 * S[:, k]
        q -= (at.tangent(at.u, a, multipliers[:, k]) - here).T @ w[:, k]
    return q, by_metric.ravel()


def _by_configuration(task: Task, control: PidControl, q: np.ndarray, f: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Derivative of f.(T z) with respect to the configuration: that of T'f along z, and the commutator of rotations."""
    length = float(np.max(np.abs(z), initial=0.0))
    if length == 0 or not np.any(f) or all(isinstance(part, Coordinates) for part in parts(task)):
        return np.zeros(len(z))
    group = ConfigurationGroup(control.equations.model.system)

    def pulled(share: float) -> np.ndarray:
        there = control.equations.binding.increment(q, share * NUMBERS.step / length * z)
        return np.asarray(task.jacobian(control.equations, there, control.parameters).T @ f)

    out = np.tensordot(WEIGHTS, [pulled(share) for share in OFFSETS], axes=1) * length / NUMBERS.step
    rows = group.rotation_v
    if len(rows):
        out[rows] += np.cross(z[rows], pulled(0.0)[rows])
    return np.asarray(out)


def _by_others(at: SampleModel, back: InputCotangents, names: tuple[str, ...], about: np.ndarray) -> dict[str, float]:
    """Cotangents of external inputs, on which forces and the effect of the controller's inputs may depend."""
    control, u, w = at.control, at.u, back.by_forces
    given = control.equations.input_vector(at.sample.now.inputs)

    def paired(others: dict[str, float]) -> float:
        B = at.by_input(u, others)
        forces = at.forces(u, others) + B @ u
        if control.compensation != "measured":
            forces = forces - at.forces(about, others)
        return float(w @ forces + np.sum(back.by_effect * B))

    def derivative(function: Callable[[float], float], value: float) -> float:
        step = NUMBERS.step * (abs(value) or 1.0)
        return float(WEIGHTS @ [function(value + k * step) for k in OFFSETS]) / step

    by_others = {}
    for name in names:
        if name not in control.used:
            value = float(given[control.equations.inputs.index(name)])
            by_others[name] = derivative(lambda x, name=name: paired({name: x}), value)  # type: ignore[misc]
    return by_others


Gain: TypeAlias = float | Sequence[float] | np.ndarray
Compensation: TypeAlias = Literal["none", "measured", "reference"]


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
        self._inputs = self.inputs or self.equations.model.force_inputs
        if not self._inputs:
            raise ValueError("the model has no inputs; mark parameters with `input: true`")
        self._limits = actuator_limits(self.equations, self._inputs, self.limits)
        self._shortfalls = Shortfalls(self.equations, self._inputs, self._limits)
        self._statics: StaticModel | None = None
        if self.compensation == "reference":
            self._statics = StaticModel(self.equations, self.task, self._inputs, self.limits, self.parameters)

    def start(self, now: Now) -> None:
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
        if not len(values) or values[0] <= NUMBERS.soft * values[-1]:
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
            raise DesignError(
                f"{named(self)}: the task has {len(T)} components and {len(self._inputs)} inputs act on it, but in this pose they "
                f"move it in {reached} independent directions only. Add inputs, drop components, or set least_squares"
            )

    def command(self, now: Now) -> dict[str, float]:
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
        return balancing_inputs(
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
        return {name: np.array(getattr(self.gains, name), dtype=float) for name in GAINS}

    def with_gains(self, values: Mapping[str, Any]) -> PidControl:
        refuse_task(self.task, named(self))
        return replace(self, gains=Pid(**new_gains(self, values)))

    @property
    def measured(self) -> tuple[str, ...]:
        return ()

    @property
    def memory(self) -> np.ndarray:
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
        return np.zeros(0) if self._metric is None else self._metric.ravel()

    def bounds(self, last: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the inputs; after a command, within the rate limits."""
        return self._limits.within(self._inputs, last, self.sample_time)

    def command_cotangents(
        self, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
    ) -> CommandCotangents:
        return command_cotangents(self, sample, by_command, by_memory, inputs)

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        texts = self._shortfalls.remarks(named(self))
        if self._lost:
            texts.append(
                f"{named(self)}: at {self._lost} samples no inputs were found, because they act with a kink there (a line that "
                "goes slack); the previous command was kept"
            )
        return texts


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
        self._inputs = self.inputs or self.equations.model.force_inputs
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
