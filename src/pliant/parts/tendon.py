"""Tendons: lines routed through points of the robot, with a given tension or elastic."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import casadi as ca
from pydantic import Field, model_validator

from pliant.language.base import ByKey, ByType, Part, Problem, fault, positive
from pliant.language.names import FrameName, RodName
from pliant.language.scalar import (
    AS_AT_START,
    Angle,
    Force,
    ForceSignal,
    Length,
    LengthSignal,
    LengthVector,
    Number,
    Repeated,
    RestLength,
    Scalar,
    Speed,
    Stiffness,
)
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import Effect, one_sided, power_law
from pliant.parts.formula.route import RouteForce
from pliant.parts.geometry.se3 import Pose, is_identity, scalars
from pliant.parts.joint.coordinate import LengthDamper
from pliant.parts.motion import Fields
from pliant.parts.rod.stations import is_on_rod

Value = Callable[[Scalar], Any]
BASE, TIP = "", "tip"
EYELETS = 11
Eyelets: TypeAlias = Annotated[int, Field(ge=2, le=500, strict=True)]


class FramePoint(Part):
    """A point of a frame: `hand`, `{frame: hand, position: [0, 0, 1 cm]}`."""

    short_form: ClassVar[str | None] = "frame"

    frame: FrameName
    """The frame: world, body, body.frame, rod.tip, link[2].tip or left/bar.tip."""
    position: LengthVector = (0, 0, 0)
    """The point in the frame [m]."""

    def count(self) -> int:
        """Number of points."""
        return 1

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """The node, and the position in its frame [m]."""
        node, pose = build.frame(self.frame)
        return [(node, _point(pose, [build.value(x) for x in self.position]))]


@dataclass(frozen=True)
class Station:
    """An eyelet of a rod: its frame (`BASE`, `TIP`, or a name derived from the text of its position), arc length [m]
    and position in the section: x, y [m]."""

    frame: str
    at: Any
    offset: tuple[Any, Any]


class Stretch(Part):
    """Eyelets along a rod."""

    rod: RodName
    """The rod. Eyelets rotate with its sections and may lie outside of them, as on discs."""

    @abstractmethod
    def count(self) -> int:
        """Number of eyelets."""

    @abstractmethod
    def stations(self, value: Value, length: Any) -> list[Station]:
        """The eyelets on a rod of that length [m]."""

    @abstractmethod
    def ends(self) -> Mapping[tuple[str | int, ...], Scalar | None]:
        """Arc lengths given in the file, by their path in this part; None for an end of the rod."""

    def reserve(self, build: Build) -> None:
        """Request the frames of the eyelets from the rod."""
        for station in self.stations(build.value, build.value(build.robot.rods[self.rod].length)):
            if station.frame not in (BASE, TIP):
                build.reserve_frame(self.rod, station.frame, station.at)

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """Nodes of the eyelets, and positions in their frames [m]."""
        found = []
        for station in self.stations(build.value, build.value(build.robot.rods[self.rod].length)):
            name = self.rod if station.frame == BASE else f"{self.rod}.{station.frame}"
            node, pose = build.frame(name)
            found.append((node, _point(pose, [*station.offset, 0.0])))
        return found

    def beyond(self, value: Value, length: float) -> Iterator[Problem]:
        """Problems of eyelets that are not on the rod."""
        for path, at in self.ends().items():
            if at is not None and not is_on_rod(value(at), length):
                text = f"an eyelet is at {value(at):g} m, off the rod '{self.rod}' (0 to {length:g} m)"
                yield path, text, "give an arc length between 0 and the rod's length"


class EvenStretch(Stretch):
    """Eyelets at equal distances along a rod."""

    start: Length | None = None
    """Arc length of the first eyelet [m]; default: the rod's base."""
    end: Length | None = None
    """Arc length of the last eyelet [m]; default: the rod's tip. If it is less than `start`, the tendon runs backwards."""
    eyelets: Eyelets = EYELETS
    """Number of eyelets, first and last included."""

    def count(self) -> int:
        return self.eyelets

    def ends(self) -> Mapping[tuple[str | int, ...], Scalar | None]:
        return {("start",): self.start, ("end",): self.end}

    @abstractmethod
    def places(self, shares: ca.DM, value: Value) -> tuple[Any, Any]:
        """Positions in the section [m] at these fractions of the way from first to last eyelet: columns of x and of y."""

    def stations(self, value: Value, length: Any) -> list[Station]:
        first = 0.0 if self.start is None else value(self.start)
        last = length if self.end is None else value(self.end)
        shares = [Fraction(k, self.eyelets - 1) for k in range(self.eyelets)]
        column = ca.DM([float(share) for share in shares])
        # entire columns at once: an expression of many entries takes no longer to create than one of a single entry
        arc_lengths, *offsets = map(scalars, (first + (last - first) * column, *self.places(column, value)))
        stations = []
        for share, at, *offset in zip(shares, arc_lengths, *offsets, strict=True):
            # eyelets with the same text for their position share a frame, also between tendons
            frame = f"eyelet {self.start} to {self.end}, {share}"
            if (share == 0 and self.start is None) or (share == 1 and self.end is None):
                frame = BASE if share == 0 else TIP
            stations.append(Station(frame, at, (offset[0], offset[1])))
        return stations

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Start and end differ."""
        if self.end is not None and value(self.end) == (0.0 if self.start is None else value(self.start)):
            yield ("end",), "the stretch ends where it starts", "give an `end` beyond `start`"


class ParallelStretch(EvenStretch):
    """Along a rod at one position in the section: `{rod: arm, offset: [8 mm, 0]}`."""

    offset: tuple[Length, Length]
    """Position in the section: x and y [m]."""

    def places(self, shares: ca.DM, value: Value) -> tuple[Any, Any]:
        x, y = map(value, self.offset)
        return ca.repmat(x, shares.numel()), ca.repmat(y, shares.numel())


class HelicalStretch(EvenStretch):
    """Along a rod at one distance from its axis, turning around it: `{rod: arm, radius: 8 mm, turns: 0.5}`."""

    radius: Length
    """Distance from the axis [m]."""
    angle: Angle = 0
    """Direction of the first eyelet in the section, from x towards y [rad]."""
    turns: Number = 0
    """Turns around the axis from first to last eyelet, from x towards y; 0 is straight."""

    def places(self, shares: ca.DM, value: Value) -> tuple[Any, Any]:
        angles = value(self.angle) + 2 * ca.pi * value(self.turns) * shares
        return value(self.radius) * ca.cos(angles), value(self.radius) * ca.sin(angles)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        if value(self.radius) <= 0:
            hint = "turn it by `angle: 180 deg` instead, or use `offset: [0, 0]`"
            yield ("radius",), f"radius must be above zero, but it is {value(self.radius):g}", hint


class RodPoint(Part):
    """A point of a rod: `{at: 10 cm, offset: [8 mm, 0]}`."""

    at: Length
    """Arc length from the base [m]."""
    offset: tuple[Length, Length] = (0, 0)
    """Position in the section: x and y [m]."""


class PointStretch(Stretch):
    """Along a rod through given points: `{rod: arm, points: [{at: 0, offset: [8 mm, 0]}, ...]}`."""

    points: Annotated[tuple[RodPoint, ...], Field(min_length=1)]
    """The points in order."""
    between: Annotated[int, Field(ge=0, le=500, strict=True)] = 0
    """Number of additional eyelets between neighbouring points, evenly spaced in arc length and offset."""

    def count(self) -> int:
        return len(self.points) + (len(self.points) - 1) * self.between

    def ends(self) -> Mapping[tuple[str | int, ...], Scalar | None]:
        return {("points", index, "at"): point.at for index, point in enumerate(self.points)}

    def stations(self, value: Value, length: Any) -> list[Station]:
        given = [_station(point, value) for point in self.points]
        stations = [given[0]]
        for first, last in pairwise(given):
            for k in range(1, self.between + 1):
                share = Fraction(k, self.between + 1)
                stations.append(_between(first, last, share))
            stations.append(last)
        return stations


def _station(point: RodPoint, value: Value) -> Station:
    frame = BASE if point.at == 0 else f"eyelet {point.at}"
    return Station(frame, value(point.at), (value(point.offset[0]), value(point.offset[1])))


def _between(first: Station, last: Station, share: Fraction) -> Station:
    def mix(a: Any, b: Any) -> Any:
        return a + (b - a) * float(share)

    frame = f"{first.frame or 'eyelet 0'} to {last.frame or 'eyelet 0'}, {share}"
    offset = (mix(first.offset[0], last.offset[0]), mix(first.offset[1], last.offset[1]))
    return Station(frame, mix(first.at, last.at), offset)


def _point(pose: Pose, place: list[Any]) -> Any:
    """A point of a frame, in the axes of the frame's node."""
    R, p = pose
    point = ca.vertcat(*place)
    return point if is_identity(pose) else p + R @ point


