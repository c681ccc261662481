"""Derivatives of the commands of `PidControl`: cotangents are propagated through the feedback and the least-squares inputs.

The inputs u minimize the distance of B u from c = T'f + r, the generalized forces required by the feedback f and by the pose: A =
P'B, b = P'c, with W = P P' the inverse of the metric on the motions allowed by constraints. All derivatives with respect to the
configuration are products with the tangent K of the equations at rest, which is linear in inputs, accelerations and multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.control.limits import named
from pliant.control.required_inputs import PREFERENCE, ForceMetric
from pliant.control.sample_derivatives import CommandCotangents, LeastSquares, Sample, by_last, undo_least_squares
from pliant.control.task import Coordinates, FramePosition, Task, parts
from pliant.engine.binding import Binding
from pliant.language.arguments import ArgumentError

if TYPE_CHECKING:
    from pliant.control.pid import PidControl

OFFSETS, WEIGHTS = np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
"""Fourth-order differences: offsets of evaluations, in steps, and the weights of their values in derivative times step."""
STEP = 2e-3
"""Steps of differences: of configurations [m or rad], and of inputs relative to their values."""
LINEAR, SETTLED = 1e-7, 1e-6
"""Relative tolerances for the linearity of forces in the inputs, and for the optimality of the inputs."""


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
    least = LeastSquares(A / scale, b, about * scale, u * scale, clamped, PREFERENCE)
    _check(at, least, B, r)
    found = undo_least_squares(least, by / scale)
    # columns were scaled to the same size
    by_scale = (
        -by * u / scale + found.preferred * about + found.bounds * u - np.sum(found.effect * A, axis=0) / scale**2
    )
    by_A = found.effect / scale + A * np.where(size > 0, by_scale / scale, 0.0)
    w, w_c = P @ by_A, P @ found.wanted
    q, by_metric = _through_metric(at, np.column_stack([B, c]), np.column_stack([A, b]), np.column_stack([w, w_c]))
    here = at.tangent(u)
    q += here.T @ w_c
    for j, name in enumerate(control.used):  # also through c, in which r + B u is r without inputs
        step = _input_step(control, name, u[j])
        q -= (at.tangent(u + step * np.eye(len(u))[j]) - here).T @ (w[:, j] + u[j] * w_c) / step
    by_limits = by_last(*bounds, within, u, found.bounds * scale)
    return InputCotangents(w_c, q, found.preferred * scale, by_limits, by_metric, B, w)


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
    if linear > LINEAR * (np.linalg.norm(r) + np.linalg.norm(B @ more)):
        why = "its inputs do not act linearly"
    elif np.linalg.norm(left) > SETTLED * size:
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
        there = control.equations.binding.increment(q, share * STEP / length * z)
        return np.asarray(task.jacobian(control.equations, there, control.parameters).T @ f)

    out = np.tensordot(WEIGHTS, [pulled(share) for share in OFFSETS], axes=1) * length / STEP
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
        step = STEP * (abs(value) or 1.0)
        return float(WEIGHTS @ [function(value + k * step) for k in OFFSETS]) / step

    found = {}
    for name in names:
        if name not in control.used:
            value = float(given[control.equations.inputs.index(name)])
            found[name] = derivative(lambda x, name=name: paired({name: x}), value)  # type: ignore[misc]
    return found
