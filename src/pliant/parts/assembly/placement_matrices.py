"""Directions and rotations of the language as vectors and matrices."""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from pliant.language.placement import (
    Axis,
    AxisRotation,
    DirectionRotation,
    EulerRotation,
    Placement,
    QuaternionRotation,
    Rotation,
    VectorRotation,
)
from pliant.language.scalar import Scalar
from pliant.parts.geometry import so3
from pliant.parts.geometry.se3 import Pose

UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

Value = Callable[[Scalar], Any]
"""A scalar of the model as a float or an expression of the parameters (SI units)."""


def direction(axis: Axis, value: Value) -> tuple[Any, Any, Any]:
    """A unit vector."""
    if isinstance(axis, str):
        return UNIT[axis]
    vector = ca.vertcat(*map(value, axis))
    unit = vector / ca.norm_2(vector)
    return unit[0], unit[1], unit[2]


def pose(placement: Placement, value: Value) -> Pose:
    """Pose of a placed frame in the frame it is placed in."""
    R, p = rotation(placement.rotation, value), ca.vertcat(*map(value, placement.position))
    if placement.mirror is not None:
        mirror = ca.diag(1 - 2 * ca.DM(UNIT[placement.mirror]))
        R, p = mirror @ R @ mirror, mirror @ p
    if placement.around is not None and placement.around.angle is not None:
        turn = so3.axis_rotation(ca.vertcat(*direction(placement.around.axis, value)), value(placement.around.angle))
        R, p = turn @ R, turn @ p
    return R, p


def rotation(rotations: Sequence[Rotation], value: Value) -> Any:
    """Rotation matrix of rotations applied in turn."""
    R = ca.DM.eye(3)
    for item in rotations:
        R = R @ _single(item, value)
    return R


def _single(item: Rotation, value: Value) -> Any:
    if isinstance(item, AxisRotation):
        return so3.axis_rotation(ca.vertcat(*direction(item.axis, value)), value(item.angle))
    if isinstance(item, VectorRotation):
        return so3.exp(ca.vertcat(*map(value, item.vector)))
    if isinstance(item, QuaternionRotation):
        numbers = ca.vertcat(*map(value, item.quaternion))
        return so3.quaternion_matrix(numbers / ca.norm_2(numbers))
    if isinstance(item, DirectionRotation):
        # the shortest rotation from the z axis to a direction
        vector = ca.vertcat(*map(value, item.z_along))
        x, y, z = ca.vertsplit(vector / ca.norm_2(vector))
        share = 1 / (1 + z)
        return ca.vertcat(
            ca.horzcat(1 - x * x * share, -x * y * share, x),
            ca.horzcat(-x * y * share, 1 - y * y * share, y),
            ca.horzcat(-x, -y, z),
        )
    assert isinstance(item, EulerRotation)
    R = ca.DM.eye(3)
    for letter, angle in zip(item.order, item.euler, strict=True):
        R = R @ so3.axis_rotation(ca.DM(UNIT[letter]), value(angle))
    return R
