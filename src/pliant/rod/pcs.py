"""Rod model `pcs`: piecewise constant strain, a series of segments with constant strains each.

The coordinates of each segment are its free strains, up to six; its end follows from the exponential map, exact for constant
strain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion
from pliant.rod.absolute import ANEW, ROUND_OFF
from pliant.rod.base import RodModelBase
from pliant.rod.constant_strain import exponential, twist_slope
from pliant.rod.pieces import Piece, add_pieces
from pliant.rod.properties import RodProperties, add_piece_of_mass
from pliant.rod.segments import held_values, name_strains, segment_motion, segment_piece
from pliant.rod.strains import ALL, Free

if TYPE_CHECKING:
    from pliant.model.build import Build


Map = Literal["exponential", "published"]


class Pcs(RodModelBase):
    """Piecewise constant strain: a series of segments, few states, exact for tip moments, cost linear in the number of segments."""

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
        """Any strains."""
        return free

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the segments to the system."""
        points, weights = np.polynomial.legendre.leggauss(self.mass_points)
        points, weights = 0.5 * (points + 1), 0.5 * weights
        length = rod.length / self.elements
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        every = [self._started(rod, k * length, (k + 1) * length) for k in range(self.elements)]
        pieces: list[Piece] = []
        for k, (started, held) in enumerate(zip(every, held_values(rod.free, every), strict=True)):
            frames = frames_on_segment(build, rod, k, self.elements)
            fractions = [*points, *frames.values(), 1.0]
            motion = strain_segment(self.map, rod.free, len(held))
            element = build.element(node, [build.plan(motion, placement, (length * x, *held)) for x in fractions])
            name_strains(build, rod, element, k + 1, started)
            for number, point, weight in zip(element.nodes, points, weights, strict=False):
                x = (k + point) / self.elements
                add_piece_of_mass(build, rod, number, se3.identity(), weight * length, x)
            for number, frame in zip(element.nodes[len(points) :], frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            pieces.append(Piece(element, held, length, (k + 0.5) / self.elements, started))
            node, placement = element.nodes[-1], se3.identity()
            build.rod_stations(rod.name, [(node, placement)], [(k + 1) / self.elements])
        build.name_frame(f"{rod.name}.tip", node, placement)
        add_pieces(build, rod, segment_piece(rod.free, len(pieces[0].shape)), pieces, order=2)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of a segment in the rod's shape."""
        if self.map == "exponential":
            return rod.curve.strains(begin, end)
        return rod.curve.measured(begin, end, _published_strains)


def frames_on_segment(build: Build, rod: RodProperties, segment: int, segments: int) -> dict[str, Any]:
    """Named frames on a segment, as fractions of it.

    The segment of a frame is determined at the model's own parameter values; the fraction remains an expression.
    """
    found = {}
    for name, at in rod.attachments.items():
        # the ends of the rod are within round-off
        if min(max(math.ceil(rod.places[name] * segments), 1), segments) == segment + 1:
            fraction = at / rod.length * segments
            found[name] = fraction - segment
            text = f"the frame '{name}' moves to another segment than in the model"
            for amount in (fraction - segment, segment + 1 - fraction):
                build.require(amount + ROUND_OFF, f"rods.{rod.name}.frames.{name}", text, ANEW)
    return found


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
