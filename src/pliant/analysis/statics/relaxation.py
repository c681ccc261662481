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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import null_space, on_allowed_motions
from pliant.analysis.numerics.state import AssembledState
from pliant.analysis.statics.carried_sections import CarriedSections, Entries
from pliant.analysis.statics.factorization import Factors, Tangent
from pliant.analysis.statics.stability import TOLERANCES, stiffness_scaling
from pliant.analysis.statics.static_equations import StaticEquations, forces_in_play, largest_turn, total_mass
from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.contacts import Contacts, contacts_at, contacts_at_rest
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.language.limits import time_is_up
from pliant.parts.assembly.contact_shapes import ContactShape


@dataclass(frozen=True)
class ObstacleSettings:
    """Numbers that decide about collisions within a step."""

    spacing: float = 0.25
    """Distance of samples of a step, relative to the thinnest shape, so that four samples see it."""
    tolerated: float = 0.1
    """Additional penetration allowed within a step, relative to the thinnest shape."""
    samples: int = 300
    """Maximum number of samples of a step."""
    thickness: float = 1e-4
    """Minimum thickness that is assumed for shapes, relative to the robot's size; thinner ones would take too many samples."""
    bulge: float = 0.5
    """Maximum deviation of the path of a vertex from a straight line, relative to its length: that of a half circle is 1/2 of its
    chord."""
    opposite: float = -0.5
    """Normals of a pair whose product is below this point to opposite sides: more than 120 degrees apart."""
    vertices: int = 500
    """Shapes with more vertices are not examined for convexity, which takes vertices times faces."""


CHECKING = ObstacleSettings()


