"""Where a frame sits in another one: a position, then rotations in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias

from pliant.language.base import ByKey, OneOrList, Part, Problem, WordOrList
from pliant.language.names import FrameName
from pliant.language.scalar import Angle, LengthVector, Number, Scalar, Vector

AxisLetter: TypeAlias = Literal["x", "y", "z"]

Axis: TypeAlias = Annotated[AxisLetter | Vector, WordOrList()]
"""A direction: `x`, `y`, `z`, or three numbers (any length but zero)."""


class AxisRotation(Part):
    """Rotation about an axis: `{axis: z, angle: 30 deg}`."""

    axis: Axis
    """Direction of the axis: x, y, z, or three numbers."""
    angle: Angle
    """Angle about the axis, by the right-hand rule [rad]."""


class VectorRotation(Part):
    """Rotation vector (axis times angle): `{vector: [0, 0, 0.5]}`."""

    vector: tuple[Angle, Angle, Angle]
    """The axis times the angle [rad]."""


class QuaternionRotation(Part):
    """Quaternion, scalar part first: `{quaternion: [1, 0, 0, 0]}`; it is normalized."""

    quaternion: tuple[Number, Number, Number, Number]
    """The four numbers w, x, y, z."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A quaternion of length zero is no rotation."""
        if all(value(entry) == 0 for entry in self.quaternion):
            yield ("quaternion",), "the quaternion is zero", "no rotation is [1, 0, 0, 0]"


class EulerRotation(Part):
    """Three rotations about the moving axes in turn: `{euler: [10 deg, 0, 5 deg], order: xyz}`."""

    euler: tuple[Angle, Angle, Angle]
    """The three angles, in the order of `order` [rad]."""
    order: Literal["xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz"] = "xyz"
    """The axes turned about, each one as moved by the rotations before it."""


Rotation: TypeAlias = Annotated[AxisRotation | VectorRotation | QuaternionRotation | EulerRotation, ByKey("rotation")]


Rotations: TypeAlias = Annotated[tuple[Rotation, ...], OneOrList()]
"""Rotations applied in turn, each in the frame turned by those before it; one alone needs no list."""


class Placement(Part):
    """Where a frame sits in another one: moved by `position`, then turned by `rotation`."""

    position: LengthVector = (0, 0, 0)
    """Origin of the frame, in the axes of the frame it is placed in [m]."""
    rotation: Rotations = ()
    """Rotation to the frame's axes: one rotation, or a list applied in turn."""


class Attachment(Placement):
    """A frame of the robot, perhaps with an offset: `bar.tip`, `{frame: bar.tip, position: [0, 0, 1 cm]}`."""

    short_form: ClassVar[str | None] = "frame"

    frame: FrameName
    """The frame: world, body, body.frame, link[2].tip or left/bar.tip."""
