"""Rod model `pcc`: piecewise constant curvature. Arcs in series with their exact mass, integrated in closed form."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field, StrictBool

from pliant.language.base import OneOrList, Problem
from pliant.language.names import Name
from pliant.language.scalar import Length, Scalar, Value
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.assembly.system import Element
from pliant.parts.formula.base import CoordinateForce, Effect, Inertia
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.coordinate import LengthLimits
from pliant.parts.motion import ARC_CONSTANTS as ARC
from pliant.parts.motion import ARC_FREE, ArcCoordinates, Fields, Functions, Motion, Option, Vector
from pliant.parts.rod.base import RodModelBase, remark_steps
from pliant.parts.rod.chamber import actuation, signal_word
from pliant.parts.rod.pcs import frames_on_segment
from pliant.parts.rod.pieces import PieceKind, PieceState, RodPiece, add_pieces
from pliant.parts.rod.properties import RodProperties
from pliant.parts.rod.stations import gauss_between, note_sample
from pliant.parts.rod.strains import LABELS, Free

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod

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


GAUSS = tuple(gauss_between(0.0, 1.0, 3))
"""Gauss points and weights on [0, 1] at which loads along an arc act."""


@dataclass(frozen=True)
class ArcIntegrals:
    """Integrals over x from 0 to 1 of products of alpha, beta, gamma = x^3 c3(x^2 s) and c = cos(x |w|), exact for any bend."""

    alpha: Any
    beta: Any
    gamma: Any
    alpha_alpha: Any
    alpha_beta: Any
    beta_beta: Any
    gamma_gamma: Any
    alpha_beta_s: Any
    """Of alpha beta_s - beta alpha_s = -alpha gamma / 2; with derivatives with respect to s."""
    kappa: Any
    """Of (x^2 - 2 alpha) / (2 s)."""
    c_c: Any
    c_alpha: Any
    c_beta: Any


def arc_integrals(s: Any, c: Sequence[Any]) -> ArcIntegrals:
    """All integrals of a section's mass matrix, from Stumpff's functions of s (eight or more)."""
    c0, c1, c2, c3, c4, c5, c6, c7, *_ = c
    squared = (c4 - 3 * c5 + c2 * c3) / 2
    return ArcIntegrals(
        alpha=c3, beta=c2, gamma=c4, alpha_alpha=squared, alpha_beta=c2 * c2 / 2,
        beta_beta=(c2 + c3 - s * c2 * c3) / 2, gamma_gamma=(5 * c7 - 3 * c6 + c4 / 6 + c5 / 2 - s * c4 * c5) / 2,
        alpha_beta_s=-c3 * c3 / 4, kappa=c5, c_c=(1 + c0 * c1) / 2, c_alpha=c3 - s * squared, c_beta=c1 * c1 / 2,
    )  # fmt: skip


MOTION_ORDERS = 8
"""Number of Stumpff functions for the motion of a section, with the derivatives of its tangents."""


@cache
def arc_motion(coordinates: ArcCoordinates) -> Motion:
    """A section of an arc at a fraction of its length. Constants: the fraction x, and those of the coordinates."""

    def functions(z: Any, c: Any) -> Any:
        return ca.vertcat(*stumpff(c[0] ** 2 * ca.dot(z[0:2], z[0:2]), MOTION_ORDERS))

    def function_slopes(z: Any, c: Any, y: Any) -> tuple[Any, Any]:
        return stumpff_slopes(y, c[0] ** 2 * z[0:2])

    def pose(q: Any, c: Any) -> Pose:
        z = coordinates.matrix(c[1:]) @ q
        x, wx, wy, length = c[0], z[0], z[1], ARC.read(c[1:]).offset + z[2]
        y = functions(z, c)
        alpha, beta = x * x * y[2], x * y[1]
        # exp(x hat(w)) = (1 - alpha s) 1 + beta hat(w) + alpha w w'
        R = ca.blockcat(
            [
                [1 - alpha * wy * wy, alpha * wx * wy, beta * wy],
                [alpha * wx * wy, 1 - alpha * wx * wx, -beta * wx],
                [-beta * wy, beta * wx, 1 - alpha * (wx * wx + wy * wy)],
            ]
        )
        return R, length * ca.vertcat(alpha * wy, -alpha * wx, beta)

    def subspace(z: Any, c: Any, y: Any) -> Any:
        x, w, length = c[0], z[0:2], ARC.read(c[1:]).offset + z[2]
        alpha, beta, gamma = x**2 * y[2], x * y[1], x**3 * y[3]
        twice_alpha_s = x**4 * (2 * y[4] - y[3])
        angular = beta * PLANE + alpha * UP @ across(w) + gamma * in_plane(w) @ w.T
        b = LEAN @ w
        # dp + p x angular, with gamma s = x - beta
        bent = (alpha - beta**2) * LEAN - alpha**2 * in_plane(w) @ across(w)
        bent += ((twice_alpha_s - beta * gamma) * b + gamma * UP) @ w.T
        linear = ca.horzcat(length * bent, alpha * b + beta * UP)
        return ca.vertcat(linear, ca.horzcat(angular, ca.SX(3, 1)))

    return Motion(
        f"arc_{coordinates.name}", (Vector(coordinates.size),), 1 + ARC.size, pose, subspace,
        through=lambda c: coordinates.matrix(c[1:]), functions=Functions(MOTION_ORDERS + 1, functions, function_slopes),
    )  # fmt: skip


def stumpff_slopes(y: Any, w: Any) -> tuple[Any, Any]:
    """Derivatives of Stumpff functions y with respect to `s = |w|^2`, which are unknown for the two highest orders, and of s with
    respect to `(w_x, w_y, L)`."""
    return ca.vertcat(*slopes(ca.vertsplit(y)), ca.SX.nan(2)), ca.horzcat(2 * w.T, 0)


PLANE = ca.DM([[1, 0], [0, 1], [0, 0]])
LEAN = ca.DM([[0, 1], [-1, 0], [0, 0]])
UP = ca.DM([0, 0, 1])


def in_plane(w: Any) -> Any:
    """`(w_x, w_y, 0)`."""
    return ca.vertcat(w, 0)


def across(w: Any) -> Any:
    """The row n with `n dw = (w x dw)_z`."""
    return ca.horzcat(-w[1], w[0])


FORM = Fields("t0", "t1", "t2", "t3", "k1", "k2", "k3", "k4", "f1", "f2")
"""Functions of s in the energy of rotation and bending."""

ENERGY_ORDERS = 11
"""Number of Stumpff functions in energies of arcs, with the derivatives of their tangents."""


@dataclass(frozen=True)
class ArcEnergy:
    """An energy as functions of s. mass, slices: `FORM` of the mass and of the rotation of slices; alpha, beta: of the centre; e:
    mean square of the distance from the base over the length, for changes of length."""

    mass: list[Any]
    slices: list[Any]
    alpha: Any
    beta: Any
    e: Any


Energy = Callable[[Any, list[Any], Any], ArcEnergy]
"""`(s, c, inertia) -> energy`, with c the Stumpff functions of s and the inertia of all slices about a diameter and about the
tangent [kg m^2]."""


@cache
def _functions(energy: Energy) -> ca.Function:
    """`(s, c, inertia)` -> forms of mass and slices, (alpha, beta, e); their derivatives with respect to s; and second
    derivatives of the last three."""
    s, c, inertia = ca.SX.sym("s"), ca.SX.sym("c", ENERGY_ORDERS + 1), ca.SX.sym("i", 2)
    along = ca.vertcat(1, *slopes(ca.vertsplit(c)), ca.SX.nan(2))

    def by_s(x: Any) -> Any:
        return ca.jtimes(x, ca.vertcat(s, c), along)

    at = energy(s, ca.vertsplit(c), inertia)
    values = [ca.densify(ca.vertcat(*x)) for x in (at.mass, at.slices, (at.alpha, at.beta, at.e))]
    first = [by_s(x) for x in values]
    return ca.Function("energy", [s, c, inertia], [*values, *first, by_s(first[2])])


@dataclass(frozen=True)
class Arc:
    """An arc with bend w [rad], length [m], mass [kg] and an energy; c: Stumpff functions of |w|^2, as symbols or numbers."""

    energy: Energy
    w: Any
    length: Any
    mass: Any
    inertia: Any
    c: Any

    def mass_matrix(self) -> Any:
        """9 x 9, for the twist of its base and the rates of `(w_x, w_y, L)`."""
        mass, slices, (alpha, beta, e), _, _, (alpha_s, beta_s, e_s), _ = self.functions()
        w, length, m = self.w, self.length, self.mass
        b, n = LEAN @ w, across(w)
        at = FORM.read(m * length**2 * mass + slices)
        centre = alpha * b + beta * UP
        moved = length * (alpha * LEAN + (alpha_s * b + beta_s * UP) @ (2 * w.T))
        turning = at.t0 * ca.SX.eye(3) + at.t1 * b @ b.T + at.t2 * (b @ UP.T + UP @ b.T) + at.t3 * UP @ UP.T
        coupling = (at.k1 * UP - at.k4 * b) @ n + at.k2 * PLANE + at.k3 * in_plane(w) @ w.T
        bending = at.f1 * ca.SX.eye(2) + at.f2 * w @ w.T
        pulling, still = m * length * e_s * w, ca.SX(3, 1)
        own = ca.blockcat([[bending, pulling], [pulling.T, m * e]])
        to_base = ca.vertcat(ca.horzcat(m * moved, m * centre), ca.horzcat(coupling, still))
        hat = m * length * so3.hat(centre)
        base = ca.blockcat([[m * ca.SX.eye(3), -hat], [hat, turning]])
        return ca.blockcat([[base, to_base], [to_base.T, own]])

    def velocity_forces(self, W: Any) -> Any:
        """Forces (9) at the twist of the base and the rates W (9), without accelerations."""
        at = _ArcMotion(self, W)
        carried = ca.cross(at.omega, W[0:3])
        centre, by_bend, by_length, acceleration = at.centre()
        bending, pulling = at.bending_forces()
        return ca.vertcat(
            self.mass * (carried + acceleration),
            at.turning_forces() + self.mass * ca.cross(centre, carried),
            bending + self.mass * by_bend(carried),
            pulling + self.mass * ca.dot(by_length, carried),
        )

    def functions(self) -> list[Any]:
        """Result of `_functions`, with the triples as lists."""
        values = _functions(self.energy).call([ca.dot(self.w, self.w), self.c, ca.vertcat(*self.inertia)])
        return [ca.vertsplit(x) if x.numel() == 3 else x for x in values]


class _ArcMotion:
    """An arc and its velocities: products of the vectors, the form, and its derivatives with respect to s, the length and time."""

    def __init__(self, arc: Arc, W: Any) -> None:
        self.arc, self.omega, self.u, self.pull = arc, W[3:6], W[6:8], W[8]
        mass, slices, self.means, mass_s, slices_s, self.means_s, self.means_ss = arc.functions()
        w, u, omega, z, square = arc.w, self.u, self.omega, W[5], arc.mass * arc.length**2
        self.b, self.n, self.lean = LEAN @ w, across(w).T, LEAN @ u
        self.B, self.B_dot = ca.dot(self.b, omega), ca.dot(self.lean, omega)
        self.sigma, self.nu, self.u_u = ca.dot(w, u), ca.dot(self.n, u), ca.dot(u, u)
        self.w_omega, self.u_omega = ca.dot(w, omega[0:2]), ca.dot(u, omega[0:2])
        self.products = ca.vertcat(
            ca.dot(omega, omega) / 2, self.B**2 / 2, self.B * z, z**2 / 2, self.nu * z, self.u_omega,
            self.sigma * self.w_omega, -self.nu * self.B, self.u_u / 2, self.sigma**2 / 2,
        )  # fmt: skip
        self.by_s, self.by_length = square * mass_s + slices_s, 2 * arc.mass * arc.length * mass
        self.form = FORM.read(square * mass + slices)
        self.rate = FORM.read(2 * self.sigma * self.by_s + self.pull * self.by_length)
        self.on_b = self.form.t1 * self.B + self.form.t2 * z - self.form.k4 * self.nu
        self.on_w = self.form.k3 * self.sigma

    def turning_forces(self) -> Any:
        """Rate of the angular momentum `t0 omega + on_b b + k2 u + on_w w + on_z e3` about the base."""
        at, rate, w, u, z = self.form, self.rate, self.arc.w, self.u, self.omega[2]
        on_z = at.t2 * self.B + at.t3 * z + at.k1 * self.nu
        b_rate = rate.t1 * self.B + rate.t2 * z - rate.k4 * self.nu + at.t1 * self.B_dot
        z_rate = rate.t2 * self.B + rate.t3 * z + rate.k1 * self.nu + at.t2 * self.B_dot
        w_rate = rate.k3 * self.sigma + at.k3 * self.u_u
        momentum = at.t0 * self.omega + self.on_b * self.b + in_plane(at.k2 * u + self.on_w * w) + on_z * UP
        along_axes = rate.t0 * self.omega + b_rate * self.b + self.on_b * self.lean + z_rate * UP
        return along_axes + in_plane((rate.k2 + self.on_w) * u + w_rate * w) + ca.cross(self.omega, momentum)

    def bending_forces(self) -> tuple[Any, Any]:
        """Rates of the momenta `on_n n + k2 omega + f1 u + along w` of the bend, and of the length, without those of the centre."""
        at, rate, w, flat, z = self.form, self.rate, self.arc.w, self.omega[0:2], self.omega[2]
        m, length, pull, e_s, e_ss = self.arc.mass, self.arc.length, self.pull, self.means_s[2], self.means_ss[2]
        on_n = at.k1 * z - at.k4 * self.B
        n_rate = rate.k1 * z - rate.k4 * self.B - at.k4 * self.B_dot
        along_rate = rate.k3 * self.w_omega + at.k3 * self.u_omega + rate.f2 * self.sigma + at.f2 * self.u_u
        along_rate += m * pull * (2 * self.sigma * length * e_ss + pull * e_s)
        slope = ca.dot(self.products, self.by_s) + m * pull * (length * e_ss * self.sigma + e_s * pull / 2)
        bending = n_rate * self.n - 2 * on_n * self.lean[0:2] + (rate.k2 - self.on_w) * flat + rate.f1 * self.u
        bending += (along_rate - 2 * slope) * w - self.on_b * across(flat).T
        pulling = m * (length * (2 * self.sigma**2 * e_ss + self.u_u * e_s) + 2 * e_s * self.sigma * pull)
        return bending, pulling - ca.dot(self.products, self.by_length)

    def centre(self) -> tuple[Any, Callable[[Any], Any], Any, Any]:
        """Position of the centre; the force on the bend from a force on it; its derivative with respect to the length; its
        acceleration."""
        w, length, sigma, omega = self.arc.w, self.arc.length, self.sigma, self.omega
        straight, leaning = (x[0] * self.b + x[1] * UP for x in (self.means, self.means_s))
        changing = self.means[0] * self.lean + 2 * sigma * leaning
        position, velocity = length * straight, self.pull * straight + length * changing
        bent = 4 * sigma * self.means_s[0] * self.lean + 2 * self.u_u * leaning
        bent += 4 * sigma**2 * (self.means_ss[0] * self.b + self.means_ss[1] * UP)
        acceleration = (
            ca.cross(omega, ca.cross(omega, position) + 2 * velocity) + 2 * self.pull * changing + length * bent
        )

        def by_bend(force: Any) -> Any:
            return length * (self.means[0] * LEAN.T @ force + 2 * ca.dot(leaning, force) * w)

        return position, by_bend, straight, acceleration


Values = Annotated[tuple[Value, ...], Field(min_length=1), OneOrList()]


ARC_MASS = ARC + Fields("mass", "diameter", "tangent")
"""Constants of the coordinates, mass [kg], inertia of all slices about a diameter and about the tangent [kg m^2]."""


class ArcModel(RodModelBase):
    """Circular arcs in series that stretch and bend but neither shear nor twist. Final classes add `kind` and the mass."""

    fineness: ClassVar[str] = "sections"

    sections: Annotated[int, Field(ge=1, le=500, strict=True)] = 1
    """Number of arcs, all of the same undeformed length; of a tapered rod each is as thick as in its middle."""
    coordinates: Option = "bending"
    """Coordinates of each arc: its bending angle times the direction of bending, `b_x` and `b_y` [rad], and its
    `length` [m] (`bending`); the strains `bend_x`, `bend_y` [1/m] and `stretch` [-] (`strains`); or the changes of
    length of three muscles, `l1`, `l2`, `l3` [m] (`muscles`), at 0, 120 and 240 degrees from the section's x axis. A
    strain that is not free removes its coordinate: without `bend_y` there is no `b_x`, without `bend_x` no `b_y`, and
    without `stretch` no `length`. Angle and plane of bending and the radius can be recorded as outputs."""
    muscle_radius: Length | None = None
    """Distance of the muscles from the axis [m], for coordinates `muscles`."""
    muscle_limits: LengthLimits | None = None
    """Range of the length change of each muscle, for coordinates `muscles`."""
    stiffness: Values | None = None
    """Stiffness of each coordinate of an arc, one for all or one each [N/m, N m/rad, ...]. It replaces the stiffness
    of section and material, and is that of an entire arc, not per length."""
    damping: Values | None = None
    """Damping of each coordinate of an arc, likewise [N s/m, ...]."""
    names: Annotated[tuple[Name, ...], OneOrList()] | None = None
    """Names of all coordinates of the rod in order, instead of names like `l1[1]`."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return tuple(k for k in free if k in ARC_FREE)

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        free = rod.free_strains()
        yield from self._muscle_problems(free, value)
        yield from self._list_problems(ArcCoordinates(self.coordinates, free).size)
        if rod.shape is not None:
            hint = "remove `shape` and give `initial` values of the arcs' coordinates, or choose another rod model"
            yield ("shape",), "circular arcs cannot follow a given shape", hint
        if rod.rayleigh is not None:
            hint = "give `damping`, of the rod or of the model's coordinates"
            yield ("rayleigh",), "circular arcs do not support Rayleigh damping", hint
        rest = [value(strain) for strain in rod.rest]
        for k in (3, 4):
            if k not in free and rest[k] != 0:
                text = (
                    f"the rest strain {LABELS[k]} is {rest[k]:g}, but arcs whose {LABELS[k]} is not free are straight"
                )
                hint = "set that rest strain to zero, or use one of the models pcs, pseudo_rigid and gvs"
                yield ("rest", k), text, hint
        if any(rest[k] for k in (0, 1, 5)):
            hint = "set those rest strains to zero, or choose another rod model"
            yield ("rest",), "circular arcs neither shear nor twist, so they cannot rest sheared or twisted", hint

    def _muscle_problems(self, free: Free, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        here = "model"
        if self.coordinates == "muscles":
            if self.muscle_radius is None or value(self.muscle_radius) <= 0:
                hint = "give the distance of the muscles from the axis"
                yield (here, "muscle_radius"), "coordinates `muscles` need a muscle_radius above zero", hint
            if free != ARC_FREE:
                text = "three muscle lengths describe an arc that stretches and bends in any direction"
                yield ("strains",), text, "remove `strains`, or choose coordinates `bending`"
        elif self.muscle_limits is not None:
            hint = "choose coordinates `muscles`, or remove the limits"
            yield (here, "muscle_limits"), f"coordinates `{self.coordinates}` are not lengths of muscles", hint

    def _list_problems(self, size: int) -> Iterator[Problem]:
        """Lists must have one entry per coordinate of an arc, of which there are `size`; names must be unique."""
        here = "model"
        for key, allowed in (("stiffness", (1, size)), ("damping", (1, size)), ("names", (size * self.sections,))):
            given = getattr(self, key)
            if given is not None and len(given) not in allowed:
                wanted = " or ".join(map(str, dict.fromkeys(allowed)))
                yield (here, key), f"{key} has {len(given)} entries, expected {wanted}", ""
        if self.names is not None and len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            yield (here, "names"), f"the coordinate name '{twice}' is used twice", ""

    def arcs(self) -> int:
        return self.sections

    @abstractmethod
    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Type of the mass of an arc, with the constants `ARC_MASS`."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        radius = 1.0 if self.muscle_radius is None else build.value(self.muscle_radius)
        length, kind = rod.length / self.sections, ArcCoordinates(self.coordinates, rod.free)
        start = rod.rest if rod.stress_free else (0.0,) * 6
        unstressed, started = (kind.values(length, strains, radius) for strains in (rod.rest, start))
        arc = _Arc(kind, kind.constants(length, start, radius), unstressed, started)
        motion, inertia = arc_motion(kind), self.inertia(kind)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        elements: list[Element] = []
        ends = [k / self.sections for k in range(self.sections + 1)]
        remark_steps(build, rod, ends)
        for k in range(self.sections):
            frames = frames_on_segment(build, rod, k, ends)
            points = GAUSS if build.is_loaded_along(rod.name) else ()
            places = (*frames.values(), *(x for x, _ in points), 1.0)
            element = build.element(node, [build.plan(motion, placement, (x, *arc.constants)) for x in places])
            for number, (x, weight) in zip(element.nodes[len(frames) :], points, strict=False):
                at = ends[k] + x / self.sections
                build.rod_piece(rod.name, number, se3.identity(), weight * length, at, (ends[k], ends[k + 1]))
            self._name(build, rod, element, arc, k)
            section = rod.mean_section(*ends[k : k + 2])
            x, y, z, _ = (length * i for i in section.rotary)
            constants = [*arc.constants, length * section.mass, (x + y) / 2, z]
            build.inertia(inertia, [(node, placement)], [element], constants)
            elements.append(element)
            if self.muscle_limits is not None:
                self.muscle_limits.apply(build, element.q_at, element.v_at, rod.name, 3)
            for number, frame in zip(element.nodes, frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            node, placement = element.nodes[-1], se3.identity()
            build.rod_stations(rod.name, [(node, placement)], [(k + 1) / self.sections])
        build.name_frame(f"{rod.name}.tip", node, placement)
        self._add_forces(build, rod, elements, arc)

    def _name(self, build: Build, rod: RodProperties, element: Element, arc: _Arc, k: int) -> None:
        for j, (label, unit) in enumerate(zip(arc.kind.labels, arc.kind.units, strict=True)):
            own = f"{label}[{k + 1}]" if self.names is None else self.names[k * arc.kind.size + j]
            build.coordinate(f"{rod.name}.{own}", element.q_at + j, element.v_at + j, arc.started[j], unit=unit)
        build.add_arc(rod.name, element.nodes[-1], arc.kind)

    def _span(self, x: float) -> tuple[float, float]:
        """Ends of the arc with its middle at fraction x of the length."""
        return x - 0.5 / self.sections, x + 0.5 / self.sections

    def _add_forces(self, build: Build, rod: RodProperties, elements: Sequence[Element], arc: _Arc) -> None:
        length, fractions = rod.length / self.sections, [(k + 0.5) / self.sections for k in range(self.sections)]
        if self.stiffness is None and self.damping is None:
            pieces = [
                RodPiece(at, arc.constants, length, x, rod.rest, self._span(x))
                for at, x in zip(elements, fractions, strict=True)
            ]
            add_pieces(build, rod, arc_piece(arc.kind), pieces, order=2, viscous=_is_viscous(rod))
            return
        force, state = direct_force(arc.kind, signals=rod.signals), direct_state(arc.kind)
        constants = [*arc.constants, *arc.unstressed]
        for values in (self.stiffness or (0.0,), self.damping or (0.0,)):
            constants += [build.value(v) for v in (values * arc.kind.size if len(values) == 1 else values)]
        for at, x in zip(elements, fractions, strict=True):
            index = build.system.coordinate_force(force, at.q_at, at.v_at, constants, rod.actuation or 0, rod.name)
            note_sample(build, rod, x, index, state, order=2)


@dataclass(frozen=True)
class _Arc:
    """An arc in numbers or expressions: its coordinates, their constants, their stress-free and initial values."""

    kind: ArcCoordinates
    constants: list[Any]
    unstressed: list[Any]
    started: list[Any]


def energy_inertia(name: str, coordinates: ArcCoordinates, energy: Energy) -> Inertia:
    """Inertia of an arc with this energy; the constants are `ARC_MASS`."""

    def arc(z: Any, c: Any, y: Any) -> Arc:
        at = ARC_MASS.read(c)
        return Arc(energy, z[0:2], at.offset + z[2], at.mass, (at.diameter, at.tangent), y)

    functions = Functions(
        ENERGY_ORDERS + 1,
        lambda z, c: ca.vertcat(*stumpff(ca.dot(z[0:2], z[0:2]), ENERGY_ORDERS)),
        lambda z, c, y: stumpff_slopes(y, z[0:2]),
    )
    return Inertia(
        name, 1, (Vector(coordinates.size),), ARC_MASS.size,
        mass=lambda pose, z, c, y: arc(z, c, y).mass_matrix(),
        velocity_forces=lambda pose, z, W, c, y: arc(z, c, y).velocity_forces(W),
        through=coordinates.matrix, functions=functions,
    )  # fmt: skip


def _is_viscous(rod: RodProperties) -> bool:
    return all(isinstance(power, int | float) and power == 1 for power in rod.damping_power)


def _strain_map(coordinates: ArcCoordinates, c: Any) -> Any:
    """Derivative of the six strains with respect to the coordinates, 6 x size."""
    A = coordinates.matrix(c) / ARC.read(c).undeformed
    return ca.vertcat(ca.SX(2, coordinates.size), A[2, :], A[0:2, :], ca.SX(1, coordinates.size))


def _strain(coordinates: ArcCoordinates, q: Any, c: Any) -> Any:
    """The six strains of an arc; the constants begin with `ARC`."""
    at = ARC.read(c)
    strain = ca.densify(_strain_map(coordinates, c) @ q)
    strain[2] += at.offset / at.undeformed - 1
    return strain


@cache
def arc_piece(coordinates: ArcCoordinates) -> PieceKind:
    """An arc; the constants of its shape are those of its coordinates."""

    def state(q: Any, c: Any) -> PieceState:
        by_q = _strain_map(coordinates, c)
        return PieceState(_strain(coordinates, q, c), lambda v: by_q @ v, lambda force: by_q.T @ force)

    return PieceKind(f"arc_{coordinates.name}", (Vector(coordinates.size),), ARC, state)


@cache
def direct_state(coordinates: ArcCoordinates) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the middle section of an arc with springs and dampers on its coordinates: the forces along the strains that do the
    same work."""
    fields = _direct_fields(coordinates.size)

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        at, by_q = fields.read(c), ca.densify(_strain_map(coordinates, c))
        rows, strain = list(coordinates.free), _strain(coordinates, q, c)
        answer = at.stiffness * (q - at.rest) + at.damping * v
        material = ca.SX.zeros(6)
        material[rows] = ca.solve(by_q[rows, :].T, answer) / at.undeformed
        return SectionState(strain, material, ca.SX(actuation(strain, signal)))

    return state


def _direct_fields(size: int) -> Fields:
    """Constants of `direct_force`."""
    return ARC + Fields(f"rest:{size}", f"stiffness:{size}", f"damping:{size}")


@cache
def direct_force(coordinates: ArcCoordinates, *, signals: int = 0) -> CoordinateForce:
    """Springs and dampers on the coordinates themselves, and actuation along the strains."""
    size = coordinates.size
    fields = _direct_fields(size)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = fields.read(c)
        wrench = at.undeformed * actuation(_strain(coordinates, q, c), signal)
        drive = _strain_map(coordinates, c).T @ wrench if signals else ca.DM.zeros(size)
        friction = at.damping * v
        energy = ca.dot(at.stiffness * (q - at.rest), q - at.rest) / 2
        return Effect(drive - at.stiffness * (q - at.rest) - friction, energy, ca.dot(friction, v), ca.dot(drive, v))

    name = f"arc_{coordinates.name}_direct{signal_word(signals)}"
    return CoordinateForce(name, (Vector(size),), fields.size, signals, effect)


class Pcc(ArcModel):
    """Piecewise constant curvature: a series of circular arcs, two or three coordinates each, exact mass, for controllers."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  tube: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
materials:
  silicone: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: tube, material: silicone, model: {kind: pcc, sections: 2}}
outputs:
  angle: {rod: arm, section: 2, quantity: angle}
"""

    kind: Literal["pcc"] = "pcc"
    rotary_inertia: StrictBool = True
    """Whether to include the rotary inertia of slices, in addition to the motion of their centres. For a slice that
    is not round the mean of its two diameters is used."""

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        return arc_inertia(coordinates, rotary=self.rotary_inertia)


@cache
def arc_inertia(coordinates: ArcCoordinates, *, rotary: bool) -> Inertia:
    """Mass of an arc on its base and coordinates, with the constants `ARC_MASS`."""
    name = f"arc_{coordinates.name}" + ("" if rotary else "_points")
    return energy_inertia(name, coordinates, exact_energy if rotary else exact_energy_of_points)


def exact_energy(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """Energy of uniform mass along the arc."""
    i, about_diameter, excess = arc_integrals(s, c), inertia[0], inertia[1] - inertia[0]
    mass = FORM.write(
        t0=2 * i.alpha, t1=-i.alpha_alpha, t2=-i.alpha_beta, t3=-i.beta_beta,
        k1=i.alpha_alpha, k2=i.alpha_beta, k3=-2 * i.alpha_beta_s, k4=0, f1=i.alpha_alpha, f2=i.gamma_gamma,
    )  # fmt: skip
    slices = FORM.write(
        t0=about_diameter, t1=excess * i.beta_beta, t2=excess * i.c_beta, t3=excess * i.c_c,
        k1=about_diameter * i.alpha - excess * i.c_alpha, k2=about_diameter * i.beta, k3=about_diameter * i.gamma,
        k4=excess * i.alpha_beta, f1=2 * about_diameter * i.alpha + excess * s * i.alpha_alpha,
        f2=2 * about_diameter * i.kappa - excess * i.alpha_alpha,
    )  # fmt: skip
    return ArcEnergy(mass, slices, i.alpha, i.beta, 2 * i.alpha)


def exact_energy_of_points(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """The same without the rotation of slices."""
    return replace(exact_energy(s, c, inertia), slices=[0.0] * FORM.size)


CONSTANTS_FILE = Path(__file__).with_name("pcc_cog_constants.json")


class PccCog(ArcModel):
    """Piecewise constant curvature with the mass of each arc lumped at its centre of gravity: a published approximation
    of `pcc`, for comparison. It costs as much as the exact mass in closed form."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  tube: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
materials:
  silicone: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.48}