class Obstacles:
    """The shapes of a robot that can touch, and the detection of collisions within a step."""

    def __init__(self, bound: Binding, size: float) -> None:
        """`size`: of the robot [m]."""
        system, constants = bound.system.contacts, bound.constants
        self.crossed: list[tuple[str, str]] = []
        names = [shape.name for shape in system.shapes]
        self._convex = {s.name for s in system.shapes if names.count(s.name) == 1 and _is_convex(s, constants)}
        named = [any(k in law.first | law.second for law in system.laws) for k in range(len(system.shapes))]
        shapes = [s for s, is_named in zip(system.shapes, named, strict=True) if is_named]
        vertices = [(v, k) for k, shape in enumerate(shapes) for v in shape.vertices]
        self._node = np.array([v.node for v, _ in vertices], dtype=int)
        at = np.array([v.constants for v, _ in vertices], dtype=int)
        self._local = np.stack([constants[at + i] for i in range(3)], axis=1) if len(at) else np.zeros((0, 3))
        self._begins = np.cumsum([0, *(len(s.vertices) for s in shapes)])[:-1]
        depth = np.array([constants[s.constants] if s.closed else 0.0 for s in shapes])
        is_plane = np.array([s.form == "plane" for s in shapes], dtype=bool)
        shape_of = np.array([k for _, k in vertices], dtype=int)
        radius = constants[at + 3] if len(at) else np.zeros(0)
        thick = np.where(is_plane[shape_of], np.inf, radius + depth[shape_of]) if len(at) else np.zeros(0)
        self._thinnest = max(float(np.min(thick, initial=np.inf)), CHECKING.thickness * size)
        if math.isinf(self._thinnest):
            self._thinnest = size
        # planes are unbounded, and shapes with self-contact are always close to themselves
        self._around = np.where(is_plane, np.inf, np.maximum.reduceat(thick, self._begins)) if len(at) else np.zeros(0)
        group, law = system.groups()
        of = np.array([g for g, is_named in zip(group, named, strict=True) if is_named], dtype=int)
        self._meet = (
            np.array(law).reshape(len(law), len(law))[np.ix_(of, of)] >= 0 if len(of) else np.zeros((0, 0), bool)
        )

    def places(self, bound: Binding, q: np.ndarray) -> np.ndarray:
        """Positions of all vertices (n x 3) [m]."""
        rotations, positions = bound.node_poses(q)
        return np.einsum("nij,nj->ni", rotations[self._node], self._local) + positions[self._node]

    def _may_meet(self, before: np.ndarray, after: np.ndarray) -> bool:
        """Whether the swept bounding boxes of shapes that can touch overlap."""
        way = np.linalg.norm(after - before, axis=1)[:, None] * CHECKING.bulge
        low = np.minimum.reduceat(np.minimum(before, after) - way, self._begins) - self._around[:, None]
        high = np.maximum.reduceat(np.maximum(before, after) + way, self._begins) + self._around[:, None]
        near = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
        return bool(np.any(near & self._meet))

    def free_share(
        self, bound: Binding, t: float, on_way: Callable[[float], np.ndarray], ends: Sequence[np.ndarray]
    ) -> float:
        """The fraction of a step up to which it is free of collisions, 1 for all of it; `crossed` contains the colliding parts.

        Args:
            on_way: positions q at a fraction of the step.
            ends: positions at both ends.
        """
        if not len(self._node):
            return 1.0
        before, after = (self.places(bound, q) for q in ends)
        longest = float(np.linalg.norm(after - before, axis=1).max())
        count = (
            min(math.ceil(longest / (CHECKING.spacing * self._thinnest)), CHECKING.samples)
            if np.isfinite(longest)
            else 1
        )
        if count <= 1 or not self._may_meet(before, after):
            return 1.0
        still = np.zeros(bound.nv)
        known = [contacts_at(bound, t, q, still) for q in ends]
        if pairs := self.opposed(known[1]) - self.opposed(known[0]):
            self.crossed.append(min(pairs))
            return 0.5
        for k in range(1, count):
            try:
                contacts = contacts_at(bound, t, on_way(k / count), still)
            except EvaluationError:
                continue
            if pair := self._too_deep(contacts, known):
                self.crossed.append(pair)
                return k / count
        return 1.0

    def opposed(self, contacts: Contacts) -> set[tuple[str, str]]:
        """Pairs of convex shapes that overlap so deeply that their contacts push to opposite sides."""
        sides: dict[tuple[str, str], list[np.ndarray]] = {}
        for pair, normal in zip(contacts.pairs, contacts.normal, strict=True):
            if self._convex.issuperset(pair):
                sides.setdefault(pair, []).append(normal)
        return {
            pair for pair, n in sides.items() if len(n) > 1 and np.min(np.array(n) @ np.array(n).T) < CHECKING.opposite
        }

    def _too_deep(self, contacts: Contacts, known: Sequence[Contacts]) -> tuple[str, str] | None:
        """The first pair with a deeper overlap than at either end, unless it stays in contact on the same side."""
        tolerated = CHECKING.tolerated * self._thinnest
        for pair, gap, normal in zip(contacts.pairs, contacts.gap, contacts.normal, strict=True):
            if -gap <= tolerated:
                continue
            depths = [
                [
                    -there
                    for other, there, direction in zip(end.pairs, end.gap, end.normal, strict=True)
                    if other == pair and direction @ normal > 0
                ]
                for end in known
            ]
            if not all(depths) and -gap > max(map(max, filter(None, depths)), default=0.0) + tolerated:
                return pair
        return None


