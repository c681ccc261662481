"""Free joint: three displacements and a free rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step
from pliant.parts.joint.coordinate import LengthCoordinate, Orientation
from pliant.parts.motion import FREE

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Free(JointBase):
    """Six degrees of freedom: the child moves and rotates freely, as a floating body."""

    type: Literal["free"] = "free"
    x: LengthCoordinate = LengthCoordinate()
    """Displacement along the joint frame's x."""
    y: LengthCoordinate = LengthCoordinate()
    """Displacement along the joint frame's y."""
    z: LengthCoordinate = LengthCoordinate()
    """Displacement along the joint frame's z."""
    orientation: Orientation = Orientation()
    """The rotation from the joint frame."""

    example: ClassVar[str] = """\
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  satellite: {mass: 50 kg, shape: {type: box, size: [0.6 m, 0.6 m, 1 m]}}
joints:
  orbit: {type: free, child: satellite, x: {rate: 1 m/s}, orientation: {rate: [0, 2 rad/s, 0]}}
"""

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """A free frame."""
        return [Step(FREE, ("x", "y", "z", "orientation"))], se3.identity()
