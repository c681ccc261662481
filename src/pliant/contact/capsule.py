"""Contact with a capsule, a cylinder with half balls at its ends, from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.contact.base import ContactBase
from pliant.contact.law import ContactSurface, radial
from pliant.language.base import Problem, positive
from pliant.language.placement import Axis
from pliant.language.scalar import Length, Scalar

if TYPE_CHECKING:
    from pliant.model.build import Build


class CapsuleContact(ContactBase):
    """A cylinder with half balls at its ends, centred on the place of the surface; points are pushed out of it."""

    type: Literal["capsule"] = "capsule"
    radius: Length
    """Radius [m]."""
    length: Length
    """Distance of the centres of the half balls [m]."""
    axis: Axis = "z"
    """Direction of its axis: x, y, z, or three numbers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  arm: {mass: 1 kg, center_of_mass: [15 cm, 0, 0], shape: {type: cylinder, radius: 2 cm, length: 30 cm, axis: x}}
  bead: {mass: 10 g}
joints:
  shoulder: {type: revolute, child: arm, axis: y, angle: {spring: 50 N*m, damper: 0.5 N*m*s}}
  flight: {type: free, child: bead, x: {initial: 20 cm}, z: {initial: 10 cm}}
contacts:
  skin: {type: capsule, points: bead, point_radius: 5 mm, parent: arm, position: [15 cm, 0, 0], axis: x, radius: 2 cm,
         length: 26 cm, stiffness: 500 N/m, damper: 0.3 N*s/m}
outputs:
  push: {contact: skin}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero."""
        yield from super().problems(value)
        yield from positive(self, value, "radius", "length")

    def surface(self, build: Build) -> tuple[ContactSurface, Axis, Any, Any]:
        """It has a radius and a length."""
        return CAPSULE, self.axis, build.value(self.radius), build.value(self.length) / 2


def _distance(x: Any, axis: Any, radius: Any, half_length: Any) -> tuple[Any, Any]:
    along = ca.fmax(-half_length, ca.fmin(half_length, ca.dot(axis, x)))
    return radial(x - axis * along, radius)


CAPSULE = ContactSurface("capsule", _distance)
