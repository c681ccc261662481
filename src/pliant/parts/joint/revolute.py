"""Revolute joint: one rotation about an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.language.placement import Axis
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, turn
from pliant.parts.joint.coordinate import AngleCoordinate

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Revolute(JointBase):
    """A hinge: the child rotates about an axis of the joint frame."""

    type: Literal["revolute"] = "revolute"
    axis: Axis = "z"
    """Axis of rotation in the joint frame: x, y, z, or three numbers."""
    angle: AngleCoordinate = AngleCoordinate()
    """The angle about the axis."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  door: {mass: 20 kg, center_of_mass: [0.4 m, 0, 0], shape: {type: box, size: [80 cm, 4 cm, 2 m]}}
joints:
  hinge:
    type: revolute
    child: door
    axis: z
    angle: {initial: 30 deg, spring: {coefficient: 2 N*m/rad, rest: 0}, damper: 0.5 N*m*s/rad}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """One turn."""
        return [turn(build, "angle", self.axis)], se3.identity()
