"""Quadrature over the material of a section: fibres, which are points with areas.

A hyperelastic law sums the energies of the fibres of a bent rod (`rod.section_law`). Integrals of polynomials in x and y are exact
up to degree 9 on discs, rings (radial part: 11) and rectangles, and to degree 5 on each triangle of a polygon and on each hole. The
error decreases with the distance of the fibres' stretches from zero: bent to a radius of twice the section's, moments are exact
to 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Fibre = tuple[Any, Any, Any]
"""x, y [m] and area [m^2]; numbers or expressions. The area of holes is negative."""

DIRECTIONS = 10
"""Directions of the points on a circle: exact for degree 9."""


def disc(x: Any, y: Any, radius: Any) -> list[Fibre]:
    """A disc: its centre and two circles, at the points of Gauss-Radau in the squared radius."""
    area, root = math.pi * radius**2, math.sqrt(6)
    disc = [(x, y, area / 9)]
    for k, (share, weight) in enumerate((((6 - root) / 10, (16 + root) / 36), ((6 + root) / 10, (16 - root) / 36))):
        disc += _circle(x, y, radius * math.sqrt(share), area * weight, 0.5 * k)
    return disc


def small_disc(x: Any, y: Any, radius: Any) -> list[Fibre]:
    """A disc that is small in its section: the centre and six points (degree 5)."""
    area = math.pi * radius**2
    return [(x, y, area / 4), *_circle(x, y, radius * math.sqrt(2 / 3), 0.75 * area, 0.0, 6)]


def ring(outer: Any, inner: Any) -> list[Fibre]:
    """A ring about the axis: three circles, at the points of Gauss in the squared radius."""
    ring = []
    for k, (point, weight) in enumerate(zip(*_gauss(3), strict=True)):
        square = inner**2 + (outer**2 - inner**2) * (1 + point) / 2
        ring += _circle(0.0, 0.0, square**0.5, math.pi * (outer**2 - inner**2) * weight / 2, 0.5 * (k % 2))
    return ring


def rectangle(width: Any, height: Any) -> list[Fibre]:
    """A rectangle about the axis: five by five points."""
    points = list(zip(*_gauss(5), strict=True))
    return [(width / 2 * a, height / 2 * b, width * height / 4 * u * w) for a, u in points for b, w in points]


def polygon(corners: Sequence[tuple[Any, Any]]) -> list[Fibre]:
    """A polygon about the axis, in either direction: triangles between the axis and its edges, of negative area where the outline
    runs back; all points lie between the outermost corners."""
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    total = sum(a * d - b * c for (a, b), (c, d) in edges)
    sign = total / (total * total) ** 0.5
    polygon = []
    for (a, b), (c, d) in edges:
        area = sign * (a * d - b * c) / 2
        polygon += [(u * a + w * c, u * b + w * d, area * weight) for u, w, weight in TRIANGLE]
    return polygon


def standardized(fibres: Sequence[Fibre]) -> list[Any]:
    """x and y of all fibres over the radii of gyration, and their shares of the area, in one list."""
    x, y, area = ([fibre[k] for fibre in fibres] for k in range(3))
    total = sum(area)
    x_size = (sum(w * u**2 for u, w in zip(x, area, strict=True)) / total) ** 0.5
    y_size = (sum(w * u**2 for u, w in zip(y, area, strict=True)) / total) ** 0.5
    return [*(u / x_size for u in x), *(u / y_size for u in y), *(w / total for w in area)]


def _circle(x: Any, y: Any, radius: Any, area: Any, turned: float, count: int = DIRECTIONS) -> list[Fibre]:
    angles = [2 * math.pi * (k + turned) / count for k in range(count)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle), area / count) for angle in angles]


def _gauss(count: int) -> tuple[list[float], list[float]]:
    points, weights = np.polynomial.legendre.leggauss(count)
    return points.tolist(), weights.tolist()


def _triangle() -> list[tuple[float, float, float]]:
    """Radon's seven points of a triangle with a corner at the origin: fractions of the other two corners, and weights."""
    triangle, root = [(1 / 3, 1 / 3, 9 / 40)], math.sqrt(15)
    for side, weight in (((6 - root) / 21, (155 - root) / 1200), ((6 + root) / 21, (155 + root) / 1200)):
        triangle += [(side, side, weight), (side, 1 - 2 * side, weight), (1 - 2 * side, side, weight)]
    return triangle


TRIANGLE = _triangle()
