"""Prismatic joint: one displacement along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.language.placement import Axis
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, slide
from pliant.parts.joint.coordinate import LengthCoordinate

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Prismatic(JointBase):
    """A slider: the child moves along an axis of the joint frame."""

    type: Literal["prismatic"] = "prismatic"
    axis: Axis = "z"
    """Direction of motion in the joint frame: x, y, z, or three numbers."""
    displacement: LengthCoordinate = LengthCoordinate()
    """The displacement along the axis."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  push: {value: 0 N, input: true}
bodies:
  drawer: {mass: 3 kg}
joints:
  slide:
    type: prismatic
    child: drawer
    axis: x
    displacement: {initial: 10 cm, damper: {coefficient: 4, power: 0.5}, input: =push}
inputs:
  push: {step: {at: 1 s, before: 0 N, after: 5 N}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """One slide."""
        return [slide(build, "displacement", self.axis)], se3.identity()
