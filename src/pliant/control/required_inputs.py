"""Inputs that produce a given motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.independent_coordinates import null_space
from pliant.control.limits import LIMITS_HINT, Allocation, Limits, closest_inputs, declared_limits
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.state import read_state
from pliant.language.arguments import ArgumentError, array, mapping, name_tuple, number, of_type, vector


@dataclass(frozen=True)
class InputSearch:
    """Numbers of the Gauss-Newton search for inputs; tolerances are relative to the forces."""

    max_iterations: int = 40
    patience: int = 6
    shortest: float = 0.1
    """After `patience` iterations inputs stay close to their values, and steps that do not shrink are shortened, down to this
    fraction."""
    settled: float = 1e-11
    """Inputs have converged when a step changes their effect by less than this fraction of the acting forces."""
    balanced: float = 1e-9
    same_pose: float = 1e-12
    """A residual is round-off if it is below this fraction of the acting forces, or below the effect of a change of the pose by
    `same_pose` [m or rad]."""
    preference: float = 1e-12
    """Weight of small inputs relative to that of the required forces: it matters only if solutions are not unique."""


SEARCH = InputSearch()


@dataclass(frozen=True)
class Actuation:
    """Inputs that produce a motion, as far as possible.

    Attributes:
        inputs: values by name, in the unit of each input (N, N m, Pa, ...).
        multipliers: the corresponding constraint forces.
        residual: required generalized forces [N or N m per coordinate] that the inputs cannot produce.
        missing: size of the residual relative to that of the requested forces, both as accelerations in the mass
            metric (Gauss's measure); 0 for a motion that the inputs can produce, up to round-off of the acting forces.
        at_limits: inputs on a bound.
        rank: number of independent directions of the inputs' forces.
        binding: inputs limited by an active bound.
        cut: the fraction of the requested forces that is lost to bounds.
        cut_forces: that part as generalized forces.
    """

    inputs: dict[str, float]
    multipliers: np.ndarray
    residual: np.ndarray
    missing: float
    at_limits: tuple[str, ...]
    rank: int
    binding: tuple[str, ...]
    cut: float
    cut_forces: np.ndarray


class InputsNotConverged(ValueError):
    """Inputs that do not act linearly, and were not found by iteration."""


class ForceMetric:
    """Generalized forces in a pose as accelerations of unit mass of the allowed motions, whose sizes are comparable.

    metric: a positive definite matrix (nv x nv) in place of the mass matrix. With a stiffness, forces are measured by the elastic
    energy of the deformation that they cause, not by the acceleration.
    """

    def __init__(self, bound: Any, t: float, q: np.ndarray, metric: np.ndarray | None = None) -> None:
        self.J = bound.constraints(t, q, np.zeros(bound.nv))[3].toarray()
        self.Z = null_space(self.J)
        matrix = bound.mass_matrix(q).toarray() if metric is None else metric
        try:
            self.factor = scipy.linalg.cholesky(self.Z.T @ matrix @ self.Z, lower=True)
        except scipy.linalg.LinAlgError:
            if metric is not None:
                raise ValueError("the metric of forces must be positive definite on the allowed motions") from None
            raise ValueError("some allowed motion has no mass: give every moving body mass and inertia") from None

    def __call__(self, forces: np.ndarray) -> np.ndarray:
        """Weighted forces (nv, or nv x m)."""
        return np.asarray(scipy.linalg.solve_triangular(self.factor, self.Z.T @ forces, lower=True))


@dataclass(frozen=True)
class _RequiredMotion:
    """A motion (q, v, a) at time t [s] with `extra` generalized forces, and the inputs `names` that produce it."""

    eqs: Equations
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    t: float
    names: tuple[str, ...]
    given: dict[str, Any]
    parameters: Values | None
    extra: np.ndarray

    @property
    def columns(self) -> list[int]:
        """Indices of the inputs among all inputs of the model."""
        return [self.eqs.inputs.index(name) for name in self.names]

    def _values(self, u: np.ndarray) -> dict[str, Any]:
        return self.given | dict(zip(self.names, u.tolist(), strict=True))

    def lacking(self, u: np.ndarray) -> np.ndarray:
        """Missing generalized forces (nv) of the motion with inputs u, including those of constraints."""
        inputs = self._values(u)
        found = self.eqs.inverse_dynamics(self.q, self.v, self.a, t=self.t, inputs=inputs, parameters=self.parameters)
        return self.extra + found

    def round_off(self, u: np.ndarray, weighed: ForceMetric) -> float:
        """Size of weighted forces, with inputs u, below which they are round-off in this state."""
        eqs = self.eqs.at(inputs=self._values(u), parameters=self.parameters)
        inertial = eqs.mass_matrix(self.q) @ self.a
        found = eqs.forces(self.q, self.v, t=self.t).values()
        in_play = sum(float(np.linalg.norm(weighed(x))) for x in (inertial, self.extra, *found))
        rows = np.zeros(eqs.model.system.rows)
        stiffness = eqs.linearization(self.q, self.v, a=self.a, multipliers=rows, t=self.t).stiffness.toarray()
        return SEARCH.balanced * in_play + SEARCH.same_pose * float(np.linalg.norm(weighed(stiffness)))

    def by_input(self, u: np.ndarray) -> np.ndarray:
        """Generalized forces per input (nv x m) at inputs u."""
        inputs = self._values(u)
        found = self.eqs.input_derivative(self.q, self.v, t=self.t, inputs=inputs, parameters=self.parameters)
        return np.asarray(-found[:, self.columns])


@dataclass(frozen=True)
class _IterationEnd:
    """Converged inputs of an iteration, and its last step: `found` are scaled inputs, `effect` weighted forces per scaled input,
    `wanted` the requested weighted forces."""

    inputs: np.ndarray
    by_input: np.ndarray
    effect: np.ndarray
    scale: np.ndarray
    wanted: np.ndarray
    found: Allocation


def _settle(
    demand: _RequiredMotion,
    weighed: ForceMetric,
    u: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    liked: np.ndarray | None,
) -> _IterationEnd:
    """Gauss-Newton steps on the inputs; one is enough if they act linearly. Raises InputsNotConverged."""
    before = np.full((len(demand.extra), len(u)), np.inf)
    share, last = 1.0, np.inf
    for count in range(SEARCH.max_iterations):
        lacking, by_input = demand.lacking(u), demand.by_input(u)
        effect = weighed(by_input)
        size = np.linalg.norm(effect, axis=0)
        scale = np.where(size > 0, size, 1.0)
        wanted = weighed(lacking) + effect @ u
        near = None if liked is None else liked * scale
        if count >= SEARCH.patience:
            near = u * scale  # lines that alternate between slack and taut: stay close to the current inputs
        found = closest_inputs(
            effect / scale, wanted, lower * scale, upper * scale, preferred=near, regularization=SEARCH.preference
        )
        change = found.inputs / scale - u
        step = float(np.linalg.norm(effect @ change))
        if count >= SEARCH.patience and step > 0.5 * last:
            share = max(0.5 * share, SEARCH.shortest)
        last = step
        u = u + share * change
        in_play = np.linalg.norm(wanted) + np.linalg.norm(effect @ u) + 1e-300
        # inputs that act linearly are found in one step, up to the round-off of large forces that cancel
        linear = np.linalg.norm(by_input - before) <= SEARCH.settled * np.linalg.norm(by_input)
        if step <= SEARCH.settled * in_play or linear:
            return _IterationEnd(u, by_input, effect / scale, scale, wanted, found)
        before = by_input
    raise InputsNotConverged(
        f"the inputs {', '.join(demand.names)} did not converge: they act too nonlinearly in this state"
    )


def _limits(limits: Any, eqs: Equations, names: tuple[str, ...]) -> Limits:
    if limits is not None:
        of_type("limits", limits, Limits, LIMITS_HINT)
    return declared_limits(eqs, names) if limits is None else limits


def _preferred(given: Any, names: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
    """The preferred inputs in the order of `names`."""
    values = mapping("preferred", given)
    check_names("input", values, known)
    missing = [name for name in names if name not in values]
    if missing:
        raise ArgumentError(f"preferred has no value of input '{missing[0]}'", f"give all of: {', '.join(names)}")
    return np.array([number(f"preferred: '{name}'", values[name]) for name in names])


@on_one_blas_thread
def required_inputs(
    eqs: Equations,
    q: Any,
    v: Any = None,
    a: Any = None,
    *,
    use: Sequence[str] | None = None,
    limits: Limits | None = None,
    forces: np.ndarray | None = None,
    metric: np.ndarray | None = None,
    preferred: Values | None = None,
    t: float | None = None,
    inputs: Values | None = None,
    parameters: Values | None = None,
) -> Actuation:
    """The inputs that produce the accelerations a in the state (q, v), or in a State: least squares in the mass metric, and the
    smallest inputs if there are many solutions. Rates and accelerations that are omitted are zero: the inputs then hold the pose.

    use: the inputs to solve for, by default all but those that prescribe motions and those of `loads`, which are disturbances;
    the others keep their values. limits: bounds of inputs; by default the `minimum` and `maximum` of the model's parameters, and
    nonnegative tensions of tendons. forces:
    additional generalized forces (nv) that the inputs must produce. metric: metric of forces, by default the mass (`ForceMetric`).
    preferred: if there are many solutions, the one nearest to these inputs is returned instead of the smallest. Inputs that do
    not act linearly are found by iteration. Constraint forces are computed along with them.
    """
    need_equations(eqs)
    kinematic = eqs.model.motion_inputs
    names = name_tuple(use, "use")
    if names is None:
        names = tuple(name for name in eqs.model.actuators if name not in kinematic)
    check_names("input", names, eqs.inputs)
    for name in names:
        if name in kinematic:
            raise ArgumentError(
                f"the input '{name}' prescribes a motion, whatever force that takes",
                "omit it from `use`; its forces are the multipliers",
            )
    if not names:
        raise ArgumentError(
            "there are no inputs that apply forces",
            "declare a parameter with `input: true` and use it as a force or pressure",
        )
    lower, upper = _limits(limits, eqs, names).bounds(names)
    state = read_state(eqs.model, q, v, t, at_rest=True)
    a = np.zeros(len(eqs.rates)) if a is None else vector("a", a, len(eqs.rates))
    q, v, t = state.q, state.v, state.t
    extra = np.zeros(len(eqs.rates)) if forces is None else vector("forces", forces, len(eqs.rates))
    demand = _RequiredMotion(eqs, q, v, a, t, names, mapping("inputs", inputs), parameters, extra)
    metric = None if metric is None else array("metric", metric, (len(eqs.rates), len(eqs.rates)))
    weighed = ForceMetric(eqs.at(inputs=inputs, parameters=parameters).binding, t, q, metric)
    liked = None if preferred is None else _preferred(preferred, names, eqs.inputs)
    start = np.clip(eqs.input_vector(inputs)[demand.columns], lower, upper)
    settled = _settle(demand, weighed, start, lower, upper, liked)
    u, found, J = settled.inputs, settled.found, weighed.J
    lacking = demand.lacking(u)
    multipliers = np.linalg.lstsq(J.T, lacking, rcond=None)[0] if len(J) else np.zeros(0)
    left = lacking - (J.T @ multipliers if len(J) else 0.0)
    asked, short = float(np.linalg.norm(settled.wanted)), float(np.linalg.norm(weighed(lacking)))
    # only if much of the request is missing can both be round-off
    in_balance = short <= SEARCH.balanced * asked or short <= demand.round_off(u, weighed)
    room = 1e-9 * (1 + np.abs(u))
    return Actuation(
        inputs=dict(zip(names, u.tolist(), strict=True)),
        multipliers=multipliers,
        residual=left,
        missing=0.0 if in_balance else short / asked,
        at_limits=tuple(
            n for n, x, lo, hi, e in zip(names, u, lower, upper, room, strict=True) if x <= lo + e or x >= hi - e
        ),
        rank=int(np.linalg.matrix_rank(settled.effect, tol=1e-9)),
        binding=tuple(name for name, held_back in zip(names, found.binding, strict=True) if held_back),
        cut=found.cut,
        cut_forces=settled.by_input @ ((found.asked - found.inputs) / settled.scale),
    )
