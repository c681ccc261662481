"""Stops on the length changes of an arc's muscles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.formula.base import CoordinateForce, Effect
from pliant.formula.contact_law import contact_law
from pliant.language.base import Part, Problem
from pliant.language.scalar import Damping, Length, Scalar, Stiffness
from pliant.motion.base import Vector
from pliant.motion.fields import Fields

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element

CONSTANTS = Fields("minimum", "maximum", "stiffness", "damping", "smoothing")
"""Of `muscle_stops`: the limits [m] and the law of the stops."""


class MuscleLimits(Part):
    """Range of the length change of each muscle: stiff one-sided springs at its ends, which never pull.

    Within the range nothing acts. A muscle that is pressed against a stop goes beyond it by the force over the stop's stiffness and
    by `smoothing`.
    """

    minimum: Length | None = None
    """Smallest length change [m]."""
    maximum: Length | None = None
    """Largest length change [m]."""
    stiffness: Stiffness
    """Of the stops [N/m]; 0 is for none."""
    damper: Damping = 0
    """Damping of the stops, while pressed [N s/m]."""
    smoothing: Length = "0.1 mm"
    """Half the length change over which a stop fades in, beyond the limit [m]; 0 switches sharply."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Limits in order, and stops that push."""
        for field in ("stiffness", "damper", "smoothing"):
            if value(getattr(self, field)) < 0:
                yield (field,), f"{field} must not be below zero, but it is {value(getattr(self, field)):g}", ""
        if self.minimum is None and self.maximum is None:
            yield (), "muscle_limits have neither a minimum nor a maximum", "give one of them, or both"
        elif self.minimum is not None and self.maximum is not None and value(self.minimum) >= value(self.maximum):
            text = f"the minimum {value(self.minimum):g} m is not below the maximum {value(self.maximum):g} m"
            yield ("minimum",), text, "exchange them, or leave one out"

    def apply(self, build: Build, element: Element, name: str) -> None:
        """Add the stops of one arc with the coordinates `muscles`."""
        force = muscle_stops(lower=self.minimum is not None, upper=self.maximum is not None)
        constants = CONSTANTS.write(
            minimum=0.0 if self.minimum is None else build.value(self.minimum),
            maximum=0.0 if self.maximum is None else build.value(self.maximum),
            stiffness=build.value(self.stiffness),
            damping=build.value(self.damper),
            smoothing=build.value(self.smoothing),
        )
        build.system.coordinate_force(force, element.q_at, element.v_at, constants, 0, name)


@cache
def muscle_stops(*, lower: bool, upper: bool) -> CoordinateForce:
    """Stops on three muscles, at the lower limit, the upper one, or both."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = CONSTANTS.read(c)
        forces, energy, dissipation = [], 0.0, 0.0
        for k in range(3):
            depths = [(at.minimum - q[k], -1)] * lower + [(q[k] - at.maximum, 1)] * upper
            depth, side = depths[0]
            if len(depths) == 2:  # a muscle is at one end at most, and within the range a stop does nothing
                side = ca.if_else(at.minimum + at.maximum < 2 * q[k], 1, -1)
                depth = ca.fmax(depth, depths[1][0])
            pressing, stored, lost = contact_law(depth - at.smoothing, side * v[k], at)
            forces.append(-side * pressing)
            energy, dissipation = energy + stored, dissipation + lost
        return Effect(ca.vertcat(*forces), energy, dissipation)

    name = "muscle_stops" + ("_lower" if lower else "") + ("_upper" if upper else "")
    return CoordinateForce(name, (Vector(3),), CONSTANTS.size, 0, effect)