Through: TypeAlias = Annotated[
    FramePoint | ParallelStretch | HelicalStretch | PointStretch,
    ByKey("point of a tendon", keys=("frame", "offset", "radius", "points"), bare="frame"),
]
"""A frame, or a stretch along a rod; distinguished by its key."""


TENSION_KEYS = ("tension",)
LENGTH_KEYS = ("stiffness", "axial_stiffness", "rest", "shortening", "damper", "smoothing")
FORMED = 4.0
"""Ratio of sliding speed to slip speed at which friction counts as fully developed: tanh(4) is 0.9993."""


class TendonBase(Repeated):
    """Common part of the tendons: a line that is straight between its points and slides through them, with friction or without.

    Its ends are fixed to its first and last points. Drives act along the line, like a winch at the first point.

    With `friction` the tension falls over every point between the ends, in the direction in which the line slides there, by the
    factor `exp(-friction * turn)`, where `turn` is the angle between the spans before and after it [rad] (the capstan equation). A
    given tension is that at the first point; the law of an elastic tendon gives the mean along the line.
    """

    above_zero: ClassVar[tuple[str, ...]] = ("slip_speed",)
    not_below_zero: ClassVar[tuple[str, ...]] = ("friction",)

    through: tuple[Through, ...]
    """The points it passes, in order, two or more: frames (`hand`, `{frame: hand, position: [0, 0, 1 cm]}`) and
    stretches along rods (`{rod: arm, offset: [8 mm, 0]}`)."""
    friction: Number = 0
    """Coefficient of friction at every point between its ends [-]."""
    slip_speed: Speed = "1 mm/s"
    """Sliding speed at which friction has reached 76 % of its full value [m/s]; it is proportional to
    `tanh(speed/slip_speed)`. There is no sticking: a line at rest creeps at less than this speed."""
    at_rest: Literal["none", "pulled", "released"] = "none"
    """Friction at rest, which may have any value up to the full one: none, that of a line that was just pulled in at
    the first point, or that of one that was released. Used in equilibria and linear systems. In motions the line
    counts as pulled (released) until it slides the other way at four times the slip speed."""
    description: str = ""
    """Description for readers."""

    @model_validator(mode="before")
    @classmethod
    def _one_drive(cls, data: Any) -> Any:
        given = [key for key in (*TENSION_KEYS, *LENGTH_KEYS) if isinstance(data, dict) and key in data]
        if any(key in TENSION_KEYS for key in given) and any(key in LENGTH_KEYS for key in given):
            message = f"a tendon has either a given tension or a given length, but {given[0]} and {given[1]} are given"
            hint = "keep `tension` (type tension), or length and stiffness (type elastic)"
            raise fault("two_drives", message, hint=hint, key=given[1])
        return data

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Two points or more, none twice in a row; friction that has points to act on."""
        if sum(item.count() for item in self.through) < 2:
            yield ("through",), "a tendon needs two points or more", "add the frame or the rod that it runs to"
        for index, (first, second) in enumerate(pairwise(self.through), start=1):
            if first == second:
                yield ("through", index), "the tendon passes the same point twice in a row", "remove one of them"
        if self.at_rest != "none" and not self.has_friction:
            yield ("at_rest",), "a line without friction has none at rest", "give `friction`, or remove `at_rest`"
        if self.has_friction and sum(item.count() for item in self.through) == 2:
            message = "a line with two points has no point with friction between them"
            yield ("friction",), message, "remove `friction`, or route the line through more points"

    @property
    def has_friction(self) -> bool:
        """Whether there is friction at the points between its ends."""
        return self.friction != 0

    def reserve(self, build: Build) -> None:
        """Request the frames of eyelets from rods; to be called before the rods are added to the system."""
        for item in self.through:
            if isinstance(item, Stretch):
                item.reserve(build)

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """Points that the line passes: nodes, and positions in their frames [m]."""
        return [point for item in self.through for point in item.passes(build)]

    def add(
        self, build: Build, name: str, kind: RouteForce, constants: Sequence[Any], signals: Sequence[Scalar]
    ) -> None:
        """Add the line to the system with the force law `kind`."""
        friction: list[Any] = []
        if self.has_friction:
            slip = build.value(self.slip_speed)
            shift = {"none": 0.0, "pulled": FORMED, "released": -FORMED}[self.at_rest]
            friction = [build.value(self.friction), slip, shift * slip]
        build.route(kind, self.passes(build), constants, signals, name, friction)

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""


class TensionTendon(TendonBase):
    """A line under a given tension, as from a motor under force control. Its length follows from the motion."""

    type: Literal["tension"] = "tension"
    tension: ForceSignal
    """Tension, which may vary in time [N]. A line cannot push: while the value is negative the line is slack, which
    results report as a warning. It must not be negative at the start."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0.2 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: pcs, elements: 5}}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: =pull}
