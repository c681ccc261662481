"""Integrals along a rod, split where its properties or its loads have steps or kinks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

ROUND_OFF = 1e-9
"""Fractions of a rod's length closer than this coincide."""


def parts_between(breaks: Sequence[float], begin: float, end: float) -> list[tuple[float, float]]:
    """The intervals into which breaks divide an interval."""
    inside = [x for x in breaks if begin + ROUND_OFF < x < end - ROUND_OFF]
    return list(pairwise([begin, *inside, end]))


def gauss_between(begin: float, end: float, count: int) -> list[tuple[float, float]]:
    """Gauss points of an interval and their weights, whose sum is its length."""
    points, weights = np.polynomial.legendre.leggauss(count)
    half = (end - begin) / 2
    return [(begin + half * (1 + float(x)), half * float(w)) for x, w in zip(points, weights, strict=True)]


def product_weights(
    points: Sequence[float], begin: float, end: float, count: int = 0
) -> list[tuple[float, list[float]]]:
    """Points of a part of an interval, each with its weights for integrals of a function times the Lagrange polynomials through
    `points`: with these, the points carry the exact integral and, if there are two or more, the exact first moment."""
    product_weights = []
    for x, weight in gauss_between(begin, end, count or len(points) // 2 + 2):
        values = [float(np.prod([(x - q) / (p - q) for q in points if q != p])) for p in points]
        product_weights.append((x, [weight * value for value in values]))
    return product_weights


def divide(stops: Sequence[float], count: int) -> list[float]:
    """Ends of `count` elements of the interval from 0 to 1: equal ones, or as equal as possible with ends at the stops.

    If there are too few elements for all stops, they are equal.
    """
    places = [0.0, *stops, 1.0]
    if not stops or len(places) - 1 > count:
        return [k / count for k in range(count + 1)]
    gaps = [b - a for a, b in pairwise(places)]
    counts = [1] * len(gaps)
    while sum(counts) < count:
        counts[max(range(len(gaps)), key=lambda i: gaps[i] / counts[i])] += 1
    ends = [0.0]
    for a, b, n in zip(places[:-1], places[1:], counts, strict=True):
        ends += [a + (b - a) * j / n for j in range(1, n)] + [b]
    return ends
