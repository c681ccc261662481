"""Arc-length steps along a path of equilibria: the parameter is an additional unknown, the length of the step an additional
equation.

Lengths along a path are measured in a metric of motion: displacements are weighted by the mass that they move, relative to the
robot's mass and size, and the parameter relative to its range. The step is then independent of the choice of coordinates, of
units and of the number of elements of a rod. Directions are increments of q, applied on the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import balancing_multipliers, saddle_matrix
from pliant.analysis.numerics.status import Status
from pliant.analysis.remarks.contact_remarks import friction_words
from pliant.analysis.statics.stability import TOLERANCES, Stability, judge, stiffness_scaling
from pliant.analysis.statics.static_equations import StaticEquations, forces_in_play, largest_turn
from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.contacts import ENTRIES, Contacts, contacts_at_rest
from pliant.engine.equations import Equations
from pliant.engine.outputs import evaluate_outputs, output_parts
from pliant.engine.program import EvaluationError
from pliant.engine.state import State
from pliant.language.message_text import enumeration


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
        self, point: EquilibriumPoint, way: Direction, length: float, bend: Direction | None = None, *,
        patient: bool = False,
    ) -> EquilibriumPoint | None:  # fmt: skip
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


@dataclass(frozen=True)
class FollowingSettings:
    """Numbers that decide along a path. Lengths are in the metric of `arc_length.py`: 1 is a motion by the robot's size, or the
    entire range of the parameter."""

    first_step: float = 0.01
    """The first step of a path and of a branch."""
    least_step: float = 1e-9
    """Steps below this are round-off: the path ends."""
    shortened: float = 0.4
    """Factor on the length of a step that is repeated."""
    few_corrections: int = 5
    """After a step with at most so many corrections the next one is longer, with more than one further it is shorter ..."""
    longer: float = 1.6
    """... by this factor,"""
    shorter: float = 0.6
    """... or this one."""
    bend: float = 0.9
    """A step is repeated with half its length if the path turns by more than this within it (cosine of the angle)."""
    kink: float = 1e-4
    """Where contacts open, close, stick or slide, a path has a corner: the turn of steps shorter than this is not limited."""
    located: float = 1e-8
    """A special point is located when the test quantity is below this fraction of its value at the nearer end of the step."""
    jumped: float = 1e-5
    """If a test quantity changes its sign without becoming smaller than this fraction, the step has jumped to another path."""
    same: float = 1e-3
    """At a limit point, the stiffness vanishes in the direction of the path, to this fraction of its change over the step."""
    together: float = 1e-5
    """Bifurcations within this fraction of a step are one, with several directions."""
    switching: tuple[float, ...] = (1.0, 0.3, 0.1, 0.01)
    """Lengths of the first step on a branch that are tried, relative to `first_step`."""
    stages: int = 10
    """Number of load steps in which an imperfection is applied if it moves the start far."""


FOLLOWING = FollowingSettings()


@dataclass(frozen=True)
class PathPoint:
    """A point of a path, from which it can be continued.

    Attributes:
        parameter, value: the varied parameter, and its value there.
        state: the equilibrium, with multipliers.
        tangent: change of q (increments, nv), multipliers (m) and parameter along the path.
        kind: "", "limit" or "bifurcation".
        directions: at a special point the directions without stiffness, in increments of q, one per row.
        stable: whether it is stable; None if undetermined.
    """

    parameter: str
    value: float
    state: State
    tangent: tuple[np.ndarray, np.ndarray, float]
    kind: str
    directions: np.ndarray
    stable: bool | None


@dataclass(frozen=True)
class Branch:
    """Leave the path at a bifurcation.

    mode: which loss of stiffness along the path, counted from 1 (the first buckling mode of a column is the first).
    sign: +1 or -1, the side. It is the sign of the change of `by`, or of the leading entry of the direction, which
        `SpecialPoint.moves` names.
    by: output that distinguishes the sides.
    """

    mode: int = 1
    sign: int = 1
    by: str | None = None


@dataclass
class PathRecord:
    """Points in order, their types, and the directions without stiffness at special points."""

    points: list[EquilibriumPoint] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    critical: list[tuple[int, np.ndarray]] = field(default_factory=list)
    branch: int = 0

    def add(self, point: EquilibriumPoint, kind: str = "", direction: np.ndarray | None = None) -> None:
        """Append a point."""
        if direction is not None:
            self.critical.append((len(self.points), direction))
        self.points.append(point)
        self.kinds.append(kind)
        self.branches.append(self.branch)

    def more(self, direction: np.ndarray) -> None:
        """Append a direction without stiffness to the last point."""
        self.critical.append((len(self.points) - 1, direction))


class _TooLong(Exception):
    """A step does not converge, bends too much, or ends on another path."""


class PathFollower:
    """Follows a path of equilibria and records its points."""

    def __init__(
        self, eqs: Equations, statics: ArcLengthStatics, to: float, first: float, record: PathRecord, branch: Branch | None,
        stop: Mapping[str, float], max_points: int, max_step: float,
    ) -> None:  # fmt: skip
        """`first` and `to`: values of the parameter. `stop`: values of outputs and coordinates at which the path ends."""
        self.eqs, self.statics, self.to, self.first, self.record = eqs, statics, to, first, record
        self.branch, self.stop, self.max_points, self.max_step = branch, stop, max_points, max_step
        self.modes = 0
        self.parts = {
            part: (name, k) for name in eqs.model.spec.outputs for k, part in enumerate(output_parts(eqs.model, name))
        }

    # -- path ----------------------------------------------------------------------------------------------------

    def run(self, point: EquilibriumPoint, start: PathPoint | None = None) -> tuple[Status, str]:
        """Follow the path from its first point (`start`, if it was one of another path); returns status and message."""
        self.record.add(point)
        if self.branch is not None and start is not None and start.kind == "bifurcation":
            index = min(self.branch.mode, len(start.directions)) - 1
            switched = self._switch(point, start.directions[index])
            if switched is None:
                return Status.FAILED, self._no_branch(point)
            point = switched
        self.statics.remember_contacts(point)
        step = min(FOLLOWING.first_step, self.max_step)
        while len(self.record.points) < self.max_points:
            try:
                new = self._attempt(point, step)
                ended = self._between(point, new, step)
            except _TooLong:
                step *= FOLLOWING.shortened
                if step < FOLLOWING.least_step:
                    return Status.FAILED, self._stuck(point)
                continue
            if ended == Status.FAILED:
                return Status.FAILED, self._no_branch(self.record.points[-1])
            if isinstance(ended, Status):
                return ended, self._ending(self._bound_reached() if ended == Status.STOPPED else "")
            if isinstance(ended, EquilibriumPoint):
                point, step = ended, min(FOLLOWING.first_step, self.max_step)
                self.statics.remember_contacts(point)
                continue
            # the new point for the next step: with the rate of change of the tangent, and its own scaling
            assert point.tangent is not None
            assert new.tangent is not None
            bend = new.tangent.plus(point.tangent.times(-1.0)).times(1.0 / step)
            new = replace(new, bend=bend, scaling=stiffness_scaling(new.at))
            self.record.add(new)
            if (new.value - self.first) * np.sign(self.to - self.first) < -abs(self.to - self.first):
                return Status.STOPPED, self._ending(
                    f"'{self.statics.loading.name}' reached {new.value:g} in the opposite direction, as far from the start as"
                    f" the goal. Follow another branch, {'' if start is None else 'reverse the direction, '}or give another goal."
                )
            point = new
            self.statics.remember_contacts(point)
            more = new.iterations - FOLLOWING.few_corrections
            step = min(
                self.max_step, step * (FOLLOWING.longer if more <= 0 else 1.0 if more == 1 else FOLLOWING.shorter)
            )
        return Status.STOPPED, self._ending(
            f"{self.max_points} points did not reach the end. Increase max_points, or allow longer steps."
        )

    def _attempt(self, point: EquilibriumPoint, step: float) -> EquilibriumPoint:
        """The next point; raises _TooLong if it is not found, or is unreliable."""
        new = self.statics.step(point, step)
        if new is None or new.tangent is None or point.tangent is None:
            raise _TooLong
        shortest = FOLLOWING.kink if _contacts_changed(point, new) else 10 * FOLLOWING.least_step
        if point.metric.dot(point.tangent, new.tangent) < FOLLOWING.bend and step >= shortest:
            raise _TooLong
        return new

    # -- special points within a step ----------------------------------------------------------------------------------

    def _between(self, point: EquilibriumPoint, new: EquilibriumPoint, step: float) -> Status | EquilibriumPoint | None:
        """Record the special points between two points, in order: a status if the path ends there, a point if it branches off."""
        previous = None
        for length, kind, where, k in sorted(self._special_points(point, new, step), key=lambda x: x[0]):
            if kind in (Status.COMPLETED, Status.STOPPED):
                end = self._exactly(where) if kind == Status.COMPLETED else where
                self.record.add(replace(end, scaling=stiffness_scaling(end.at)))
                return Status(kind)
            direction = _critical(where, k)
            same = (
                previous is not None and kind == "bifurcation" and abs(length - previous) <= FOLLOWING.together * step
            )
            if same:
                self.record.more(direction)
            else:
                self.record.add(where, kind, direction)
            if kind == "bifurcation":
                previous = length
                self.modes += 1
                if self.branch is not None and self.branch.mode == self.modes:
                    return self._switch(where, direction) or Status.FAILED
        return None

    def _special_points(
        self, point: EquilibriumPoint, new: EquilibriumPoint, step: float
    ) -> list[tuple[float, str, EquilibriumPoint, int]]:
        """Limit points, bifurcations and ends within a step: length along it, type, the point, and the index of the vanishing
        eigenvalue
        (-1 for none)."""
        special: list[tuple[float, str, EquilibriumPoint, int]] = []
        fold = None
        if point.tau * new.tau < 0:
            fold = self._locate(point, new, step, lambda x: x.tau)
            special.append((fold[0], "limit", fold[1], -1))
        for k in self._crossings(point, new):
            scale = max(abs(_value(point, k)), abs(_value(new, k)))
            if fold is not None and abs(_value(fold[1], k)) <= FOLLOWING.same * scale:
                special[0] = (fold[0], "limit", fold[1], k)
                fold = None
                continue
            at = self._locate(point, new, step, lambda x, k=k: _value(x, k))  # type: ignore[misc]
            special.append((at[0], "bifurcation", at[1], k))
            losses = self.modes + sum(kind == "bifurcation" for _, kind, _, _ in special)
            if self.branch is not None and losses >= self.branch.mode:
                break  # eigenvalues vanish in ascending order: the following ones are beyond the branch
        for status, test in self._ends():
            if test(point) * test(new) <= 0 and test(new) != test(point):
                at = self._locate(point, new, step, test)
                special.append((at[0], status, at[1], -1))
        return special

    def _crossings(self, point: EquilibriumPoint, new: EquilibriumPoint) -> range:
        """Indices of the eigenvalues that change their sign."""
        a, b = point.stability, new.stability
        if a is None or b is None or a.neutral or b.neutral or len(a.values) != len(b.values):
            return range(0)
        counts = [int(np.sum(x.values < 0)) for x in (a, b)]
        return range(min(counts), max(counts))

    def _ends(self) -> list[tuple[Status, Callable[[EquilibriumPoint], float]]]:
        """Test functions that are zero at an end of the path, with the resulting status."""
        ends: list[tuple[Status, Callable[[EquilibriumPoint], float]]] = [
            (Status.COMPLETED, lambda x: x.value - self.to)
        ]
        for name, value in self.stop.items():
            ends.append((Status.STOPPED, lambda x, name=name, value=value: self._output(x, name) - value))  # type: ignore[misc]
        return ends

    def _output(self, point: EquilibriumPoint, name: str) -> float:
        if name in self.eqs.coordinates:
            return float(point.q[self.eqs.coordinates.index(name)])
        output, k = self.parts[name]
        self.statics.apply(point.value)
        bound, zero = self.statics.bound, np.zeros(self.statics.bound.nv)
        value = evaluate_outputs(self.eqs.model, bound, self.statics.t, point.q, zero, zero, point.multipliers, 0.0)[
            output
        ]
        return float(np.ravel(value)[k])

    def _locate(
        self, point: EquilibriumPoint, new: EquilibriumPoint, step: float, test: Callable[[EquilibriumPoint], float]
    ) -> tuple[float, EquilibriumPoint]:
        """Length along the step, and the point, at which a test function is zero: Brent's method on points of the path."""
        seen = {0.0: point, step: new}
        ends = abs(test(point)), abs(test(new))
        small = FOLLOWING.located * max(min(ends), 1e-3 * max(ends))

        def f(length: float) -> float:
            if length not in seen:
                there = self.statics.step(point, length, patient=True)
                if there is None:
                    raise EvaluationError("no point there")
                seen[length] = there
            value = test(seen[length])
            return 0.0 if abs(value) <= small else value

        try:
            root = scipy.optimize.brentq(f, 0.0, step, xtol=1e-13 * max(step, 1e-3), rtol=1e-14, maxiter=60)
        except (EvaluationError, RuntimeError):
            root = min(seen, key=lambda length: abs(test(seen[length])))
        root = root if root in seen else min(seen, key=lambda length: abs(test(seen[length])))
        if abs(test(seen[root])) > max(small, FOLLOWING.jumped * min(ends)):
            raise _TooLong
        return root, replace(seen[root], scaling=point.scaling)

    def _exactly(self, point: EquilibriumPoint) -> EquilibriumPoint:
        """The last point, with exactly the final value of the parameter."""
        nothing = np.zeros(self.statics.bound.nv), np.zeros(self.statics.bound.m)
        fixed = Direction(*nothing, self.statics.loading.scale)
        found = self.statics.correct(point.q, point.multipliers, self.to, fixed, point.metric, patient=True)
        assert point.tangent is not None
        with_tangent = None if found is None else self.statics.with_tangent(found, point.tangent)
        return with_tangent or point

    # -- branches ----------------------------------------------------------------------------------------------------

    def _switch(self, point: EquilibriumPoint, direction: np.ndarray) -> EquilibriumPoint | None:
        """The first point on the crossing branch, on the requested side."""
        assert self.branch is not None
        assert point.tangent is not None
        force = point.at.stiffness @ direction
        change = np.zeros(self.statics.bound.m)
        if self.statics.bound.m:
            change = balancing_multipliers(point.at, force, self.statics.bound.active_rows)
        way = Direction(direction, change, 0.0)
        # orthogonal to the previous path, so that the correction does not return to it
        along = point.metric.dot(way, point.tangent)
        t = point.tangent
        way = Direction(way.q - along * t.q, way.multipliers - along * t.multipliers, -along * t.value)
        way = way.times(1.0 / point.metric.length(way))
        sign = float(self.branch.sign)
        if self.branch.by is None:
            sign *= np.sign(direction[leading(direction)])
        for length in (share * FOLLOWING.first_step for share in FOLLOWING.switching):
            for side in (sign, -sign):
                new = self.statics.step_along(point, way.times(side), min(length, self.max_step))
                if new is None:
                    continue
                if self.branch.by is not None:
                    change_of = self._output(new, self.branch.by) - self._output(point, self.branch.by)
                    if change_of * self.branch.sign <= 0:
                        continue
                elif side != sign:
                    break
                new = replace(new, scaling=np.zeros(0))
                found = self.statics.with_tangent(new, way.times(side))
                if found is not None:
                    self.record.branch += 1
                    self.record.add(found)
                    return found
        return None

    def _bound_reached(self) -> str:
        last = self.record.points[-1]
        name = min(self.stop, key=lambda x: abs(self._output(last, x) - self.stop[x]))
        return f"'{name}' reached {self.stop[name]:g} at '{self.statics.loading.name}' = {last.value:.6g}"

    # -- messages -------------------------------------------------------------------------------------------------------

    def _ending(self, reason: str = "") -> str:
        points = self.record.points
        last = points[-1]
        kinds = self.record.kinds
        parts = (
            [reason] if reason else [f"'{self.statics.loading.name}' reached {last.value:g} in {len(points)} points"]
        )
        for kind, word in (("limit", "limit point"), ("bifurcation", "bifurcation")):
            values = [f"{p.value:.6g}" for p, k in zip(points, kinds, strict=True) if k == kind]
            if values:
                parts.append(f"{len(values)} {word}{'s' if len(values) > 1 else ''} at {enumeration(values)}")
        if self.branch is not None and not self.record.branch:
            parts.append(
                f"no bifurcation of number {self.branch.mode} was found, so no branch was taken: extend the range, or "
                "give a small imperfection"
            )
        stability = last.stability
        if stability is not None and stability.stable is False:
            way = "directions" if stability.unstable > 1 else "direction"
            parts.append(f"the last point is unstable in {stability.unstable} {way}")
        return "; ".join(parts)

    def _stuck(self, point: EquilibriumPoint) -> str:
        first = (
            f"the path could not be followed beyond '{self.statics.loading.name}' = {point.value:.6g}: no equilibrium was "
            "found nearby, even with short steps. "
        )
        contacts = friction_words(self.statics.bound, point.contacts)
        if contacts:
            return (
                f"{first}Contacts there: {contacts}. If the surfaces slide away or snap to another pose, no equilibrium follows: "
                "`simulate` from this point and change the parameter slowly, increase `friction`, or begin another path at a later "
                "pose."
            )
        return (
            f"{first}A stop or a slack link may act there, or the robot may be at the limit of its reach. Smooth such"
            " transitions, or continue from a later pose."
        )

    def _no_branch(self, point: EquilibriumPoint) -> str:
        return f"no branch was found at '{self.statics.loading.name}' = {point.value:.6g}. Give a small imperfection instead."


