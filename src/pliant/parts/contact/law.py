"""Numbers of a contact's law, in the order of the runtime's `PL_LAW_...` (`runtime/contact.h`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca


@dataclass(frozen=True)
class ContactDefaults:
    """Speeds, times and moduli of contacts that the model does not state."""

    slow: float = 2e-3
    """Coefficients of restitution apply to impacts faster than this fraction of sqrt(gravity * radius)."""
    recent: float = 0.2
    """If the history of a contact is unknown, its surfaces are assumed to have slid at their velocity for this fraction of
    sqrt(radius / gravity)."""
    earth: float = 9.81
    """Gravity in these if the robot has none [m/s^2]."""
    rigid: float = 1e8
    """Elastic modulus of parts without a material, for the stiffness of their contacts [Pa]."""


DEFAULTS = ContactDefaults()


@dataclass(frozen=True)
class LawNumbers:
    """Numbers of a contact law: stiffness [N/m^exponent], exponent, dissipation [s/m], impact (`impact_number`, 0 for none),
    tangential stiffness relative to the normal one, friction along and across, static friction as a multiple of sliding
    friction, slow speed [m/s] and recent time [s] (`slow_and_recent`)."""

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
        """The numbers in the order of the runtime."""
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def place(cls, name: str) -> int:
        """Index of a number among the constants of a law."""
        return [field.name for field in fields(cls)].index(name)


def impact_number(restitution: float) -> float:
    """Dissipation times impact speed for which a normal force k x^p (1 + dissipation dx/dt) gives this coefficient of
    restitution.

    For a mass m, dv/dx = -k x^p (1 + c v) / (m v), so v / (1 + c v) dv is the same function of x on the way in and on the way
    out; with w = c v_in and restitution e this gives w (1 + e) = log((1 + w) / (1 - e w)), independent of mass, stiffness
    and exponent.
    """
    if restitution >= 1:
        return 0.0

    def excess(w: float) -> float:
        return math.log1p(w) - math.log1p(-restitution * w) - w * (1 + restitution)

    # another root is w = 0; `excess` is negative between the roots, and unbounded as e w approaches 1
    low, high = 1e-9, (1 - 1e-15) / restitution
    while high - low > 1e-15 * high:
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def slow_and_recent(gravity: Sequence[Any], radius: Any) -> tuple[Any, Any]:
    """A speed [m/s] and a time [s] that are small for parts of this radius [m] under this gravity (3) [m/s^2]: numbers or
    expressions."""
    strength = ca.sqrt(sum(x * x for x in gravity))
    strength = strength + DEFAULTS.earth * (strength == 0)
    return DEFAULTS.slow * ca.sqrt(strength * radius), DEFAULTS.recent * ca.sqrt(radius / strength)


def contact_modulus(first: Any, second: Any) -> Any:
    """Combined modulus of two bodies in contact [Pa]."""
    return first * second / (first + second)
