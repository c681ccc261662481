"""Universal joint: two rotations about intersecting axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.language.placement import Axis
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, turn
from pliant.parts.joint.coordinate import AngleCoordinate

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Universal(JointBase):
    """A cardan joint: the child rotates about a first axis, then about a second one that rotates with it."""

    type: Literal["universal"] = "universal"
    axis1: Axis = "x"
    """First axis, fixed in the joint frame."""
    axis2: Axis = "y"
    """Second axis, fixed in the frame after the first rotation."""
    angle1: AngleCoordinate = AngleCoordinate()
    """The angle about the first axis."""
    angle2: AngleCoordinate = AngleCoordinate()
    """The angle about the second axis."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}
joints:
  gimbal: {type: universal, child: rod, axis1: x, axis2: y, angle1: {initial: 5 deg}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """A turn about the first axis, then one about the second."""
        return [turn(build, "angle1", self.axis1), turn(build, "angle2", self.axis2)], se3.identity()
