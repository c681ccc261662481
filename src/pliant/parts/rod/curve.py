"""The initial shape of a rod: pieces of constant strain in series, as numbers or expressions of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.parts.geometry import cached_functions, se3, so3
from pliant.parts.geometry.se3 import Pose

PIECES = 16
"""Sections per gap between two points."""


def frames_along(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sections of the cubic spline through points (n x 3) [m], parametrized by chord length.

    Returns arc lengths (N) [m], rotations (N x 3 x 3) with the tangent as z axis, positions (N x 3) [m]. Rotations are not finite
    beyond a point in which the curve turns back on itself.
    """
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(chords)])
    spline = scipy.interpolate.CubicSpline(knots, points)  # not-a-knot: fourth order up to its ends
    inner = [np.linspace(a, b, PIECES + 1)[:-1] for a, b in pairwise(knots)]
    places = np.append(np.concatenate(inner), knots[-1])
    slopes = spline(places, 1)
    with np.errstate(invalid="ignore"):
        tangents = slopes / np.linalg.norm(slopes, axis=1)[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = np.diff(places)[:, None] / 2
    speeds = np.linalg.norm(spline(places[:-1, None] + half * (1 + nodes), 1), axis=2)
    arcs = np.concatenate([[0.0], np.cumsum((half * speeds) @ weights)])
    positions = spline(places)
    return arcs, minimal_frames(positions, tangents), positions


def minimal_frames(positions: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """Rotation-minimizing frames along a curve by double reflection (Wang, Juettler, Zheng, Liu 2008), N x 3 x 3.

    The first is the world's axes after the smallest rotation that aligns z with the first tangent.
    """
    x = _shortest_turn(tangents[0])[:, 0]
    frames = [np.column_stack([x, np.cross(tangents[0], x), tangents[0]])]
    for k in range(len(positions) - 1):
        step = positions[k + 1] - positions[k]
        square = step @ step
        x_reflected = x - 2 / square * (step @ x) * step
        t_reflected = tangents[k] - 2 / square * (step @ tangents[k]) * step
        turn = tangents[k + 1] - t_reflected
        if not turn @ turn > 0:  # the tangent reverses between two sections
            frames += [np.full((3, 3), np.nan)] * (len(positions) - len(frames))
            break
        x = x_reflected - 2 / (turn @ turn) * (turn @ x_reflected) * turn
        t = tangents[k + 1]
        x = x - (x @ t) * t
        x = x / np.linalg.norm(x)
        frames.append(np.column_stack([x, np.cross(t, x), t]))
    return np.array(frames)


def _shortest_turn(tangent: np.ndarray) -> np.ndarray:
    """Rotation matrix that maps z to the tangent by the smallest angle; half a turn is about x."""
    if tangent[2] < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    axis = np.cross([0.0, 0.0, 1.0], tangent)
    W = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + W + W @ W / (1 + tangent[2])


Six = tuple[Any, Any, Any, Any, Any, Any]


@dataclass(frozen=True)
class CurveSegment:
    """A piece of a rod with constant strains.

    begin: arc length of its first section [m]; pose: of that section relative to the rod's base; quaternion: the same
    orientation, with the sign that makes it continuous along the rod.
    """

    begin: Any
    pose: Pose
    quaternion: Any
    strain: Six

    @property
    def is_straight(self) -> bool:
        """Whether it has no bend and no twist for all parameters."""
        return all(isinstance(bend, int | float) and bend == 0 for bend in self.strain[3:])

    def relative(self, arc_length: Any) -> Pose:
        """Pose of the section at an arc length [m] further along the same strains (negative: backward)."""
        along = arc_length * ca.vertcat(self.strain[0], self.strain[1], 1 + self.strain[2])
        if self.is_straight:
            return ca.DM.eye(3), along  # straight rods are common, and the exponential is a long expression
        return cached_functions.exp(ca.vertcat(along, arc_length * ca.vertcat(*self.strain[3:])))


@dataclass(frozen=True)
class Curve:
    """Pieces from base to tip. `nominal` returns the value of an expression at the model's own parameter values, which determine
    the piece of a section."""

    pieces: tuple[CurveSegment, ...]
    nominal: Callable[[Any], float]

    def pose(self, arc_length: Any) -> Pose:
        """Pose of the section at this arc length [m] relative to the rod's base."""
        piece = self.pieces[self._piece(arc_length)]
        return se3.compose(piece.pose, piece.relative(arc_length - piece.begin))

    def quaternion(self, arc_length: Any) -> Any:
        """Its orientation as a unit quaternion that is continuous along the rod for any number of turns."""
        piece = self.pieces[self._piece(arc_length)]
        turn = (arc_length - piece.begin) * ca.vertcat(*piece.strain[3:])
        return so3.quaternion_product(piece.quaternion, cached_functions.quaternion_exp(turn))

    def relative(self, a: Any, b: Any) -> Pose:
        """Pose of the section at arc length b relative to the one at a [m]."""
        if len(self.pieces) == 1:
            return self.pieces[0].relative(b - a)
        return se3.compose(se3.inverse(self.pose(a)), self.pose(b))

    def strains(self, a: Any, b: Any) -> Six:
        """The constant strains that lead from the section at arc length a to the one at b [m]."""
        first, last = self._piece(a), self._piece(b)
        if last == first + 1 and abs(self.nominal(b - self.pieces[last].begin)) < 1e-12:
            last = first
        if first == last:
            return self.pieces[first].strain
        twist = cached_functions.log(self.relative(a, b)) / (b - a)
        return twist[0], twist[1], twist[2] - 1, twist[3], twist[4], twist[5]

    def shares(self, a: Any, b: Any) -> list[tuple[float, float, Six]]:
        """The strains between arc lengths a and b [m], piece by piece, with the range of each as fractions of that length."""
        if len(self.pieces) == 1:
            return [(0.0, 1.0, self.pieces[0].strain)]
        begin, length = self.nominal(a), self.nominal(b - a)
        places = [(first - begin) / length for first in self._begins]
        bounds = [0.0, *(min(max(x, 0.0), 1.0) for x in places[1:]), 1.0]
        return [
            (first, last, piece.strain)
            for piece, first, last in zip(self.pieces, bounds[:-1], bounds[1:], strict=True)
            if last > first
        ]

    def turn(self, a: Any, b: Any) -> float:
        """Rotation of sections from arc length a to b [rad] at the model's own parameter values, piece by piece."""
        if self.straight is not None:
            return 0.0
        begin, end = self.nominal(a), self.nominal(b)
        total = 0.0
        for bend, first, last in zip(self._bends, self._begins, [*self._begins[1:], float("inf")], strict=True):
            overlap = min(last, end) - max(first, begin)
            if overlap > 0:
                total += overlap * bend
        return total

    @property
    def straight(self) -> Six | None:
        """The strains of a rod without rotation; None for other rods."""
        piece = self.pieces[0]
        return piece.strain if len(self.pieces) == 1 and piece.is_straight else None

    def measured(self, a: Any, b: Any, measure: Callable[[Pose, Any], Sequence[Any]]) -> Sequence[Any]:
        """The strains from arc length a to b [m] that the map of a model returns for the relative pose and the distance.

        All maps agree on a straight rod.
        """
        return self.straight or measure(self.relative(a, b), b - a)

    def _piece(self, arc_length: Any) -> int:
        if len(self.pieces) == 1:
            return 0
        place = self.nominal(arc_length)
        return max(k for k, begin in enumerate(self._begins) if k == 0 or begin <= place + 1e-12)

    @cached_property
    def _bends(self) -> list[float]:
        """Rotation of the pieces per length [rad/m], at the model's own parameter values."""
        return [self.nominal(ca.norm_2(ca.vertcat(*piece.strain[3:]))) for piece in self.pieces]

    @cached_property
    def _begins(self) -> list[float]:
        """Arc lengths at which the pieces begin [m], at the model's own parameter values."""
        return [self.nominal(piece.begin) for piece in self.pieces]


def constant_strain(strain: Sequence[Any], nominal: Callable[[Any], float]) -> Curve:
    """A rod with the same six strains from base to tip: straight, an arc, a helix."""
    a, b, c, d, e, f = strain
    return Curve((CurveSegment(0.0, se3.identity(), ca.DM([1, 0, 0, 0]), (a, b, c, d, e, f)),), nominal)


def through_poses(places: Sequence[tuple[Any, Pose]], nominal: Callable[[Any], float]) -> Curve:
    """A rod through poses (arc length [m], pose relative to the base), the first at 0; strains are constant in between.

    Neighbouring poses must be rotated by less than pi relative to each other.
    """
    pieces = []
    quaternion: Any = ca.DM([1, 0, 0, 0])
    for (begin, pose), (end, following) in pairwise(places):
        twist = cached_functions.log(se3.compose(se3.inverse(pose), following))
        rate = twist / (end - begin)
        strain: Six = (rate[0], rate[1], rate[2] - 1, rate[3], rate[4], rate[5])
        pieces.append(CurveSegment(begin, pose, quaternion, strain))
        quaternion = so3.quaternion_product(quaternion, cached_functions.quaternion_exp(twist[3:6]))
    return Curve(tuple(pieces), nominal)
