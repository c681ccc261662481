"""Stored energy of springs whose stiffness depends on the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from pliant.formula.base import switch_width

POINTS = 8
"""Number of Gauss points of the integral of a force: exact for stiffnesses that are polynomials up to degree 14."""


def gauss(count: int = POINTS) -> tuple[list[float], list[float]]:
    """Gauss-Legendre points and weights on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return list(0.5 * (points + 1)), list(0.5 * weights)


def spring_energy(stiffness: Callable[[Any], Any], rest: Any, value: Any, direction: Any, width: Any) -> Any:
    """Integral of `stiffness(x) counted(x - rest)` from rest to `value`, with `counted` as in `one_sided`.

    direction: 0 for both sides, +1 the positive one, -1 the negative one; the transition at zero has this `width`.
    """
    both, w = direction == 0, switch_width(width, value, rest)
    side = ca.if_else(both, 1.0, direction)
    d = side * (value - rest)

    def integral(begin: Any, end: Any, counted: Callable[[Any], Any]) -> Any:
        total = 0.0
        for point, weight in zip(*gauss(), strict=True):
            s = begin + (end - begin) * point
            total += weight * (end - begin) * stiffness(rest + side * s) * counted(s)
        return total

    start = ca.if_else(both, 0.0, w)
    full = integral(start, ca.if_else(both, d, ca.fmax(d, w)), lambda s: s)
    fading = integral(-w, ca.fmin(ca.fmax(d, -w), w), lambda s: (s + w) ** 2 / (4 * w))
    return full + ca.if_else(both, 0.0, fading)
