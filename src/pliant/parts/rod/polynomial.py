"""Rod model `polynomial`: one polynomial along the entire rod for position and one for orientation.

    p(s) = (0, 0, s) + sum_k phi_k(s) d_k,        Q(s) = polynomial through Q_1 ... Q_n and the clamped base, normalized

The coefficients d_k (displacements) and Q_k (orientations) are the values at sections along the rod, the Radau points
of Legendre's polynomials: as well conditioned as an orthogonal basis, and every coordinate has a meaning. The condition
at the base is built into the basis. Strains are `xi = R' p' - e3` and `zeta = 2 vec(Q^-1 Q')`; their energy is summed
over Gauss points: as many as there are displacements with the complete map, which avoids locking, and enough to integrate it
with the published one, as published.

A rod in a plane has two displacements per section and one rotation, the angle or a component of the quaternion. Its formulas
are those in space at the embedded coordinates, whose rates are some of the rates in space (`Polynomials`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.system import Element
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import CoordinatePart, Fields, Motion, Quaternion, Vector
from pliant.parts.rod.absolute import plane_problems, refuse_shape_out_of_plane, strains_of_sections
from pliant.parts.rod.base import RodModelBase, refuse_turn, remark_steps
from pliant.parts.rod.pcs import mass_points
from pliant.parts.rod.pieces import PieceKind, PieceState, RodPiece, add_pieces
from pliant.parts.rod.properties import RodProperties, add_piece_of_mass
from pliant.parts.rod.strains import Free, Plane, plane_of

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod

Orientation = Literal["four", "three"]
THREE_HINT = "use `orientation: four`"

NORMAL: Mapping[Plane, int] = {"xz": 1, "yz": 0}
"""Axis about which a rod in a plane turns."""

MORE_FOR_INTEGRALS = 4
"""Gauss points beyond the order that integrate the energy of smooth shapes with bends of up to 90 degrees to 1e-4 or better, as
the 50-point trapezoidal rule of the publication does."""


class Polynomial(RodModelBase):
    """Polynomials along the entire rod for position and orientation: most accurate with few states under smooth loads.

    All six strains are derived from these, so they can only be restricted to those in a plane (`strains: planar`, 3 n + 2
    rates); `gvs` has polynomials of the strains themselves.
    """

    fineness: ClassVar[str] = "order"

    most_joined: ClassVar[int] = 10

    kind: Literal["polynomial"] = "polynomial"
    order: Annotated[int, Field(ge=1, le=12, strict=True)] = 3
    """Order n of the orientation's polynomial; the position's is one higher."""
    map: Literal["complete", "published"] = "complete"
    """Whether the rod may shear and stretch at its base (`complete`, 6 n + 3 rates), or leaves it perpendicular and
    unstretched (`published`, 6 n rates). The elastic energy of the published one is integrated along the rod, as published,
    so it is stiffer: at order 1 it stretches a quarter too little under a load, and half as much as it should under its
    weight. That of the complete one is summed over n + 1 Gauss points, at which it can bend without shear."""
    orientation: Orientation = "four"
    """Four polynomials, normalized, through unit quaternions (`four`), or three for the quaternion's vector part
    (`three`; the rod then cannot rotate by pi or more relative to its base: an analysis fails there)."""
    mass_points: Annotated[int, Field(ge=1, le=40, strict=True)] | None = None
    """Gauss points of the mass along the rod; default: order + 3."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return strains_of_sections(free)

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from plane_problems(rod, value)

    def apply(self, build: Build, rod: RodProperties) -> None:
        basis = Basis(self.order, perpendicular=self.map == "published")
        kind = Polynomials(basis.displacements, self.order, self.orientation, plane_of(rod.free))
        motion = polynomial_motion(kind)
        mass = mass_points(rod, 0.0, 1.0, self.mass_points or self.order + 3)
        points = [point.x for point in mass]
        inner = {name: at for name, at in rod.attachments.items() if rod.places[name] > 0}
        places = [*points, *(at / rod.length for at in inner.values()), 1.0]
        plans = [build.plan(motion, rod.placement, (x * rod.length, *basis.values(x))) for x in places]
        element = build.element(rod.node, plans)
        remark_steps(build, rod, [0.0, 1.0])
        started = _name_coordinates(build, rod, element, basis, kind)
        for node, point in zip(element.nodes, mass, strict=False):
            add_piece_of_mass(build, rod, node, se3.identity(), point.weight * rod.length, point.x, point.span)
        self._add_elasticity(build, rod, element, basis, kind, started)
        along = [(node, se3.identity()) for node in (*element.nodes[: len(points)], element.nodes[-1])]
        build.rod_stations(rod.name, [(rod.node, rod.placement), *along], [0.0, *points, 1.0])
        for frame in (rod.name, *(f"{rod.name}.{name}" for name in rod.attachments if name not in inner)):
            build.name_frame(frame, rod.node, rod.placement)
        if self.orientation == "three":
            refuse_turn(rod, 0.0, rod.length, math.pi, THREE_HINT, "from base to tip")
            for node in element.nodes:
                build.limit_turn(rod.name, (rod.node, rod.placement), (node, se3.identity()), math.pi, THREE_HINT)
        for node, name in zip(element.nodes[len(points) :], (*inner, "tip"), strict=True):
            build.name_frame(f"{rod.name}.{name}", node, se3.identity())

    def pieces(self) -> int:
        return self.order + (MORE_FOR_INTEGRALS if self.map == "published" else 1)

    def _add_elasticity(
        self, build: Build, rod: RodProperties, element: Element, basis: Basis, kind: Polynomials, started: Any
    ) -> None:
        points = self.pieces()
        pieces = []
        for x, weight in zip(*gauss(points), strict=True):
            shape = [rod.length, *basis.values(x)[basis.displacements :], *basis.slopes(x)]
            strain = rod.curve.straight or _entries(_strains(*_local_state(started, ca.vertcat(*shape), kind.in_space)))
            pieces.append(RodPiece(element, shape, weight * rod.length, x, strain))
        add_pieces(build, rod, polynomial_point(kind), pieces, order=points, points=points, smooth=True)


