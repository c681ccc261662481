"""Planar joint: two displacements in a plane and the rotation about its normal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, slide, turn
from pliant.parts.joint.coordinate import AngleCoordinate, LengthCoordinate

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Planar(JointBase):
    """Motion in the x-y plane of the joint frame: the child moves along x and y, then rotates about z.

    For another plane, turn the joint frame with `rotation`.
    """

    type: Literal["planar"] = "planar"
    x: LengthCoordinate = LengthCoordinate()
    """Displacement along the joint frame's x."""
    y: LengthCoordinate = LengthCoordinate()
    """Displacement along the joint frame's y."""
    angle: AngleCoordinate = AngleCoordinate()
    """Rotation about the joint frame's z."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  puck: {mass: 160 g, shape: {type: cylinder, radius: 38 mm, length: 25 mm}}
joints:
  table: {type: planar, child: puck, x: {rate: 2 m/s}, angle: {rate: 3 rad/s}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """Two slides, then a turn about the normal."""
        return [slide(build, "x", "x"), slide(build, "y", "y"), turn(build, "angle", "z")], se3.identity()