rods:
  arm:
    length: 15 cm
    section: tube
    material: silicone
    chambers:
      first: {force: 1 N, positions: [[10 mm, 0]]}
    model: {kind: pcc_cog, coordinates: muscles, muscle_radius: 10 mm, names: [l11, l12, l13]}
"""

    kind: Literal["pcc_cog"] = "pcc_cog"

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        return lumped_inertia(coordinates)


@cache
def energy_constants() -> tuple[float, ...]:
    """The six constants [-]."""
    return tuple(json.loads(CONSTANTS_FILE.read_text(encoding="utf-8"))["constants"])


@cache
def lumped_inertia(coordinates: ArcCoordinates) -> Inertia:
    """Mass of an arc on its base and coordinates; the constants are `ARC_MASS`."""
    return energy_inertia(f"lumped_arc_{coordinates.name}", coordinates, lumped_energy(energy_constants()))


@cache
def lumped_energy(k: tuple[float, ...]) -> Energy:
    """Energy with the six constants k; the slices are discs.

    The centre is `L p` with `p = a b + d e3`, and the mean columns of R are `e_i - b_i p`.
    """

    def energy(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
        a, d = c[3], c[2]
        a_s, d_s = (3 * c[5] - c[4]) / 2, (2 * c[4] - c[3]) / 2
        square, square_s = a * a * s + d * d, a * a + 2 * (a * a_s * s + d * d_s)
        rates, twist = 4 * (a * a_s + a_s * a_s * s + d_s * d_s), 2 * (a * d_s - d * a_s)
        mass = FORM.write(
            t0=k[0] * square, t1=-k[0] * a * a, t2=-k[0] * a * d, t3=-k[0] * d * d,
            k1=k[1] * a * a, k2=k[1] * a * d, k3=-k[1] * twist, k4=0, f1=k[2] * a * a, f2=k[2] * rates,
        )  # fmt: skip
        less = a * (2 - a * s)
        discs = FORM.write(
            t0=k[3] * (1 - less * s + d * d * s), t1=k[3] * less, t2=k[3] * d * (1 - a * s), t3=k[3] * (1 - d * d * s),
            k1=k[4] * s * a * a, k2=k[4] * d * (1 + a * s), k3=k[4] * (2 * d_s - s * twist), k4=0,
            f1=k[5] * (square + s * a * a), f2=k[5] * (2 * square_s + s * rates),
        )  # fmt: skip
        return ArcEnergy(mass, [inertia[0] * x for x in discs], a, d, k[2] * square)

    return energy
