"""A section with a polygonal outline.

Torsion constant and shear factors of a section of any outline, from Saint-Venant's harmonic functions.

Warping in torsion and in flexure are harmonic functions with known slope on the boundary. They are found by the boundary
element method (constant elements, finer towards corners), and every integral over the section is one over its boundary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language.base import Problem, positive
from pliant.language.evaluate import to_node
from pliant.language.scalar import Length, Number, SecondMoment
from pliant.language.syntax import symbols
from pliant.parts.section.base import Evaluate, HoledSection
from pliant.parts.section.material import Fibre, polygon
from pliant.parts.section.shapes import share_problems

Corner = tuple[Any, Any]


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

    def _points(self, value: Evaluate) -> list[Corner]:
        return [(value(x), value(y)) for x, y in self.vertices]

    def centre(self, value: Evaluate) -> Corner:
        """Centre of area, in the axes of the vertices [m]."""
        area, first_x, first_y, *_ = self._all(value)
        return first_x / area, first_y / area

    def _all(self, value: Evaluate) -> list[Any]:
        """Integrals of 1, x, y, y^2, x^2 and x y over the material, in the axes of the vertices."""
        integrals = _integrals(self._points(value))
        integrals = [abs(integrals[0]) / integrals[0] * x for x in integrals]
        for x, y, r in self.circles(value):
            a = math.pi * r**2
            lost = (a, a * x, a * y, a * (r**2 / 4 + y**2), a * (r**2 / 4 + x**2), a * x * y)
            integrals = [u - w for u, w in zip(integrals, lost, strict=True)]
        return integrals

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

    def outline(self, value: Evaluate) -> list[Corner]:
        """Its vertices, from its centre [m]."""
        x, y = self.centre(value)
        return [(u - x, w - y) for u, w in self._points(value)]


def _integrals(points: Sequence[Corner]) -> list[Any]:
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


def _crossing(points: Sequence[Corner]) -> tuple[int, int] | None:
    """Two edges that meet though they are not neighbours, or one that has no length or folds back on the one before it."""
    n = len(points)

    def side(p: Corner, q: Corner, r: Corner) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    def within(p: Corner, q: Corner, r: Corner) -> bool:
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


ELEMENTS = 800
"""Approximate number of boundary elements of the outline."""
HOLE_ELEMENTS = 64
"""Number of boundary elements of each hole."""

Point = tuple[float, float]
Circle = tuple[float, float, float]


@dataclass(frozen=True)
class Warping:
    """Constants of torsion and flexure of a section, about its centre of area.

    Attributes:
        torsion: Saint-Venant's constant [m^4].
        flexure: for each principal direction (x', y') the numbers (a, b) of its shear factor 2 (1 + nu) / (a + b nu).
        angle: from the section's x axis to the first principal direction [rad].
    """

    torsion: float
    flexure: tuple[tuple[float, float], tuple[float, float]]
    angle: float


@lru_cache(maxsize=64)
def warping(vertices: tuple[Point, ...], holes: tuple[Circle, ...]) -> Warping:
    """Constants of an outline (in either direction) with round holes; the origin is its centre of area [m]."""
    outline = np.array(vertices)
    size = np.abs(outline).max()
    boundary = _boundary(outline / size, [(x / size, y / size, r / size) for x, y, r in holes])
    angle = boundary.principal_angle()
    turned = boundary.turned(angle)
    influence = turned.influence()
    about_x, about_y = turned.integral(lambda x, y: y**2 * x, 0), turned.integral(lambda x, y: x**3 / 3, 0)
    slope = turned.slope(lambda x, y: (y, -x))
    phi = turned.solve(influence, slope)
    torsion = about_x + about_y - float(np.sum(phi * slope * turned.lengths))
    along_x = turned.flexure(influence, about_x, about_y)
    swapped = turned.swapped()
    along_y = swapped.flexure(swapped.influence(), about_y, about_x)
    return Warping(float(torsion * size**4), (along_x, along_y), angle)


@dataclass(frozen=True)
class _Boundary:
    """Straight elements from `a` to `b` (n x 2), with the section on their left."""

    a: np.ndarray
    b: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(np.linalg.norm(self.b - self.a, axis=1))

    @property
    def normals(self) -> np.ndarray:
        along = (self.b - self.a) / self.lengths[:, None]
        return np.column_stack([along[:, 1], -along[:, 0]])

    def _points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x and y of four Gauss points on each element, and their weights."""
        nodes, weights = np.polynomial.legendre.leggauss(4)
        at = 0.5 * (nodes + 1)
        points = self.a[:, None] + at[:, None] * (self.b - self.a)[:, None]
        return points[..., 0], points[..., 1], 0.5 * weights

    def integral(self, flux, component: int) -> float:  # type: ignore[no-untyped-def]
        """Integral over the section of the derivative of `flux` by x (component 0) or y (1), by Gauss' theorem."""
        x, y, weights = self._points()
        return float(np.sum((flux(x, y) @ weights) * self.normals[:, component] * self.lengths))

    def principal_angle(self) -> float:
        about_x, about_y = self.integral(lambda x, y: y**2 * x, 0), self.integral(lambda x, y: x**3 / 3, 0)
        product = self.integral(lambda x, y: x**2 * y / 2, 0)
        if abs(product) < 1e-9 * (about_x + about_y):
            return 0.0
        return float(0.5 * np.arctan2(2 * product, about_y - about_x))

    def turned(self, angle: float) -> _Boundary:
        """In axes rotated by an angle [rad]."""
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return _Boundary(self.a @ R, self.b @ R)

    def swapped(self) -> _Boundary:
        """With x and y exchanged."""
        return _Boundary(self.b[:, ::-1], self.a[:, ::-1])

    def slope(self, field) -> np.ndarray:  # type: ignore[no-untyped-def]
        """Mean of field . normal on each element."""
        x, y, weights = self._points()
        u, w = field(x, y)
        return np.asarray((u @ weights) * self.normals[:, 0] + (w @ weights) * self.normals[:, 1])

    def influence(self) -> tuple[np.ndarray, np.ndarray]:
        """Integrals over each element (column) of the slope of log r and of log r, with r from the middle of each one (row)."""
        middle = 0.5 * (self.a + self.b)
        along = (self.b - self.a) / self.lengths[:, None]
        to_a, to_b = self.a[None] - middle[:, None], self.b[None] - middle[:, None]
        s_a, s_b = (np.einsum("ijk,jk->ij", to, along) for to in (to_a, to_b))
        d = np.einsum("ijk,jk->ij", to_a, self.normals)
        np.fill_diagonal(d, 0.0)
        angle = np.arctan2(s_b * np.abs(d) - s_a * np.abs(d), d**2 + s_a * s_b) * np.sign(d)
        np.fill_diagonal(angle, 0.0)

        def log_part(s: np.ndarray) -> np.ndarray:
            return np.asarray(s * (0.5 * np.log(s**2 + d**2) - 1))

        return angle, log_part(s_b) - log_part(s_a) + d * angle

    def solve(self, influence: tuple[np.ndarray, np.ndarray], slope: np.ndarray) -> np.ndarray:
        """The harmonic function with a given slope on the boundary and zero mean there."""
        angle, log = influence
        n = len(slope)
        # pi u + sum(angle u) = sum(log q), which determines u up to a constant
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = angle - np.diag(angle.sum(axis=1))
        matrix[:n, n], matrix[n, :n] = 1.0, self.lengths
        return np.asarray(np.linalg.solve(matrix, np.append(log @ slope, 0.0))[:n])

    def flexure(self, influence: tuple[np.ndarray, np.ndarray], about_x: float, about_y: float) -> tuple[float, float]:
        """(a, b) of the shear factor 2 (1 + nu) / (a + b nu) along x, after Cowper (1966); x and y are principal axes."""
        area = self.integral(lambda x, y: x, 0)
        solutions = []
        for nu in (0.0, 1.0):
            slope = self.slope(lambda x, y, nu=nu: (-(nu * x**2 / 2 + (1 - nu / 2) * y**2), -(2 + nu) * x * y))
            chi = self.solve(influence, slope)
            x, _, weights = self._points()
            moment = np.sum(
                (chi * self.normals[:, 0] * ((x**2 / 2) @ weights) - slope * ((x**3 / 6) @ weights)) * self.lengths
            )
            moment += self.integral(lambda x, y: x**3 * y**2 / 3, 0)
            solutions.append((nu / 2 * (about_x - about_y) - area / about_y * moment) / about_y)
        return float(solutions[0]), float(solutions[1] - solutions[0])


