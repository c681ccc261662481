"""What all contacts share: points, a surface on a frame, and the law that presses them apart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import casadi as ca
from pydantic import Field

from pliant.contact.law import CONSTANTS, ContactSurface, contact_force
from pliant.contact.points import ContactPoint
from pliant.geometry import se3
from pliant.language.base import OneOrList, Problem, positive
from pliant.language.names import FrameName
from pliant.language.placement import Axis, Placement
from pliant.language.scalar import Count, Damping, Length, Number, Scalar, Speed, Stiffness

if TYPE_CHECKING:
    from pliant.model.build import Build


class ContactBase(Placement):
    """Common part of the contacts: points that a surface pushes away while they are in it.

    The force along the surface's normal is `stiffness * depth + damper * rate of depth` while a point is pressed in, and never
    below zero: surfaces do not stick. Friction is `friction` times that force, against the sliding.
    """

    points: Annotated[tuple[ContactPoint, ...], OneOrList(), Field(min_length=1)]
    """What touches the surface: frames (`foot`, `{frame: foot, position: [0, 0, -1 cm]}`) and nodes of meshes (`{mesh:
    fabric}`, `{mesh: fabric, set: hem}`)."""
    parent: FrameName = "world"
    """Frame that the surface is fixed to; `position` and `rotation` place the surface in it."""
    point_radius: Length = 0
    """Radius of the points, as balls around them [m]."""
    stiffness: Stiffness
    """Force per depth at every point [N/m]."""
    damper: Damping = 0
    """Force per rate of the depth at every point, while pressed [N s/m]."""
    smoothing: Length = "0.5 mm"
    """Depth over which the contact fades in, from as far outside of the surface to as far inside [m]; 0 switches
    sharply."""
    friction: Number = 0
    """Coefficient of friction [-]."""
    slip_speed: Speed = "1 cm/s"
    """Sliding speed at which friction has reached 71 % of its full value [m/s]. Points at rest creep slower than this: there is no
    sticking."""
    count: Count | None = None
    """Number of instances, where the contact is repeated; its values and references may use `i` (1, 2, ...) and
    `count`."""
    description: str = ""
    """What a reader should know about it."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Numbers in their ranges."""
        yield from positive(self, value, "stiffness", "slip_speed")
        for field in ("point_radius", "damper", "smoothing", "friction"):
            if value(getattr(self, field)) < 0:
                yield (field,), f"{field} must not be below zero, but it is {value(getattr(self, field)):g}", ""

    @abstractmethod
    def surface(self, build: Build) -> tuple[ContactSurface, Axis, Any, Any]:
        """Its form, direction, radius [m] and half its length [m]; zero where it has none."""

    def apply(self, build: Build, name: str) -> None:
        """Add a force between the surface and every point to the system."""
        node, pose = build.frame(self.parent)
        R, origin = se3.compose(pose, build.placement(self))
        form, axis, radius, half_length = self.surface(build)
        direction = R @ ca.vertcat(*build.direction(axis))
        constants = {
            "point_radius": build.value(self.point_radius),
            "origin": build.entries(origin),
            "axis": build.entries(direction),
            "radius": radius,
            "half_length": half_length,
            "stiffness": build.value(self.stiffness),
            "damping": build.value(self.damper),
            "smoothing": build.value(self.smoothing),
            "friction": build.value(self.friction),
            "slip_speed": build.value(self.slip_speed),
        }
        kind = contact_force(form, with_friction=self.friction != 0)
        build.contact_forces[name] = [
            build.system.frame_force(
                kind, (point_node, node), CONSTANTS.write(point=build.entries(place), **constants), 0, name
            )
            for item in self.points
            for point_node, place in item.found(build, node)
        ]
