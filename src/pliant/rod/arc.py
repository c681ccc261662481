"""Circular arcs without a singularity at the straight pose: their shape, and integrals along them in closed form.

A section bends with the rotation vector `w = (w_x, w_y, 0)` [rad] from its base to its end and has the length L [m]. With
`b = (w_y, -w_x, 0)`, the direction of bending, `s = |w|^2`, and x from 0 to 1 along it,

    p(x) = L (alpha b + beta e3),   alpha = x^2 c2(x^2 s),   beta = x c1(x^2 s),   R(x) = exp(x hat(w))

with Stumpff's functions `c_n` (`rod.stumpff`): every integral along the arc is smooth at s = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.geometry.se3 import Pose
from pliant.motion.arc_coordinates import CONSTANTS as ARC
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.motion.base import Functions, Motion, Vector
from pliant.rod.stumpff import slopes, stumpff


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


ORDERS = 8
"""Number of Stumpff functions for the motion of a section, with the derivatives of its tangents."""


@cache
def arc_motion(coordinates: ArcCoordinates) -> Motion:
    """A section of an arc at a fraction of its length. Constants: the fraction x, and those of the coordinates."""

    def functions(z: Any, c: Any) -> Any:
        return ca.vertcat(*stumpff(c[0] ** 2 * ca.dot(z[0:2], z[0:2]), ORDERS))

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
        through=lambda c: coordinates.matrix(c[1:]), functions=Functions(ORDERS + 1, functions, function_slopes),
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