def _boundary(outline: np.ndarray, holes: Sequence[Circle]) -> _Boundary:
    twice_area = np.sum(outline[:, 0] * np.roll(outline[:, 1], -1) - np.roll(outline[:, 0], -1) * outline[:, 1])
    if twice_area < 0:
        outline = outline[::-1]
    corners = np.vstack([outline, outline[:1]])
    edges = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    starts, ends = [], []
    for (p, q), length in zip(pairwise(corners), edges, strict=True):
        count = max(4, round(ELEMENTS * (0.3 / len(edges) + 0.7 * length / edges.sum())))
        share = 0.5 * (1 - np.cos(np.pi * np.linspace(0, 1, count + 1)))
        points = p + share[:, None] * (q - p)
        starts.append(points[:-1])
        ends.append(points[1:])
    for x, y, r in holes:
        angles = -2 * np.pi * np.arange(HOLE_ELEMENTS + 1) / HOLE_ELEMENTS
        # a polygon with the same area as the circle
        turn = 2 * np.pi / HOLE_ELEMENTS
        equal = r * np.sqrt(turn / np.sin(turn))
        points = np.column_stack([x + equal * np.cos(angles), y + equal * np.sin(angles)])
        starts.append(points[:-1])
        ends.append(points[1:])
    return _Boundary(np.vstack(starts), np.vstack(ends))
