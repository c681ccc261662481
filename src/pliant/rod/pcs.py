"""Rod model `pcs`: piecewise constant strain, a row of segments each of which has the same strains all along.

Each segment's six coordinates are its strains; its end follows by the exponential map, exact for constant strain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector
from pliant.rod.absolute import ANEW, ROUND_OFF
from pliant.rod.base import RodModelBase
from pliant.rod.properties import RodProperties, add_piece_of_mass
from pliant.rod.segments import Segment, add_section_forces, name_strains

if TYPE_CHECKING:
    from pliant.model.build import Build


class Pcs(RodModelBase):
    """Piecewise constant strain: segments in a row, few states, exact for tip moments, cost linear in the number of segments."""

    kind: Literal["pcs"] = "pcs"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 5
    """Number of segments."""
    map: Literal["exponential", "published"] = "exponential"
    """How a segment's end follows from its strains: exactly (`exponential`), or turned at its base only (`published`;
    positions then converge at first order)."""
    mass_points: Annotated[int, Field(ge=1, le=10, strict=True)] = 2
    """Gauss points of the mass along each segment."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the segments to the system."""
        motion = SEGMENT if self.map == "exponential" else PUBLISHED_SEGMENT
        points, weights = np.polynomial.legendre.leggauss(self.mass_points)
        points, weights = 0.5 * (points + 1), 0.5 * weights
        length = rod.length / self.elements
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        segments: list[Segment] = []
        for k in range(self.elements):
            frames = frames_on_segment(build, rod, k, self.elements)
            fractions = [*points, *frames.values(), 1.0]
            element = build.element(node, [build.plan(motion, placement, (length * x,)) for x in fractions])
            started = self._started(rod, k * length, (k + 1) * length)
            name_strains(build, rod, element, k + 1, started)
            for number, point, weight in zip(element.nodes, points, weights, strict=False):
                x = (k + point) / self.elements
                add_piece_of_mass(build, rod, number, se3.identity(), weight * length, x)
            for number, frame in zip(element.nodes[len(points) :], frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            segments.append(Segment(element, length, (k + 0.5) / self.elements, started))
            node, placement = element.nodes[-1], se3.identity()
            build.rod_stations(rod.name, [(node, placement)], [(k + 1) / self.elements])
        build.name_frame(f"{rod.name}.tip", node, placement)
        add_section_forces(build, rod, segments)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of a segment in the rod's shape."""
        if self.map == "exponential":
            return rod.curve.strains(begin, end)
        return rod.curve.measured(begin, end, _published_strains)


def frames_on_segment(build: Build, rod: RodProperties, segment: int, segments: int) -> dict[str, Any]:
    """Named frames on a segment, as fractions of it.

    Which segment carries a frame is settled at the model's own parameter values; the fraction stays an expression.
    """
    found = {}
    for name, at in rod.attachments.items():
        fraction = at / rod.length * segments
        place = build.nominal(fraction)
        if segment < place <= segment + 1 or (segment == 0 and place == 0):
            found[name] = fraction - segment
            text = f"the frame '{name}' moves to another segment than it is on in the text"
            for amount in (fraction - segment, segment + 1 - fraction):
                build.require(amount + ROUND_OFF, f"rods.{rod.name}.frames.{name}", text, ANEW)
    return found


def _segment_pose(q: Any, c: Any) -> Pose:
    # c: arc length from the segment's base [m]; the straight, unstretched segment has the tangent e3
    return se3.exp(c[0] * ca.vertcat(q[0], q[1], q[2] + 1, q[3:6]))


def _published_pose(q: Any, c: Any) -> Pose:
    return so3.exp(c[0] * q[3:6]), c[0] * ca.vertcat(q[0], q[1], q[2] + 1)


def _published_strains(relative: Pose, length: Any) -> Sequence[Any]:
    along, turn = relative[1] / length, so3.log(relative[0]) / length
    return along[0], along[1], along[2] - 1, turn[0], turn[1], turn[2]


SEGMENT = Motion("strain_segment", (Vector(6),), 1, _segment_pose)
PUBLISHED_SEGMENT = Motion("published_segment", (Vector(6),), 1, _published_pose)
