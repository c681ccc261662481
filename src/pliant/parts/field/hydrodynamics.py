"""Coefficients of bodies in a fluid by their shape: added mass, viscous resistance and quadratic drag.

Ellipsoids have exact solutions: Lamb's added mass (Hydrodynamics, articles 114 and 115) in an ideal fluid, and the resistance of
Oberbeck and Jeffery in slow flow (article 339; Jeffery 1922). For cylinders and boxes these are used for the ellipsoid with the
same proportions where noted, with published coefficients: DNV-RP-H103, tables A-2 (added mass) and B-2 (drag). All may be
expressions of parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.field import immersion
from pliant.parts.formula.base import FrameForce

DUPLICATIONS = 14
"""Steps of Carlson's algorithm, each of which divides the differences of its arguments by four: enough for proportions to 1000."""


def carlson(x: Any, y: Any, z: Any) -> Any:
    """Carlson's elliptic integral R_D(x, y, z), 3/2 int_0^inf dt / (sqrt((t + x) (t + y)) (t + z)^1.5), for positive arguments
    (Carlson 1995, Numerical computation of real or complex elliptic integrals)."""
    total, factor = 0.0, 1.0
    for _ in range(DUPLICATIONS):
        a, b, c = ca.sqrt(x), ca.sqrt(y), ca.sqrt(z)
        step = a * b + b * c + c * a
        total, factor = total + factor / (c * (z + step)), factor / 4
        x, y, z = (x + step) / 4, (y + step) / 4, (z + step) / 4
    mean = (x + y + 3 * z) / 5
    X, Y = 1 - x / mean, 1 - y / mean
    Z = -(X + Y) / 3
    second, third, fourth = X * Y - 6 * Z * Z, (3 * X * Y - 8 * Z * Z) * Z, 3 * (X * Y - Z * Z) * Z * Z
    series = 1 - 3 * second / 14 + third / 6 + 9 * second * second / 88 - 3 * fourth / 22
    return 3 * total + factor * series / (mean * ca.sqrt(mean))


def _integrals(axes: Sequence[Any]) -> list[Any]:
    """int_0^inf dt / ((a_i^2 + t) sqrt((a^2 + t) (b^2 + t) (c^2 + t))) for each semi-axis [1/m^3]."""
    squares = [axis * axis for axis in axes]
    return [2 / 3 * carlson(squares[i - 2], squares[i - 1], squares[i]) for i in range(3)]


@dataclass(frozen=True)
class Solid:
    """A solid that displaces the fluid: its force, the constants of its size, the rotation of its axes in those of the body, and 1,
    or -1 if it is cut out."""

    kind: FrameForce
    size: list[Any]
    axes: Any = field(default_factory=lambda: ca.DM.eye(3))
    sign: int = 1


@dataclass(frozen=True)
class Hull:
    """What a fluid does to a body of some shape, along and about its axes x, y, z through its centre.

    Attributes:
        volume: displaced volume [m^3].
        added: added mass and moment of inertia per density (six; m^3, m^5).
        viscous: resistance per viscosity (six; m, m^3).
        drag: quadratic drag per density (six; m^2, m^5): force per square of the speed, moment per square of the rate.
        areas: projected areas, to which drag coefficients refer [m^2].
        semi_axes: of the ellipsoid with the same extents [m].
        solids: the solids that displace the fluid.
        is_sphere: whether its drag is that of a sphere at any Reynolds number.
    """

    volume: Any
    added: list[Any]
    viscous: list[Any]
    drag: list[Any]
    areas: list[Any]
    semi_axes: list[Any]
    solids: list[Solid]
    is_sphere: bool = False


def ellipsoid(axes: Sequence[Any]) -> Hull:
    """An ellipsoid by its semi-axes [m]."""
    volume = 4 / 3 * math.pi * axes[0] * axes[1] * axes[2]
    areas = [math.pi * axes[i - 2] * axes[i - 1] for i in range(3)]
    coefficients = [_streamlined(axes, i) for i in range(3)]
    drag = [0.5 * c * area for c, area in zip(coefficients, areas, strict=True)]
    # strips across the longer lever, each with the width of the ellipsoid there: 4/15 of its half width times lever^4
    turning = [
        sum(4 / 15 * coefficients[k] * axes[i] * axes[j] ** 4 for j, k in ((i - 2, i - 1), (i - 1, i - 2)))
        * _out_of_round(axes[i - 2], axes[i - 1])
        for i in range(3)
    ]
    added, solid = [*_lamb(axes), *_lamb_turning(axes)], Solid(immersion.ELLIPSOID, list(axes))
    return Hull(volume, added, _slow(axes), [*drag, *turning], areas, list(axes), [solid])


