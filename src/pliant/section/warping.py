"""Torsion constant and shear factors of a section of any outline, from Saint-Venant's harmonic functions.

Warping in torsion and in flexure are harmonic functions with known slope on the boundary. They are found by the boundary
element method (constant elements, finer towards corners), and every integral over the section is one over its boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

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
        found = []
        for nu in (0.0, 1.0):
            slope = self.slope(lambda x, y, nu=nu: (-(nu * x**2 / 2 + (1 - nu / 2) * y**2), -(2 + nu) * x * y))
            chi = self.solve(influence, slope)
            x, _, weights = self._points()
            moment = np.sum(
                (chi * self.normals[:, 0] * ((x**2 / 2) @ weights) - slope * ((x**3 / 6) @ weights)) * self.lengths
            )
            moment += self.integral(lambda x, y: x**3 * y**2 / 3, 0)
            found.append((nu / 2 * (about_x - about_y) - area / about_y * moment) / about_y)
        return float(found[0]), float(found[1] - found[0])


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
