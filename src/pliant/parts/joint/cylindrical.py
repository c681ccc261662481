"""Cylindrical joint: a rotation about an axis and a displacement along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.language.placement import Axis
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, slide, turn
from pliant.parts.joint.coordinate import AngleCoordinate, LengthCoordinate

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Cylindrical(JointBase):
    """A shaft in a sleeve: the child rotates about an axis and moves along it."""

    type: Literal["cylindrical"] = "cylindrical"
    axis: Axis = "z"
    """Axis of rotation and displacement in the joint frame."""
    angle: AngleCoordinate = AngleCoordinate()
    """The angle about the axis."""
    displacement: LengthCoordinate = LengthCoordinate()
    """The displacement along the axis."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  shaft: {mass: 2 kg, shape: {type: cylinder, radius: 2 cm, length: 30 cm}}
joints:
  sleeve: {type: cylindrical, child: shaft, angle: {rate: 10 rad/s}, displacement: {spring: 200 N/m}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """A turn and a slide along the same axis."""
        return [turn(build, "angle", self.axis), slide(build, "displacement", self.axis)], se3.identity()