def sphere(radius: Any) -> Hull:
    """A sphere by its radius [m]."""
    return replace(ellipsoid([radius] * 3), is_sphere=True)


def _lamb(axes: Sequence[Any]) -> list[Any]:
    """Added mass of an ellipsoid along its axes, per density [m^3]."""
    product = axes[0] * axes[1] * axes[2]
    shares = [product * integral for integral in _integrals(axes)]
    return [4 / 3 * math.pi * product * share / (2 - share) for share in shares]


def _lamb_turning(axes: Sequence[Any]) -> list[Any]:
    """Added moments of inertia of an ellipsoid about its axes, per density [m^5]."""
    product = axes[0] * axes[1] * axes[2]
    shares = [product * integral for integral in _integrals(axes)]
    found = []
    for i in range(3):
        b, c = axes[i - 2], axes[i - 1]
        difference, total = b * b - c * c, b * b + c * c
        # the quotient stays finite where both axes are equal, and is multiplied by the square of the difference
        quotient = (shares[i - 1] - shares[i - 2]) / ca.if_else(difference == 0, 1.0, difference)
        found.append(4 / 15 * math.pi * product * difference**2 * quotient / (2 - total * quotient))
    return found


def _slow(axes: Sequence[Any]) -> list[Any]:
    """Resistance of an ellipsoid to slow translation along its axes and rotation about them, per viscosity [m, m^3]."""
    squares, integrals = [axis * axis for axis in axes], _integrals(axes)
    parts = [square * integral for square, integral in zip(squares, integrals, strict=True)]
    along = [16 * math.pi / (sum(parts) + part) for part in parts]
    about = [16 / 3 * math.pi * (squares[i - 2] + squares[i - 1]) / (parts[i - 2] + parts[i - 1]) for i in range(3)]
    return [*along, *about]


def _streamlined(axes: Sequence[Any], i: int) -> Any:
    """Drag coefficient of an ellipsoid along an axis: from a disc (1.17) through a sphere (0.42) to slender ones, whose drag
    decreases with their length (Hoerner 1965, Fluid-dynamic drag, chapter 3: 0.44 d/l and friction)."""
    slenderness = axes[i] / ca.sqrt(axes[i - 2] * axes[i - 1])
    return ca.if_else(slenderness < 1, 1.17 - 0.75 * slenderness, 0.4 / ca.fmax(slenderness, 1.0) + 0.02)


def _out_of_round(a: Any, b: Any) -> Any:
    """Factor on the effect of a rotation that vanishes for equal extents across it: exact for the added mass of ellipses."""
    return (a * a - b * b) ** 2 / (a**4 + b**4)


def interpolated(x: Any, places: Sequence[float], values: Sequence[float]) -> Any:
    """Linear interpolation in a table; constant beyond its ends."""
    inside = ca.fmin(ca.fmax(x, places[0]), places[-1])
    return ca.pw_lin(ca.SX(inside), ca.DM(places), ca.DM(values))


