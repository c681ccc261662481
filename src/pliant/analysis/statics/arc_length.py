"""Arc-length steps along a path of equilibria: the parameter is an additional unknown, the length of the step an additional
equation.

Lengths along a path are measured in a metric of motion: displacements are weighted by the mass that they move, relative to the
robot's mass and size, and the parameter relative to its range. The step is then independent of the choice of coordinates, of
units and of the number of elements of a rod. Directions are increments of q, applied on the group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.analysis.statics.stability import TOLERANCES, Stability, judge, stiffness_scaling
from pliant.analysis.statics.static_equations import StaticEquations, forces_in_play, largest_turn
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts, contacts_at_rest
from pliant.engine.equations import Equations
from pliant.engine.linearized import LinearizedEquations
from pliant.engine.workspace import EvaluationError


@dataclass(frozen=True)
class ArcLengthSettings:
    """Numbers that decide in steps along a path. Lengths are those of the metric."""

    corrections: int = 10
    """Maximum number of corrections after a step: Newton's method that needs more has not begun near a solution."""
    patient_corrections: int = 25
    """The same while a special point is located, where the equations are nearly singular."""
    shorter: float = 0.5
    """Required ratio of successive corrections, so that a neighbouring path is not mistaken for this one."""
    shorter_at_first: float = 2.0
    """The same for the second correction: the first may only have corrected the strain of stiff parts."""
    round_off: float = 1e-9
    """Corrections of this length are accepted in any case."""
    neutral: float = 1e12
    """Larger solutions, relative to the right-hand side, are along neutral directions."""
    inconsistent: float = 1e-6
    """Residual of the minimum-norm solution, relative to the right-hand side, above which the equations have no solution."""
    rank: float = 1e-13
    """Singular values below this, relative to the largest, belong to neutral directions."""
    reach: float = 2.0
    """The longest correction after a step, relative to the step: a longer one leads to another path."""
    corner_reach: float = 100.0
    """The same where the path has a corner, such as contacts that begin to stick, ..."""
    longest_at_corners: float = 0.1
    """... up to this length."""
    turn: float = 0.6
    """Largest rotation of a node in one step [rad]: first-order predictions are off by a sixth of its cube, 4 percent."""
    dense_below: int = 60
    """Below this number of unknowns dense matrices are faster than sparse ones."""
    closed: float = 1e-11
    """Constraint values that are accepted as zero, relative to their sizes."""
    difference: float = 1e-5
    """Step of the central difference with respect to the parameter, relative to its scale: truncation and round-off are then both
    about 1e-10 of the acting forces, and a parameter that enters linearly is differentiated to round-off."""


SETTINGS = ArcLengthSettings()

