"""Equilibria by pseudo-transient continuation: Newton's method that becomes a damped motion where Newton steps would diverge.

A step solves the equations of an implicit step of a motion without inertia, whose damping is the metric V of displacements and
rotations of nodes,

    F(q) - J' multipliers + shift V x = left F0,    phi(q) = left phi0,

where x is the increment since the beginning of the step. Without a shift and with left = 0 this is statics, and the steps are
Newton steps. The shift removes negative eigenvalues on the motions allowed by the constraints, so that steps lead downhill, away
from unstable poses. Steps are also limited by a trust radius: a part of the imbalance then remains.

A step is accepted by the corrections that its equations require at its end (Deuflhard's natural criterion), not by forces: large
forces of stiff strains, caused by a step, are as insignificant as the small motion that removes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from pliant.analysis.numerics.independent_coordinates import null_space
from pliant.analysis.numerics.saddle import on_allowed_motions
from pliant.analysis.statics.carried_sections import CarriedSections, Entries
from pliant.analysis.statics.factorization import Factors, Tangent
from pliant.analysis.statics.obstacles import Obstacles
from pliant.analysis.statics.stability import DENSE_UP_TO, NEUTRAL, stiffness_scaling
from pliant.analysis.statics.static_equations import StaticEquations, forces_in_play, largest_turn, total_mass
from pliant.engine.binding import Binding
from pliant.engine.linearized import LinearizedEquations
from pliant.engine.workspace import EvaluationError
from pliant.language.limits import time_is_up

# Maximum number of evaluations of the equations in a search.
MAX_ITERATIONS = 500
# Initial limits of a step: rotation [rad] and displacement of nodes, relative to the robot's size.
MAX_TURN = 1.5
MAX_MOVE = 1.0
# A robot that has moved by this multiple of its size has no equilibrium.
AWAY = 1e4
# Up to this number of unknowns dense matrices are faster than sparse ones.
DENSE_UNKNOWNS = 400
# Maximum number of corrections of a step; required ratio of successive corrections, from the third on; and the fraction of the step
# at which a correction is the last.
CORRECTIONS = 8
SHORTER = 0.7
SETTLED = 0.1
# Steps with a shift have the length of the radius, up to this factor.
NEARLY = 0.3
# Below this radius a step that is too long is shortened by the shift, instead of by leaving a part of the imbalance;
# so are steps longer than this, along directions without stiffness.
SMALL_RADIUS = 0.1
ENDLESS = 1e3
LEAST_RADIUS = 1e-12
# Constraint values below this are closed, relative to their sizes.
CLOSED = 1e-11
# A pose is an equilibrium if its forces balance, and the next Newton step is shorter than this fraction of the longest.
IN_BALANCE = 1e-6
# Length of the perturbation that leaves an unstable equilibrium, and the maximum number of perturbations.
PUSH = 0.1
MAX_PUSHES = 6
# Constraints that are open by more than this, relative to their sizes, may compress rods until they buckle. This is predicted
# from a step of this extent; forces are at first limited to this multiple of the first buckling load.
CLOSING = 1e-6
FORESIGHT = 1e-3
BEYOND = 1.5
# Springs become constraints again when these are closed to this fraction of their sizes.
NEARLY_CLOSED = 1e-3
ROUGHLY = 1e-2


@dataclass
class RelaxationResult:
    """End of a search: pose and multipliers, whether forces balance, the binding with its contact memory, whether the pose is
    unstable,
    number of evaluations, rates along which it was perturbed, whether it has moved too far, and pairs of parts that came into
    contact."""

    q: np.ndarray
    multipliers: np.ndarray
    in_balance: bool
    bound: Binding
    gives_way: bool = False
    iterations: int = 0
    pushed: list[int] = field(default_factory=list)
    away: bool = False
    met: tuple[tuple[str, str], ...] = ()


class _PoseEquations(NamedTuple):
    """A pose and its equations."""

    q: np.ndarray
    multipliers: np.ndarray
    at: LinearizedEquations


class _Step(NamedTuple):
    """Increments of q and of the multipliers, their shift, and their extent: 1 is the longest allowed."""

    x: np.ndarray
    multipliers: np.ndarray
    shift: float
    extent: float


class Relaxation:
    """A search for an equilibrium."""

    def __init__(
        self,
        statics: StaticEquations,
        carried: CarriedSections,
        *,
        stable: bool,
        reach: float = 1.0,
        passing: bool = False,
    ) -> None:
        """`stable`: leave unstable poses. `reach`: factor on the longest steps. `passing`: steps may pass through surfaces."""
        self._statics, self._carried, self._stable = statics, carried, stable
        self._most_turn, self._most_move = MAX_TURN * reach, MAX_MOVE * reach
        self._bound = statics.bound
        self._active = statics.bound.row_active.astype(float)
        self._rotations = np.array([v for _, v in self._bound.system.quaternions()], dtype=int)
        self._radius = 1.0
        self._last_shift = 0.0
        self._give = np.zeros(self._bound.m)
        self._is_soft = False
        self._iterations = 0
        self._pushed: list[int] = []
        self._passing = passing

    def run(self, q: np.ndarray) -> RelaxationResult:
        """Search from a pose, whose constraints may be open."""
        begin = self._bound.node_poses(q)[1]
        self._size, self._sizes = self._bound.sizes(q)
        self._obstacles = Obstacles(self._bound, self._size)
        self._turns = self._mean_square_turns(q)
        place = self._balanced_place(q)
        self._force = float(np.abs(self._sizes * place.at.residual).max(initial=0.0))
        left: _PoseEquations | None = None
        away, remembered = False, self._statics.bound
        if self._stable:
            self._soften(self._softness(place), place)
        if self._is_soft:
            place = self._place(q, np.zeros(self._bound.m))
        while self._iterations < MAX_ITERATIONS and self._radius > LEAST_RADIUS and not time_is_up():
            metric = self._metric(place.at)
            tangent = self._tangent(place, metric, place.at.residual)
            force, phi = place.at.residual, self._gaps(place)
            plain = self._newton(place, tangent, force, phi)
            sound = plain is not None and (plain[1].sound or not self._stable)
            if self._is_soft and sound and self._springs_balance(place):
                self._harden(place)
                continue
            if plain is not None and plain[0].extent < IN_BALANCE and self._forces_balance(place):
                pushed = None if sound else self._push(place)
                if pushed is None or not self._stable or len(self._pushed) > MAX_PUSHES:
                    return self._rest(self._polished(place), in_balance=not self._is_soft)
                left = left if self._is_soft else place
                remembered = self._statics.bound
                place = pushed
                continue
            step = None if plain is None or not sound else plain[0]
            too_long = step is not None and step.extent > self._radius
            if step is None or (too_long and (self._radius < SMALL_RADIUS or step.extent > ENDLESS)):
                step = self._shifted(place, tangent, force, phi)
                if step is None:
                    break
            place = self._next(place, step, tangent)
            away = not np.abs(self._bound.node_poses(place.q)[1] - begin).max(initial=0.0) <= AWAY * self._size
            if away:
                break
        # the result before the unsuccessful perturbation
        if left is not None:
            self._statics.bound = remembered
            return self._rest(left, in_balance=True, gives_way=True)
        return self._rest(place, in_balance=False, away=away)

    def _rest(
        self, place: _PoseEquations, *, in_balance: bool, gives_way: bool = False, away: bool = False
    ) -> RelaxationResult:
        bound = self._statics.bound
        met = tuple(dict.fromkeys(self._obstacles.met))
        return RelaxationResult(
            place.q, place.multipliers, in_balance, bound, gives_way, self._iterations, self._pushed, away, met
        )

    # -- evaluations -------------------------------------------------------------------------------------------------

    def _place(self, q: np.ndarray, multipliers: np.ndarray) -> _PoseEquations:
        """The equations at a pose; raises EvaluationError if they cannot be evaluated."""
        at = self._statics.linearized(q, multipliers)
        if not (np.all(np.isfinite(at.residual)) and np.all(np.isfinite(at.stiffness.data))):
            raise EvaluationError("the forces at a pose are not finite numbers")
        return _PoseEquations(q, multipliers, at)

    def _tangent(
        self, place: _PoseEquations, metric: Any, imbalance: np.ndarray, left: np.ndarray | float = 0.0
    ) -> Tangent:
        """The tangent at a pose for a step that removes an imbalance (nv) and leaves forces `left`, including the second
        derivative along carried increments, which are curved."""
        carried = self._carried.rates
        turning = imbalance.copy()
        turning[carried] = (imbalance + left)[carried]
        bend, turn = self._carried.bend(self._bound, place.q, turning), self._commutators(turning)
        added = tuple(np.concatenate(x) for x in zip(bend, turn, strict=True))
        return Tangent(place.at, metric, self._bound.active_rows, added)

    def _balanced_place(self, q: np.ndarray) -> _PoseEquations:
        """A pose with the multipliers that balance its forces in the least-squares sense."""
        place = self._place(q, np.zeros(self._bound.m))
        if not self._bound.m:
            return place
        return self._place(q, self._statics.balanced_multipliers(place.at, place.at.residual, place.multipliers))

    def _commutators(self, force: np.ndarray) -> Entries:
        """The difference between the stiffness for increments by rotation vectors and for body-side increments, which is nonzero
        if forces do not balance: minus half the hat of the torque."""
        begin, half = self._rotations, 0.5 * force
        rows, columns, values = [], [], []
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            rows += [begin + i, begin + j]
            columns += [begin + j, begin + i]
            values += [half[begin + k], -half[begin + k]]
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    def _gaps(self, place: _PoseEquations) -> np.ndarray:
        """Constraint values [m or rad] minus the deflection of the springs that replace the constraints."""
        return (place.at.phi + self._give * place.multipliers) * self._active

    def _gap(self, place: _PoseEquations) -> float:
        """The largest constraint value, relative to its size."""
        return float(np.abs(place.at.phi * self._active / place.at.row_sizes).max(initial=0.0))

    # -- measures ----------------------------------------------------------------------------------------------------

    def _mean_square_turns(self, q: np.ndarray) -> np.ndarray:
        """Rotation of nodes per unit of each rate: mean of the squares (nv)."""
        out = np.zeros(self._bound.nv)
        for k in range(len(out)):
            rate = np.zeros(len(out))
            rate[k] = 1.0
            turns = self._bound.node_twists(q, rate)[1:, 3:]
            out[k] = np.sum(turns**2) / max(1, len(turns))
        return out

    def _metric(self, at: LinearizedEquations) -> Any:
        """V: displacements weighted by the mass that they move, relative to the robot's mass and size, and rotations of nodes. An
        array for small systems, else sparse."""
        scale = 1.0 / ((total_mass(self._bound) or 1.0) * self._size**2)
        # a small multiple of the identity, so that massless directions have a nonzero length
        square = self._sizes**2
        typical = float(np.mean(square * (scale * np.abs(at.mass.diagonal()) + self._turns))) if len(square) else 0.0
        diagonal = self._turns + (1e-6 * typical or 1.0) / square
        if self._bound.nv + self._bound.m > DENSE_UNKNOWNS:
            return scipy.sparse.csc_matrix(scale * at.mass + scipy.sparse.diags(diagonal))
        metric = scale * at.mass.toarray()
        metric[np.diag_indices(len(diagonal))] += diagonal
        return metric

    def _extent(self, q: np.ndarray, x: np.ndarray) -> float:
        """Largest rotation and displacement of a node by an increment, to first order, relative to the maximum."""
        if not np.all(np.isfinite(x)):
            return np.inf
        twists, places = self._bound.node_twists(q, x), self._bound.node_poses(q)[1]
        turn = np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0) / self._most_turn
        move = np.linalg.norm(twists[:, :3] + np.cross(twists[:, 3:], places), axis=1).max(initial=0.0)
        return float(max(turn, move / (self._most_move * self._size)))

    def _forces_balance(self, place: _PoseEquations) -> bool:
        """Whether the imbalance is small relative to the acting forces, and constraints are closed."""
        at = place.at
        allowed = self._statics.tolerance * max(forces_in_play(at, place.multipliers), self._force)
        closed = np.abs(self._gaps(place) / at.row_sizes).max(initial=0.0) <= CLOSED
        return bool(closed and np.abs(at.rate_sizes * at.residual).max(initial=0.0) <= allowed)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _newton(
        self, place: _PoseEquations, tangent: Tangent, force: np.ndarray, phi: np.ndarray
    ) -> tuple[_Step, Factors] | None:
        """Newton's step, stable or not, and its factors; None if the stiffness is singular."""
        factors = tangent.factorized(0.0, self._give[self._bound.active_rows])
        if factors is None:
            return None
        x, multipliers = factors.step(force, phi)
        return _Step(x, multipliers, 0.0, self._extent(place.q, x)), factors

    def _shifted(self, place: _PoseEquations, tangent: Tangent, force: np.ndarray, phi: np.ndarray) -> _Step | None:
        """A step with the smallest shift for which the matrix has no negative eigenvalues and the step is about within the
        radius."""
        # without stiffness, the shift that gives a step of unit size
        size = np.maximum(np.abs(tangent.stiffness.diagonal()), np.abs(force) / self._sizes)
        highest = np.max(size / tangent.metric.diagonal(), initial=1e-300)
        shift, low, best = self._last_shift or 1e-6 * highest, 0.0, None
        for k in range(40):
            factors, extent = tangent.factorized(shift, self._give[self._bound.active_rows]), np.inf
            if factors is not None and (factors.sound or not self._stable):
                x, multipliers = factors.step(force, phi)
                extent = self._extent(place.q, x)
            if extent > 5 * self._radius:
                low = shift
            else:
                best = _Step(x, multipliers, shift, extent)
                if extent >= NEARLY * self._radius or k >= 12 or shift < 1.1 * low:
                    break
            shift = 10 * shift if best is None else float(np.sqrt(low * best.shift)) if low else 0.03 * shift
        self._last_shift = best.shift if best is not None else 0.0
        return best

    def _next(self, place: _PoseEquations, step: _Step, tangent: Tangent) -> _PoseEquations:
        """The pose after a step, or the same pose with a smaller radius or soft constraints."""
        share = min(1.0, self._radius / step.extent) if step.extent > 0 else 1.0
        found = self._settled(place, step, share, tangent.metric)
        if found is None:
            self._radius = 0.3 * min(self._radius, step.extent)
            return place
        new, ratio, x = found
        free = self._obstacles.free_share(
            self._statics.bound,
            self._statics.t,
            lambda s: self._carried.increment(self._bound, place.q, s * x),
            (place.q, new.q),
        )
        if free < 1.0 and not self._passing:
            self._radius = min(free, 0.7) * min(self._radius, step.extent)
            return place
        self._statics.remember(new.q)
        if ratio < 0.25:
            # displacements may be large, but rotations beyond the maximum could jump over an equilibrium
            limited = self._radius == 1.0 and (share < 1.0 or (step.shift > 0 and step.extent > NEARLY))
            self._most_move *= 3.0 if limited and ratio < 0.01 else 1.0
            self._radius = min(1.0, 3.0 * self._radius)
        return new

    # -- constraints that are open at the start ------------------------------------------------------------------------

    def _softness(self, place: _PoseEquations) -> float:
        """Initial compliance of constraints, relative to their sizes per work of their forces [1/J]: zero, or such that they load
        the robot only slightly beyond its first buckling.

        Closed at once, constraints could compress a perfect rod arbitrarily, and let it buckle in a mode that slow compression
        never reaches. The first loss of stiffness is predicted from its change over a small fraction of Newton's step.
        """
        phi = place.at.phi * self._active
        if self._gap(place) <= CLOSING or self._bound.nv > DENSE_UP_TO:
            return 0.0
        found = self._newton(
            place, self._tangent(place, self._metric(place.at), place.at.residual), place.at.residual, phi
        )
        if found is None or not found[1].sound:
            return 0.0
        step = found[0]
        share = min(1.0, FORESIGHT / step.extent) if step.extent > 0 else 1.0
        q = self._carried.increment(self._bound, place.q, share * step.x)
        try:
            new = self._place(q, place.multipliers + share * step.multipliers)
            Z = on_allowed_motions(place.at, self._bound.active_rows)[0]
            before, after = (Z.T @ (0.5 * (x + x.T)) @ Z for x in (y.at.stiffness.toarray() for y in (place, new)))
            if Z.shape[1] == 0:
                return 0.0
            lowest = float(scipy.linalg.eigh(after, before, eigvals_only=True, subset_by_index=[0, 0])[0])
        except (EvaluationError, scipy.linalg.LinAlgError, ValueError):
            return 0.0
        lost = share / max(1.0 - lowest, 1e-300)
        if lost >= 1.0:
            return 0.0
        square = float(np.sum((phi / place.at.row_sizes) ** 2))
        return square / (BEYOND * lost * max(abs(float(phi @ step.multipliers)), 1e-300))

    def _soften(self, softness: float, place: _PoseEquations) -> None:
        """Replace constraints by springs."""
        self._is_soft = softness > 0
        self._give, self._first_gap = softness * place.at.row_sizes**2, self._gap(place)

    def _springs_balance(self, place: _PoseEquations) -> bool:
        """Whether the springs that replace constraints roughly balance the robot's forces."""
        at = place.at
        gaps, forces = np.abs(self._gaps(place) / at.row_sizes), np.abs(at.rate_sizes * at.residual)
        carried = np.abs(at.rate_sizes * (at.jacobian.T @ place.multipliers))
        return bool(gaps.max() <= ROUGHLY * self._gap(place) and forces.max() <= ROUGHLY * carried.max())

    def _harden(self, place: _PoseEquations) -> None:
        """Stiffen the springs that replace constraints, and finally restore the constraints."""
        gap = self._gap(place)
        factor = 0.0 if gap <= NEARLY_CLOSED else 0.3 if gap > 0.5 * self._first_gap else 0.1
        self._give, self._is_soft = factor * self._give, factor > 0
        self._radius = 1.0

    def _settled(
        self, place: _PoseEquations, step: _Step, share: float, metric: Any
    ) -> tuple[_PoseEquations, float, np.ndarray] | None:
        """Solve the equations of a step by Newton's method: the solution, the largest ratio of two corrections, and the
        increment; None if corrections do not decrease."""
        left_phi = (1 - share) * self._gaps(place)
        x = share * step.x
        q = self._carried.increment(self._bound, place.q, x)
        multipliers = place.multipliers + share * step.multipliers
        # a step that only relaxes stiff strains may be shorter than the following motion
        length = first = max(share * step.extent, 0.3 * self._radius)
        rotations, worst = self._bound.node_poses(place.q)[0], 0.0
        to_the_end = step.shift == 0 and share == 1.0
        for k in range(CORRECTIONS):
            self._iterations += 1
            try:
                new = self._place(q, multipliers)
            except EvaluationError:
                return None
            left_force = (1 - share) * place.at.residual
            if share < 1:
                left_force = self._carried.transported(self._bound, place.q, left_force, q)
            imbalance = new.at.residual - left_force + (step.shift * (metric @ x) if step.shift else 0.0)
            factors = self._tangent(new, metric, imbalance, left_force).factorized(
                step.shift, self._give[self._bound.active_rows]
            )
            if factors is None or largest_turn(rotations, self._bound.node_poses(q)[0]) > 1.5 * self._most_turn:
                return None
            more = factors.step(imbalance, self._gaps(new) - left_phi)
            correction = self._extent(q, more[0])
            ratio = correction / length
            if not ratio <= (1.0 if k < 2 else SHORTER):
                return None
            worst = max(worst, correction / first)
            ending = correction <= (1e-3 if to_the_end else SETTLED * self._extent(place.q, x + more[0]))
            if ending and self._stable and not factors.sound and self._is_soft:
                return None  # Newton's method has crossed an unstable pose
            if to_the_end and ending:
                return new, worst, x
            x = x + more[0]
            q, multipliers = self._carried.increment(self._bound, q, more[0]), multipliers + more[1]
            if ending:
                self._iterations += 1
                try:
                    return self._place(q, multipliers), worst, x
                except EvaluationError:
                    return None
            length = correction
        return None

    def _polished(self, place: _PoseEquations) -> _PoseEquations:
        """Reduce the remaining imbalance of an equilibrium to round-off, as long as full Newton steps decrease it."""
        for _ in range(6):
            tangent = self._tangent(place, self._metric(place.at), place.at.residual)
            found = self._newton(place, tangent, place.at.residual, place.at.phi * self._active)
            if found is None or not found[0].extent < 1e-3:
                break
            step = found[0]
            try:
                new = self._place(self._bound.increment(place.q, step.x), place.multipliers + step.multipliers)
            except EvaluationError:
                break
            closed = self._gap(new) <= CLOSED
            before, after = (np.abs(self._sizes * x.at.residual).max(initial=0.0) for x in (place, new))
            if not closed or not after < 0.9 * before:
                break
            place = new
        return place

    def _push(self, place: _PoseEquations) -> _PoseEquations | None:
        """Perturb an equilibrium along its most unstable direction; None if there is none."""
        if self._bound.nv > DENSE_UP_TO:
            return None
        D = stiffness_scaling(place.at)
        J = place.at.jacobian.toarray() / place.at.row_sizes[:, None] * D
        Z = null_space(J[self._bound.active_rows])
        if Z.shape[1] == 0:
            return None
        K = Z.T @ (D[:, None] * place.at.stiffness.toarray() * D) @ Z
        if np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max():
            values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
        else:
            values, vectors = scipy.linalg.eig(K)
        k = int(np.argmin(np.where(np.abs(values.imag) <= 1e-9 * np.abs(values), values.real, np.inf)))
        if not values[k].real < -NEUTRAL * max(1.0, np.abs(values).max()):
            return None
        x = D * (Z @ vectors[:, k].real)
        leading = int(np.argmax(np.abs(x / self._sizes)))
        x *= np.sign(x[leading]) * PUSH / self._extent(place.q, x)
        self._pushed.append(leading)
        self._radius = 1.0
        return self._place(self._carried.increment(self._bound, place.q, x), place.multipliers)
