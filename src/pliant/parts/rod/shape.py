"""The initial shape of a rod: pieces of constant strain in series, as numbers or expressions of parameters."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import casadi as ca
import numpy as np
import scipy
from pydantic import Field, model_validator

from pliant.language.base import ByType, Part, Problem, fault
from pliant.language.evaluate import to_node
from pliant.language.placement import Placement
from pliant.language.scalar import LARGEST, Angle, Length, LengthVector, Number, Scalar
from pliant.language.syntax import symbols
from pliant.parts.assembly.build import Build
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


Value: TypeAlias = Callable[[Scalar], float]

TOLERANCE = 1e-3
"""Accepted relative difference of the length of a curve from the rod's, if the rod is stress-free."""
MOST_TURNS = 1000.0
"""Maximum number of turns of a rod from base to tip: more than any coil spring, and few enough for an exact phase at its tip."""


def winding_problem(turns: float) -> tuple[str, str] | None:
    """Message and hint for a rod with too many turns."""
    if abs(turns) <= MOST_TURNS:
        return None
    return f"the rod winds {abs(turns):.3g} times from base to tip", f"at most {MOST_TURNS:g} times; check the units"


class ShapeBase(Part):
    """A shape of a rod."""

    @abstractmethod
    def curve(self, build: Build, length: Any) -> tuple[Pose, Curve]:
        """Pose of the base section in the frame of the rod, and the curve from there, of this length [m]."""

    def length_problems(self, value: Value, length: float, *, stress_free: bool) -> Iterator[Problem]:
        """Faults of the shape for a rod of this length [m]."""
        yield from ()


class Arc(ShapeBase):
    """An arc of a circle, given by its radius or its angle. It leaves its base along z."""

    above_zero = ("radius",)

    type: Literal["arc"] = "arc"
    radius: Length | None = None
    """Radius of the circle [m]."""
    angle: Angle | None = None
    """Angle from base to tip [rad]."""
    direction: Angle = 0
    """Direction of bending: the angle from the section's x axis towards its y axis [rad]."""

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.radius is None) == (self.angle is None):
            raise fault("arc_size", "an arc has either a radius or an angle", hint="the rod's length gives the other")
        return self

    example: ClassVar[str] = """\
pliant: 1
sections: {tube: {shape: annulus, outer_radius: 8 mm, inner_radius: 5 mm}}
materials: {silicone: {density: 1070 kg/m^3, youngs_modulus: 205 kPa, poissons_ratio: 0.49}}
rods:
  finger: {length: 10 cm, section: tube, material: silicone, shape: {type: arc, angle: 60 deg}}
"""

    def length_problems(self, value: Value, length: float, *, stress_free: bool) -> Iterator[Problem]:
        turned = 0.0
        if self.angle is not None:
            turned = value(self.angle)
        elif self.radius is not None and value(self.radius) > 0:
            turned = length / value(self.radius)
        if problem := winding_problem(turned / (2 * np.pi)):
            yield ("radius" if self.angle is None else "angle",), *problem

    def curve(self, build: Build, length: Any) -> tuple[Pose, Curve]:
        bend = 1 / build.value(self.radius) if self.radius is not None else build.value(self.angle) / length  # type: ignore[arg-type]
        direction = build.value(self.direction)
        sine, cosine = (np.sin, np.cos) if isinstance(direction, int | float) else (ca.sin, ca.cos)
        return se3.identity(), constant_strain(
            (0, 0, 0, -bend * sine(direction), bend * cosine(direction), 0), build.nominal
        )


class Helix(ShapeBase):
    """A helix around the z axis of the frame that the rod is placed in, given by its pitch or its number of turns.

    It begins at [radius, 0, 0] and winds towards +z. The section's x axis always points to the axis of the helix.
    """

    above_zero, not_below_zero = ("radius", "turns"), ("pitch",)

    type: Literal["helix"] = "helix"
    radius: Length
    """Distance of the rod's centre line from the axis [m]."""
    pitch: Length | None = None
    """Advance along the axis per turn [m]."""
    turns: Number | None = None
    """Number of turns from base to tip [-]."""
    hand: Literal["right", "left"] = "right"
    """Right-handed like a common screw, or left-handed."""

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.pitch is None) == (self.turns is None):
            raise fault("helix_size", "a helix has either a pitch or turns", hint="the rod's length gives the other")
        return self

    def length_problems(self, value: Value, length: float, *, stress_free: bool) -> Iterator[Problem]:
        if value(self.radius) <= 0:
            return  # reported above
        if self.pitch is not None:
            per_turn = 2 * np.pi * np.hypot(value(self.radius), value(self.pitch) / (2 * np.pi))
            if problem := winding_problem(length / per_turn):
                yield ("pitch",), *problem
        elif self.turns is not None and (turns := value(self.turns)) > 0:
            if length / turns > LARGEST:
                yield ("turns",), f"a helix of {turns:.3g} turns is straight", "leave out `shape`"
            if problem := winding_problem(turns):
                yield ("turns",), *problem
            around = 2 * np.pi * value(self.radius) * turns
            if around > length:
                need = f"{turns:g} turns of radius {value(self.radius):g} m need {around:g} m"
                text = f"{need}, but the rod's length is {length:g} m"
                yield ("turns",), text, "use fewer turns, a smaller radius or a longer rod"

    def curve(self, build: Build, length: Any) -> tuple[Pose, Curve]:
        r = build.value(self.radius)
        if self.pitch is not None:
            c = build.value(self.pitch) / (2 * np.pi)
        else:
            c = ca.sqrt(ca.fmax((length / (2 * np.pi * build.value(self.turns))) ** 2 - r**2, 0))  # type: ignore[arg-type]
        sign = 1 if self.hand == "right" else -1
        tangent = ca.vertcat(0, sign * r, c) / ca.sqrt(r**2 + c**2)
        normal = ca.DM([-1, 0, 0])
        base = ca.horzcat(normal, ca.cross(tangent, normal), tangent), ca.vertcat(r, 0, 0)
        square = r**2 + c**2
        return base, constant_strain((0, 0, 0, 0, r / square, sign * c / square), build.nominal)


