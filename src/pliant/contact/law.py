"""The force between a point and a surface: one-sided, never sticking, with friction that fades at rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.formula.base import Effect, FrameForce
from pliant.formula.contact_law import contact_law
from pliant.geometry.se3 import Pose
from pliant.motion.fields import Fields

CONSTANTS = Fields(
    "point:3", "point_radius", "origin:3", "axis:3", "radius", "half_length",
    "stiffness", "damping", "smoothing", "friction", "slip_speed",
)  # fmt: skip
"""The point in the first frame and its radius, the surface's origin, axis, radius and half length in the second; the law."""


@dataclass(frozen=True)
class ContactSurface:
    """A form of surface.

    `distance(x, axis, radius, half_length)` of a place x [m] from the surface's origin, all in world axes, returns how far
    it is outside of the surface [m] and the unit normal there, the gradient of that distance.
    """

    name: str
    distance: Callable[[Any, Any, Any, Any], tuple[Any, Any]]


@cache
def contact_force(surface: ContactSurface, *, with_friction: bool) -> FrameForce:
    """Force between a point of the first frame and a surface on the second."""

    def effect(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
        (R_point, p_point), (R_surface, p_surface) = poses
        at = CONSTANTS.read(c)
        center = p_point + R_point @ at.point
        away = center - p_surface - R_surface @ at.origin
        outside, normal = surface.distance(away, R_surface @ at.axis, at.radius, at.half_length)
        # both sides act at one place, so that momentum is kept
        place = center - at.point_radius * normal
        velocity = _velocity(twists[0], place) - _velocity(twists[1], place)
        along = ca.dot(normal, velocity)
        pressing, energy, dissipation = contact_law(at.point_radius - outside, -along, at)
        force = pressing * normal
        if with_friction:
            sliding = velocity - along * normal
            rubbing = at.friction * pressing / ca.sqrt(ca.dot(sliding, sliding) + at.slip_speed**2)
            force = force - rubbing * sliding
            dissipation = dissipation + rubbing * ca.dot(sliding, sliding)
        wrench = ca.vertcat(force, ca.cross(place, force))
        return Effect(ca.vertcat(wrench, -wrench), energy, dissipation)

    name = f"contact_{surface.name}{'_friction' if with_friction else ''}"
    return FrameForce(name, frames=2, constants=CONSTANTS.size, signals=0, effect=effect)


def _velocity(twist: Any, place: Any) -> Any:
    """Velocity of the point of a frame that is at a place in the world."""
    return twist[0:3] + ca.cross(twist[3:6], place)


def radial(across: Any, radius: Any) -> tuple[Any, Any]:
    """Distance from a surface at a radius around the foot of `across`, and the normal.

    The tiny offset keeps the normal defined on the axis itself, where it is zero: nothing says which way is out.
    """
    distance = ca.sqrt(ca.dot(across, across) + 1e-24)
    return distance - radius, across / distance
