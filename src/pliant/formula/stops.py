"""Stops at the ends of a range of coordinates: the law of contacts, k depth (1 + dissipation * rate of depth), never pulling."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

from pliant.formula.base import CoordinateForce, Effect
from pliant.motion.base import Vector
from pliant.motion.fields import Fields

STOPS = Fields("minimum", "maximum", "stiffness", "dissipation")
"""Constants of `stops`: the ends of the range [m or rad], stiffness [N/m or N m/rad] and dissipation [s/m or s/rad]."""


def pressing(depth: Any, rate: Any, stiffness: Any, dissipation: Any) -> tuple[Any, Any, Any]:
    """Force, stored energy and dissipated power for a depth and its rate, as in `runtime/contact_law.c` with exponent 1."""
    depth = ca.fmax(depth, 0.0)
    spring = stiffness * depth
    force = spring * ca.fmax(1 + dissipation * rate, 0.0)
    return force, 0.5 * spring * depth, (force - spring) * rate


@cache
def stops(count: int, *, lower: bool, upper: bool) -> CoordinateForce:
    """Stops on this number of coordinates, at the lower end of their range, the upper one, or both."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = STOPS.read(c)
        forces, energy, dissipation = [], 0.0, 0.0
        for k in range(count):
            depths = [(at.minimum - q[k], -1)] * lower + [(q[k] - at.maximum, 1)] * upper
            depth, side = depths[0]
            if len(depths) == 2:  # a coordinate is at one end at most, and within the range there is no force
                side = ca.if_else(at.minimum + at.maximum < 2 * q[k], 1, -1)
                depth = ca.fmax(depth, depths[1][0])
            force, stored, lost = pressing(depth, side * v[k], at.stiffness, at.dissipation)
            forces.append(-side * force)
            energy, dissipation = energy + stored, dissipation + lost
        return Effect(ca.vertcat(*forces), energy, dissipation)

    name = f"stops{count}" + ("_lower" if lower else "") + ("_upper" if upper else "")
    return CoordinateForce(name, (Vector(count),), STOPS.size, 0, effect)
