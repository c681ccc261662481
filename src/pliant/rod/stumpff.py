"""Stumpff functions `c_n(s) = sum_k (-s)^k / (2k + n)!`: c0 = cos, c1 = sin(x)/x, c2 = (1 - cos x)/x^2, ... with s = x^2.

They are entire, and closed under the operations needed for circular arcs:

    c_n = 1/n! - s c_(n+2),    2 dc_n/ds = n c_(n+2) - c_(n+1),    integral_0^1 x^n c_n(x^2 s) dx = c_(n+1)(s).

So the two of highest order determine all others by products and sums, including derivatives, without a singularity at s = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca

SERIES_BELOW = 20.0
SERIES_TERMS = 16
"""Below this value of s the series with this number of terms is exact to round-off, with three derivatives."""

TURN = (6.28125, 2 * math.pi - 6.28125)
"""A full turn as a sum of two numbers: multiples of the first have few digits, so subtracting them from an angle is exact."""


def stumpff(s: Any, highest: int = 7) -> list[Any]:
    """c0 to c_highest (at least 2) as functions of s, for any s not below zero.

    Beyond the range of the series, full turns are subtracted from the angle: the same series then gives its sine and cosine,
    and these all orders, upward. No library is called, and all branches share the long polynomials.
    """
    near = s < SERIES_BELOW
    angle = ca.sqrt(ca.if_else(near, SERIES_BELOW, s))
    turns = ca.floor(angle * (0.5 / math.pi) + 0.5)
    rest = (angle - turns * TURN[0]) - turns * TURN[1]
    summed = ca.if_else(near, s, rest * rest)
    c = _downward(summed, [_series(summed, n) for n in (highest - 1, highest)], highest)
    per_angle = 1 / angle
    inverse = per_angle * per_angle  # not 1/s: CasADi would divide by s repeatedly
    far = [c[0], c[1] * rest * per_angle]
    for n in range(highest - 1):
        far.append((1 / math.factorial(n) - far[n]) * inverse)
    return [ca.if_else(near, x, y) for x, y in zip(c, far, strict=True)]


def slopes(c: Sequence[Any]) -> list[Any]:
    """Derivatives of c0, c1, ... with respect to s: two fewer than there are functions."""
    return [(n * c[n + 2] - c[n + 1]) / 2 for n in range(len(c) - 2)]


def _downward(s: Any, top: Sequence[Any], highest: int) -> list[Any]:
    """All orders from the two highest."""
    c = list(top)
    for n in reversed(range(highest - 1)):
        c.insert(0, 1 / math.factorial(n) - s * c[1])
    return c


def _series(s: Any, first: int) -> Any:
    """The sum in pairs, pairs of pairs and so on, which shortens the dependency chain of the products."""
    sums = [(-1) ** k / math.factorial(2 * k + first) for k in range(SERIES_TERMS)]
    power = s
    while len(sums) > 1:
        sums = [low + power * high for low, high in zip(sums[::2], sums[1::2], strict=True)]
        power = power * power
    return sums[0]
