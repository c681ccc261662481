"""Directions and rotations of the language as vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.language.placement import Axis, AxisRotation, EulerRotation, QuaternionRotation, Rotation, VectorRotation
from pliant.language.scalar import Scalar

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
    assert isinstance(item, EulerRotation)
    R = ca.DM.eye(3)
    for letter, angle in zip(item.order, item.euler, strict=True):
        R = R @ so3.axis_rotation(ca.DM(UNIT[letter]), value(angle))
    return R
