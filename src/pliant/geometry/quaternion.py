"""Quaternions `[w, x, y, z]` as NumPy arrays, any number at once (... x 4). `so3` has the symbolic counterparts."""

from __future__ import annotations

import numpy as np


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton products: the rotation `b`, then `a`."""
    scalar = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def conjugate(Q: np.ndarray) -> np.ndarray:
    """The inverse rotations of unit quaternions."""
    return Q * np.array([1.0, -1.0, -1.0, -1.0])


def from_matrix(R: np.ndarray) -> np.ndarray:
    """Unit quaternions with w >= 0 of rotation matrices (... x 3 x 3)."""
    t = np.trace(R, axis1=-2, axis2=-1)
    d = np.stack([R[..., k, k] for k in range(3)], axis=-1)
    skew = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    # four forms of the same quaternion; the one with the largest leading term is the most accurate
    forms = np.stack(
        [
            np.stack([1 + t, skew[..., 0], skew[..., 1], skew[..., 2]], axis=-1),
            np.stack([skew[..., 0], 1 + 2 * d[..., 0] - t, xy, xz], axis=-1),
            np.stack([skew[..., 1], xy, 1 + 2 * d[..., 1] - t, yz], axis=-1),
            np.stack([skew[..., 2], xz, yz, 1 + 2 * d[..., 2] - t], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.concatenate([t[..., None], d], axis=-1), axis=-1)
    Q = np.take_along_axis(forms, best[..., None, None], axis=-2)[..., 0, :]
    Q = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    return np.where(Q[..., :1] < 0, -Q, Q)


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The smallest rotations from unit vectors a to b (... x 3); about any perpendicular axis if they are opposite."""
    turn = np.concatenate([1 + np.sum(a * b, axis=-1, keepdims=True), np.cross(a, b)], axis=-1)
    helper = np.where(np.abs(a[..., :1]) < 0.8, [1.0, 0, 0], [0, 1.0, 0])
    half_turn = np.concatenate([np.zeros_like(turn[..., :1]), np.cross(a, helper)], axis=-1)
    turn = np.where(turn[..., :1] < 1e-9, half_turn, turn)
    return np.asarray(turn / np.linalg.norm(turn, axis=-1, keepdims=True))
