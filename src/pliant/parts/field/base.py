"""What fields share: added mass, and the state of a point of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.parts.formula.base import Inertia
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


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
