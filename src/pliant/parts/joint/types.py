"""Joints: their base, those with fixed axes (revolute, prismatic, universal, cylindrical, planar, ...), and chains."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import casadi as ca
from pydantic import Field

from pliant.language.base import ByKey, Part, ValueOrPart
from pliant.language.dimension import LENGTH, NUMBER, Dimension
from pliant.language.names import FrameName
from pliant.language.placement import Axis, AxisRotation, Placement
from pliant.language.scalar import Angle, Length, Number
from pliant.parts.assembly.build import Build
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.coordinate import AngleCoordinate, Coordinate, LengthCoordinate, Orientation
from pliant.parts.motion import FREE, ROTATION, SCREW, Motion, rotation_vector_motion


@dataclass(frozen=True)
class Step:
    """One elementary motion of a joint.

    Attributes:
        motion: the kind of motion.
        labels: the coordinates that drive it, in order (keys of the joint's `coordinates()`).
        constants: the motion's constants, floats or expressions of parameters.
        before: fixed placement before the motion.
    """

    motion: Motion
    labels: tuple[str, ...]
    constants: tuple[Any, ...] = ()
    before: Pose = field(default_factory=se3.identity)


class JointBase(Placement):
    """Base of the joints: connects `child` to `parent`, at a placement in the parent frame."""

    parent: FrameName = "world"
    """Frame that the joint is placed in."""
    child: FrameName
    """Body attached by the joint, at its own frame (`bar`) or at another of its frames (`bar.tip`)."""
    first_parent: FrameName | None = None
    """Parent of the first instance, if the child is repeated and the parent is the previous instance."""
    description: str = ""
    """Description for readers."""

    def coordinates(self) -> dict[str, Coordinate | Orientation]:
        """The coordinates in order, by field (`angle`, `x`, ...)."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, (Coordinate, Orientation))}

    def state_names(self) -> Mapping[str, Dimension]:
        """Names that coefficients may use: the coordinates by field, except free rotations."""
        found = {label: spec for label, spec in self.coordinates().items() if isinstance(spec, Coordinate)}
        return {label: LENGTH if isinstance(spec, LengthCoordinate) else NUMBER for label, spec in found.items()}

    @abstractmethod
    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """The elementary motions from the joint frame to the child, and the fixed placement after the last one."""


def turn(build: Build, label: str, axis: Axis) -> Step:
    """Rotation about an axis of the joint frame."""
    return Step(SCREW, (label,), (0.0, 0.0, 0.0, *build.direction(axis)))


def slide(build: Build, label: str, axis: Axis) -> Step:
    """Displacement along an axis of the joint frame."""
    return Step(SCREW, (label,), (*build.direction(axis), 0.0, 0.0, 0.0))


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
        return [Step(FREE, ("x", "y", "z", "orientation"))], se3.identity()


LengthEntry: TypeAlias = Annotated[Length | LengthCoordinate, ValueOrPart()]
"""A fixed length, the keyword `free`, or a coordinate."""

AngleEntry: TypeAlias = Annotated[Angle | AngleCoordinate, ValueOrPart()]
"""A fixed angle, the keyword `free`, or a coordinate."""

QuaternionEntry: TypeAlias = Annotated[tuple[Number, Number, Number, Number] | Orientation, ValueOrPart()]
"""Four fixed numbers w, x, y, z, the keyword `free`, or a free orientation."""

QuaternionVectorEntry: TypeAlias = Annotated[tuple[Number, Number, Number] | Orientation, ValueOrPart()]
"""Three fixed numbers x, y, z, the keyword `free`, or a free orientation."""

Entries: TypeAlias = tuple[tuple[str, object], ...]
"""Entries of a transform that may be free, with the labels of their coordinates."""


class AxisTurn(Part):
    """Rotation about one axis by a fixed or free angle."""

    axis: Axis
    """The axis: x, y, z, or three numbers."""
    angle: AngleEntry
    """The angle: a value, `free`, or a coordinate."""

    def entries(self) -> Entries:
        """The angle."""
        return ((f"r{self.axis}" if isinstance(self.axis, str) else "angle", self.angle),)


class VectorTurn(Part):
    """Rotation vector (bend, bend, twist), by the exponential map; each of its entries is fixed or free.

    If one entry is free and the others are zero, it is a rotation about that axis. If the others are not zero, the axis of
    the rotation tilts as the free entry grows.
    """

    vector: tuple[AngleEntry, AngleEntry, AngleEntry]
    """The three components [rad]: values, `free`, or coordinates."""

    def entries(self) -> Entries:
        """The three components."""
        return tuple(zip(("rx", "ry", "rz"), self.vector, strict=True))


class QuaternionTurn(Part):
    """Rotation by a quaternion, which is normalized; if free, the state is a unit quaternion."""

    quaternion: QuaternionEntry
    """Four numbers w, x, y, z, or `free`, or an orientation."""

    def entries(self) -> Entries:
        """The quaternion."""
        return (("orientation", self.quaternion),)


class QuaternionVectorTurn(Part):
    """Rotation by the vector part of a unit quaternion; if free, the state is a unit quaternion."""

    quaternion_vector: QuaternionVectorEntry
    """Three numbers x, y, z, with w = sqrt(1 - x^2 - y^2 - z^2), or `free`, or an orientation."""

    def entries(self) -> Entries:
        """The vector part."""
        return (("orientation", self.quaternion_vector),)


class AxisAngleTurn(Part):
    """Fixed rotation about any axis."""

    axis_angle: AxisRotation
    """The axis and the angle."""

    def entries(self) -> Entries:
        """None: both are fixed."""
        return ()


Turn: TypeAlias = Annotated[
    AxisTurn | VectorTurn | QuaternionTurn | QuaternionVectorTurn | AxisAngleTurn, ByKey("rotation of a chain")
]


class Translate(Part):
    """A translation along the axes of the frame reached so far."""

    translate: tuple[LengthEntry, LengthEntry, LengthEntry]
    """Components along x, y, z [m]: values, `free`, or coordinates."""

    def entries(self) -> Entries:
        """The three components."""
        return tuple(zip("xyz", self.translate, strict=True))


class Rotate(Part):
    """A rotation of the frame reached so far."""

    rotate: Turn
    """The rotation: about an axis, by a rotation vector, by a quaternion, or by a quaternion's vector part."""

    def entries(self) -> Entries:
        """Entries of the rotation."""
        return self.rotate.entries()


Transform: TypeAlias = Annotated[Translate | Rotate, ByKey("transform")]


class Chain(JointBase):
    """The general joint: translations and rotations in turn, each entry fixed or free.

    Its coordinates are called joint.x, joint.y, joint.z (translations), joint.rx, joint.ry, joint.rz
    (rotations about an axis or by a vector; joint.angle about a skew axis) and joint.orientation
    (quaternions), with _2, _3 and so on added to repeated labels; a single coordinate has the joint's name.
    """

    type: Literal["chain"] = "chain"
    transforms: Annotated[tuple[Transform, ...], Field(min_length=1)]
    """The translations and rotations, from the joint frame to the child."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  platform: {mass: 4 kg, shape: {type: cylinder, radius: 10 cm, length: 2 cm}}
joints:
  hexapod:
    type: chain
    child: platform
    transforms:
      - translate: [0, 0, {name: height, initial: 30 cm, spring: 800 N/m}]
      - rotate: {axis: x, angle: free}
      - rotate: {axis: y, angle: {damper: 0.2}}
      - translate: [0, 0, 5 cm]
      - rotate: {axis_angle: {axis: [1, 1, 0], angle: 10 deg}}
"""

    def coordinates(self) -> dict[str, Coordinate | Orientation]:
        coordinates: dict[str, Coordinate | Orientation] = {}
        for label, entry in (pair for transform in self.transforms for pair in transform.entries()):
            if isinstance(entry, Coordinate | Orientation):
                times = sum(known.partition("_")[0] == label for known in coordinates)
                coordinates[f"{label}_{times + 1}" if times else label] = entry
        return coordinates

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        labels = iter(self.coordinates())
        steps: list[Step] = []
        fixed = se3.identity()

        def add(step: Step) -> None:
            nonlocal fixed
            steps.append(Step(step.motion, step.labels, step.constants, fixed))
            fixed = se3.identity()

        for transform in self.transforms:
            if isinstance(transform, Translate):
                # translations commute, so the fixed components come first, as one translation
                moves = [0 if isinstance(x, Coordinate) else build.value(x) for x in transform.translate]
                fixed = se3.compose(fixed, (ca.DM.eye(3), ca.vertcat(*moves)))
                for axis, entry in zip("xyz", transform.translate, strict=True):
                    if isinstance(entry, Coordinate):
                        add(slide(build, next(labels), axis))  # type: ignore[arg-type]
                continue
            rotation = transform.rotate
            free = [next(labels) for _, entry in rotation.entries() if isinstance(entry, Coordinate | Orientation)]
            if not free:
                fixed = se3.compose(fixed, (_fixed_turn(build, rotation), ca.DM.zeros(3)))
            elif isinstance(rotation, AxisTurn):
                add(turn(build, free[0], rotation.axis))
            elif isinstance(rotation, VectorTurn):
                add(_vector_turn(build, rotation, tuple(free)))
            else:
                add(Step(ROTATION, tuple(free)))
        return steps, fixed


def _vector_turn(build: Build, rotation: VectorTurn, labels: tuple[str, ...]) -> Step:
    """The motion of a rotation vector with some of its entries free."""
    free = tuple(k for k, entry in enumerate(rotation.vector) if isinstance(entry, Coordinate))
    fixed = [build.value(entry) for entry in rotation.vector if not isinstance(entry, Coordinate)]
    if len(free) == 1 and all(isinstance(x, int | float) and x == 0 for x in fixed):
        axes: tuple[Axis, ...] = ("x", "y", "z")
        return turn(build, labels[0], axes[free[0]])  # valid beyond a full turn, and faster to compile
    return Step(rotation_vector_motion(free), labels, tuple(fixed))


def _fixed_turn(build: Build, rotation: Turn) -> object:
    """Rotation matrix of a turn without free entries."""
    if isinstance(rotation, AxisTurn):
        assert not isinstance(rotation.angle, Coordinate)
        return so3.axis_rotation(ca.vertcat(*build.direction(rotation.axis)), build.value(rotation.angle))
    if isinstance(rotation, AxisAngleTurn):
        return build.rotation((rotation.axis_angle,))
    if isinstance(rotation, VectorTurn):
        entries = [x for x in rotation.vector if not isinstance(x, Coordinate)]
        return so3.exp(ca.vertcat(*map(build.value, entries)))
    if isinstance(rotation, QuaternionTurn):
        assert not isinstance(rotation.quaternion, Orientation)
        numbers = ca.vertcat(*map(build.value, rotation.quaternion))
        return so3.quaternion_matrix(numbers / ca.norm_2(numbers))
    assert not isinstance(rotation.quaternion_vector, Orientation)
    vector = ca.vertcat(*map(build.value, rotation.quaternion_vector))
    return so3.quaternion_matrix(ca.vertcat(ca.sqrt(1 - ca.dot(vector, vector)), vector))
