"""Contact with an endless cylinder, from outside."""

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


class CylinderContact(ContactBase):
    """An endless cylinder around an axis through the place of the surface; points are pushed out of it."""

    type: Literal["cylinder"] = "cylinder"
    radius: Length
    """Radius [m]."""
    axis: Axis = "z"
    """Direction of its axis: x, y, z, or three numbers."""

    example: ClassVar[str] = """\
pliant: 1
meshes:
  cloth:
    type: membrane
    drawing: {rectangle: [40 cm, 40 cm], cells: [6, 6]}
    position: [-20 cm, -18 cm, 12 cm]
    mass: 50 g
    stiffness: 20 N
    damping_time: 20 ms
contacts:
  bar: {type: cylinder, points: {mesh: cloth}, axis: x, radius: 10 cm, stiffness: 200 N/m, damper: 0.2 N*s/m, friction: 0.5}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A radius above zero."""
        yield from super().problems(value)
        yield from positive(self, value, "radius")

    def surface(self, build: Build) -> tuple[ContactSurface, Axis, Any, Any]:
        """It has a radius."""
        return CYLINDER, self.axis, build.value(self.radius), 0.0


def _distance(x: Any, axis: Any, radius: Any, half_length: Any) -> tuple[Any, Any]:
    return radial(x - axis * ca.dot(axis, x), radius)


CYLINDER = ContactSurface("cylinder", _distance)