Imbalance = Callable[[float], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class PathParameter:
    """A parameter or an input of a model; `scale` is the size of a significant change, in its own units."""

    eqs: Equations
    name: str
    scale: float = 1.0

    def initial(self, t: float) -> float:
        """Its value at the beginning of the path: as given for this call, else the model's at time t [s]."""
        if self.name in self.eqs.inputs:
            return self.eqs.input_values(t)[self.name]
        return self.eqs.parameters[self.name]

    def equations(self, value: float) -> Equations:
        """The equations with this value, which may be outside of the model's limits."""
        change = {self.name: float(value)}
        if self.name in self.eqs.inputs:
            return self.eqs.at(inputs=change)
        return self.eqs.at(parameters=change, within_limits=False)

    def at(self, value: float, bound: Binding) -> Binding:
        """The binding with this value, and with the active constraint rows, the positions that prescribed rates and accelerations
        leave unchanged, and the contact memory of `bound`."""
        held = {item.input: bound.series[bound.input_series[item.input]] for item in self.eqs.model.followed}
        return self.equations(value).binding.with_rows(bound.row_active).with_series(held).with_memory_of(bound)

    def derivative(self, value: float, imbalance: Imbalance) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of forces and constraint values, which `imbalance` returns for a value, with respect to the parameter: by a
        central difference, or a one-sided one if the model cannot be evaluated on the other side."""
        step = SETTINGS.difference * self.scale
        differences: list[tuple[float, tuple[np.ndarray, np.ndarray]]] = []
        for nearby in (value + step, value - step, value):
            if len(differences) == 2:
                break
            try:
                now = imbalance(nearby)
            except EvaluationError:
                continue
            if np.all(np.isfinite(now[0])) and np.all(np.isfinite(now[1])):
                differences.append((nearby, now))
        if len(differences) < 2:
            raise EvaluationError(f"the model cannot be evaluated for values of '{self.name}' around {value:g}")
        (a, (force_a, phi_a)), (b, (force_b, phi_b)) = differences
        return (force_a - force_b) / (a - b), (phi_a - phi_b) / (a - b)


@dataclass(frozen=True)
class Direction:
    """A change along a path: increments of q (nv), of the multipliers (m) and of the parameter."""

    q: np.ndarray
    multipliers: np.ndarray
    value: float

    def plus(self, other: Direction) -> Direction:
        """Sum of two changes."""
        return Direction(self.q + other.q, self.multipliers + other.multipliers, self.value + other.value)

    def times(self, factor: float) -> Direction:
        """A change scaled by a factor, which may be negative."""
        return Direction(factor * self.q, factor * self.multipliers, factor * self.value)


@dataclass(frozen=True)
class Metric:
    """Inner product of directions: increments of q weighted by `matrix` (nv x nv), the parameter by its scale."""

    matrix: scipy.sparse.csc_matrix
    scale: float

    def dot(self, a: Direction, b: Direction) -> float:
        """Inner product of two directions [-]."""
        return float(a.q @ (self.matrix @ b.q) + a.value * b.value / self.scale**2)

    def length(self, a: Direction) -> float:
        """Length of a change [-]."""
        return float(np.sqrt(max(0.0, self.dot(a, a))))


@dataclass(frozen=True)
class EquilibriumPoint:
    """A point on a path: equilibrium pose, multipliers and parameter, with the derivatives of the equations and the contacts."""

    q: np.ndarray
    multipliers: np.ndarray
    value: float
    at: LinearizedEquations
    by_value: tuple[np.ndarray, np.ndarray]
    metric: Metric
    residual: float
    iterations: int
    tangent: Direction | None = None
    scaling: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bend: Direction | None = None
    contacts: Contacts | None = None

    @cached_property
    def stability(self) -> Stability | None:
        """Stability, with eigenvalues scaled by `scaling`."""
        return judge(self.at, self.scaling)

    @property
    def tau(self) -> float:
        """Component of the parameter in the tangent: zero at a limit point [-]."""
        assert self.tangent is not None
        return self.tangent.value / self.metric.scale


class ArcLengthStatics(StaticEquations):
    """Statics with the path's parameter among the unknowns."""

    def __init__(self, bound: Binding, t: float, tolerance: float, loading: PathParameter, size: float) -> None:
        """`size`: length of the robot [m], the unit of displacements."""
        super().__init__(bound, t, tolerance)
        self.loading, self.size = loading, size

    def push(self, force: np.ndarray) -> None:
        """Add constant generalized forces (nv) that act along the entire path."""
        self._load = np.array(force, dtype=float)

    def apply(self, value: float) -> None:
        """Set the value of the parameter."""
        self.bound = self.loading.at(value, self.bound)

    def remember_contacts(self, point: EquilibriumPoint) -> None:
        """Store the contacts of a point: friction has a history along a path."""
        if point.contacts is not None:
            self.bound = self.bound.with_contacts(point.contacts.rows, since=point.q)

    def metric(self, at: LinearizedEquations) -> Metric:
        """The metric of changes at a pose."""
        masses = self.bound.system.masses.values()
        total = float(sum(self.bound.constants[k] for k in masses))
        square = at.rate_sizes**2
        typical = float(np.mean(square * at.mass.diagonal())) if at.mass.shape[0] else 0.0
        if total <= 0 or typical <= 0:
            return Metric(scipy.sparse.csc_matrix(scipy.sparse.diags(1 / square)), self.loading.scale)
        # a small multiple of the identity, so that massless directions have a nonzero length
        matrix = at.mass + 1e-6 * typical * scipy.sparse.diags(1 / square)
        return Metric(scipy.sparse.csc_matrix(matrix / (total * self.size**2)), self.loading.scale)

    def _by_value(self, q: np.ndarray, multipliers: np.ndarray, value: float) -> tuple[np.ndarray, np.ndarray]:
        def imbalance(at_value: float) -> tuple[np.ndarray, np.ndarray]:
            return self.imbalance(q, multipliers, self.loading.at(at_value, self.bound))

        return self.loading.derivative(value, imbalance)

    def _bordered(
        self, at: LinearizedEquations, by_value: tuple[np.ndarray, np.ndarray], border: Direction, metric: Metric
    ) -> _Bordered:
        """The matrix of the equations, bordered by the derivative with respect to the parameter and by the product with
        `border`."""
        return _Bordered(at, by_value, border, metric, self.bound.row_active.astype(float))

    def correct(
        self, q: np.ndarray, multipliers: np.ndarray, value: float, border: Direction, metric: Metric, *,
        patient: bool = False, reach: float = np.inf,
    ) -> EquilibriumPoint | None:  # fmt: skip
        """Newton's method in the plane normal to `border`: the point of the path in the plane through the given one; None if it
        fails.

        Every correction has to be much shorter than the previous one, so that a neighbouring path is not mistaken for this one.
        `patient` omits this test. reach: the longest correction.
        """
        last, start = np.inf, q
        polished = False
        for iteration in range(SETTINGS.patient_corrections if patient else SETTINGS.corrections):
            try:
                self.apply(value)
                at = self.linearized(q, multipliers)
                force, phi = at.residual - self._load, at.phi * self.bound.row_active
                by_value = self._by_value(q, multipliers, value)
            except EvaluationError:
                return None
            if not (np.all(np.isfinite(force)) and np.all(np.isfinite(phi))):
                return None
            norm = float(np.abs(force).max(initial=0.0))
            allowed = self.tolerance * forces_in_play(at, multipliers)
            balanced = np.abs(at.rate_sizes * force).max(initial=0.0) <= allowed
            converged = balanced and np.abs(phi / at.row_sizes).max(initial=0.0) <= SETTINGS.closed
            if converged and polished:
                contacts = contacts_at_rest(self.bound, self.t, q)
                return EquilibriumPoint(
                    q, multipliers, value, at, by_value, self.metric(at), norm, iteration, contacts=contacts
                )
            step = self._bordered(at, by_value, border, metric).solve(-force, -phi, 0.0)
            if step is None:
                return None
            length = metric.length(step)
            if length > reach:
                return None
            # after convergence, one more step reduces the residual to round-off
            ratio = SETTINGS.shorter_at_first if iteration == 1 else SETTINGS.shorter
            shorter = length <= ratio * last or length <= SETTINGS.round_off
            if not (converged or patient or shorter):
                return None
            polished, last = converged, length
            q, multipliers = self.bound.increment(q, step.q), multipliers + step.multipliers
            value += step.value
            if largest_turn(self.bound.node_poses(start)[0], self.bound.node_poses(q)[0]) > SETTINGS.turn:
                return None
        return None

    def with_tangent(self, point: EquilibriumPoint, toward: Direction) -> EquilibriumPoint | None:
        """The point with its unit tangent in the direction of `toward`, and its own scaling of the stiffness."""
        bordered = self._bordered(point.at, point.by_value, toward, point.metric)
        tangent = bordered.solve(np.zeros(self.bound.nv), np.zeros(self.bound.m), 1.0)
        if tangent is None:
            return None
        length = point.metric.length(tangent)
        if not np.isfinite(length) or length == 0.0:
            return None
        scaling = stiffness_scaling(point.at) if not point.scaling.size else point.scaling
        return replace(point, tangent=tangent.times(1.0 / length), scaling=scaling)

    def step(self, point: EquilibriumPoint, length: float, *, patient: bool = False) -> EquilibriumPoint | None:
        """The next point of the path at a step length; its stiffness is scaled as at `point`."""
        assert point.tangent is not None
        return self.step_along(point, point.tangent, length, point.bend, patient=patient)

    def step_along(
        self,
        point: EquilibriumPoint,
        way: Direction,
        length: float,
        bend: Direction | None = None,
        *,
        patient: bool = False,
    ) -> EquilibriumPoint | None:
        """The point of a path after a step along `way` (a unit direction), whose derivative along the path is `bend`, corrected
        normal to `way`."""
        guess = way.times(length)
        if bend is not None:
            guess = guess.plus(bend.times(0.5 * length**2))
        q = self.bound.increment(point.q, guess.q)
        multipliers, value = point.multipliers + guess.multipliers, point.value + guess.value
        if largest_turn(self.bound.node_poses(point.q)[0], self.bound.node_poses(q)[0]) > SETTINGS.turn:
            return None
        reach = max(SETTINGS.reach * length, min(SETTINGS.corner_reach * length, SETTINGS.longest_at_corners))
        corrected = self.correct(q, multipliers, value, way, point.metric, patient=patient, reach=reach)
        return None if corrected is None else self.with_tangent(replace(corrected, scaling=point.scaling), way)


class _Bordered:
    """[K, -J', F_p; J, 0, phi_p; border] with all blocks scaled to the same size: increments and constraint values relative to
    their sizes."""

    def __init__(
        self, at: LinearizedEquations, by_value: tuple[np.ndarray, np.ndarray], border: Direction, metric: Metric,
        active: np.ndarray,
    ) -> None:  # fmt: skip
        n, m = at.stiffness.shape[0], len(active)
        self._n, self._D, self._rows = n, at.rate_sizes, at.row_sizes
        at = at.in_sizes()
        self._force = f = float(np.abs(at.stiffness.data).max(initial=0.0)) or 1.0
        self._scale = s = metric.scale
        row = self._D * (metric.matrix.T @ border.q)
        self._border = b = f / max(np.abs(row).max(initial=0.0), abs(border.value) / s, 1e-300)
        K, J = at.stiffness, f * at.jacobian
        column = np.concatenate([s * self._D * by_value[0], f * s * active * by_value[1] / self._rows])
        last = np.concatenate([b * row, np.zeros(m)])
        corner = b * border.value / s
        self._matrix: Any
        if n + m < SETTINGS.dense_below:
            inner = saddle_matrix(K.toarray(), J.toarray(), active, unit=f)
            self._matrix = np.block([[inner, column[:, None]], [last, corner]])
        else:
            inner = saddle_matrix(K, J, active, unit=f)
            self._matrix = scipy.sparse.bmat(
                [
                    [inner, scipy.sparse.csc_matrix(column[:, None])],
                    [scipy.sparse.csc_matrix(last), scipy.sparse.csc_matrix([[corner]])],
                ],
                format="csc",
            )

    def solve(self, force: np.ndarray, phi: np.ndarray, length: float) -> Direction | None:
        """The change that causes these changes of force, constraint values and product with the border."""
        rhs = np.concatenate([self._D * force, self._force * phi / self._rows, [self._border * length]])
        try:
            x = np.linalg.solve(self._matrix, rhs) if self._dense else scipy.sparse.linalg.splu(self._matrix).solve(rhs)
            held = np.abs(x).max() * abs(self._matrix).max() <= SETTINGS.neutral * np.abs(rhs).max()
        except (RuntimeError, np.linalg.LinAlgError):
            held = False
        if not held:
            # with neutral directions: the minimum-norm solution
            if len(rhs) > TOLERANCES.dense_up_to:
                return None
            matrix = self._matrix if self._dense else self._matrix.toarray()
            x = np.linalg.lstsq(matrix, rhs, rcond=SETTINGS.rank)[0]
            if np.abs(matrix @ x - rhs).max() > SETTINGS.inconsistent * np.abs(rhs).max():
                return None  # nothing balances the parameter along a neutral direction
        if not np.all(np.isfinite(x)):
            return None
        n = self._n
        return Direction(self._D * x[:n], self._force * x[n:-1] / self._rows, float(self._scale * x[-1]))

    @property
    def _dense(self) -> bool:
        return isinstance(self._matrix, np.ndarray)
