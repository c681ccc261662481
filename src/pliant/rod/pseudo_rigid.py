"""Rod model `pseudo_rigid`: rigid links in series, each joint three slides and then three turns about single axes.

Turns about x, y and z in this order do not commute, so bending about both axes at once converges at first order;
bending in a plane, twist and stretch at second order with the default map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector
from pliant.rod.absolute import ANEW, ROUND_OFF
from pliant.rod.base import RodModelBase
from pliant.rod.lumped import add_lumped_masses
from pliant.rod.properties import RodProperties
from pliant.rod.segments import Segment, add_section_forces, name_strains
from pliant.rod.turn_limits import limit_turns

if TYPE_CHECKING:
    from pliant.model.build import Build


class PseudoRigid(RodModelBase):
    """Pseudo-rigid bodies: rigid links in series with springs in the joints. No turn of a joint may reach a right angle."""

    kind: Literal["pseudo_rigid"] = "pseudo_rigid"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 10
    """Number of segments, each a joint of six coordinates."""
    map: Literal["midpoint", "published"] = "midpoint"
    """Where a segment's joint sits: in its middle (`midpoint`), or at its end (`published`; positions then converge at
    first order)."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the links to the system."""
        motion = MIDPOINT_JOINT if self.map == "midpoint" else END_JOINT
        length = rod.length / self.elements
        nodes, segments = [(rod.node, rod.placement)], list[Segment]()
        for k in range(self.elements):
            node, placement = nodes[-1]
            element = build.element(node, [build.plan(motion, placement, (length,))])
            started = self._started(rod, k * length, (k + 1) * length)
            name_strains(build, rod, element, k + 1, started)
            segments.append(Segment(element, length, (k + 0.5) / self.elements, started))
            nodes.append((element.nodes[0], se3.identity()))
        add_section_forces(build, rod, segments)
        fractions = [k / self.elements for k in range(self.elements + 1)]
        arc_lengths = [k * length for k in range(self.elements + 1)]
        add_lumped_masses(build, rod, nodes, arc_lengths, fractions)
        build.rod_stations(rod.name, nodes, fractions)
        limit_turns(build, rod, nodes, arc_lengths, math.pi / 2, "use more elements")
        build.name_frame(rod.name, *nodes[0])
        for frame, at in rod.attachments.items():
            k = self._link(build.nominal(at / rod.length))
            self._stays_on_link(build, rod, frame, at / rod.length * self.elements, k)
            node, placement = nodes[k]
            offset = (ca.DM.eye(3), ca.vertcat(0, 0, at - k * length))
            build.name_frame(f"{rod.name}.{frame}", node, se3.compose(placement, offset))
        build.name_frame(f"{rod.name}.tip", *nodes[-1])

    def _stays_on_link(self, build: Build, rod: RodProperties, frame: str, place: Any, k: int) -> None:
        """A frame is carried by the same link at all values of the parameters."""
        text = f"the frame '{frame}' moves to another link than it is on in the text"
        before = 0.5 if self.map == "midpoint" else 0.0
        for amount in (place - (k - before), k + 1 - before - place):
            build.require(amount + ROUND_OFF, f"rods.{rod.name}.frames.{frame}", text, ANEW)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of a segment in the rod's shape: the slides and turns that lead from one section to the next."""
        return rod.curve.measured(begin, end, self._measure)

    def _measure(self, relative: Pose, length: Any) -> Sequence[Any]:
        R, p = relative
        half = ca.vertcat(0, 0, length / 2)
        slide = (p - half - R @ half if self.map == "midpoint" else p - 2 * half) / length
        # R = R_x(a) R_y(b) R_z(c)
        turns = ca.atan2(-R[1, 2], R[2, 2]), ca.asin(R[0, 2]), ca.atan2(-R[0, 1], R[0, 0])
        return slide[0], slide[1], slide[2], *(turn / length for turn in turns)

    def _link(self, x: float) -> int:
        """The link, numbered from the base's 0, that carries the section at fraction x of the length."""
        place = x * self.elements
        return min(int(place + (0.5 if self.map == "midpoint" else 1e-9)), self.elements)


def _turns(q: Any, length: Any) -> Any:
    R = ca.DM.eye(3)
    for axis in range(3):
        R = R @ so3.axis_rotation(ca.DM.eye(3)[:, axis], length * q[3 + axis])
    return R


def _midpoint_pose(q: Any, c: Any) -> Pose:
    # c: length of the segment [m]
    R, half = _turns(q, c[0]), ca.vertcat(0, 0, c[0] / 2)
    return R, half + c[0] * q[0:3] + R @ half


def _published_pose(q: Any, c: Any) -> Pose:
    return _turns(q, c[0]), c[0] * ca.vertcat(q[0], q[1], q[2] + 1)


MIDPOINT_JOINT = Motion("midpoint_link", (Vector(6),), 1, _midpoint_pose)
END_JOINT = Motion("published_link", (Vector(6),), 1, _published_pose)