ASPECT = (0, 0.1, 0.125, 0.16, 0.2, 0.25, 1 / 3, 0.4, 0.5, 2 / 3, 0.8, 1)
PLATE_MASS = (1, 0.947, 0.934, 0.917, 0.897, 0.872, 0.830, 0.801, 0.757, 0.690, 0.642, 0.579)
"""Added mass of a rectangular plate by its shorter side over its longer one (a/b), per that of a plate without ends, pi/4 a^2 b."""
PRISM = (0, 1, 2, 3, 4, 5, 6, 7, 10)
PRISM_MASS = tuple(
    m / (0.579 * math.pi / 4) for m in (0.579 * math.pi / 4, 0.68, 0.72, 0.72, 0.76, 0.75, 0.78, 0.77, 0.80)
)
"""Added mass of a square prism along its axis by its length over its width, relative to that of its front face."""
PLATE_DRAG = (0, 0.1, 0.2, 1), (1.90, 1.50, 1.20, 1.16)
"""Drag coefficient of a rectangular plate by its shorter side over its longer one."""
THICK_DRAG = (0, 1, 1.5, 2, 2.5, 3, 4, 5), tuple(c / 1.16 for c in (1.16, 1.15, 0.97, 0.87, 0.90, 0.93, 0.95, 0.95))
"""Drag of a square prism along its axis by its length over its width, relative to that of its front face."""
LONG_DRAG = (0, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2, 0.5, 1), (1.2, 1.18, 1.04, 0.98, 0.89, 0.82, 0.74, 0.70, 0.64)
"""Drag coefficient of a cylinder across its axis by its diameter over its length: 1.2 times the reduction for a finite length."""
FRONT_DRAG = (0, 0.5, 1, 2, 4), (1.17, 1.10, 0.93, 0.83, 0.85)
"""Drag coefficient of a cylinder along its axis by its length over its diameter."""
PLATE_TURNING, SLOW_LEVER = 0.375, (1.136, 3.03)
"""Added moment of inertia of a plate that rotates about its long axis, over that of strips which move independently (pi/128 against
pi/48); numbers of its increase to 1 with the lever over the axis, through 0.53 for square plates."""


def box(size: Sequence[Any]) -> Hull:
    """A box by its edges [m]: plates and square prisms of the tables in each direction; moments from them as lever arms."""
    volume = size[0] * size[1] * size[2]
    areas = [size[i - 2] * size[i - 1] for i in range(3)]
    short = [ca.fmin(size[i - 2], size[i - 1]) for i in range(3)]
    aspect = [short[i] * short[i] / areas[i] for i in range(3)]
    thickness = [size[i] / short[i] for i in range(3)]
    mass = [
        math.pi / 4 * short[i] * areas[i] * interpolated(aspect[i], ASPECT, PLATE_MASS)
        * interpolated(thickness[i], PRISM, PRISM_MASS)
        for i in range(3)
    ]  # fmt: skip
    coefficients = [interpolated(aspect[i], *PLATE_DRAG) * interpolated(thickness[i], *THICK_DRAG) for i in range(3)]
    lever_mass, lever_drag = [], []
    for i in range(3):  # a rotation about i moves the face across k with the lever along j
        levers = [(size[j], k) for j, k in ((i - 2, i - 1), (i - 1, i - 2))]
        shape = _out_of_round(size[i - 2], size[i - 1])
        a, b = SLOW_LEVER
        share = [((length / size[i]) ** 2 + a) / ((length / size[i]) ** 2 + b) for length, _ in levers]
        lever_mass.append(
            shape * sum(mass[k] * length**2 / 12 * s for (length, k), s in zip(levers, share, strict=True))
        )
        lever_drag.append(shape * sum(coefficients[k] * size[i] * length**4 / 64 for length, k in levers))
    drag = [0.5 * c * area for c, area in zip(coefficients, areas, strict=True)]
    half = [edge / 2 for edge in size]
    solids = [
        Solid(immersion.TETRAHEDRON, [x * h for corner in part for x, h in zip(corner, half, strict=True)])
        for part in immersion.BOX_PARTS.tolist()
    ]
    slow = _slow(_same_volume(half, volume))
    return Hull(volume, [*mass, *lever_mass], slow, [*drag, *lever_drag], areas, half, solids)