def _contacts_changed(point: EquilibriumPoint, new: EquilibriumPoint) -> bool:
    """Whether contacts, or their sticking, differ at the two ends of a step."""
    if point.contacts is None or new.contacts is None:
        return False
    columns = [ENTRIES[name].at for name in ("key", "slides")]
    return not np.array_equal(point.contacts.rows[:, columns], new.contacts.rows[:, columns])


def _value(point: EquilibriumPoint, k: int) -> float:
    assert point.stability is not None
    return float(point.stability.values[k])


def _critical(point: EquilibriumPoint, k: int) -> np.ndarray:
    """The direction without stiffness, of unit length; the direction of the path at a limit point without a vanishing
    eigenvalue."""
    assert point.tangent is not None
    direction = point.tangent.q if k < 0 or point.stability is None else point.stability.directions[:, k]
    length = point.metric.length(Direction(direction, point.multipliers, 0.0))
    direction = direction / length if length > 0 else direction
    return np.asarray(direction * (np.sign(direction[leading(direction)]) or 1.0))


def leading(direction: np.ndarray) -> int:
    """The first of the large entries of a direction, which defines its sign.

    It is not the largest: of two equal entries of a symmetric shape, round-off would decide which is larger.
    """
    size = np.abs(direction)
    return int(np.argmax(size >= 0.5 * size.max(initial=0.0)))


