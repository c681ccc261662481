"""Numbers of a contact's law, in the order of the runtime's `PL_LAW_...` (`runtime/contact.h`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca

SLOW = 2e-3
"""Coefficients of restitution hold for impacts faster than this share of the speed that things gain in a fall by their radius."""
RECENT = 0.2
"""Where nothing is known of how surfaces came to where they are, they have slid at their velocity for this share of such a fall's
time."""
EARTH = 9.81
"""Gravity of that fall where the robot has none [m/s^2]."""
RIGID = 1e8
"""Elastic modulus of parts without a material, for the stiffness of their contacts [Pa]."""


@dataclass(frozen=True)
class LawNumbers:
    """stiffness [N/m^exponent], exponent, dissipation [s/m], impact (`impact_number`, 0 for none), tangential stiffness relative
    to the normal one, friction along and across, friction at rest as a multiple of that in motion, slow speed
    [m/s] and recent time [s] (`slow_and_recent`)."""

    stiffness: Any
    exponent: Any
    dissipation: Any
    impact: Any
    tangential: Any
    along: Any
    across: Any
    at_rest: Any
    slow: Any
    recent: Any

    def entries(self) -> list[Any]:
        """In the order of the runtime."""
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def place(cls, name: str) -> int:
        """Index of a number among the constants of a law."""
        return [field.name for field in fields(cls)].index(name)


def impact_number(restitution: float) -> float:
    """Dissipation times the speed of impact with which a normal force k x^p (1 + dissipation dx/dt) gives this coefficient of
    restitution.

    Of a mass m, dv/dx = -k x^p (1 + c v) / (m v), so v / (1 + c v) dv is the same function of x on the way in and on the way
    out; with w = c v_in and restitution e this gives w (1 + e) = log((1 + w) / (1 - e w)), whatever the mass, the stiffness
    and the exponent.
    """
    if restitution >= 1:
        return 0.0

    def excess(w: float) -> float:
        return math.log1p(w) - math.log1p(-restitution * w) - w * (1 + restitution)

    # the other root is w = 0; between them it is below zero, and it grows without bounds where e w comes to 1
    low, high = 1e-9, (1 - 1e-15) / restitution
    while high - low > 1e-15 * high:
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def slow_and_recent(gravity: Sequence[Any], radius: Any) -> tuple[Any, Any]:
    """A speed [m/s] and a time [s] that are small for things of this radius [m] under this gravity (3) [m/s^2]: numbers or
    expressions."""
    strength = ca.sqrt(sum(x * x for x in gravity))
    strength = strength + EARTH * (strength == 0)
    return SLOW * ca.sqrt(strength * radius), RECENT * ca.sqrt(radius / strength)


def contact_modulus(first: Any, second: Any) -> Any:
    """Modulus of two bodies in contact [Pa], of their plane-strain moduli."""
    return first * second / (first + second)