def cylinder(radius: Any, length: Any, axis: int) -> Hull:
    """A cylinder along one of its axes.

    Across it Lamb's coefficients of the spheroid with the same proportions apply to its volume, which agrees with table A-2 to 0.02
    from a length of 2.5 diameters on; along it to the volume of that spheroid, which is exact for a disc. Moments are between
    both, by the proportions.
    """
    slenderness = length / (2 * radius)
    axes = [length / 2 if i == axis else radius for i in range(3)]
    volume, inscribed = math.pi * radius**2 * length, 2 / 3 * math.pi * radius**2 * length
    weight = slenderness**2 / (1 + slenderness**2)
    square, own = radius**2 / 4 + length**2 / 12, (radius**2 + (length / 2) ** 2) / 5
    turning_factor = weight * (volume * square) / (inscribed * own) + (1 - weight)
    mass, turning = _lamb(axes), _lamb_turning(axes)
    across = interpolated(1 / slenderness, *LONG_DRAG)
    front = interpolated(slenderness, *FRONT_DRAG)
    lying, upright = 2 * radius * length, math.pi * radius**2
    drag = [0.5 * (front * upright if i == axis else across * lying) for i in range(3)]
    swing = (across * 2 * radius * length**4 / 64 + 4 / 15 * front * radius**5) * _out_of_round(length, 2 * radius)
    # a rotation by a third of a turn about the diagonal takes z to the axis
    cyclic = np.roll(np.eye(3), (axis + 1) % 3, axis=0)
    return Hull(
        volume,
        [
            *(mass[i] if i == axis else 1.5 * mass[i] for i in range(3)),
            *(0.0 if i == axis else turning_factor * turning[i] for i in range(3)),
        ],
        _slow(_same_volume(axes, volume)),
        [*drag, *(0.0 if i == axis else swing for i in range(3))],
        [upright if i == axis else lying for i in range(3)],
        axes,
        [Solid(immersion.CYLINDER, [radius, length], ca.DM(cyclic))],
    )


def flooded(outer: Hull, radius: Any, length: Any, axis: int) -> Hull:
    """A cylinder with an open bore of this radius: the fluid in it moves along across the axis, and through it along the axis."""
    bore = math.pi * radius**2 * length
    lever = bore * (radius**2 / 4 + length**2 / 12)
    inside = [0.0 if i == axis else bore for i in range(3)] + [0.0 if i == axis else lever for i in range(3)]
    ring = 1 - bore / outer.volume
    is_along = [i == axis for i in range(6)]
    added = [m * ring if along else m + x for m, x, along in zip(outer.added, inside, is_along, strict=True)]
    drag = [c * ring if along else c for c, along in zip(outer.drag, is_along, strict=True)]
    (solid,) = outer.solids
    return replace(
        outer, volume=outer.volume - bore, added=added, drag=drag,
        solids=[solid, replace(solid, size=[radius, length], sign=-1)],
    )  # fmt: skip


def polyhedron(points: np.ndarray, faces: np.ndarray, scale: Any) -> tuple[Hull, np.ndarray, np.ndarray]:
    """A closed surface of triangles times a scale: the coefficients of the ellipsoid with the same volume and the same proportions
    of its second moments; with its principal axes as columns, and its centre before scaling."""
    inner = points.mean(axis=0)
    corners = points[faces] - inner  # tetrahedra from there on
    volumes = np.linalg.det(corners) / 6
    volume = volumes.sum()
    center = inner + (volumes[:, None] * corners.sum(axis=1)).sum(axis=0) / (4 * volume)
    about = corners + inner - center
    apex = inner - center
    sums = about.sum(axis=1) + apex
    second = np.einsum("n,ni,nj->ij", volumes, sums, sums) + np.einsum("n,nki,nkj->ij", volumes, about, about)
    second = (second + volume * np.outer(apex, apex)) / 20
    values, axes = np.linalg.eigh(second)
    axes = axes * np.sign(np.linalg.det(axes))
    half = np.sqrt(5 * values / volume)
    half *= (volume / (4 / 3 * np.pi * np.prod(half))) ** (1 / 3)
    solids = [
        Solid(
            immersion.TETRAHEDRON,
            [float(x) * scale for x in np.vstack([apex[None], tetrahedron]).ravel()],
            ca.DM(axes.T),
        )
        for tetrahedron in about
    ]
    return replace(ellipsoid([scale * float(a) for a in half]), solids=solids), axes, center


def _same_volume(axes: Sequence[Any], volume: Any) -> list[Any]:
    """Semi-axes of the ellipsoid with these proportions and a volume."""
    factor = (volume / (4 / 3 * math.pi * axes[0] * axes[1] * axes[2])) ** (1 / 3)
    return [factor * axis for axis in axes]


def sphere_wake(reynolds: Any) -> tuple[Any, Any]:
    """Factor on Stokes's resistance of a sphere, and on its quadratic drag with the coefficient 0.42, up to a Reynolds number of
    3e5 (Clift and Gauvin 1971): Schiller and Naumann's below 1000."""
    safe = reynolds + 1e-30
    return 1 + 0.15 * safe**0.687, 1 / (1 + 42500 * safe**-1.16)
