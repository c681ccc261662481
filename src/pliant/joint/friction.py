"""Dry friction of coordinates: a force of given size against the motion, smoothed where it changes sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca

from pliant.formula.base import CoordinateForce, Effect
from pliant.language.base import Part, Problem, not_negative, positive
from pliant.language.scalar import AngularSpeed, Force, Scalar, Speed, Torque
from pliant.motion.base import Vector
from pliant.motion.fields import Fields

if TYPE_CHECKING:
    from pliant.model.build import Build

CONSTANTS = Fields("size", "slip_speed")


def _effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    at = CONSTANTS.read(c)
    force = at.size * ca.tanh(v[0] / at.slip_speed)
    return Effect(-force, dissipation=force * v[0])


DRY_FRICTION = CoordinateForce("dry_friction", (Vector(1),), CONSTANTS.size, 0, _effect)


class Friction(Part):
    """Dry friction: `-size tanh(rate / slip_speed)`. There is no sticking: a load at rest creeps slower than the slip speed."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The force is not negative, the slip speed is above zero."""
        yield from not_negative(self, value, self.short_form or "")
        yield from positive(self, value, "slip_speed")

    def apply(self, build: Build, q_at: int, v_at: int, name: str) -> None:
        """Add the friction to the coordinate at these indices of q and v."""
        size, slip_speed = getattr(self, self.short_form or ""), self.slip_speed  # type: ignore[attr-defined]
        constants = CONSTANTS.write(size=build.value(size), slip_speed=build.value(slip_speed))
        build.system.coordinate_force(DRY_FRICTION, q_at, v_at, constants, 0, name)


class AngleFriction(Friction):
    """Dry friction of an angle: torque `-torque tanh(rate / slip_speed)`. A bare value is the torque. There is no sticking: a load
    at rest creeps slower than the slip speed."""

    short_form: ClassVar[str | None] = "torque"

    torque: Torque
    """Torque while sliding [N m]."""
    slip_speed: AngularSpeed = "0.01 rad/s"
    """Rate at which friction has reached 76 % of its full value [rad/s]."""


class LengthFriction(Friction):
    """Dry friction of a displacement: force `-force tanh(rate / slip_speed)`. A bare value is the force. There is no sticking: a
    load at rest creeps slower than the slip speed."""

    short_form: ClassVar[str | None] = "force"

    force: Force
    """Force while sliding [N]."""
    slip_speed: Speed = "1 mm/s"
    """Rate at which friction has reached 76 % of its full value [m/s]."""
