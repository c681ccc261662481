"""Cylindrical joint: a rotation about an axis and a displacement along it."""

from __future__ import annotations

from typing import ClassVar, Literal

from pliant.joint.base import JointBase
from pliant.spec.coordinate import AngleCoordinate, LengthCoordinate
from pliant.spec.placement import Axis


class Cylindrical(JointBase):
    """A shaft in a sleeve: the child turns about an axis and moves along it."""

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
