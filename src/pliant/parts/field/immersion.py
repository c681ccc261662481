"""Buoyancy of solids that are partly immersed: exact forces, moments and energies at any orientation.

A solid in its own axes is cut by the surface of the fluid: with the height h of its origin above the surface and the unit
vector n along gravity's up, a point x is at depth d = -h - n x. The potential energy of the displaced fluid is its specific
weight times the integral of d over the immersed part, whose derivatives by -h and -n are the immersed volume V and its first
moment S. As that integral is homogeneous of degree one in (h, n), it is -h V - n S, so V and S define everything.

Volumes are differentiable twice wherever the area of the waterline is: everywhere except where a flat face lies in the surface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.parts.formula.base import Effect, FrameForce, gauss
from pliant.parts.geometry import se3
from pliant.parts.motion import Fields

EDGE = 1e-12
"""Distance from the ends of the domain of the arc sine, relative to it, up to which it is differentiated."""
LEVEL = 1e-2
"""Change of depth along a cylinder, relative to that across it, below which its discs are integrated by quadrature. Differences of
antiderivatives lose digits with its third power, and the quadrature is exact to 1e-9 of the volume where a cylinder begins to be
immersed, and to round-off elsewhere."""
TINY = 1e-100
"""Depth [m] added to differences of depths, so that a corner in the surface does not divide zero by zero."""


class Immersed(NamedTuple):
    """The immersed part of a solid: volume [m^3] and first moments in the axes of the solid [m^4]."""

    volume: Any
    moment: Any

    def depth(self, height: Any, up: Any) -> Any:
        """Integral of the depth over it [m^4]."""
        return -height * self.volume - ca.dot(up, self.moment)


def ellipsoid(semi_axes: Any, height: Any, up: Any) -> Immersed:
    """An ellipsoid with its semi-axes [m] along x, y, z: the affine image of a ball, and a cap of that."""
    stretched = semi_axes * up
    reach = ca.norm_2(stretched)
    u = ca.fmin(ca.fmax(height / reach, -1.0), 1.0)
    size = math.pi * semi_axes[0] * semi_axes[1] * semi_axes[2]
    volume = size * (1 - u) ** 2 * (2 + u) / 3
    return Immersed(volume, -size * (1 - u * u) ** 2 / 4 / reach * semi_axes * stretched)


def _disc(u: Any) -> tuple[Any, Any, Any]:
    """Area of the part of the unit disc with y < u, and its first and second integrals by u, for u in [-1, 1]."""
    angle, root = math.pi / 2 + ca.asin(u), ca.sqrt(1 - u * u)
    area = angle + u * root
    first = u * angle + root * (2 + u * u) / 3
    second = angle * (u * u / 2 + 1 / 8) + u * root * (13 + 2 * u * u) / 24
    return area, first, second


def _cut(u: Any) -> tuple[Any, Any, Any]:
    """Whether a disc is below the surface, whether it is cut, and the cut within the domain of the arc sine."""
    return u >= 1, u > -1, ca.fmin(ca.fmax(u, EDGE - 1), 1 - EDGE)


def cylinder(radius: Any, length: Any, height: Any, up: Any) -> Immersed:
    """A cylinder along z. Its discs are cut at the depth w of their centre over the change k of depth along their radius, and w
    changes by `change` along the cylinder, so that sums over discs are differences of antiderivatives at both ends."""
    k = radius * ca.sqrt(up[0] ** 2 + up[1] ** 2 + EDGE**2)
    change = -up[2] * length
    ends = -height - change / 2, -height + change / 2
    is_level = ca.fabs(change) < LEVEL * k
    over = length / ca.if_else(is_level, 1.0, change)

    differences: list[Any] = [0.0, 0.0, 0.0]
    for w, sign in zip(ends, (-1, 1), strict=True):
        below, is_cut, u = _cut(w / k)
        _, first, second = _disc(u)
        cut = k * first, k * k * (u * first - second), 2 * second - u * first
        full = math.pi * w, math.pi * (w * w / 2 - k * k / 8), math.pi / 4
        for i in range(3):
            differences[i] += sign * ca.if_else(below, full[i], ca.if_else(is_cut, cut[i], 0.0))
    volume, moment, across = differences
    steep = over * volume, over * over * (moment + height * volume), over * across

    sums: list[Any] = [0.0, 0.0, 0.0]
    for x, weight in zip(*gauss(), strict=True):
        below, is_cut, u = _cut((ends[0] + x * change) / k)
        area, _, _ = _disc(u)
        area = ca.if_else(below, math.pi, ca.if_else(is_cut, area, 0.0))
        side = ca.if_else(below, 0.0, ca.if_else(is_cut, 2 / 3 * (1 - u * u) * ca.sqrt(1 - u * u), 0.0))
        z = length * (x - 0.5)
        for i, term in enumerate((area, z * area, side / k)):
            sums[i] += weight * length * term

    is_full = ca.fmin(*ends) >= k
    whole = math.pi * length, 0.0, 0.0
    volume, along, across = (ca.if_else(is_full, whole[i], ca.if_else(is_level, sums[i], steep[i])) for i in range(3))
    square = radius**2
    return Immersed(square * volume, square * ca.vertcat(-square * across * up[0:2], along))


def tetrahedron(points: Any, height: Any, up: Any) -> Immersed:
    """A tetrahedron with four corners as columns [m]. The part below the surface consists of tetrahedra, by the number of corners
    there; its depth integral is differentiated by the depths of the corners."""
    depths = ca.SX.sym("depth", 4)
    order: list[Any] = list(depths.elements())
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):  # the deepest corner first
        first, second = order[i], order[j]  # by one condition: equal ones must not both be derived from the same corner
        is_deeper = first >= second
        order[i], order[j] = ca.if_else(is_deeper, first, second), ca.if_else(is_deeper, second, first)
    d0, d1, d2, d3 = order

    def share(i: Any, j: Any) -> Any:
        """Share of the edge between a corner below the surface and one above it that is below."""
        below = ca.fmax(i, 0.0)
        return below / (below - ca.fmin(j, 0.0) + TINY)

    def tip(corner: Any, others: Sequence[Any]) -> Any:
        product = corner / 4
        for other in others:
            product = product * share(corner, other)
        return product

    a, b, c, e = share(d0, d2), share(d0, d3), share(d1, d2), share(d1, d3)
    two = (a * b * (d0 + d1) + (a * e * (1 - b) + (1 - a) * c * e) * d1) / 4
    mean = (d0 + d1 + d2 + d3) / 4
    three = mean + tip(-d3, (-d0, -d1, -d2))
    integral = ca.if_else(
        d3 >= 0,
        mean,
        ca.if_else(d2 > 0, three, ca.if_else(d1 > 0, two, ca.if_else(d0 > 0, tip(d0, (d1, d2, d3)), 0.0))),
    )
    shares = ca.Function("shares", [depths], [ca.gradient(integral, depths)])
    edges = points[:, 1:4] - ca.repmat(points[:, 0], 1, 3)
    parts = ca.det(edges) / 6 * shares(-height - points.T @ up)
    return Immersed(ca.sum1(parts), points @ parts)


SURFACE = Fields("up:3", "level", "weight")
"""Up against gravity, height of the surface along it [m], specific weight of the fluid [N/m^3]."""


def _buoyancy(name: str, size: Fields, solid: Callable[[Any, Any, Any], Immersed]) -> FrameForce:
    """The force on a solid placed on a frame, of which `size` are the constants."""
    constants = SURFACE + Fields("placement:pose") + size

    def effect(poses: Any, twists: Any, c: Any, signal: Any) -> Effect:
        at = constants.read(c)
        R, p = se3.compose(poses[0], at.placement)
        height, up = ca.dot(at.up, p) - at.level, R.T @ at.up
        part = solid(at, height, up)
        force = at.weight * part.volume * at.up
        moment = at.weight * ca.cross(R @ part.moment, at.up)
        return Effect(ca.vertcat(force, moment + ca.cross(p, force)), energy=at.weight * part.depth(height, up))

    return FrameForce(name, frames=1, constants=constants.size, signals=0, effect=effect)


ELLIPSOID_SIZE, CYLINDER_SIZE, CORNERS = Fields("semi_axes:3"), Fields("radius", "length"), Fields("corners:12")
ELLIPSOID = _buoyancy("buoyant_ellipsoid", ELLIPSOID_SIZE, lambda at, h, n: ellipsoid(at.semi_axes, h, n))
"""Buoyancy of an ellipsoid, wholly or partly immersed."""
CYLINDER = _buoyancy("buoyant_cylinder", CYLINDER_SIZE, lambda at, h, n: cylinder(at.radius, at.length, h, n))
"""Buoyancy of a cylinder along z."""
TETRAHEDRON = _buoyancy(
    "buoyant_tetrahedron", CORNERS, lambda at, h, n: tetrahedron(ca.reshape(at.corners, 3, 4), h, n)
)
"""Buoyancy of a tetrahedron; polyhedra consist of these."""

_SIGNS = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1, 1) for z in (-1, 1)])
BOX_PARTS = _SIGNS[np.array([[0, 3, 5, 6], [0, 3, 6, 2], [0, 5, 3, 1], [0, 6, 5, 4], [3, 5, 6, 7]])]
"""A box as five tetrahedra of four corners, relative to half its size (5 x 4 x 3)."""
