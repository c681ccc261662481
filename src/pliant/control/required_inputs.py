"""Inputs that produce a given motion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

import numpy as np
import scipy
from pydantic import Field

from pliant.analysis.base import Analysis, Seconds, SignalNames, StateGiven, ValuesByName, function_of, named_values
from pliant.analysis.numerics.saddle import null_space
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.states import state_at
from pliant.control.limits import LIMITS_HINT, Allocation, Limits, closest_inputs, declared_limits
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.model.model import Model
from pliant.engine.state import read_state
from pliant.language.arguments import ArgumentError, array, mapping, name_tuple, number, of_type, vector
from pliant.language.base import InPython, Problem
from pliant.language.message_text import unit_after_value


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


@dataclass(frozen=True, repr=False, eq=False)
class Actuation(AnalysisResult):
    """Inputs that produce a motion, as far as possible.

    Attributes:
        used, values, lower, upper: names of the inputs, their values and bounds, in the unit of each (N, N m, Pa, ...); by name in
            `inputs`.
        multipliers: the corresponding constraint forces.
        residual: required generalized forces [N or N m per coordinate] that the inputs cannot produce.
        missing: size of the residual relative to that of the requested forces, both as accelerations in the mass
            metric (Gauss's measure); 0 for a motion that the inputs can produce, up to round-off of the acting forces.
        rank: number of independent directions of the inputs' forces.
        held_back: whether each input is limited by an active bound; by name in `binding`.
        cut: the fraction of the requested forces that is lost to bounds.
        cut_forces: that part as generalized forces.
    """

    used: Annotated[tuple[str, ...], Along("used_input", labels=True)]
    values: Annotated[np.ndarray, Along("used_input")]
    lower: Annotated[np.ndarray, Along("used_input")]
    upper: Annotated[np.ndarray, Along("used_input")]
    multipliers: Annotated[np.ndarray, Along("constraint")]
    residual: Annotated[np.ndarray, Along("rate")]
    missing: Annotated[float, Along()]
    rank: int
    held_back: Annotated[np.ndarray, Along("used_input")]
    cut: Annotated[float, Along()]
    cut_forces: Annotated[np.ndarray, Along("rate")]
    equations: Equations
    status: Status = Status.COMPLETED
    message: str = ""

    @property
    def inputs(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.used, self.values.tolist(), strict=True))

    @property
    def at_limits(self) -> tuple[str, ...]:
        """Inputs on a bound."""
        room = 1e-9 * (1 + np.abs(self.values))
        on = (self.values <= self.lower + room) | (self.values >= self.upper - room)
        return tuple(name for name, flag in zip(self.used, on, strict=True) if flag)

    @property
    def binding(self) -> tuple[str, ...]:
        """Inputs limited by an active bound."""
        return tuple(name for name, flag in zip(self.used, self.held_back, strict=True) if flag)

    def sheets(self) -> tuple[Sheet, ...]:
        units = {name: unit_after_value(self.equations.model.environment.dimension(name)).strip() for name in self.used}
        rows = tuple((name, f"{x:.6g} {units[name]}".strip(), "at its limit" if name in self.at_limits else "")
                     for name, x in self.inputs.items())  # fmt: skip
        lacking = (("missing part of the forces", f"{self.missing:.3g}"), ("lost to limits", f"{self.cut:.3g}"))
        return Sheet(("input", "value", ""), rows, words="inputs"), Sheet(("", ""), lacking)


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
        forces = self.eqs.inverse_dynamics(self.q, self.v, self.a, t=self.t, inputs=inputs, parameters=self.parameters)
        return self.extra + forces

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
        derivative = self.eqs.input_derivative(self.q, self.v, t=self.t, inputs=inputs, parameters=self.parameters)
        return np.asarray(-derivative[:, self.columns])


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
    demand: _RequiredMotion, weighed: ForceMetric, u: np.ndarray, lower: np.ndarray, upper: np.ndarray,
    liked: np.ndarray | None,
) -> _IterationEnd:  # fmt: skip
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
        closest = closest_inputs(
            effect / scale, wanted, lower * scale, upper * scale, preferred=near, regularization=SEARCH.preference
        )
        change = closest.inputs / scale - u
        step = float(np.linalg.norm(effect @ change))
        if count >= SEARCH.patience and step > 0.5 * last:
            share = max(0.5 * share, SEARCH.shortest)
        last = step
        u = u + share * change
        in_play = np.linalg.norm(wanted) + np.linalg.norm(effect @ u) + 1e-300
        # inputs that act linearly are found in one step, up to the round-off of large forces that cancel
        linear = np.linalg.norm(by_input - before) <= SEARCH.settled * np.linalg.norm(by_input)
        if step <= SEARCH.settled * in_play or linear:
            return _IterationEnd(u, by_input, effect / scale, scale, wanted, closest)
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


def balancing_inputs(
    eqs: Equations, q: Any, v: Any = None, a: Any = None, *, use: Sequence[str] | None = None,
    limits: Limits | None = None, forces: np.ndarray | None = None, metric: np.ndarray | None = None,
    preferred: Values | None = None, t: float | None = None, inputs: Values | None = None,
    parameters: Values | None = None,
) -> Actuation:  # fmt: skip
    """The inputs that produce the accelerations a in the state (q, v), or in a State; the options are those of `RequiredInputs`."""
    need_equations(eqs)
    kinematic = eqs.model.motion_inputs
    names = name_tuple(use, "use")
    if names is None:
        names = eqs.model.force_inputs
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
    return Actuation(
        names, np.asarray(u), np.asarray(lower), np.asarray(upper), multipliers, left, 0.0 if in_balance else short / asked,
        int(np.linalg.matrix_rank(settled.effect, tol=1e-9)), np.asarray(found.binding), found.cut,
        settled.by_input @ ((found.asked - found.inputs) / settled.scale), eqs,
    )  # fmt: skip


class RequiredInputs(Analysis):
    """Inputs that produce given accelerations in a state: least squares in the mass metric, and the smallest if there are many.

    Rates and accelerations that are omitted are zero: the inputs then hold the pose. Inputs that do not act linearly are found by
    iteration. Constraint forces are computed along with them.
    """

    name: ClassVar[str] = "required_inputs"
    title: ClassVar[str] = "Required inputs"
    result = Actuation
    first: ClassVar[tuple[str, ...]] = ("at", "v", "a")

    at: StateGiven = "initial"
    """State: `initial`, `equilibrium`, or coordinates and rates by name."""
    v: Annotated[Any, InPython()] = None
    """Rates, where `at` has positions only."""
    a: Annotated[Any, InPython()] = None
    """Accelerations (nv)."""
    accelerations: ValuesByName = Field(default_factory=dict)
    """Accelerations by the names of the rates; others are zero."""
    use: SignalNames | None = None
    """Inputs to solve for; default: all but those that prescribe motions and those of `loads`, which are disturbances. The others
    keep their values."""
    preferred: ValuesByName | None = None
    """If there are many solutions, the one nearest to these inputs is returned instead of the smallest."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""
    limits: Annotated[Limits | None, InPython()] = None
    """Bounds of inputs; default: `minimum` and `maximum` in the model, and nonnegative tensions of tendons."""
    forces: Annotated[np.ndarray | None, InPython()] = None
    """Additional generalized forces (nv) that the inputs must produce."""
    metric: Annotated[np.ndarray | None, InPython()] = None
    """Metric of forces (nv x nv); default: the mass matrix (`ForceMetric`)."""

    def faults(self, model: Model) -> Iterator[Problem]:
        yield from super().faults(model)
        yield from named_values(("accelerations",), self.accelerations, dict.fromkeys(model.v_names), "rate", model)

    def run(self, eqs: Equations) -> Actuation:
        at: Any = self.at
        v, t, inputs = self.v, self.time, cast(Values | None, self.inputs)
        if isinstance(at, str | Mapping):
            state = state_at(eqs.at(parameters=self.parameters), self.at, 0.0 if t is None else t, where="at")
            at, v, t = state.q, state.v, state.t
        a = self.a
        if self.accelerations:
            a = np.array([self.accelerations.get(name, 0.0) for name in eqs.rates], dtype=float)
        return balancing_inputs(
            eqs, at, v, a, use=self.use, limits=self.limits, forces=self.forces, metric=self.metric,
            preferred=self.preferred, t=t, inputs=inputs, parameters=self.parameters,
        )  # fmt: skip


required_inputs = function_of(RequiredInputs)
