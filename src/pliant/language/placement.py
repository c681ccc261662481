"""Placement of a frame in another: a position, followed by rotations."""

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
        """The quaternion must not be zero."""
        if all(value(entry) == 0 for entry in self.quaternion):
            yield ("quaternion",), "the quaternion is zero", "the identity is [1, 0, 0, 0]"


class EulerRotation(Part):
    """Three rotations about the moving axes in turn: `{euler: [10 deg, 0, 5 deg], order: xyz}`."""

    euler: tuple[Angle, Angle, Angle]
    """The three angles, in the order of `order` [rad]."""
    order: Literal["xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz"] = "xyz"
    """The axes of rotation, each as rotated by the previous rotations."""


class DirectionRotation(Part):
    """The shortest rotation that turns the z axis to a direction: `{z_along: [10 cm, 0, 40 cm]}`."""

    z_along: tuple[Length, Length, Length]
    """The direction, of any nonzero length [m]; not that of -z, for which the shortest rotation is not unique."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The direction must not be zero or -z."""
        x, y, z = map(value, self.z_along)
        if x == y == 0 and z <= 0:
            what = "is zero" if z == 0 else "is that of -z, for which the shortest rotation is not unique"
            yield ("z_along",), f"the direction {what}", "turn by an angle: {axis: x, angle: 180 deg}"


Rotation: TypeAlias = Annotated[
    AxisRotation | VectorRotation | QuaternionRotation | EulerRotation | DirectionRotation, ByKey("rotation")
]


Rotations: TypeAlias = Annotated[tuple[Rotation, ...], OneOrList()]
"""Rotations applied in turn, each in the frame rotated by the previous ones; a single one needs no list."""


class Around(Part):
    """Arrangement of instances of a repeated part around an axis of the frame that it is placed in: `around: z`."""

    short_form: ClassVar[str | None] = "axis"

    axis: Axis
    """The axis through the origin: x, y, z, or three numbers."""
    angle: Angle | None = None
    """Angle of an instance about the axis [rad]; default: instances (or mirrored pairs) are distributed evenly, the
    first at zero."""


class Placement(Part):
    """Placement of a frame in another one: translated by `position`, then rotated by `rotation`.

    With `mirror` and `around` this frame is then mirrored, and then rotated about an axis. For example, `count: 3`,
    `around: z` and `position: [5 cm, 0, 0]` make three frames on a circle, whose x axes point outwards.
    """

    position: LengthVector = (0, 0, 0)
    """Origin of the frame, in the axes of the frame it is placed in [m]."""
    rotation: Rotations = ()
    """Rotation to the frame's axes: one rotation, or a list applied in turn."""
    mirror: AxisLetter | None = None
    """Mirrors the position at the plane x = 0, y = 0 or z = 0: for instances 2, 4, ... of a repeated part, otherwise
    for the part itself. The frame's axes are mirrored too, and the named axis is reversed to make them right-handed
    again."""
    around: Around | None = None
    """Axis around which instances of a repeated part are arranged."""


class Attachment(Placement):
    """A frame of the robot, optionally with an offset: `bar.tip`, `{frame: bar.tip, position: [0, 0, 1 cm]}`."""

    short_form: ClassVar[str | None] = "frame"

    frame: FrameName
    """The frame: world, body, body.frame, link[2].tip or left/bar.tip."""
