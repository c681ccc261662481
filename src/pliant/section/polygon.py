"""A section with a polygonal outline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Problem, positive
from pliant.language.environment import to_node
from pliant.language.scalar import Length, Number, SecondMoment
from pliant.language.syntax import symbols
from pliant.section.base import Evaluate, HoledSection
from pliant.section.explicit_properties import share_problems
from pliant.section.fibres import Fibre, polygon
from pliant.section.warping import Warping, warping

Point = tuple[Any, Any]


class Polygon(HoledSection):
    """A polygon. The rod's axis runs through its centre of area (excluding holes), independent of the origin of its vertices.

    Area and second moments are exact; bending about axes that are not principal ones is coupled. Torsion constant and
    shear factors (Cowper's, in the principal axes) follow from Saint-Venant's warping functions, solved numerically to
    about 0.1 %, or 0.5 % for strips twenty times as wide as thick. Shear and twist are assumed to be uncoupled: the
    shear centre is on the axis, which is exact for sections with a centre of symmetry.
    """

    shape: Literal["polygon"] = "polygon"
    vertices: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=3)]
    """Corners in order, in either direction: x and y of each [m]."""
    torsion_constant: SecondMoment | None = None
    """Torsion constant [m^4], instead of a computed one; required if vertices depend on parameters."""
    shear_factors: tuple[Number, Number] | None = None
    """Shear correction factors along x and y [-], instead of computed ones; required if vertices depend on parameters."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  angle: {shape: polygon, vertices: [[0, 0], [20 mm, 0], [20 mm, 2 mm], [2 mm, 2 mm], [2 mm, 20 mm], [0, 20 mm]]}
materials:
  aluminium: {density: 2700 kg/m^3, youngs_modulus: 70 GPa, poissons_ratio: 0.33}
rods:
  rail: {length: 1 m, section: angle, material: aluminium}
"""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """An outline that does not cross itself, holes inside, and given values of what cannot be computed."""
        yield from positive(self, value, "torsion_constant")
        yield from share_problems(self.shear_factors or (), value)
        points = self._points(value)
        crossing = _crossing(points)
        if crossing is not None:
            i, j = crossing
            text = f"the outline crosses or touches itself: the edges from vertex {i + 1} and from vertex {j + 1} meet"
            yield ("vertices",), text, "list the corners in the order in which they follow each other"
            return
        if abs(_integrals(points)[0]) <= 1e-12 * max(abs(c) for point in points for c in point) ** 2:
            yield ("vertices",), "the outline has no area", "list the corners of an area"
            return
        yield from self.hole_problems(value)
        if self._depends_on_parameters() and (self.torsion_constant is None or self.shear_factors is None):
            text = "the torsion constant and shear factors of an outline that depends on parameters are not computed"
            yield ("vertices",), text, "give `torsion_constant` and `shear_factors`, or plain values of the vertices"

    def balance_problems(self, value: Evaluate) -> Iterator[Problem]:
        """Holes may be anywhere: the axis runs through the centre of what remains."""
        yield from ()

    def _depends_on_parameters(self) -> bool:
        entries = [entry for vertex in self.vertices for entry in vertex]
        entries += [entry for holes in self.holes for at in (*holes.positions, (holes.radius,)) for entry in at]
        return any(symbols(to_node(entry)) for entry in entries)

    def _points(self, value: Evaluate) -> list[Point]:
        return [(value(x), value(y)) for x, y in self.vertices]

    def centre(self, value: Evaluate) -> Point:
        """Centre of area, in the axes of the vertices [m]."""
        area, first_x, first_y, *_ = self._all(value)
        return first_x / area, first_y / area

    def _all(self, value: Evaluate) -> list[Any]:
        """Integrals of 1, x, y, y^2, x^2 and x y over the material, in the axes of the vertices."""
        found = _integrals(self._points(value))
        found = [abs(found[0]) / found[0] * x for x in found]
        for x, y, r in self.circles(value):
            a = math.pi * r**2
            lost = (a, a * x, a * y, a * (r**2 / 4 + y**2), a * (r**2 / 4 + x**2), a * x * y)
            found = [u - w for u, w in zip(found, lost, strict=True)]
        return found

    def fibres(self, value: Evaluate) -> list[Fibre]:
        """Points of the triangles between its centre and its edges, and of its holes."""
        x, y = self.centre(value)
        holes = [(u - x, w - y, area) for u, w, area in self.hole_fibres(value)]
        return polygon(self.outline(value)) + holes

    def total_area(self, value: Evaluate) -> Any:
        """Exact [m^2]."""
        return self._all(value)[0]

    def moments(self, value: Evaluate) -> tuple[Any, Any, Any]:
        """Exact, about the centre of area [m^4]."""
        area, first_x, first_y, about_x, about_y, product = self._all(value)
        return about_x - first_y**2 / area, about_y - first_x**2 / area, product - first_x * first_y / area

    def torsion(self, value: Evaluate) -> Any:
        """As given, or from the warping function [m^4]."""
        if self.torsion_constant is not None:
            return value(self.torsion_constant)
        return self._warping(value).torsion

    def shear(self, value: Evaluate, poissons_ratio: Any) -> tuple[Any, Any, Any]:
        """As given, or Cowper's factors in the principal axes, rotated to the section's axes [-]."""
        if self.shear_factors is not None:
            return value(self.shear_factors[0]), value(self.shear_factors[1]), 0.0
        found = self._warping(value)
        first, second = (2 * (1 + poissons_ratio) / (a + b * poissons_ratio) for a, b in found.flexure)
        c, s = math.cos(found.angle), math.sin(found.angle)
        return c * c * first + s * s * second, s * s * first + c * c * second, c * s * (first - second)

    def _warping(self, value: Evaluate) -> Warping:
        x, y = self.centre(value)
        vertices = tuple((float(u - x), float(w - y)) for u, w in self._points(value))
        return warping(vertices, tuple((float(u - x), float(w - y), float(r)) for u, w, r in self.circles(value)))

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies inside the outline."""
        points = self._points(value)
        inside = False
        for (ax, ay), (bx, by) in zip(points, [*points[1:], points[0]], strict=True):
            along = (bx - ax, by - ay)
            share = ((x - ax) * along[0] + (y - ay) * along[1]) / (along[0] ** 2 + along[1] ** 2)
            share = min(1.0, max(0.0, share))
            if math.hypot(x - ax - share * along[0], y - ay - share * along[1]) <= radius:
                return False
            if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
                inside = not inside
        return inside

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Its largest extents from the axis [m]."""
        x, y = self.centre(value)
        points = self._points(value)
        return reduce(ca.fmax, (ca.fabs(u - x) for u, _ in points)), reduce(
            ca.fmax, (ca.fabs(w - y) for _, w in points)
        )

    def outline(self, value: Evaluate) -> list[Point]:
        """Its vertices, from its centre [m]."""
        x, y = self.centre(value)
        return [(u - x, w - y) for u, w in self._points(value)]


def _integrals(points: Sequence[Point]) -> list[Any]:
    """Integrals of 1, x, y, y^2, x^2 and x y over a polygon; negative if it runs clockwise."""
    total: list[Any] = [0.0] * 6
    for (a, b), (c, d) in zip(points, [*points[1:], points[0]], strict=True):
        cross = a * d - c * b
        terms = (
            cross / 2,
            cross * (a + c) / 6,
            cross * (b + d) / 6,
            cross * (b * b + b * d + d * d) / 12,
            cross * (a * a + a * c + c * c) / 12,
            cross * (a * d + 2 * a * b + 2 * c * d + c * b) / 24,
        )
        total = [t + x for t, x in zip(total, terms, strict=True)]
    return total


def _crossing(points: Sequence[Point]) -> tuple[int, int] | None:
    """Two edges that meet though they are not neighbours, or one that has no length or folds back on the one before it."""
    n = len(points)

    def side(p: Point, q: Point, r: Point) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    def within(p: Point, q: Point, r: Point) -> bool:
        return min(p[0], q[0]) <= r[0] <= max(p[0], q[0]) and min(p[1], q[1]) <= r[1] <= max(p[1], q[1])

    for i in range(n):
        p, q, after = points[i], points[(i + 1) % n], points[(i + 2) % n]
        folds = (p[0] - q[0]) * (after[0] - q[0]) + (p[1] - q[1]) * (after[1] - q[1]) > 0
        if p == q or (side(p, q, after) == 0 and folds):
            return i, (i + 1) % n
        for j in range(i + 2, n - (i == 0)):
            r, s = points[j], points[(j + 1) % n]
            a, b, c, d = side(p, q, r), side(p, q, s), side(r, s, p), side(r, s, q)
            crossing = a * b < 0 and c * d < 0
            touching = any(
                turn == 0 and within(*edge)
                for turn, edge in ((a, (p, q, r)), (b, (p, q, s)), (c, (r, s, p)), (d, (r, s, q)))
            )
            if crossing or touching:
                return i, j
    return None
