"""The points of a tendon: frames of the robot, and eyelets along rods.

An eyelet is a point of the section at an arc length. Every rod model places frames at any arc length, so rods are
independent of tendons.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import casadi as ca
from pydantic import Field

from pliant.language.base import ByKey, Part, Problem
from pliant.language.names import FrameName, RodName
from pliant.language.scalar import Angle, Length, LengthVector, Number, Scalar
from pliant.parts.geometry.se3 import Pose, is_identity, scalars
from pliant.parts.rod.stations import is_on_rod

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

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
        """Number of eyelets."""
        return self.eyelets

    def ends(self) -> Mapping[tuple[str | int, ...], Scalar | None]:
        """Arc lengths given in the file."""
        return {("start",): self.start, ("end",): self.end}

    @abstractmethod
    def places(self, shares: ca.DM, value: Value) -> tuple[Any, Any]:
        """Positions in the section [m] at these fractions of the way from first to last eyelet: columns of x and of y."""

    def stations(self, value: Value, length: Any) -> list[Station]:
        """The eyelets on a rod of that length [m]."""
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
        """Positions in the section [m]."""
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
        """Positions in the section [m]."""
        angles = value(self.angle) + 2 * ca.pi * value(self.turns) * shares
        return value(self.radius) * ca.cos(angles), value(self.radius) * ca.sin(angles)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A radius above zero."""
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
        """Number of eyelets."""
        return len(self.points) + (len(self.points) - 1) * self.between

    def ends(self) -> Mapping[tuple[str | int, ...], Scalar | None]:
        """Arc lengths given in the file."""
        return {("points", index, "at"): point.at for index, point in enumerate(self.points)}

    def stations(self, value: Value, length: Any) -> list[Station]:
        """The eyelets on a rod of that length [m]."""
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
