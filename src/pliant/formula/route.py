"""Forces along a line that is routed through points, straight in between, and slides through them without friction.

The line has one tension T, which depends on its whole length l and the rate of it. Virtual work does the rest: with
`dl = sum u . (dx_j - dx_i)` over the spans (u the direction from point i to point j), each span pulls its two points
together with T.

One tension couples all spans. Its derivatives are therefore not those of two-frame forces added up; the assembled
equations take a span's geometry and, for the tension, one product of gradients (`equations/runtime/route.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.formula.base import Effect

# Keeps the direction defined where two points meet [m^2]; the same as in an axial link.
SMALLEST_SQUARE = 1e-24


@dataclass(frozen=True)
class RouteForce:
    """The law of a routed line: `law(length, rate, constants, signals, signal_rates)`, whose force is the tension [N].

    `coupled`: whether the tension depends on the length or its rate, and not on signals alone. A coupled line couples
    every coordinate that changes its length to every other.
    """

    name: str
    constants: int
    signals: int
    coupled: bool
    law: Callable[[Any, Any, Any, Any, Any], Effect]


def measure(points: Sequence[Any], velocities: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    """Length [m] and its rate [m/s] of a line through world points, and the force on each point per unit tension."""
    length: Any = 0
    rate: Any = 0
    pulls: list[Any] = [ca.DM.zeros(3) for _ in points]
    for i in range(len(points) - 1):
        d = points[i + 1] - points[i]
        span = ca.sqrt(ca.dot(d, d) + SMALLEST_SQUARE)
        u = d / span
        length += span
        rate += ca.dot(u, velocities[i + 1] - velocities[i])
        pulls[i] = pulls[i] + u
        pulls[i + 1] = pulls[i + 1] - u
    return length, rate, pulls
