"""Kinetic energy of an arc on a moving base: mass matrix and velocity forces from a few functions of its bend.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.motion.fields import Fields
from pliant.rod.arc import LEAN, PLANE, UP, across, in_plane
from pliant.rod.stumpff import slopes

FORM = Fields("t0", "t1", "t2", "t3", "k1", "k2", "k3", "k4", "f1", "f2")
"""Functions of s in the energy of rotation and bending."""

ORDERS = 11
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
    s, c, inertia = ca.SX.sym("s"), ca.SX.sym("c", ORDERS + 1), ca.SX.sym("i", 2)
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
