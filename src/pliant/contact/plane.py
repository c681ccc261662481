"""Contact with a plane: a floor, a wall, a table that moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.contact.base import ContactBase
from pliant.contact.law import ContactSurface
from pliant.language.base import Problem
from pliant.language.placement import Axis
from pliant.language.scalar import Scalar

if TYPE_CHECKING:
    from pliant.model.build import Build


class PlaneContact(ContactBase):
    """An endless plane through the place of the surface; points are pushed to the side that its normal shows."""

    type: Literal["plane"] = "plane"
    normal: Axis = "z"
    """Direction out of the plane: x, y, z, or three numbers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  flight: {type: free, child: ball, z: {initial: 30 cm}, x: {rate: 1 m/s}}
contacts:
  ground:
    type: plane
    points: ball
    point_radius: 3 cm
    stiffness: 5 kN/m
    damper: 5 N*s/m
    friction: 0.4
outputs:
  place: {frame: ball, quantity: position}
  push: {contact: ground, component: z}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The normal has a length."""
        yield from super().problems(value)
        if not isinstance(self.normal, str) and all(value(x) == 0 for x in self.normal):
            yield ("normal",), "`normal` is a direction and cannot be zero", "give x, y, z, or three numbers"

    def surface(self, build: Build) -> tuple[ContactSurface, Axis, Any, Any]:
        """A plane has no sizes."""
        return PLANE, self.normal, 0.0, 0.0


def _distance(x: Any, axis: Any, radius: Any, half_length: Any) -> tuple[Any, Any]:
    return ca.dot(axis, x), axis


PLANE = ContactSurface("plane", _distance)