def _name_coordinates(build: Build, rod: RodProperties, element: Element, basis: Basis, kind: Polynomials) -> Any:
    """Name the coordinates and initialize them from the rod's shape; returns the initial values of those in space."""
    q, v, plane = element.q_at, element.v_at, kind.plane
    started: list[Any] = []
    for k, x in enumerate(basis.displacement_points):
        R, p = rod.curve.pose(x * rod.length)
        if plane is not None:
            refuse_shape_out_of_plane(build, rod, (R, p), NORMAL[plane], plane)
        position = p - ca.vertcat(0, 0, x * rod.length)
        started.append(position)
        for j in kind.directions:
            build.coordinate(f"{rod.name}.displacement_{'xyz'[j]}[{k + 1}]", q, v, position[j], unit="m")
            q, v = q + 1, v + 1
    for k, x in enumerate(basis.orientation_points):
        quaternion = rod.curve.quaternion(x * rod.length)
        started.append(quaternion if kind.orientation == "four" else quaternion[1:4])
        if kind.orientation == "three":
            for j in kind.axes:
                build.coordinate(f"{rod.name}.quaternion_{'xyz'[j]}[{k + 1}]", q, v, quaternion[1 + j], unit="-")
                q, v = q + 1, v + 1
        elif plane is None:
            build.orientation(f"{rod.name}.orientation[{k + 1}]", q, v, quaternion)
            q, v = q + 4, v + 3
        else:
            angle = 2 * ca.atan2(quaternion[1 + NORMAL[plane]], quaternion[0])
            build.coordinate(f"{rod.name}.angle[{k + 1}]", q, v, angle, unit="rad")
            q, v = q + 1, v + 1
    return ca.vertcat(*started)


def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (points + 1), 0.5 * weights


def radau(count: int) -> np.ndarray:
    """The `count` Radau points on (0, 1], the last of them 1."""
    P = np.polynomial.legendre.Legendre
    inner = (P.basis(count) - P.basis(count - 1)) // P([-1.0, 1.0])
    return np.append(0.5 * (np.sort(np.real(inner.roots())) + 1), 1.0)


class Basis:
    """Polynomials of x = s / length with given values at sections; zero at a clamped base.

    Displacement: `displacements` polynomials of degree order + 1 with value 0 at the base; slope 0 if perpendicular.
    Orientation: one polynomial of degree `order` per section and, first, that of the base itself.
    """

    def __init__(self, order: int, *, perpendicular: bool) -> None:
        self.order = order
        self.displacements = order if perpendicular else order + 1
        self.displacement_points, self.orientation_points = radau(self.displacements), radau(order)
        self._zeros_at_base = 2 if perpendicular else 1

    def values(self, x: Any) -> list[Any]:
        """At x: the displacement's polynomials, then the base's and the orientation's."""
        displacement, orientation = self._polynomials(x)
        return [*displacement, *orientation]

    def slopes(self, x: Any) -> list[Any]:
        """Their derivatives with respect to x, in the same order."""
        t = ca.SX.sym("x")
        functions = ca.vertcat(*self.values(t))
        slopes = ca.Function("slopes", [t], [ca.densify(ca.jacobian(functions, t))])(x)
        return [slopes[i] for i in range(slopes.numel())]

    def _polynomials(self, x: Any) -> tuple[list[Any], list[Any]]:
        displacement = [
            (x / at) ** self._zeros_at_base * value
            for at, value in zip(self.displacement_points, lagrange(self.displacement_points, x), strict=True)
        ]
        return displacement, lagrange([0.0, *self.orientation_points], x)