class Points(ShapeBase):
    """A smooth curve through points (a cubic spline), with minimal rotation of the sections along it.

    The base section's x axis is that of the frame that the rod is placed in, rotated with the tangent.
    """

    type: Literal["points"] = "points"
    points: Annotated[tuple[LengthVector, ...], Field(min_length=2)]
    """Points from base to tip, in the axes of the frame that the rod is placed in [m]; plain values, no parameters."""

    example: ClassVar[str] = """\
pliant: 1
sections: {wire: {shape: circle, radius: 1 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
rods:
  hook:
    length: 0.1715 m
    section: wire
    material: steel
    shape: {type: points, points: [[0, 0, 0], [0, 0, 10 cm], [2 cm, 0, 13 cm], [4 cm, 0, 12 cm]]}
"""

    def problems(self, value: Value) -> Iterator[Problem]:
        """Points must be plain values, and distinct from their predecessors."""
        for index, point in enumerate(self.points):
            if any(symbols(to_node(entry)) for entry in point):
                text = "a curve through points cannot depend on parameters"
                yield ("points", index), text, "write plain values, or use `type: poses`"
                return
        chords = np.linalg.norm(np.diff(self._numbers(value), axis=0), axis=1)
        for index, chord in enumerate(chords, start=1):
            if chord <= 1e-9 * chords.sum():
                yield ("points", index), "this point is the same as the one before it", "remove one of the two"
                return

    def length_problems(self, value: Value, length: float, *, stress_free: bool) -> Iterator[Problem]:
        if any(True for _ in self.problems(value)):
            return
        arcs, rotations, _ = frames_along(self._numbers(value))
        found = arcs[-1]
        if not np.isfinite(rotations).all():
            yield ("points",), "the curve through the points turns back on itself in one point", "round off the turn"
        elif stress_free and abs(found - length) > TOLERANCE * length:
            text = f"the curve through the points is {found:.6g} m long, but the rod's length is {length:.6g} m"
            yield ("points",), text, "give the rod that length, or `stress_free: false` to stretch it onto the curve"

    def _numbers(self, value: Value) -> np.ndarray:
        return np.array([[float(value(entry)) for entry in point] for point in self.points])

    def curve(self, build: Build, length: Any) -> tuple[Pose, Curve]:
        arcs, rotations, positions = frames_along(self._numbers(build.value))
        base = ca.DM(rotations[0]), ca.DM(positions[0])
        places = []
        for s, R, p in zip(arcs, rotations, positions, strict=True):
            places.append((length * (s / arcs[-1]), se3.compose(se3.inverse(base), (ca.DM(R), ca.DM(p)))))
        return base, through_poses(places, build.nominal)


class PoseAlong(Placement):
    """Pose of a section, in the axes of the frame that the rod is placed in."""

    at: Length
    """Arc length of the section [m]."""


class Poses(ShapeBase):
    """Poses of sections along the rod, in order, with constant strains in between. The first is the base, at 0."""

    type: Literal["poses"] = "poses"
    poses: Annotated[tuple[PoseAlong, ...], Field(min_length=2)]
    """Sections from 0 to the rod's length, each rotated by less than half a turn relative to the previous one."""

    def problems(self, value: Value) -> Iterator[Problem]:
        """Arc lengths must be ascending, from the base on."""
        places = [value(pose.at) for pose in self.poses]
        if places[0] != 0:
            yield ("poses", 0, "at"), f"the first pose is at {places[0]:g} m", "begin at 0, the rod's base"
        for index, (a, b) in enumerate(pairwise(places), start=1):
            if b <= a:
                text = f"the pose at {b:g} m comes after the one at {a:g} m"
                yield ("poses", index, "at"), text, "put the poses in the order of arc length"

    def length_problems(self, value: Value, length: float, *, stress_free: bool) -> Iterator[Problem]:
        last = value(self.poses[-1].at)
        if abs(last - length) > 1e-9 * length:
            text = f"the last pose is at {last:g} m, but the rod's length is {length:g} m"
            yield ("poses", len(self.poses) - 1, "at"), text, "end at the rod's length"

    def curve(self, build: Build, length: Any) -> tuple[Pose, Curve]:
        poses = [build.placement(pose) for pose in self.poses]
        back = se3.inverse(poses[0])
        places = [
            (build.value(given.at), se3.compose(back, pose)) for given, pose in zip(self.poses, poses, strict=True)
        ]
        return poses[0], through_poses(places, build.nominal)


Shape: TypeAlias = Annotated[Arc | Helix | Points | Poses, ByType("shape of a rod")]
