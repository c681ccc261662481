"""Rod model `pcs`: piecewise constant strain, a series of segments with constant strains each.

The coordinates of each segment are its free strains, up to six; its end follows from the exponential map, exact for constant
strain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.parts.assembly.build import Build
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Motion
from pliant.parts.rod.absolute import ANEW
from pliant.parts.rod.base import RodModelBase, remark_steps
from pliant.parts.rod.pieces import (
    RodPiece,
    add_pieces,
    exponential,
    held_values,
    name_strains,
    segment_motion,
    segment_piece,
    twist_slope,
)
from pliant.parts.rod.properties import RodProperties, add_piece_of_mass
from pliant.parts.rod.stations import ROUND_OFF, gauss_between
from pliant.parts.rod.strains import ALL, Free

Map = Literal["exponential", "published"]


class Pcs(RodModelBase):
    """Piecewise constant strain: a series of segments, few states, exact for tip moments, cost linear in the number of segments.

    With five segments the tip of a cantilever is off by 1 % under a force there, and its second frequency by 6 %; errors fall with
    the square of their number.
    """

    kind: Literal["pcs"] = "pcs"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 5
    """Number of segments."""
    map: Map = "exponential"
    """Map from the strains of a segment to its end: exact (`exponential`), or rotated at its base only (`published`;
    positions then converge at first order)."""
    mass_points: Annotated[int, Field(ge=1, le=10, strict=True)] = 2
    """Gauss points of the mass along each segment."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return free

    def apply(self, build: Build, rod: RodProperties) -> None:
        ends = rod.division(self.elements)
        lengths, arcs = element_lengths(rod, ends)
        remark_steps(build, rod, ends)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        every = [self._started(rod, begin, end) for begin, end in pairwise(arcs)]
        pieces: list[RodPiece] = []
        for k, (started, held) in enumerate(zip(every, held_values(rod.free, every), strict=True)):
            length, span = lengths[k], (ends[k], ends[k + 1])
            mass = mass_points(rod, *span, self.mass_points)
            points = [point.inside for point in mass]
            frames = frames_on_segment(build, rod, k, ends)
            fractions = [*points, *frames.values(), 1.0]
            motion = strain_segment(self.map, rod.free, len(held))
            element = build.element(node, [build.plan(motion, placement, (length * x, *held)) for x in fractions])
            name_strains(build, rod, element, k + 1, started)
            for number, point in zip(element.nodes, mass, strict=False):
                add_piece_of_mass(build, rod, number, se3.identity(), point.weight * length, point.x, point.span)
            for number, frame in zip(element.nodes[len(points) :], frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            pieces.append(RodPiece(element, held, length, (ends[k] + ends[k + 1]) / 2, started, span))
            node, placement = element.nodes[-1], se3.identity()
            build.rod_stations(rod.name, [(node, placement)], [ends[k + 1]])
        build.name_frame(f"{rod.name}.tip", node, placement)
        add_pieces(build, rod, segment_piece(rod.free, len(pieces[0].shape)), pieces, order=2)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of a segment in the rod's shape."""
        if self.map == "exponential":
            return rod.curve.strains(begin, end)
        return rod.curve.measured(begin, end, _published_strains)


@dataclass(frozen=True)
class MassPoint:
    """A point of the mass of a segment: its fractions of the segment and of the rod, its weight as a fraction of the segment, and
    the part of the rod that it represents with others."""

    inside: float
    x: float
    weight: float
    span: tuple[float, float]


def mass_points(rod: RodProperties, begin: float, end: float, count: int, *, split: bool = True) -> list[MassPoint]:
    """Gauss points of the mass between two fractions of the length, in each part without steps and kinks."""
    parts, mass_points = rod.parts(begin, end) if split else [(begin, end)], []
    for first, last in parts:
        a, b = ((x - begin) / (end - begin) for x in (first, last)) if len(parts) > 1 else (0.0, 1.0)
        for inside, weight in gauss_between(a, b, count):
            mass_points.append(MassPoint(inside, begin + (end - begin) * inside, weight, (first, last)))
    return mass_points


def element_lengths(rod: RodProperties, ends: Sequence[float]) -> tuple[list[Any], list[Any]]:
    """Lengths of elements [m], the same object for equal ones, and arc lengths of their ends [m]."""
    count = len(ends) - 1
    if not rod.steps or ends == [k / count for k in range(count + 1)]:
        length = rod.length / count
        return [length] * count, [k * length for k in range(count + 1)]
    return [(b - a) * rod.length for a, b in pairwise(ends)], [x * rod.length for x in ends]


def frames_on_segment(build: Build, rod: RodProperties, segment: int, ends: Sequence[float]) -> dict[str, Any]:
    """Named frames on a segment, as fractions of it; ends: of all segments, as fractions of the length.

    The segment of a frame is determined at the model's own parameter values; the fraction remains an expression.
    """
    frames_on_segment, segments = {}, len(ends) - 1
    equal = not rod.steps or list(ends) == [k / segments for k in range(segments + 1)]
    for name, at in rod.attachments.items():
        # the ends of the rod are within round-off
        place = rod.places[name]
        number = math.ceil(place * segments) if equal else sum(1 for end in ends if end < place - ROUND_OFF)
        if min(max(number, 1), segments) == segment + 1:
            begin, end = ends[segment : segment + 2]
            # multiplied by the number of equal segments, which is exact
            fraction = at / rod.length * segments if equal else (at / rod.length - begin) / (end - begin) + segment
            frames_on_segment[name] = fraction - segment
            text = f"the frame '{name}' moves to another segment than in the model"
            for amount in (fraction - segment, segment + 1 - fraction):
                build.require(amount + ROUND_OFF, f"rods.{rod.name}.frames.{name}", text, ANEW)
    return frames_on_segment


def _segment_pose(strain: Any, s: Any) -> Pose:
    R, p, _ = exponential()(_segment_way(strain, s))
    return R, p


def _segment_twists(strain: Any, s: Any) -> Any:
    return s * exponential()(_segment_way(strain, s))[2]


def _segment_acceleration(strain: Any, s: Any, rate: Any) -> Any:
    return twist_slope()(_segment_way(strain, s), s * rate)


def _segment_way(strain: Any, s: Any) -> Any:
    # s: arc length from the segment's base [m]; the straight, unstretched segment has the tangent e3
    return s * ca.vertcat(strain[0], strain[1], strain[2] + 1, strain[3:6])


def _published_pose(strain: Any, s: Any) -> Pose:
    return so3.exp(s * strain[3:6]), s * ca.vertcat(strain[0], strain[1], strain[2] + 1)


def _published_strains(relative: Pose, length: Any) -> Sequence[Any]:
    along, turn = relative[1] / length, so3.log(relative[0]) / length
    return along[0], along[1], along[2] - 1, turn[0], turn[1], turn[2]


@cache
def strain_segment(map: Map, free: Free = ALL, held: int = 0) -> Motion:
    """A section of a segment. Constants: its arc length from the segment's base [m], `held` fixed strains."""
    if map == "exponential":
        return segment_motion("strain_segment", _segment_pose, free, held, _segment_twists, _segment_acceleration)
    return segment_motion("published_segment", _published_pose, free, held)