def lagrange(points: Iterable[float], x: Any) -> list[Any]:
    """The polynomials that are 1 at one of the points and 0 at the others, at x."""
    points, out = list(points), []
    for k, here in enumerate(points):
        value: Any = 1.0
        for j, other in enumerate(points):
            if j != k:
                value = value * (x - other) / (here - other)
        out.append(value)
    return out


@dataclass(frozen=True)
class Polynomials:
    """Coordinates of a rod: displacements at sections, then orientations at sections."""

    displacements: int
    order: int
    orientation: Orientation
    plane: Plane | None = None

    def __str__(self) -> str:
        """Part of the names of kernels."""
        name = f"polynomial_{self.displacements}_{self.order}_{self.orientation}"
        return name if self.plane is None else f"{name}_{self.plane}"

    @property
    def in_space(self) -> Polynomials:
        """The same without the restriction to a plane."""
        return replace(self, plane=None)

    @property
    def directions(self) -> tuple[int, ...]:
        """Axes of the displacements."""
        return (0, 1, 2) if self.plane is None else (1 - NORMAL[self.plane], 2)

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes of the rotations."""
        return (0, 1, 2) if self.plane is None else (NORMAL[self.plane],)

    @property
    def parts(self) -> tuple[CoordinatePart, ...]:
        """The coordinates; in a plane all are plain numbers."""
        turns: tuple[CoordinatePart, ...] = (Vector(len(self.axes) * self.order),)
        if self.orientation == "four" and self.plane is None:
            turns = (Quaternion(),) * self.order
        return (Vector(len(self.directions) * self.displacements), *turns)

    def embedded(self, q: Any) -> Any:
        """The coordinates in space."""
        if self.plane is None:
            return q
        size, at = 2 * self.displacements, self.axes[0]
        placed = [_among(3, self.directions, q[2 * k : 2 * k + 2]) for k in range(self.displacements)]
        for k in range(self.order):
            turn = q[size + k]
            if self.orientation == "four":
                placed.append(_among(4, (0, 1 + at), [ca.cos(turn / 2), ca.sin(turn / 2)]))
            else:
                placed.append(_among(3, (at,), [turn]))
        return ca.vertcat(*placed)

    def rates_in_space(self) -> Any:
        """Matrix from the rates to those in space, of which they are some: a rotation about a fixed axis has the derivative of
        its angle as its angular velocity."""
        if self.plane is None:
            return ca.DM.eye(3 * (self.displacements + self.order))
        kept = [3 * k + j for k in range(self.displacements) for j in self.directions]
        kept += [3 * (self.displacements + k) + self.axes[0] for k in range(self.order)]
        return ca.DM.eye(3 * (self.displacements + self.order))[:, kept]


def _among(size: int, places: Iterable[int], values: Any) -> Any:
    """A column of zeros except for values at places."""
    column = ca.SX.zeros(size)
    for k, place in enumerate(places):
        column[place] = values[k]
    return column


def _quaternion(turns: Any, values: Any, orientation: Orientation) -> Any:
    """The orientation's polynomial, not normalized: four components, or the three of the vector part.

    values: of the base's polynomial, then of each section's.
    """
    if orientation == "four":
        return ca.vertcat(values[0], 0, 0, 0) + ca.reshape(turns, 4, -1) @ values[1:]
    return ca.reshape(turns, 3, -1) @ values[1:]


@cache
def polynomial_motion(kind: Polynomials) -> Motion:
    """A section of the rod. Constants: its arc length [m], the values of all polynomials there."""
    if kind.plane is not None:
        space, rates = polynomial_motion(kind.in_space), kind.rates_in_space()
        return Motion(
            str(kind), kind.parts, space.constants, lambda q, c: space.pose(kind.embedded(q), c),
            lambda q, c: space.twist_per_rate(kind.embedded(q), c) @ rates,
        )  # fmt: skip
    orientation, parts = kind.orientation, kind.parts
    fields = Fields("arc_length", f"displacements:{kind.displacements}", f"turns:{kind.order + 1}")
    size = 3 * kind.displacements

    def pose(q: Any, c: Any) -> Pose:
        at = fields.read(c)
        p = ca.vertcat(0, 0, at.arc_length) + ca.reshape(q[0:size], 3, -1) @ at.displacements
        Q = _quaternion(q[size:], at.turns, orientation)
        if orientation == "four":
            return so3.quaternion_matrix(Q / ca.norm_2(Q)), p
        return so3.quaternion_matrix(ca.vertcat(ca.sqrt(1 - ca.dot(Q, Q)), Q)), p

    def subspace(q: Any, c: Any) -> Any:
        # angular velocity in base axes: 2 vec(dQ/dt Q^-1); shorter than the derivative of the matrix
        at, R_p = fields.read(c), pose(q, c)
        Q = _quaternion(q[size:], at.turns, orientation)
        rates = Motion("turns", parts[1:], 0, pose).rate_matrix(q[size:])
        per_rate = ca.kron(at.turns[1:].T, ca.DM.eye(Q.numel())) @ rates
        if orientation == "three":
            w = ca.sqrt(1 - ca.dot(Q, Q))
            Q, per_rate = ca.vertcat(w, Q), ca.vertcat(-(Q.T @ per_rate) / w, per_rate)
        angular = 4 * so3.quaternion_rate_matrix(so3.quaternion_conjugate(Q)).T @ _conjugate_rows(per_rate)
        angular = -angular / ca.dot(Q, Q)
        moved = ca.kron(at.displacements.T, ca.DM.eye(3))
        linear = so3.hat(R_p[1]) @ angular
        return ca.blockcat([[moved, linear], [ca.SX(3, size), angular]])

    return Motion(str(kind), parts, fields.size, pose, subspace)


def _conjugate_rows(quaternions: Any) -> Any:
    """Columns of quaternions, each with its vector part reversed."""
    return ca.vertcat(quaternions[0, :], -quaternions[1:4, :])


@cache
def polynomial_point(kind: Polynomials) -> PieceKind:
    """A Gauss point of the rod, with the constants `_shape`."""
    if kind.plane is not None:
        space, rates = polynomial_point(kind.in_space), kind.rates_in_space()

        def planar_state(q: Any, c: Any) -> PieceState:
            at = space.state(kind.embedded(q), c)
            return PieceState(at.strain, lambda v: at.rate(rates @ v), lambda force: rates.T @ at.work(force))

        return PieceKind(str(kind), kind.parts, space.shape, planar_state)
    carrier = Motion("carrier", kind.parts, 0, lambda q, c: se3.identity())

    def state(q: Any, c: Any) -> PieceState:
        x = ca.SX.sym("q", q.numel())
        tangent, Q, Q_slope = _local_state(x, c, kind)
        # differentiate with respect to few local quantities, then apply the chain rule: the kernel stays small
        u, local = ca.SX.sym("u", 3 + 2 * Q.numel()), ca.vertcat(tangent, Q, Q_slope)
        strain = _strains(u[0:3], u[3 : 3 + Q.numel()], u[3 + Q.numel() :])
        actual, by_q = ca.substitute([local, ca.jacobian(local, x)], [x], [q])
        strain, by_u = ca.substitute([strain, ca.jacobian(strain, u)], [u], [actual])
        to_rates = by_q @ carrier.rate_matrix(q)
        return PieceState(strain, lambda v: by_u @ (to_rates @ v), lambda force: to_rates.T @ (by_u.T @ force))

    return PieceKind(str(kind), kind.parts, _shape(kind), state)


def _shape(kind: Polynomials) -> Fields:
    """The rod's length; at a point values of the orientation's polynomials (base first), slopes by s / length of all."""
    turns = kind.order + 1
    return Fields("rod_length", f"turns:{turns}", f"displacement_slopes:{kind.displacements}", f"turn_slopes:{turns}")


def _local_state(q: Any, c: Any, kind: Polynomials) -> tuple[Any, Any, Any]:
    """p', the quaternion and its slope at a point, from coordinates in space and constants that begin with `_shape`."""
    size, at = 3 * kind.displacements, _shape(kind).read(c)
    tangent = ca.vertcat(0, 0, 1) + ca.reshape(q[0:size], 3, -1) @ at.displacement_slopes / at.rod_length
    Q = _quaternion(q[size:], at.turns, kind.orientation)
    return tangent, Q, _quaternion(q[size:], at.turn_slopes, kind.orientation) / at.rod_length


def _entries(vector: Any) -> list[Any]:
    return [vector[i] for i in range(vector.numel())]


def _strains(tangent: Any, Q: Any, slope: Any) -> Any:
    """Six strains from p' and the quaternion (four components of any length, or the vector part) and its slope."""
    if Q.numel() == 3:
        w = ca.sqrt(1 - ca.dot(Q, Q))
        Q, slope = ca.vertcat(w, Q), ca.vertcat(-ca.dot(Q, slope) / w, slope)
    square = ca.dot(Q, Q)
    R = so3.quaternion_matrix(Q / ca.sqrt(square))
    turn = 2 * so3.quaternion_product(so3.quaternion_conjugate(Q), slope)[1:4] / square
    return ca.vertcat(R.T @ tangent - ca.DM([0, 0, 1]), turn)
