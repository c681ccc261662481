"""Weld joint: no motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Weld(JointBase):
    """A fixed connection: the child moves with the parent."""

    type: Literal["weld"] = "weld"

    example: ClassVar[str] = """\
pliant: 1
bodies:
  arm: {mass: 2 kg, frames: {tip: {position: [0.5 m, 0, 0]}}}
  camera: {mass: 90 g}
joints:
  shoulder: {type: revolute, child: arm, axis: y}
  bracket: {type: weld, parent: arm.tip, child: camera, rotation: {axis: y, angle: 90 deg}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """No motions."""
        return [], se3.identity()