def _is_convex(shape: ContactShape, constants: np.ndarray) -> bool:
    """Whether a shape is rigid and convex: a half space, a sphere, a capsule, or a closed surface without hollows."""
    if shape.node < 0 or len(shape.vertices) > CHECKING.vertices:
        return False
    if shape.form != "faces":
        return shape.form == "plane" or len(shape.vertices) <= 2
    if not shape.closed:
        return False
    at = np.array([vertex.constants for vertex in shape.vertices])
    points = np.stack([constants[at + i] for i in range(3)], axis=1)
    faces = np.array([item for item in shape.items if len(item) == 3], dtype=int)
    if not len(faces):
        return False
    a, b, c = (points[faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    heights = np.einsum("fk,vk->fv", normals, points) - np.sum(normals * a, axis=1)[:, None]
    slack = 1e-9 * np.abs(normals).max() * np.ptp(points, axis=0).max()
    return bool(np.all((heights.max(axis=1) <= slack) | (heights.min(axis=1) >= -slack)))


@dataclass(frozen=True)
class RelaxationSettings:
    """Numbers that decide in a search. Lengths of steps (extents) are relative to the longest allowed step."""

    iterations: int = 500
    """Maximum number of evaluations of the equations: the bundled robots need up to 111."""
    turn: float = 1.5
    """Initial limit of the rotation of nodes in a step [rad]: below the half turn that a rotation vector can describe."""
    move: float = 1.0
    """Initial limit of the displacement of nodes in a step, relative to the robot's size."""
    away: float = 1e4
    """A robot that has moved by this multiple of its size has no equilibrium."""
    dense_unknowns: int = 400
    """Up to this number of unknowns dense matrices are faster than sparse ones."""
    corrections: int = 8
    """Maximum number of corrections of a step."""
    shorter: float = 0.7
    """Required ratio of successive corrections, from the third on; Newton's method converges for ratios below 1 (criterion of
    Deuflhard)."""
    settled: float = 0.1
    """Correction, as a fraction of its step, that is the last: errors within a shifted step do not accumulate."""
    settled_newton: float = 1e-3
    """The same of a Newton step, whose end may be the equilibrium."""
    nearly: float = 0.3
    """Steps with a shift have the length of the radius, up to this factor; finer searches for the shift cost factorizations."""
    small_radius: float = 0.1
    """Below this radius a step that is too long is shortened by the shift, instead of by leaving a part of the imbalance."""
    endless: float = 1e3
    """So are steps longer than this, along directions without stiffness."""
    least_radius: float = 1e-12
    """The search ends at this radius: shorter steps are round-off."""
    closed: float = 1e-11
    """Constraint values below this are closed, relative to their sizes."""
    in_balance: float = 1e-6
    """A pose is an equilibrium if its forces balance, and the extent of the next Newton step is below this."""
    push: float = 0.1
    """Extent of the perturbation that leaves an unstable equilibrium."""
    pushes: int = 6
    """Maximum number of perturbations."""
    closing: float = 1e-6
    """Constraints that are open by more than this, relative to their sizes, may compress rods until they buckle."""
    foresight: float = 1e-3
    """Buckling is predicted from a step of this extent, over which the stiffness changes linearly."""
    beyond: float = 1.5
    """Forces of closing constraints are at first limited to this multiple of the first buckling load."""
    nearly_closed: float = 1e-3
    """Springs become constraints again when these are closed to this fraction of their sizes."""
    roughly: float = 1e-2
    """Fraction of their forces and gaps to which springs that replace constraints have to balance before they are stiffened."""
    short_reach: float = 0.25
    """Factor on the longest steps of a second search."""


SETTINGS = RelaxationSettings()


@dataclass
class RelaxationResult:
    """End of a search: pose and multipliers, whether forces balance, the binding with its contact memory, whether the pose is
    unstable, number of evaluations, rates along which it was perturbed, whether it has moved too far, and pairs of parts that came
    into contact."""

    q: np.ndarray
    multipliers: np.ndarray
    in_balance: bool
    bound: Binding
    unstable: bool = False
    iterations: int = 0
    pushed: list[int] = field(default_factory=list)
    away: bool = False
    crossed: tuple[tuple[str, str], ...] = ()


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
        self, statics: StaticEquations, carried: CarriedSections, *, stable: bool, reach: float = 1.0,
        passing: bool = False,
    ) -> None:  # fmt: skip
        """`stable`: leave unstable poses. `reach`: factor on the longest steps. `passing`: steps may pass through surfaces."""
        self._statics, self._carried, self._stable = statics, carried, stable
        self._most_turn, self._most_move = SETTINGS.turn * reach, SETTINGS.move * reach
        self._bound = statics.bound
        self._active = statics.bound.row_active.astype(float)
        self._rotations = np.array([v for _, v in self._bound.system.quaternions()], dtype=int)
        self._radius = 1.0
        self._last_shift = 0.0
        self._compliance = np.zeros(self._bound.m)
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
        pose = self._balanced_pose(q)
        self._force = float(np.abs(self._sizes * pose.at.residual).max(initial=0.0))
        left: _PoseEquations | None = None
        away, remembered = False, self._statics.bound
        if self._stable:
            softness = self._softness(pose)
            self._is_soft = softness > 0
            self._compliance, self._first_gap = softness * pose.at.row_sizes**2, self._gap(pose)
        if self._is_soft:
            pose = self._at(q, np.zeros(self._bound.m))
        while self._iterations < SETTINGS.iterations and self._radius > SETTINGS.least_radius and not time_is_up():
            metric = self._metric(pose.at)
            tangent = self._tangent(pose, metric, pose.at.residual)
            force, phi = pose.at.residual, self._gaps(pose)
            plain = self._newton(pose, tangent, force, phi)
            sound = plain is not None and (plain[1].sound or not self._stable)
            if self._is_soft and sound and self._springs_balance(pose):
                # stiffen the springs that replace constraints, and finally restore the constraints
                gap = self._gap(pose)
                factor = 0.0 if gap <= SETTINGS.nearly_closed else 0.3 if gap > 0.5 * self._first_gap else 0.1
                self._compliance, self._is_soft = factor * self._compliance, factor > 0
                self._radius = 1.0
                continue
            if plain is not None and plain[0].extent < SETTINGS.in_balance and self._forces_balance(pose):
                pushed = None if sound else self._push(pose)
                if pushed is None or not self._stable or len(self._pushed) > SETTINGS.pushes:
                    return self._rest(self._polished(pose), in_balance=not self._is_soft)
                left = left if self._is_soft else pose
                remembered = self._statics.bound
                pose = pushed
                continue
            step = self._step(pose, tangent, force, phi, None if plain is None or not sound else plain[0])
            if step is None:
                break
            pose = self._next(pose, step, tangent)
            away = not np.abs(self._bound.node_poses(pose.q)[1] - begin).max(initial=0.0) <= SETTINGS.away * self._size
            if away:
                break
        # the result before the unsuccessful perturbation
        if left is not None:
            self._statics.bound = remembered
            return self._rest(left, in_balance=True, unstable=True)
        return self._rest(pose, in_balance=False, away=away)

    def _rest(
        self, pose: _PoseEquations, *, in_balance: bool, unstable: bool = False, away: bool = False
    ) -> RelaxationResult:
        bound = self._statics.bound
        crossed = tuple(dict.fromkeys(self._obstacles.crossed))
        return RelaxationResult(
            pose.q, pose.multipliers, in_balance, bound, unstable, self._iterations, self._pushed, away, crossed
        )

    # -- evaluations -------------------------------------------------------------------------------------------------

    def _at(self, q: np.ndarray, multipliers: np.ndarray) -> _PoseEquations:
        """The equations at a pose; raises EvaluationError if they cannot be evaluated."""
        at = self._statics.linearized(q, multipliers)
        if not (np.all(np.isfinite(at.residual)) and np.all(np.isfinite(at.stiffness.data))):
            raise EvaluationError("the forces at a pose are not finite numbers")
        return _PoseEquations(q, multipliers, at)

    def _tangent(
        self, pose: _PoseEquations, metric: Any, imbalance: np.ndarray, left: np.ndarray | float = 0.0
    ) -> Tangent:
        """The tangent at a pose for a step that removes an imbalance (nv) and leaves forces `left`, including the second
        derivative along carried increments, which are curved."""
        carried = self._carried.rates
        turning = imbalance.copy()
        turning[carried] = (imbalance + left)[carried]
        bend, turn = self._carried.bend(self._bound, pose.q, turning), self._commutators(turning)
        added = tuple(np.concatenate(x) for x in zip(bend, turn, strict=True))
        return Tangent(pose.at, metric, self._bound.active_rows, added)

    def _balanced_pose(self, q: np.ndarray) -> _PoseEquations:
        """A pose with the multipliers that balance its forces in the least-squares sense."""
        pose = self._at(q, np.zeros(self._bound.m))
        if not self._bound.m:
            return pose
        return self._at(q, self._statics.balanced_multipliers(pose.at, pose.at.residual, pose.multipliers))

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

    def _gaps(self, pose: _PoseEquations) -> np.ndarray:
        """Constraint values [m or rad] minus the deflection of the springs that replace the constraints."""
        return (pose.at.phi + self._compliance * pose.multipliers) * self._active

    def _gap(self, pose: _PoseEquations) -> float:
        """The largest constraint value, relative to its size."""
        return float(np.abs(pose.at.phi * self._active / pose.at.row_sizes).max(initial=0.0))

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
        if self._bound.nv + self._bound.m > SETTINGS.dense_unknowns:
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

    def _forces_balance(self, pose: _PoseEquations) -> bool:
        """Whether the imbalance is small relative to the acting forces, and constraints are closed."""
        at = pose.at
        allowed = self._statics.tolerance * max(forces_in_play(at, pose.multipliers), self._force)
        closed = np.abs(self._gaps(pose) / at.row_sizes).max(initial=0.0) <= SETTINGS.closed
        return bool(closed and np.abs(at.rate_sizes * at.residual).max(initial=0.0) <= allowed)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _newton(
        self, pose: _PoseEquations, tangent: Tangent, force: np.ndarray, phi: np.ndarray
    ) -> tuple[_Step, Factors] | None:
        """Newton's step, stable or not, and its factors; None if the stiffness is singular."""
        factors = tangent.factorized(0.0, self._compliance[self._bound.active_rows])
        if factors is None:
            return None
        x, multipliers = factors.step(force, phi)
        return _Step(x, multipliers, 0.0, self._extent(pose.q, x)), factors

    def _step(
        self, pose: _PoseEquations, tangent: Tangent, force: np.ndarray, phi: np.ndarray, newton: _Step | None
    ) -> _Step | None:
        """Newton's step, if there is one and it is of use where it is longer than the radius; else a shifted one."""
        if newton is not None:
            is_useful = self._radius >= SETTINGS.small_radius and newton.extent <= SETTINGS.endless
            if newton.extent <= self._radius or is_useful:
                return newton
        return self._shifted(pose, tangent, force, phi)

    def _shifted(self, pose: _PoseEquations, tangent: Tangent, force: np.ndarray, phi: np.ndarray) -> _Step | None:
        """A step with the smallest shift for which the matrix has no negative eigenvalues and the step is about within the
        radius."""
        # without stiffness, the shift that gives a step of unit size
        size = np.maximum(np.abs(tangent.stiffness.diagonal()), np.abs(force) / self._sizes)
        highest = np.max(size / tangent.metric.diagonal(), initial=1e-300)
        shift, low, best = self._last_shift or 1e-6 * highest, 0.0, None
        for k in range(40):
            factors, extent = tangent.factorized(shift, self._compliance[self._bound.active_rows]), np.inf
            if factors is not None and (factors.sound or not self._stable):
                x, multipliers = factors.step(force, phi)
                extent = self._extent(pose.q, x)
            if extent > 5 * self._radius:
                low = shift
            else:
                best = _Step(x, multipliers, shift, extent)
                if extent >= SETTINGS.nearly * self._radius or k >= 12 or shift < 1.1 * low:
                    break
            shift = 10 * shift if best is None else float(np.sqrt(low * best.shift)) if low else 0.03 * shift
        self._last_shift = best.shift if best is not None else 0.0
        return best

    def _next(self, pose: _PoseEquations, step: _Step, tangent: Tangent) -> _PoseEquations:
        """The pose after a step, or the same pose with a smaller radius or soft constraints."""
        share = min(1.0, self._radius / step.extent) if step.extent > 0 else 1.0
        settled = self._settled(pose, step, share, tangent.metric)
        if settled is None:
            self._radius = 0.3 * min(self._radius, step.extent)
            return pose
        new, ratio, x = settled
        free = self._obstacles.free_share(
            self._statics.bound,
            self._statics.t,
            lambda s: self._carried.increment(self._bound, pose.q, s * x),
            (pose.q, new.q),
        )
        if free < 1.0 and not self._passing:
            self._radius = min(free, 0.7) * min(self._radius, step.extent)
            return pose
        self._statics.remember(new.q)
        if ratio < 0.25:
            # displacements may be large, but rotations beyond the maximum could jump over an equilibrium
            limited = self._radius == 1.0 and (share < 1.0 or (step.shift > 0 and step.extent > SETTINGS.nearly))
            self._most_move *= 3.0 if limited and ratio < 0.01 else 1.0
            self._radius = min(1.0, 3.0 * self._radius)
        return new

    # -- constraints that are open at the start ------------------------------------------------------------------------

    def _softness(self, pose: _PoseEquations) -> float:
        """Initial compliance of constraints, relative to their sizes per work of their forces [1/J]: zero, or such that they load
        the robot only slightly beyond its first buckling.

        Closed at once, constraints could compress a perfect rod arbitrarily, and let it buckle in a mode that slow compression
        never reaches. The first loss of stiffness is predicted from its change over a small fraction of Newton's step.
        """
        phi = pose.at.phi * self._active
        if self._gap(pose) <= SETTINGS.closing or self._bound.nv > TOLERANCES.dense_up_to:
            return 0.0
        newton = self._newton(pose, self._tangent(pose, self._metric(pose.at), pose.at.residual), pose.at.residual, phi)
        if newton is None or not newton[1].sound:
            return 0.0
        step = newton[0]
        share = min(1.0, SETTINGS.foresight / step.extent) if step.extent > 0 else 1.0
        q = self._carried.increment(self._bound, pose.q, share * step.x)
        try:
            new = self._at(q, pose.multipliers + share * step.multipliers)
            Z = on_allowed_motions(pose.at, self._bound.active_rows)[0]
            before, after = (Z.T @ (0.5 * (x + x.T)) @ Z for x in (y.at.stiffness.toarray() for y in (pose, new)))
            if Z.shape[1] == 0:
                return 0.0
            lowest = float(scipy.linalg.eigh(after, before, eigvals_only=True, subset_by_index=[0, 0])[0])
        except (EvaluationError, scipy.linalg.LinAlgError, ValueError):
            return 0.0
        lost = share / max(1.0 - lowest, 1e-300)
        if lost >= 1.0:
            return 0.0
        square = float(np.sum((phi / pose.at.row_sizes) ** 2))
        return square / (SETTINGS.beyond * lost * max(abs(float(phi @ step.multipliers)), 1e-300))

    def _springs_balance(self, pose: _PoseEquations) -> bool:
        """Whether the springs that replace constraints roughly balance the robot's forces."""
        at = pose.at
        gaps, forces = np.abs(self._gaps(pose) / at.row_sizes), np.abs(at.rate_sizes * at.residual)
        carried = np.abs(at.rate_sizes * (at.jacobian.T @ pose.multipliers))
        return bool(
            gaps.max() <= SETTINGS.roughly * self._gap(pose) and forces.max() <= SETTINGS.roughly * carried.max()
        )

    def _settled(
        self, pose: _PoseEquations, step: _Step, share: float, metric: Any
    ) -> tuple[_PoseEquations, float, np.ndarray] | None:
        """Solve the equations of a step by Newton's method: the solution, the largest ratio of two corrections, and the
        increment; None if corrections do not decrease."""
        left_phi = (1 - share) * self._gaps(pose)
        x = share * step.x
        q = self._carried.increment(self._bound, pose.q, x)
        multipliers = pose.multipliers + share * step.multipliers
        # a step that only relaxes stiff strains may be shorter than the following motion
        length = first = max(share * step.extent, 0.3 * self._radius)
        rotations, worst = self._bound.node_poses(pose.q)[0], 0.0
        to_the_end = step.shift == 0 and share == 1.0
        for k in range(SETTINGS.corrections):
            self._iterations += 1
            try:
                new = self._at(q, multipliers)
            except EvaluationError:
                return None
            left_force = (1 - share) * pose.at.residual
            if share < 1:
                left_force = self._carried.transported(self._bound, pose.q, left_force, q)
            imbalance = new.at.residual - left_force + (step.shift * (metric @ x) if step.shift else 0.0)
            factors = self._tangent(new, metric, imbalance, left_force).factorized(
                step.shift, self._compliance[self._bound.active_rows]
            )
            if factors is None or largest_turn(rotations, self._bound.node_poses(q)[0]) > 1.5 * self._most_turn:
                return None
            more = factors.step(imbalance, self._gaps(new) - left_phi)
            correction = self._extent(q, more[0])
            ratio = correction / length
            if not ratio <= (1.0 if k < 2 else SETTINGS.shorter):
                return None
            worst = max(worst, correction / first)
            ending = correction <= (
                SETTINGS.settled_newton if to_the_end else SETTINGS.settled * self._extent(pose.q, x + more[0])
            )
            if ending and self._stable and not factors.sound and self._is_soft:
                return None  # Newton's method has crossed an unstable pose
            if to_the_end and ending:
                return new, worst, x
            x = x + more[0]
            q, multipliers = self._carried.increment(self._bound, q, more[0]), multipliers + more[1]
            if ending:
                self._iterations += 1
                try:
                    return self._at(q, multipliers), worst, x
                except EvaluationError:
                    return None
            length = correction
        return None

    def _polished(self, pose: _PoseEquations) -> _PoseEquations:
        """Reduce the remaining imbalance of an equilibrium to round-off, as long as full Newton steps decrease it."""
        for _ in range(6):
            tangent = self._tangent(pose, self._metric(pose.at), pose.at.residual)
            newton = self._newton(pose, tangent, pose.at.residual, pose.at.phi * self._active)
            if newton is None or not newton[0].extent < SETTINGS.settled_newton:
                break
            step = newton[0]
            try:
                new = self._at(self._bound.increment(pose.q, step.x), pose.multipliers + step.multipliers)
            except EvaluationError:
                break
            closed = self._gap(new) <= SETTINGS.closed
            before, after = (np.abs(self._sizes * x.at.residual).max(initial=0.0) for x in (pose, new))
            if not closed or not after < 0.9 * before:
                break
            pose = new
        return pose

    def _push(self, pose: _PoseEquations) -> _PoseEquations | None:
        """Perturb an equilibrium along its most unstable direction; None if there is none."""
        if self._bound.nv > TOLERANCES.dense_up_to:
            return None
        D = stiffness_scaling(pose.at)
        J = pose.at.jacobian.toarray() / pose.at.row_sizes[:, None] * D
        Z = null_space(J[self._bound.active_rows])
        if Z.shape[1] == 0:
            return None
        K = Z.T @ (D[:, None] * pose.at.stiffness.toarray() * D) @ Z
        if np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max():
            values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
        else:
            values, vectors = scipy.linalg.eig(K)
        k = int(np.argmin(np.where(np.abs(values.imag) <= 1e-9 * np.abs(values), values.real, np.inf)))
        if not values[k].real < -TOLERANCES.neutral * max(1.0, np.abs(values).max()):
            return None
        x = D * (Z @ vectors[:, k].real)
        leading = int(np.argmax(np.abs(x / self._sizes)))
        x *= np.sign(x[leading]) * SETTINGS.push / self._extent(pose.q, x)
        self._pushed.append(leading)
        self._radius = 1.0
        return self._at(self._carried.increment(self._bound, pose.q, x), pose.multipliers)


def search(
    model: Model, statics: StaticEquations, q: np.ndarray, made: AssembledState, *, stable: bool
) -> RelaxationResult:
    """The equilibrium reached from a pose q; `made`: the same, moved onto the constraints.

    The result for rods depends on how their ends were brought together, so open constraints are closed gradually, and at once only
    if that fails. If no equilibrium is found, the search is repeated with short steps, and finally with steps that may pass through
    surfaces.
    """
    carried = CarriedSections(model)
    starts = [q, made.q] if model.spec.rods and made.gap else [made.q]
    searches = [
        *((x, 1.0, False) for x in starts),
        (starts[0], SETTINGS.short_reach, False),
        *((x, 1.0, True) for x in starts),
    ]
    iterations, blocked = 0, False
    for begin, reach, passing in searches:
        if passing and not blocked:
            break
        # the memory of contacts depends on the path of a search
        fresh = StaticEquations(statics.bound, statics.t, statics.tolerance)
        rest = Relaxation(fresh, carried, stable=stable, reach=reach, passing=passing).run(begin)
        iterations += rest.iterations
        blocked = blocked or bool(rest.crossed)
        if not passing:
            rest = replace(rest, crossed=())
        if (rest.in_balance and not rest.unstable) or _still_slides(rest, statics.t) or time_is_up():
            break
    return replace(rest, iterations=iterations)


def _still_slides(rest: RelaxationResult, t: float) -> bool:
    """Whether a search ended while contacts were sliding; shorter steps would slide as well, only more slowly."""
    if rest.in_balance or rest.away:
        return False
    contacts = contacts_at_rest(rest.bound, t, rest.q)
    return contacts is not None and not np.all(contacts.sticks)
