"""Circular arcs without a singularity at the straight pose: their shape, and integrals along them in closed form.

A section bends with the rotation vector `w = (w_x, w_y, 0)` [rad] from its base to its end and has the length L [m]. With
`b = (w_y, -w_x, 0)`, the direction of bending, `s = |w|^2`, and x from 0 to 1 along it,

    p(x) = L (alpha b + beta e3),   alpha = x^2 c2(x^2 s),   beta = x c1(x^2 s),   R(x) = exp(x hat(w))

with Stumpff's functions `c_n`: every integral along the arc is smooth at s = 0.

Kinetic energy of an arc on a moving base: mass matrix and velocity forces from a few functions of its bend.

An arc is symmetric about its axis: all transverse directions are equivalent. With u the rate of its bend w, omega the angular
velocity of its base, and

    b = (w_y, -w_x, 0),   n = (-w_y, w_x),   B = b.omega,   sigma = w.u,   nu = n.u,

its energy of rotation and bending is, with ten functions of `s = |w|^2` (`FORM`),

    1/2 (t0 |omega|^2 + t1 B^2 + 2 t2 B omega_z + t3 omega_z^2)
    + k1 nu omega_z + k2 u.omega + k3 sigma w.omega - k4 nu B + 1/2 (f1 |u|^2 + f2 sigma^2),

for its mass in units of mass times length squared, for the rotation of its slices directly. With L' the rate of its length, `mass
(e L'^2 / 2 + L e_s sigma L')` is the contribution of a change of length; the velocity V of the base couples with the momentum of
the centre `p = L (alpha b + beta e3)`.

The forces that the velocities require follow from this energy by Lagrange's equations. What contains V is the mass matrix times the
acceleration `omega x V` that the base has at constant V, and what contains omega is linear in the derivatives of the form, so
nothing else has to be differentiated.

Stumpff functions `c_n(s) = sum_k (-s)^k / (2k + n)!`: c0 = cos, c1 = sin(x)/x, c2 = (1 - cos x)/x^2, ... with s = x^2.

They are entire, and closed under the operations needed for circular arcs:

    c_n = 1/n! - s c_(n+2),    2 dc_n/ds = n c_(n+2) - c_(n+1),    integral_0^1 x^n c_n(x^2 s) dx = c_(n+1)(s).

So the two of highest order determine all others by products and sums, including derivatives, without a singularity at s = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.parts.geometry import so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion.arc_coordinates import CONSTANTS as ARC
from pliant.parts.motion.arc_coordinates import ArcCoordinates
from pliant.parts.motion.base import Functions, Motion, Vector
from pliant.parts.motion.fields import Fields

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
        alpha=c3,
        beta=c2,
        gamma=c4,
        alpha_alpha=squared,
        alpha_beta=c2 * c2 / 2,
        beta_beta=(c2 + c3 - s * c2 * c3) / 2,
        gamma_gamma=(5 * c7 - 3 * c6 + c4 / 6 + c5 / 2 - s * c4 * c5) / 2,
        alpha_beta_s=-c3 * c3 / 4,
        kappa=c5,
        c_c=(1 + c0 * c1) / 2,
        c_alpha=c3 - s * squared,
        c_beta=c1 * c1 / 2,
    )


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
