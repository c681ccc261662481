"""Rotations and rigid motions as NumPy arrays, any number at once; `so3` and `se3` have the symbolic counterparts.

Quaternions `[w, x, y, z]` have the shape (... x 4), vectors (... x 3), rotation matrices (... x 3 x 3), twists (... x 6).
"""

import numpy as np
import scipy


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton products: the rotation `b`, then `a`."""
    scalar = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def quaternion_conjugate(Q: np.ndarray) -> np.ndarray:
    """The inverse rotations of unit quaternions."""
    return Q * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion_matrix(Q: np.ndarray) -> np.ndarray:
    """Rotation matrices of unit quaternions."""
    w, x, y, z = np.moveaxis(Q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotated(Q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors rotated by unit quaternions."""
    w, u = Q[..., :1], Q[..., 1:]
    return np.asarray(vectors + 2 * np.cross(u, np.cross(u, vectors) + w * vectors))


def matrix_quaternion(R: np.ndarray) -> np.ndarray:
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


def quaternion_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The smallest rotations from unit vectors a to b (... x 3); about any perpendicular axis if they are opposite."""
    turn = np.concatenate([1 + np.sum(a * b, axis=-1, keepdims=True), np.cross(a, b)], axis=-1)
    helper = np.where(np.abs(a[..., :1]) < 0.8, [1.0, 0, 0], [0, 1.0, 0])
    half_turn = np.concatenate([np.zeros_like(turn[..., :1]), np.cross(a, helper)], axis=-1)
    turn = np.where(turn[..., :1] < 1e-9, half_turn, turn)
    return np.asarray(turn / np.linalg.norm(turn, axis=-1, keepdims=True))


def hat(vectors: np.ndarray) -> np.ndarray:
    """Skew matrices W with `W u = vector x u`."""
    out = np.zeros((*vectors.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -vectors[..., 2], vectors[..., 1], -vectors[..., 0]
    return np.asarray(out - np.swapaxes(out, -1, -2))


def left_jacobian(vectors: np.ndarray) -> np.ndarray:
    """Matrices from the linear part of a twist with this angular part to the translation of its exponential."""
    angle2 = np.einsum("...i,...i->...", vectors, vectors)
    small = angle2 < 1e-6  # where the error of the series is below round-off
    angle = np.sqrt(np.where(small, 1.0, angle2))
    b = np.where(small, 0.5 - angle2 / 24, (1 - np.cos(angle)) / angle**2)
    c = np.where(small, 1 / 6 - angle2 / 120, (angle - np.sin(angle)) / angle**3)
    W = hat(vectors)
    return np.asarray(np.eye(3) + b[..., None, None] * W + c[..., None, None] * (W @ W))


def bracket(twists: np.ndarray) -> np.ndarray:
    """Matrices (... x 6 x 6) of the Lie bracket with twists."""
    out = np.zeros((*twists.shape, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = hat(twists[..., 3:])
    out[..., :3, 3:] = hat(twists[..., :3])
    return out


def exp(twists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses (rotations, positions) reached by constant body twists (n x 6) in unit time."""
    turn = twists[:, 3:]
    rotations = scipy.spatial.transform.Rotation.from_rotvec(turn).as_matrix()
    return rotations, np.einsum("nij,nj->ni", left_jacobian(turn), twists[:, :3])
