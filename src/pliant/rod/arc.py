"""Circular arcs without a singularity at the straight pose: their shape, and integrals along them in closed form.

A section bends with the rotation vector `w = (w_x, w_y, 0)` [rad] from its base to its end and has the length L [m]. With
`b = (w_y, -w_x, 0)`, the way it leans, `s = |w|^2`, and x from 0 to 1 along it,

    p(x) = L (alpha b + beta e3),   alpha = x^2 c2(x^2 s),   beta = x c1(x^2 s),   R(x) = exp(x hat(w))

where `c_n(s) = sum_k (-s)^k / (2k + n)!` are Stumpff's functions: c0 = cos, c1 = sin(x)/x, c2 = (1 - cos x)/x^2, .... They
are entire, and closed under what is needed here:

    c_n = 1/n! - s c_(n+2),    2 dc_n/ds = n c_(n+2) - c_(n+1),    integral_0^1 x^n c_n(x^2 s) dx = c_(n+1)(s).

So the two of highest order give all others by products and sums, and every integral below is smooth at s = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.arc_coordinates import CONSTANTS as ARC
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.motion.base import Motion, Vector

# Below this value of s the series with so many terms is exact to round-off, with three derivatives.
SERIES_BELOW = 20.0
SERIES_TERMS = 16
HIGHEST = 7


def stumpff(s: Any) -> list[Any]:
    """c0 to c7 as functions of s, for any s not below zero."""
    near = s < SERIES_BELOW
    safe = ca.if_else(near, SERIES_BELOW, s)
    root = ca.sqrt(safe)
    far = [ca.cos(root), ca.sin(root) / root]
    for n in range(HIGHEST - 1):
        far.append((1 / math.factorial(n) - far[n]) / safe)
    c = [ca.if_else(near, _series(s, n), far[n]) for n in (HIGHEST - 1, HIGHEST)]
    for n in reversed(range(HIGHEST - 1)):
        c.insert(0, 1 / math.factorial(n) - s * c[1])
    return c


def _series(s: Any, first: int) -> Any:
    value: Any = 0.0
    for k in reversed(range(SERIES_TERMS)):
        value = (-1) ** k / math.factorial(2 * k + first) + s * value
    return value


@dataclass(frozen=True)
class ArcIntegrals:
    """Integrals over x from 0 to 1 of products of alpha, beta, gamma = x^3 c3(x^2 s) and c = cos(x |w|), by s.

    alpha_s and beta_s are derivatives by s. All are exact, for any bend.
    """

    alpha: Any
    beta: Any
    gamma: Any
    alpha_s: Any
    beta_s: Any
    alpha_alpha: Any
    alpha_beta: Any
    beta_beta: Any
    gamma_gamma: Any
    alpha_beta_s: Any
    """Of alpha beta_s - beta alpha_s, which is -alpha gamma / 2."""
    kappa: Any
    """Of (x^2 - 2 alpha) / (2 s)."""
    c_c: Any
    c_alpha: Any
    c_beta: Any


def arc_integrals(s: Any) -> ArcIntegrals:
    """All integrals of a section's mass matrix."""
    c0, c1, c2, c3, c4, c5, c6, c7 = stumpff(s)
    squared = (c4 - 3 * c5 + c2 * c3) / 2
    return ArcIntegrals(
        alpha=c3,
        beta=c2,
        gamma=c4,
        alpha_s=(3 * c5 - c4) / 2,
        beta_s=(2 * c4 - c3) / 2,
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


@cache
def arc_motion(coordinates: ArcCoordinates) -> Motion:
    """A section of an arc at a fraction of its length. Constants: the fraction x, those of the coordinates."""

    def pose(q: Any, c: Any) -> Pose:
        x, (w, length) = c[0], coordinates.shape(q, c[1:])
        wx, wy = w[0], w[1]
        _, c1, c2, *_ = stumpff(x * x * ca.dot(w, w))
        alpha, beta = x * x * c2, x * c1
        # exp(x hat(w)) = (1 - alpha s) 1 + beta hat(w) + alpha w w'
        R = ca.blockcat(
            [
                [1 - alpha * wy * wy, alpha * wx * wy, beta * wy],
                [alpha * wx * wy, 1 - alpha * wx * wx, -beta * wx],
                [-beta * wy, beta * wx, 1 - alpha * (wx * wx + wy * wy)],
            ]
        )
        return R, length * ca.vertcat(alpha * wy, -alpha * wx, beta)

    def subspace(q: Any, c: Any) -> Any:
        x, (w, length) = c[0], coordinates.shape(q, c[1:])
        _, c1, c2, c3, c4, *_ = stumpff(x * x * ca.dot(w, w))
        alpha, beta, gamma = x**2 * c2, x * c1, x**3 * c3
        alpha_s, beta_s = x**4 * (2 * c4 - c3) / 2, x**3 * (c3 - c2) / 2
        angular = beta * PLANE + alpha * UP @ across(w) + gamma * in_plane(w) @ w.T
        b = LEAN @ w
        p = alpha * b + beta * UP
        moved = length * (alpha * LEAN + (alpha_s * b + beta_s * UP) @ (2 * w.T))
        linear = ca.horzcat(moved + length * so3.hat(p) @ angular, p)
        return ca.vertcat(linear, ca.horzcat(angular, ca.SX(3, 1))) @ coordinates.matrix(c[1:])

    return Motion(f"arc_{coordinates.name}", (Vector(coordinates.size),), 1 + ARC.size, pose, subspace)


PLANE = ca.DM([[1, 0], [0, 1], [0, 0]])
LEAN = ca.DM([[0, 1], [-1, 0], [0, 0]])
UP = ca.DM([0, 0, 1])


def in_plane(w: Any) -> Any:
    """`(w_x, w_y, 0)`."""
    return ca.vertcat(w, 0)


def across(w: Any) -> Any:
    """The row n with `n dw = (w x dw)_z`."""
    return ca.horzcat(-w[1], w[0])


def mean_position(w: Any, length: Any, i: ArcIntegrals) -> tuple[Any, Any]:
    """The centre of the arc, and its derivative by `(w_x, w_y, L)` (3 x 3)."""
    b = LEAN @ w
    p = i.alpha * b + i.beta * UP
    moved = length * (i.alpha * LEAN + (i.alpha_s * b + i.beta_s * UP) @ (2 * w.T))
    return length * p, ca.horzcat(moved, p)


def arc_mass(w: Any, length: Any, mass: Any, rotary: Any, polar: Any) -> Any:
    """Mass matrix of an arc of uniform mass, 9 x 9, by the twist of its base and the rates of `(w_x, w_y, L)`.

    mass [kg]; rotary, polar: inertia of all its slices about a diameter and about the tangent [kg m^2].
    """
    i = arc_integrals(ca.dot(w, w))
    b, n, plane = LEAN @ w, across(w).T, in_plane(w)
    centre, moved = mean_position(w, length, i)
    square = mass * length * length
    second = i.alpha_alpha * b @ b.T + i.alpha_beta * (b @ UP.T + UP @ b.T) + i.beta_beta * UP @ UP.T
    tangents = i.beta_beta * b @ b.T + i.c_beta * (b @ UP.T + UP @ b.T) + i.c_c * UP @ UP.T
    excess = polar - rotary
    turning = square * (2 * i.alpha * ca.DM.eye(3) - second) + rotary * ca.DM.eye(3) + excess * tangents
    coupling = square * (
        i.alpha_alpha * so3.hat(b) @ LEAN
        + i.alpha_beta * so3.hat(UP) @ LEAN
        + i.alpha_beta_s * ca.cross(b, UP) @ (2 * w.T)
    )
    coupling += rotary * (i.beta * PLANE + i.alpha * UP @ n.T + i.gamma * plane @ w.T)
    coupling -= excess * (i.c_alpha * UP + i.alpha_beta * b) @ n.T
    bending = square * (i.alpha_alpha * ca.DM.eye(2) + i.gamma_gamma * w @ w.T)
    bending += 2 * rotary * (i.alpha * ca.DM.eye(2) + i.kappa * w @ w.T) + excess * i.alpha_alpha * n @ n.T
    pulling = 2 * mass * length * i.alpha_s * w
    return ca.blockcat(
        [
            [mass * ca.SX.eye(3), -mass * so3.hat(centre), mass * moved],
            [mass * so3.hat(centre), turning, ca.horzcat(coupling, ca.SX(3, 1))],
            [
                mass * moved.T,
                ca.horzcat(coupling, ca.SX(3, 1)).T,
                ca.blockcat([[bending, pulling], [pulling.T, 2 * mass * i.alpha]]),
            ],
        ]
    )