# -- the first point ---------------------------------------------------------------------------------------------------


def first_point(
    statics: ArcLengthStatics, q: np.ndarray, multipliers: np.ndarray, first: float, to: float, imperfection: np.ndarray,
    way: Direction | None, *, at_rest: bool,
) -> EquilibriumPoint | str:  # fmt: skip
    """The first point of a path near a pose, with its tangent; the reason if there is none.

    imperfection: generalized forces that act along the path. way: direction of the path, if known. at_rest: whether the pose is the
    robot's equilibrium.
    """
    loading = statics.loading
    statics.push(imperfection)
    fixed = Direction(np.zeros(statics.bound.nv), np.zeros(statics.bound.m), loading.scale)
    statics.apply(first)
    metric = statics.metric(statics.linearized(q, multipliers))
    point = statics.correct(q, multipliers, first, fixed, metric, patient=True)
    if point is None and imperfection.any():
        point = _pushed(statics, q, multipliers, first, imperfection)
    if point is not None:
        point = replace(point, value=first)  # the corrections are across it, up to round-off
    elif way is not None:
        point = statics.correct(q, multipliers, first, way, metric, patient=True)
    if point is None and at_rest:
        pushed = " with the imperfection; make it smaller, or" if imperfection.any() else ";"
        return f"no equilibrium was found at the start{pushed} start from a pose near one, or a point of another path."
    if point is None:
        return "no equilibrium was found near the start. Start from an equilibrium (the default), or a point of another path."
    way = way or Direction(fixed.q, fixed.multipliers, np.sign(to - first) * loading.scale)
    return statics.with_tangent(point, way) or (
        f"the start has no neighbouring equilibria: no motion of the robot balances a change of '{loading.name}'. Hold the "
        "coordinates that it drives, by springs or prescribed motions."
    )


def _pushed(
    statics: ArcLengthStatics, q: np.ndarray, multipliers: np.ndarray, value: float, imperfection: np.ndarray
) -> EquilibriumPoint | None:
    """The pose under an imperfection that is not small: applied in load steps at a fixed value of the parameter."""
    fixed = Direction(np.zeros(len(imperfection)), np.zeros(len(multipliers)), statics.loading.scale)
    point = None
    for share in np.linspace(0, 1, FOLLOWING.stages + 1)[1:]:
        statics.push(share * imperfection)
        statics.apply(value)
        metric = statics.metric(statics.linearized(q, multipliers))
        point = statics.correct(q, multipliers, value, fixed, metric, patient=True)
        if point is None:
            return None
        q, multipliers = point.q, point.multipliers
    return point
