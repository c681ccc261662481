"""Magnetic fields of dipoles and coils, and the force between two magnetic elements as the gradient of their energy.

Every pair of elements has the energy `-m . B` of the moment of one in the field of the other, for given moments and currents.
Wrenches on both and tangents follow by differentiation: action and reaction are opposite, and forces follow from the same field as
moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.formula.base import AttachedVector, Effect, FrameForce, vector_rates
from pliant.parts.formula.relative import wrench_matrix
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields

MU_0 = 4e-7 * np.pi
"""Permeability of free space [T m/A]."""

THINNEST_WIRE = 1e-7
"""Distance from the wire of a coil, relative to its radius, within which its field is smooth: far below any real wire, so that the
field beyond is exact, and above round-off, so that it is finite on the wire."""

MEANS = 6
"""Steps of the arithmetic-geometric mean: exact to round-off down to `THINNEST_WIRE` from the wire."""


def dipole_field(moment: Any, way: Any, radius: Any) -> Any:
    """Flux density [T] of a dipole moment [A m^2] at `way` [m] from it.

    With the vector potential `m x r h(r^2)`, `h = 1/r^3`. Within `radius` [m], h is its Taylor polynomial in r^2 of third order, so
    that the field is finite and free of divergence, and stiffnesses are continuous.
    """
    square, least = ca.dot(way, way), radius * radius
    outside = ca.fmax(square, least)
    x = ca.fmin(square / least - 1, 0)  # zero outside
    cube = 1 / (outside * ca.sqrt(outside))
    h = cube * (1 - x * (3 / 2 - x * (15 / 8 - x * 35 / 16)))
    slope = -cube / outside * (3 / 2 - x * (15 / 4 - x * 105 / 16))
    return 1e-7 * (2 * (h + square * slope) * moment - 2 * slope * ca.dot(moment, way) * way)


def loop_field(axis: Any, radius: Any, way: Any) -> Any:
    """Flux density [T] of a circular loop with a current of 1 A around `axis`, at `way` [m] from its centre.

    It is Maxwell's solution by complete elliptic integrals. Both follow from the arithmetic-geometric mean of the distances from
    the far and the near side of the loop, r1 and r2, and from the sum of its squared differences. From the second pair on, these
    are smooth functions of the squared distance from the axis, by which they are divided, so there is neither a division by that
    distance nor a difference of nearly equal numbers, on the axis or far away.
    """
    height = ca.dot(axis, way)
    across = way - height * axis
    loop, u, z2 = radius * radius, ca.dot(across, across), height * height + (THINNEST_WIRE * radius) ** 2
    s, inside = loop + u + z2, u - loop + z2
    product = ca.sqrt(inside * inside + 4 * loop * z2)  # r1 r2
    a, b = ca.sqrt((s + product) / 2), ca.sqrt(product)
    difference = loop / (a * a)  # squared, over the squared distance from the axis
    total, weight = difference, 1.0
    for _ in range(MEANS - 1):
        mean, b = (a + b) / 2, ca.sqrt(a * b)
        difference = u * difference * difference / (16 * mean * mean)
        a, weight = mean, 2 * weight
        total = total + weight * difference
    scale = MU_0 / (4 * a * product * product)
    along = 2 * loop * (s - 2 * u) + (s - 2 * loop) * u * total
    return scale * (along * axis + height * (4 * loop - s * total) * across)


Vectors = Sequence[Any]
"""World vectors attached to the frame of an element: its place [m], then directions."""

DipoleOf = tuple[Any, Any, Any]
"""Place [m] and moment [A m^2] in world axes, and the distance within which the field is smooth [m]."""


@dataclass(frozen=True)
class MagneticKind:
    """A type of magnetic element on a frame.

    Attributes:
        name: part of the names of kernels.
        constants: its constants.
        signals: number of its signals.
        directions: number of directions that its energy depends on, in addition to its place.
        attached: `(pose, constants, signals)` to its vectors.
        dipole: `(vectors, constants, signals)` to the dipole that it is in the field of others; None if it is a field only.
        field: `(vectors, constants, signals, place)` to its flux density [T]; None for that of its dipole.
    """

    name: str
    constants: Fields
    signals: int
    directions: int
    attached: Callable[[Pose, Any, Any], list[Any]]
    dipole: Callable[[Vectors, Any, Any], DipoleOf] | None
    field: Callable[[Vectors, Any, Any, Any], Any] | None = None

    def field_of(self, pose: Pose, c: Any, signal: Any, place: Any) -> Any:
        """The flux density [T] at a place of an element whose frame has a pose."""
        return self.field_at(self.attached(pose, c, signal), c, signal, place, 0.0)

    def field_at(self, vectors: Vectors, c: Any, signal: Any, place: Any, within: Any) -> Any:
        """Its flux density at a place [T], smooth within a distance [m] of a dipole."""
        if self.field is not None:
            return self.field(vectors, c, signal, place)
        assert self.dipole is not None, "what is no dipole has a field"
        source, moment, radius = self.dipole(vectors, c, signal)
        return dipole_field(moment, place - source, ca.fmax(radius, within))


UNIFORM = Fields("axes:pose")
DIPOLE = Fields("point:3", "moment:3", "radius")
DRIVEN_DIPOLE = Fields("point:3", "radius")
COIL = Fields("point:3", "axis:3", "radius", "turns")


def _of_frame(pose: Pose, point: Any, *directions: Any) -> list[Any]:
    """A point and directions in the axes of a frame as vectors in world axes."""
    R, p = pose
    return [p + R @ point, *(R @ direction for direction in directions)]


def _uniform_vectors(pose: Pose, c: Any, signal: Any) -> list[Any]:
    R, p = UNIFORM.read(c).axes
    return _of_frame(pose, p, R[:, 0], R[:, 1], R[:, 2])


def _uniform_field(vectors: Vectors, c: Any, signal: Any, place: Any) -> Any:
    origin, R = vectors[0], ca.horzcat(*vectors[1:4])
    xx, xy, xz, yy, yz = (signal[k] for k in range(3, 8))
    gradient = ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, -xx - yy]])
    return R @ (signal[0:3] + gradient @ (R.T @ (place - origin)))


def _dipole_vectors(pose: Pose, c: Any, signal: Any) -> list[Any]:
    at = DIPOLE.read(c)
    return _of_frame(pose, at.point, at.moment)


def _dipole(vectors: Vectors, c: Any, signal: Any) -> DipoleOf:
    return vectors[0], vectors[1], DIPOLE.read(c).radius


def _driven_vectors(pose: Pose, c: Any, signal: Any) -> list[Any]:
    return _of_frame(pose, DRIVEN_DIPOLE.read(c).point, signal[0:3])


def _driven_dipole(vectors: Vectors, c: Any, signal: Any) -> DipoleOf:
    return vectors[0], vectors[1], DRIVEN_DIPOLE.read(c).radius


def _coil_vectors(pose: Pose, c: Any, signal: Any) -> list[Any]:
    at = COIL.read(c)
    return _of_frame(pose, at.point, at.axis)


def _coil_dipole(vectors: Vectors, c: Any, signal: Any) -> DipoleOf:
    """The dipole of a coil, which represents it exactly in fields that are linear in place."""
    at = COIL.read(c)
    return vectors[0], np.pi * at.radius**2 * at.turns * signal[0] * vectors[1], at.radius


def _coil_field(vectors: Vectors, c: Any, signal: Any, place: Any) -> Any:
    at = COIL.read(c)
    return at.turns * signal[0] * loop_field(vectors[1], at.radius, place - vectors[0])


UNIFORM_FIELD = MagneticKind("uniform", UNIFORM, 8, 3, _uniform_vectors, None, _uniform_field)
COIL_MAGNET = MagneticKind("coil", COIL, 1, 1, _coil_vectors, _coil_dipole, _coil_field)
DRIVEN_MAGNET = MagneticKind("driven", DRIVEN_DIPOLE, 3, 1, _driven_vectors, _driven_dipole)
DIPOLE_MAGNET = MagneticKind("dipole", DIPOLE, 0, 1, _dipole_vectors, _dipole)

ORDER = (UNIFORM_FIELD, COIL_MAGNET, DRIVEN_MAGNET, DIPOLE_MAGNET)
"""Of two elements the first one in this order is the field, the other one the moments in it."""


@cache
def magnetic_force(first: MagneticKind, second: MagneticKind, *, fixed: tuple[bool, bool]) -> FrameForce:
    """The force between two elements, those that are fixed to the world without a frame.

    Constants are those of both, and whether all signals are constant (1, else 0): the energy is then stored, otherwise it is
    supplied by what drives the signals.
    """
    n, m, frames = first.constants.size, first.signals, 2 - sum(fixed)
    size = n + second.constants.size + 1
    local = cache(partial(_local, first, second, fixed))

    def placed(poses: Sequence[Pose], c: Any, signal: Any) -> Any:
        """Vectors of both elements."""
        own, other = (se3.identity() if still else poses[k - sum(fixed[:k])] for k, still in enumerate(fixed))
        vectors = [*first.attached(own, c[0:n], signal[0:m]), *second.attached(other, c[n : size - 1], signal[m:])]
        return ca.densify(ca.SX(ca.vertcat(*vectors)))

    def effect(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
        wrench, energy = local()[0].call([placed(poses, c, signal), c, signal])
        power = sum(ca.dot(wrench[6 * k : 6 * k + 6], twist) for k, twist in enumerate(twists))
        return Effect(wrench, energy=c[size - 1] * energy, supply=(1 - c[size - 1]) * power)

    def tangent(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> tuple[Any, Any, Any]:
        vectors = placed(poses, c, signal)
        wrench, by_pose, by_vectors, by_signal = local()[1].call([vectors, c, signal])
        turning = ca.diagcat(*[wrench_matrix(wrench[6 * k : 6 * k + 6]) for k in range(frames)])
        nothing = ca.SX(6 * frames, 6 * frames)
        return by_pose + turning, nothing, by_signal + by_vectors @ ca.jacobian(vectors, signal)

    words = ("_fixed_" if still else "_" for still in fixed)
    name = "magnet" + "".join(word + kind.name for word, kind in zip(words, (first, second), strict=True))
    return FrameForce(name, frames, size, first.signals + second.signals, effect, tangent)


def _local(first: MagneticKind, second: MagneticKind, fixed: tuple[bool, bool]) -> tuple[ca.Function, ca.Function]:
    """Functions of the vectors of a pair, its constants and its signals: wrenches and energy; wrenches and their derivatives by
    increments of the frames, by vectors and by signals."""
    n, m = first.constants.size, first.signals
    c, signal = ca.SX.sym("c", n + second.constants.size + 1), ca.SX.sym("s", m + second.signals)
    own, other = ([ca.SX.sym(f"z{k}", 3) for k in range(1 + kind.directions)] for kind in (first, second))
    assert second.dipole is not None, "the first of a pair is the field"
    place, moment, radius = second.dipole(other, c[n : n + second.constants.size], signal[m:])
    energy = -ca.dot(moment, first.field_at(own, c[0:n], signal[0:m], place, radius))
    moving = [
        AttachedVector(0 if fixed[0] else number, vector, is_point=k == 0)
        for number, (still, vectors) in enumerate(zip(fixed, (own, other), strict=True))
        for k, vector in enumerate(() if still else vectors)
    ]
    z = ca.vertcat(*[x.vector for x in moving])
    rates = ca.vertcat(*[vector_rates(x, x.vector, 2 - sum(fixed)) for x in moving])
    wrench, every = -(ca.jacobian(energy, z) @ rates).T, ca.vertcat(*own, *other)
    inputs = [every, c, signal]
    slopes = [wrench, ca.jacobian(wrench, z) @ rates, ca.jacobian(wrench, every), ca.jacobian(wrench, signal)]
    return (
        ca.Function("value", inputs, [ca.densify(ca.SX(y)) for y in (wrench, energy)], {"cse": True}),
        ca.Function("tangent", inputs, [ca.densify(ca.SX(y)) for y in slopes], {"cse": True}),
    )
