"""Chain joint: translations and rotations in turn, each entry fixed or free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

import casadi as ca
from pydantic import Field

from pliant.language.base import ByKey, Part, ValueOrPart
from pliant.language.placement import Axis, AxisRotation
from pliant.language.scalar import Angle, Length, Number
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.base import JointBase, Step, slide, turn
from pliant.parts.joint.coordinate import AngleCoordinate, Coordinate, LengthCoordinate, Orientation
from pliant.parts.motion import ROTATION, rotation_vector_motion

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

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
        """The coordinates in order, by the labels described in the class."""
        coordinates: dict[str, Coordinate | Orientation] = {}
        for label, entry in (pair for transform in self.transforms for pair in transform.entries()):
            if isinstance(entry, Coordinate | Orientation):
                times = sum(known.partition("_")[0] == label for known in coordinates)
                coordinates[f"{label}_{times + 1}" if times else label] = entry
        return coordinates

    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """One motion per free entry (or free rotation), with the fixed entries between them."""
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
