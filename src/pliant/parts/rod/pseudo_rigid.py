"""Rod model `pseudo_rigid`: rigid links in series; each joint consists of three slides and then three rotations about single axes.

Slides and rotations are the strains times the segment's length; fixed strains keep their initial values.

Rotations about x, y and z in this order do not commute, so bending about both axes at once, or with twist, converges at first
order; bending in a plane, twist alone and stretch at second order with the default map.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Motion
from pliant.parts.rod.absolute import ANEW
from pliant.parts.rod.base import RodModelBase, limit_turns, remark_steps
from pliant.parts.rod.pieces import RodPiece, add_pieces, held_values, name_strains, segment_motion, segment_piece
from pliant.parts.rod.properties import RodProperties, add_lumped_masses
from pliant.parts.rod.stations import ROUND_OFF
from pliant.parts.rod.strains import ALL, Free

Map = Literal["midpoint", "published"]


class PseudoRigid(RodModelBase):
    """Pseudo-rigid bodies: rigid links in series with springs in the joints. The rotation of each joint must stay
    below a right angle. Bending in a plane converges at second order in the length of the segments; bending about both axes, or
    with twist, at first order."""

    kind: Literal["pseudo_rigid"] = "pseudo_rigid"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 10
    """Number of segments, each a joint with the free strains as coordinates."""
    map: Map = "midpoint"
    """Location of a segment's joint: in its middle (`midpoint`), or at its end (`published`; positions then converge at
    first order)."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return free

    def apply(self, build: Build, rod: RodProperties) -> None:
        length = rod.length / self.elements
        nodes, pieces = [(rod.node, rod.placement)], list[RodPiece]()
        every = [self._started(rod, k * length, (k + 1) * length) for k in range(self.elements)]
        for k, (started, held) in enumerate(zip(every, held_values(rod.free, every), strict=True)):
            node, placement = nodes[-1]
            span = (k / self.elements, (k + 1) / self.elements)
            motion = link_joint(self.map, rod.free, len(held))
            element = build.element(node, [build.plan(motion, placement, (length, *held))])
            name_strains(build, rod, element, k + 1, started)
            pieces.append(RodPiece(element, held, length, (k + 0.5) / self.elements, started, span))
            nodes.append((element.nodes[0], se3.identity()))
        add_pieces(build, rod, segment_piece(rod.free, len(pieces[0].shape), at_joint), pieces, order=2)
        fractions = [k / self.elements for k in range(self.elements + 1)]
        arc_lengths = [k * length for k in range(self.elements + 1)]
        remark_steps(build, rod, fractions)
        add_lumped_masses(build, rod, nodes, arc_lengths, fractions)
        build.rod_stations(rod.name, nodes, fractions)
        limit_turns(build, rod, nodes, arc_lengths, math.pi / 2, "use more elements")
        build.name_frame(rod.name, *nodes[0])
        for frame, at in rod.attachments.items():
            k = self._link(rod.places[frame])
            self._stays_on_link(build, rod, frame, at / rod.length * self.elements, k)
            node, placement = nodes[k]
            offset = (ca.DM.eye(3), ca.vertcat(0, 0, at - k * length))
            build.name_frame(f"{rod.name}.{frame}", node, se3.compose(placement, offset))
        build.name_frame(f"{rod.name}.tip", *nodes[-1])

    def _stays_on_link(self, build: Build, rod: RodProperties, frame: str, place: Any, k: int) -> None:
        """Check that a frame is on the same link for all values of the parameters."""
        text = f"the frame '{frame}' moves to another link than in the model"
        before = 0.5 if self.map == "midpoint" else 0.0
        for amount in (place - (k - before), k + 1 - before - place):
            build.require(amount + ROUND_OFF, f"rods.{rod.name}.frames.{frame}", text, ANEW)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of a segment in the rod's shape: the slides and rotations from one section to the next."""
        return rod.curve.measured(begin, end, self._measure)

    def _measure(self, relative: Pose, length: Any) -> Sequence[Any]:
        R, p = relative
        half = ca.vertcat(0, 0, length / 2)
        slide = (p - half - R @ half if self.map == "midpoint" else p - 2 * half) / length
        # R = R_x(a) R_y(b) R_z(c)
        turns = ca.atan2(-R[1, 2], R[2, 2]), ca.asin(R[0, 2]), ca.atan2(-R[0, 1], R[0, 0])
        return slide[0], slide[1], slide[2], *(turn / length for turn in turns)

    def _link(self, x: float) -> int:
        """The link, numbered from 0 at the base, of the section at fraction x of the length."""
        place = x * self.elements
        return min(int(place + (0.5 if self.map == "midpoint" else 1e-9)), self.elements)


def at_joint(along: SectionState, length: Any) -> SectionState:
    """State of the section at a joint, after half of the joint's rotation."""
    back = so3.exp(-length / 2 * along.strain[3:6])
    strain, material, actuation = (
        ca.vertcat(back @ x[0:3], x[3:6]) for x in (along.strain, along.material, along.actuation)
    )
    return SectionState(strain, material, actuation)


def _turns(strain: Any, length: Any) -> Any:
    R = ca.DM.eye(3)
    for axis in range(3):
        R = R @ so3.axis_rotation(ca.DM.eye(3)[:, axis], length * strain[3 + axis])
    return R


def _midpoint_pose(strain: Any, length: Any) -> Pose:
    R, half = _turns(strain, length), ca.vertcat(0, 0, length / 2)
    return R, half + length * strain[0:3] + R @ half


def _published_pose(strain: Any, length: Any) -> Pose:
    return _turns(strain, length), length * ca.vertcat(strain[0], strain[1], strain[2] + 1)


@cache
def link_joint(map: Map, free: Free = ALL, held: int = 0) -> Motion:
    """The far end of a segment. Constants: the segment's length [m], `held` fixed strains."""
    if map == "midpoint":
        return segment_motion("midpoint_link", _midpoint_pose, free, held)
    return segment_motion("published_link", _published_pose, free, held)
