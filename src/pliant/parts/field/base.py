"""What fields share: added mass, and the state of a point of a part."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import Inertia
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields


def _symmetric(pose: Any, q: Any, c: Any) -> Any:
    M = ca.SX(6, 6)
    for k, (i, j) in enumerate(ENTRIES):
        M[i, j] = M[j, i] = c[k]
    return M


def _velocity_forces(pose: Any, q: Any, W: Any, c: Any) -> Any:
    return se3.cross_wrench(W, _symmetric(pose, q, c) @ W)


ENTRIES = [(i, j) for j in range(6) for i in range(j + 1)]
"""Rows and columns of the constants of `ADDED_MASS`: the upper half, column by column."""

ADDED_MASS = Inertia("added_mass", 1, (), len(ENTRIES), _symmetric, velocity_forces=_velocity_forces, weightless=True)
"""A constant symmetric matrix in the axes of a frame, for linear and angular velocity: with its motion through a fluid at rest,
Munk's moment among the forces. Gravity does not act on it."""


def add_added_mass(build: Build, node: int, placement: Pose, M: Any) -> None:
    """Add a symmetric matrix (6 x 6; kg, kg m, kg m^2), for the velocity of a frame placed on a node, in its axes."""
    if node:
        M = ca.SX(M)
        build.inertia(ADDED_MASS, [(node, placement)], [], [se3.scalars(M[i, j])[0] for i, j in ENTRIES])


def moved_mass(M: Any, placement: Pose) -> Any:
    """A matrix for the velocity of a frame, as one for that of another frame in which it is placed."""
    R, p = placement
    J = ca.blockcat([[R.T, -R.T @ so3.hat(p)], [ca.SX(3, 3), R.T]])
    return J.T @ M @ J


def velocity_at(twist: Any, point: Any) -> Any:
    """Velocity of a point that moves with a node, by the twist of the node at the world's origin."""
    return twist[0:3] + ca.cross(twist[3:6], point)


def wrench_at(force: Any, moment: Any, point: Any) -> Any:
    """World wrench of a force at a point and of a moment."""
    return ca.vertcat(force, moment + ca.cross(point, force))


POINTS = tuple(
    (0.5 * (x + 1), 0.5 * w) for x, w in zip(*map(np.ndarray.tolist, np.polynomial.legendre.leggauss(3)), strict=True)
)
"""Gauss points and weights on [0, 1] of the part of a rod between two sections."""

ON_SPAN = Fields("first:pose", "second:pose", "length", "tangent:3")
"""Placements of both sections, length between them [m], tangent in their axes."""


def on_parabola(ends: Any, length: Any, tangent: Any, x: float) -> tuple[tuple[Any, Any], Any]:
    """Two arms whose sum is the place at fraction x, each moving with its own section, and the axes there."""
    bubble = length * x * (1 - x) / 2
    (R, p), (Q, q) = ends
    arms = (1 - x) * p + bubble * (R @ tangent), x * q - bubble * (Q @ tangent)
    mean = (1 - x) * R + x * Q
    z = mean[:, 2] / ca.norm_2(mean[:, 2])
    first = mean[:, 0] - z * ca.dot(z, mean[:, 0])
    first = first / ca.norm_2(first)
    return arms, ca.horzcat(first, ca.cross(z, first), z)


def velocity_between(twists: Any, arms: tuple[Any, Any], x: float) -> Any:
    """Velocity of the place at fraction x between two sections with these twists."""
    shares = (1 - x, x)
    moved = [s * V[0:3] + ca.cross(V[3:6], arm) for s, V, arm in zip(shares, twists, arms, strict=True)]
    return moved[0] + moved[1]


def wrenches_of(force: Any, moment: Any, arms: tuple[Any, Any], x: float) -> Any:
    """World wrenches on both sections of a force and a moment at fraction x between them, stacked."""
    parts = [
        ca.vertcat(share * force, ca.cross(arm, force) + share * moment)
        for share, arm in zip((1 - x, x), arms, strict=True)
    ]
    return ca.vertcat(*parts)
