"""Kinetic energy of an arc on a moving base: mass matrix and forces of the velocities from a few functions of its bend.

Nothing about an arc tells one direction across its axis from another. So with u the rate of its bend w, omega the angular
velocity of its base, and

    b = (w_y, -w_x, 0),   n = (-w_y, w_x),   B = b.omega,   sigma = w.u,   nu = n.u,

its energy of turning and bending is, with ten functions of `s = |w|^2` (`FORM`),

    1/2 (t0 |omega|^2 + t1 B^2 + 2 t2 B omega_z + t3 omega_z^2)
    + k1 nu omega_z + k2 u.omega + k3 sigma w.omega - k4 nu B + 1/2 (f1 |u|^2 + f2 sigma^2),

for its mass in units of mass times length squared, for the turning of its slices as it stands. With L' the rate of its
length, `mass (e L'^2 / 2 + L e_s sigma L')` is what a change of length adds; the velocity V of the base meets the momentum of
the centre `p = L (alpha b + beta e3)`.

The forces that the velocities ask for follow from this energy by Lagrange's equations. What contains V is the mass matrix times the
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
"""Functions of s that make the energy of turning and bending."""

ORDERS = 11
"""Stumpff's functions that energies of arcs need, with the derivatives of their tangents."""


@dataclass(frozen=True)
class ArcEnergy:
    """An energy as functions of s. mass, slices: `FORM` of the mass and of the turning of slices; alpha, beta: of the centre;
    e: mean square of the distance from the base over the length, as it counts for changes of length."""

    mass: list[Any]
    slices: list[Any]
    alpha: Any
    beta: Any
    e: Any


Energy = Callable[[Any, list[Any], Any], ArcEnergy]
"""`(s, c, inertia) -> energy`, with c Stumpff's functions of s and the inertia of all slices about a diameter and about the
tangent [kg m^2]."""


@cache
def _functions(energy: Energy) -> ca.Function:
    """`(s, c, inertia)` -> forms of mass and slices, (alpha, beta, e); the same by s; and the last three by s again."""
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
    """An arc of bend w [rad], length [m], mass [kg] and an energy; c: Stumpff's functions of |w|^2, as symbols or numbers."""

    energy: Energy
    w: Any
    length: Any
    mass: Any
    inertia: Any
    c: Any

    def mass_matrix(self) -> Any:
        """9 x 9, by the twist of its base and the rates of `(w_x, w_y, L)`."""
        mass, slices, (alpha, beta, e), _, _, (alpha_s, beta_s, e_s), _ = self._functions()
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
        mass, slices, means, mass_s, slices_s, means_s, means_ss = self._functions()
        w, length, m = self.w, self.length, self.mass
        omega, u, pull = W[3:6], W[6:8], W[8]
        flat, z = omega[0:2], omega[2]
        b, n, lean, turned = LEAN @ w, across(w).T, LEAN @ u, across(flat).T
        B, B_dot, sigma, nu, u_u = ca.dot(b, omega), ca.dot(lean, omega), ca.dot(w, u), ca.dot(n, u), ca.dot(u, u)
        w_omega, u_omega = ca.dot(w, flat), ca.dot(u, flat)
        basis = ca.vertcat(
            ca.dot(omega, omega) / 2, B * B / 2, B * z, z * z / 2,
            nu * z, u_omega, sigma * w_omega, -nu * B, u_u / 2, sigma * sigma / 2,
        )  # fmt: skip
        square = m * length**2
        by_s, by_length = square * mass_s + slices_s, 2 * m * length * mass
        at, rate = FORM.read(square * mass + slices), FORM.read(2 * sigma * by_s + pull * by_length)

        # angular momentum of turning and bending: t0 omega + on_b b + k2 u + on_w w + on_z e3
        on_b, on_w, on_z = at.t1 * B + at.t2 * z - at.k4 * nu, at.k3 * sigma, at.t2 * B + at.t3 * z + at.k1 * nu
        b_rate = rate.t1 * B + rate.t2 * z - rate.k4 * nu + at.t1 * B_dot
        w_rate = rate.k3 * sigma + at.k3 * u_u
        z_rate = rate.t2 * B + rate.t3 * z + rate.k1 * nu + at.t2 * B_dot
        momentum = at.t0 * omega + on_b * b + in_plane(at.k2 * u + on_w * w) + on_z * UP
        turning = rate.t0 * omega + b_rate * b + on_b * lean + z_rate * UP + ca.cross(omega, momentum)
        turning += in_plane((rate.k2 + on_w) * u + w_rate * w)

        # momentum of bending: on_n n + k2 omega + f1 u + along w
        e_s, e_ss = means_s[2], means_ss[2]
        on_n = at.k1 * z - at.k4 * B
        n_rate = rate.k1 * z - rate.k4 * B - at.k4 * B_dot
        along_rate = rate.k3 * w_omega + at.k3 * u_omega + rate.f2 * sigma + at.f2 * u_u
        along_rate += m * pull * (2 * sigma * length * e_ss + pull * e_s)
        slope = ca.dot(basis, by_s) + m * pull * (length * e_ss * sigma + e_s * pull / 2)
        bending = n_rate * n - 2 * on_n * lean[0:2] + (rate.k2 - on_w) * flat + rate.f1 * u
        bending += (along_rate - 2 * slope) * w - on_b * turned
        pulling = m * (length * (2 * sigma * sigma * e_ss + u_u * e_s) + 2 * e_s * sigma * pull) - ca.dot(
            basis, by_length
        )

        # the centre: position, velocity and what its acceleration has without the rates' own
        straight, leaning = means[0] * b + means[1] * UP, means_s[0] * b + means_s[1] * UP
        changing = means[0] * lean + 2 * sigma * leaning
        centre, velocity = length * straight, pull * straight + length * changing
        bent = 4 * sigma * means_s[0] * lean + 2 * u_u * leaning
        bent += 4 * sigma**2 * (means_ss[0] * b + means_ss[1] * UP)
        carried = ca.cross(omega, W[0:3])
        acceleration = ca.cross(omega, ca.cross(omega, centre) + 2 * velocity) + 2 * pull * changing + length * bent
        moved = length * (means[0] * LEAN.T @ carried + 2 * ca.dot(leaning, carried) * w)
        return ca.vertcat(
            m * (carried + acceleration),
            turning + m * ca.cross(centre, carried),
            bending + m * moved,
            pulling + m * ca.dot(straight, carried),
        )

    def _functions(self) -> list[Any]:
        values = _functions(self.energy).call([ca.dot(self.w, self.w), self.c, ca.vertcat(*self.inertia)])
        return [ca.vertsplit(x) if x.numel() == 3 else x for x in values]
