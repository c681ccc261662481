"""The joints with fixed axes: weld, revolute, prismatic, universal, cylindrical, planar, spherical and free."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.language.placement import Axis
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, slide, turn
from pliant.parts.joint.coordinate import AngleCoordinate, LengthCoordinate, Orientation
from pliant.parts.motion import FREE, ROTATION

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
