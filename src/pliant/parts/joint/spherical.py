"""Spherical joint: a free rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step
from pliant.parts.joint.coordinate import Orientation
from pliant.parts.motion import ROTATION

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Spherical(JointBase):
    """A ball joint: the child rotates freely about the joint's origin."""

    type: Literal["spherical"] = "spherical"
    orientation: Orientation = Orientation()
    """The rotation from the joint frame."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  top: {mass: 0.5 kg, center_of_mass: [0, 0, 6 cm], inertia: {principal: [8e-4, 8e-4, 5e-4]}}
joints:
  ball:
    type: spherical
    child: top
    orientation: {initial: {axis: x, angle: 20 deg}, rate: [0, 0, 150 rad/s], damper: 1e-5}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """A free rotation."""
        return [Step(ROTATION, ("orientation",))], se3.identity()
