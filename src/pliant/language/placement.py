"""Where a frame sits in another one: a position, then rotations in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias

from pliant.language.base import ByKey, OneOrList, Part, Problem, WordOrList
from pliant.language.names import FrameName
from pliant.language.scalar import Angle, Length, LengthVector, Number, Scalar, Vector

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


class DirectionRotation(Part):
    """The shortest rotation that turns the z axis to a direction: `{z_along: [10 cm, 0, 40 cm]}`."""

    z_along: tuple[Length, Length, Length]
    """The direction, of any length but zero [m]; not that of -z, to which no rotation is the shortest."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The direction is one, and has a shortest rotation."""
        x, y, z = map(value, self.z_along)
        if x == y == 0 and z <= 0:
            what = "is zero" if z == 0 else "is that of -z, to which many rotations are the shortest"
            yield ("z_along",), f"the direction {what}", "turn by an angle: {axis: x, angle: 180 deg}"


Rotation: TypeAlias = Annotated[
    AxisRotation | VectorRotation | QuaternionRotation | EulerRotation | DirectionRotation, ByKey("rotation")
]


Rotations: TypeAlias = Annotated[tuple[Rotation, ...], OneOrList()]
"""Rotations applied in turn, each in the frame turned by those before it; one alone needs no list."""


class Around(Part):
    """Instances of something repeated around an axis of the frame that it is placed in: `around: z`."""

    short_form: ClassVar[str | None] = "axis"

    axis: Axis
    """The axis through the origin: x, y, z, or three numbers."""
    angle: Angle | None = None
    """Angle by which an instance is turned about it [rad]; otherwise they stand evenly around, the first at zero, or mirrored pairs
    of them do."""


class Placement(Part):
    """Where a frame sits in another one: moved by `position`, then turned by `rotation`.

    With `mirror` and `around` the frame so placed is then mirrored, and then carried around an axis. So `count: 3`,
    `around: z` and `position: [5 cm, 0, 0]` make three frames on a circle, whose x axes point outwards.
    """

    position: LengthVector = (0, 0, 0)
    """Origin of the frame, in the axes of the frame it is placed in [m]."""
    rotation: Rotations = ()
    """Rotation to the frame's axes: one rotation, or a list applied in turn."""
    mirror: AxisLetter | None = None
    """Mirrors the place at the plane x = 0, y = 0 or z = 0: of instances 2, 4, ... of something repeated, otherwise of the thing
    itself. The frame's axes are mirrored too, and the one that is called as here is reversed, to make them right-handed again."""
    around: Around | None = None
    """Axis that instances of something repeated stand around."""


class Attachment(Placement):
    """A frame of the robot, perhaps with an offset: `bar.tip`, `{frame: bar.tip, position: [0, 0, 1 cm]}`."""

    short_form: ClassVar[str | None] = "frame"

    frame: FrameName
    """The frame: world, body, body.frame, link[2].tip or left/bar.tip."""
