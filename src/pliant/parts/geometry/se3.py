"""Rigid motions: poses `(R, p)`, their exponential and logarithm, transformations of twists."""

from typing import Any

import casadi as ca

from pliant.parts.geometry import so3

Pose = tuple[Any, Any]


_IDENTITY: Pose = ca.DM.eye(3), ca.DM.zeros(3)


def identity() -> Pose:
    """The identity pose: always the same read-only object."""
    return _IDENTITY


def is_identity(pose: Pose) -> bool:
    """Whether a pose is the identity for all parameters."""
    R, p = pose
    return pose is _IDENTITY or (isinstance(R, ca.DM) and isinstance(p, ca.DM) and R.is_eye() and p.is_zero())


def scalars(matrix: Any) -> list[Any]:
    """The entries of a small matrix, column by column, as numbers or expressions."""
    return list(ca.densify(matrix).elements())


def columns(matrix: Any) -> list[list[Any]]:
    """The entries of a matrix by its columns."""
    rows, entries = matrix.shape[0], scalars(matrix)
    return [entries[k : k + rows] for k in range(0, len(entries), rows)]


def pose_scalars(pose: Pose) -> list[Any]:
    """The twelve numbers of a pose: those of the rotation column by column, then the position."""
    if pose is _IDENTITY:  # most poses are, and the check is slow in CasADi
        return [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    return [*scalars(pose[0]), *scalars(pose[1])]


def compose(a: Pose, b: Pose) -> Pose:
    """`a` after `b`: the pose of C in A from (B in A) and (C in B)."""
    if a is _IDENTITY or b is _IDENTITY:
        return b if a is _IDENTITY else a
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def inverse(a: Pose) -> Pose:
    """The pose of A in B from the pose of B in A."""
    return a[0].T, -a[0].T @ a[1]


def exp(twist: Any, at: so3.AngleFunctions | None = None) -> Pose:
    """Pose reached by the constant body twist `(linear, angular)` in unit time; `at`: the functions of its angle, if available."""
    linear, angular = twist[0:3], twist[3:6]
    return so3.exp(angular, at), so3.left_jacobian(angular, at) @ linear


def left_jacobian(twist: Any, at: so3.AngleFunctions | None = None) -> Any:
    """J, 6x6: twist in base axes at the base's origin of the pose `exp(twist)`, per unit of each entry (Barfoot 2017, 7.85)."""
    R, W, at = so3.hat(twist[0:3]), so3.hat(twist[3:6]), at or so3.functions_of(twist[3:6])
    V, WR, RW = so3.left_jacobian(twist[3:6], at), W @ R, R @ W
    WRW = W @ RW
    Q = R / 2 + at.sinc3 * (WR + RW + WRW) + at.cosc4 * (W @ WR + RW @ W - 3 * WRW)
    Q += at.sinc5 * (WRW @ W + W @ WRW)
    return ca.blockcat([[V, Q], [ca.SX(3, 3), V]])


def log(pose: Pose) -> Any:
    """The twist `(linear, angular)` with `exp(twist) == pose`; angles up to pi."""
    angular = so3.log(pose[0])
    return ca.vertcat(so3.inverse_left_jacobian(angular) @ pose[1], angular)


def transform_twist(pose: Pose, twist: Any) -> Any:
    """A twist (or several, as columns) given in B, at B's origin, rewritten in A, at A's origin."""
    R, p = pose
    angular = R @ twist[3:6, :]
    return ca.vertcat(R @ twist[0:3, :] + so3.hat(p) @ angular, angular)


def point_velocity(twist: Any, point: Any) -> Any:
    """Velocity of a point [m] that moves with a twist (linear at the origin, angular)."""
    return twist[0:3] + ca.cross(twist[3:6], point)


def cross_twist(a: Any, b: Any) -> Any:
    """The Lie bracket of two twists: `a x b`."""
    v, w = a[0:3], a[3:6]
    return ca.vertcat(so3.hat(w) @ b[0:3, :] + so3.hat(v) @ b[3:6, :], so3.hat(w) @ b[3:6, :])


def cross_wrench(a: Any, f: Any) -> Any:
    """The dual bracket: the rate of change of the wrench `f` when it moves with the twist `a`."""
    v, w = a[0:3], a[3:6]
    return ca.vertcat(so3.hat(w) @ f[0:3, :], so3.hat(w) @ f[3:6, :] + so3.hat(v) @ f[0:3, :])


def pose_rates(pose: Pose) -> Any:
    """L, 12x6: `d vec(R, p) = L eta` for a world-side increment `eta` (a twist at the world's origin)."""
    R, p = pose
    columns = []
    for k in range(6):
        if k < 3:
            columns.append(ca.vertcat(ca.DM.zeros(9), ca.DM.eye(3)[:, k]))
        else:
            W = so3.hat(ca.DM.eye(3)[:, k - 3])
            columns.append(ca.vertcat(ca.vec(W @ R), W @ p))
    return ca.horzcat(*columns)