outputs:
  shortened: {tendon: flexor, quantity: length}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        if value(self.tension) < 0:
            message = f"the tension cannot be negative, but it is {value(self.tension):g} N: a line cannot push"
            yield ("tension",), message, "use a tendon on the other side instead"

    def apply(self, build: Build, name: str) -> None:
        self.add(build, name, GIVEN_TENSION, [], [self.tension])


def _law(length: Any, rate: Any, c: Any, signal: Any, signal_rate: Any) -> Effect:
    # at zero the derivative is that of a pulling line: controllers need it for a line without tension
    tension = ca.if_else(signal[0] >= 0, signal[0], 0.0)
    return Effect(force=tension, supply=-tension * rate)


GIVEN_TENSION = RouteForce("tension", constants=0, signals=1, coupled=False, law=_law)


class ElasticTendon(TendonBase):
    """An elastic line, as on a winch under position control: it pulls while stretched and is slack otherwise.

    With elongation `e = length - rest + shortening`, the tension is `stiffness e` plus the force of the damper; it is zero
    while e is negative, and never negative.
    """

    above_zero, not_below_zero = ("stiffness", "axial_stiffness"), ("smoothing",)

    type: Literal["elastic"] = "elastic"
    stiffness: Stiffness | None = None
    """Tension per elongation of the entire line [N/m]."""
    axial_stiffness: Force | None = None
    """Instead of `stiffness`: Young's modulus times area of the line [N]; its stiffness is that divided by `rest`,
    independent of the length wound in."""
    rest: RestLength = AS_AT_START
    """Length without tension while nothing is wound in [m], or `as at start`: its length in the initial pose."""
    shortening: LengthSignal = 0
    """Length wound in, which may vary in time [m]; negative if let out."""
    damper: LengthDamper | None = None
    """Damper on the rate of the elongation: a coefficient [N s/m], or a mapping."""
    smoothing: Length = 0
    """Range of elongation over which the tension fades in [m]; 0 switches sharply. With a width w, force and tangent are
    continuous, and at elongation 0 the tension is `stiffness w/4`."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  wound: {value: 5 mm, input: true}
bodies:
  finger: {mass: 20 g, center_of_mass: [3 cm, 0, 0], frames: {tip: {position: [6 cm, 0, 0]}}}
  hand: {mass: 50 g}
joints:
  knuckle: {type: revolute, parent: hand, child: finger, axis: y, angle: {spring: 0.05 N*m/rad, damper: 1e-3}}
  wrist: {type: revolute, child: hand, axis: y, angle: {spring: 0.2 N*m/rad, damper: 1e-3}}
tendons:
  flexor:
    type: elastic
    through: [{frame: world, position: [-2 cm, 0, 1 cm]}, {frame: hand, position: [0, 0, 1 cm]}, finger.tip]
    stiffness: 2 kN/m
    shortening: =wound
    damper: 1 N*s/m
    smoothing: 0.1 mm
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        if (self.stiffness is None) == (self.axial_stiffness is None):
            hint = "give one of `stiffness` and `axial_stiffness`"
            if self.stiffness is None:
                yield (), "the stiffness of the tendon is unknown", hint
            else:
                yield ("axial_stiffness",), "the stiffness is given twice", hint
        if self.rest != AS_AT_START:
            yield from positive(self, value, "rest")

    def apply(self, build: Build, name: str) -> None:
        rest = build.initial_length(self.passes(build)) if self.rest == AS_AT_START else build.value(self.rest)
        if self.stiffness is not None:
            stiffness = build.value(self.stiffness)
        else:
            assert self.axial_stiffness is not None, "checked when the model was read"
            stiffness = build.value(self.axial_stiffness) / rest
        damping, power = (self.damper.coefficient, self.damper.power) if self.damper else (0, 1)
        constants = CONSTANTS.write(
            stiffness=stiffness, rest=rest, damping=build.value(damping), power=build.value(power),
            smoothing=build.value(self.smoothing),
        )  # fmt: skip
        wound = self.shortening != 0
        self.add(build, name, elastic_line(wound=wound), constants, [self.shortening] if wound else [])


CONSTANTS = Fields("stiffness", "rest", "damping", "power", "smoothing")
"""Stiffness, rest length, damping coefficient, damping power, smoothing width."""


@cache
def elastic_line(*, wound: bool) -> RouteForce:
    """Law of an elastic line; if `wound`, its signal is the length wound in."""

    def law(length: Any, rate: Any, c: Any, signal: Any, signal_rate: Any) -> Effect:
        wound_in, winding = (signal[0], signal_rate[0]) if wound else (0.0, 0.0)
        elongation_rate = rate + winding
        at = CONSTANTS.read(c)
        counted, half_square, share = one_sided(length + wound_in, at.rest, 1, at.smoothing)
        elastic = at.stiffness * counted
        # the damper would push if a stretched line shortened fast: the line goes slack instead
        tension = ca.fmax(elastic + share * power_law(elongation_rate, at.damping, at.power), 0.0)
        return Effect(
            force=tension,
            energy=at.stiffness * half_square,
            dissipation=(tension - elastic) * elongation_rate,
            supply=tension * winding,
        )

    return RouteForce("elastic_wound" if wound else "elastic", CONSTANTS.size, int(wound), coupled=True, law=law)


Tendon: TypeAlias = Annotated[TensionTendon | ElasticTendon, ByType("tendon")]
