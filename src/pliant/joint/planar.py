"""Planar joint: two displacements in a plane and the rotation about its normal."""

from __future__ import annotations

from typing import ClassVar, Literal

from pliant.joint.base import JointBase
from pliant.spec.coordinate import AngleCoordinate, LengthCoordinate


class Planar(JointBase):
    """Motion in the x-y plane of the joint frame: the child moves along x and y, then turns about z.

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
