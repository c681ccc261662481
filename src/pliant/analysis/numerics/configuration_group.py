"""The configuration space as a Lie group: plain coordinates, and unit quaternions with body angular velocities."""

from __future__ import annotations

import numpy as np

from pliant.language.arrays import others
from pliant.parts.assembly.system import System
from pliant.parts.geometry import arrays


class ConfigurationGroup:
    """The positions q of a system as a group: increments x (of the size of v) act on its plain coordinates by
    addition and on its rotations from the body side."""

    def __init__(self, system: System) -> None:
        pairs = system.quaternions()
        self.nq, self.nv = system.q_size, system.v_size
        self.rotation_q = np.array([[q + k for k in range(4)] for q, _ in pairs], dtype=int).reshape(-1, 4)
        self.rotation_v = np.array([[v + k for k in range(3)] for _, v in pairs], dtype=int).reshape(-1, 3)
        self.plain_q = others(self.nq, self.rotation_q)
        self.plain_v = others(self.nv, self.rotation_v)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """dq/dt of the rates v."""
        out = np.empty(self.nq)
        out[self.plain_q] = v[self.plain_v]
        out[self.rotation_q] = 0.5 * arrays.quaternion_product(q[self.rotation_q], _pure(v[self.rotation_v]))
        return out

    def rate_matrix(self, q: np.ndarray) -> np.ndarray:
        """N with dq/dt = N v, nq x nv."""
        out = np.zeros((self.nq, self.nv))
        out[self.plain_q, self.plain_v] = 1.0
        for k in range(3):
            axis = np.tile(np.eye(4)[k + 1], (len(self.rotation_q), 1))
            out[self.rotation_q, self.rotation_v[:, k : k + 1]] = 0.5 * arrays.quaternion_product(
                q[self.rotation_q], axis
            )
        return out

    def by_increments(self, q: np.ndarray, by_q: np.ndarray) -> np.ndarray:
        """Convert derivatives with respect to the entries of q to derivatives with respect to increments, N' by_q; rows are
        positions."""
        out = np.empty((len(q), self.nv))
        out[:, self.plain_v] = by_q[:, self.plain_q]
        if len(self.rotation_q):
            Q, by = q[:, self.rotation_q], by_q[:, self.rotation_q]
            # the vector part of conjugate(Q) by / 2: the transpose of Q (0, v) / 2
            w, u, a, b = Q[..., :1], Q[..., 1:], by[..., :1], by[..., 1:]
            out[:, self.rotation_v] = 0.5 * (w * b - a * u - np.cross(u, b))
        return out

    def motion(self, q: np.ndarray, q_dot: np.ndarray, q_ddot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and a of given dq/dt and its derivative; quaternions need not have unit length."""
        v, a = np.empty(self.nv), np.empty(self.nv)
        v[self.plain_v], a[self.plain_v] = q_dot[self.plain_q], q_ddot[self.plain_q]
        Q, D = q[self.rotation_q], q_dot[self.rotation_q]
        conjugate = arrays.quaternion_conjugate(Q)
        scale = 2 / np.sum(Q * Q, axis=1, keepdims=True)
        turn = scale * arrays.quaternion_product(conjugate, D)[:, 1:]
        growth = scale * np.sum(Q * D, axis=1, keepdims=True)
        v[self.rotation_v] = turn
        a[self.rotation_v] = (
            scale * arrays.quaternion_product(conjugate, q_ddot[self.rotation_q])[:, 1:] - growth * turn
        )
        return v, a

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The increment from q0 to q1, with the shorter rotation of each quaternion."""
        out = np.empty(self.nv)
        out[self.plain_v] = q1[self.plain_q] - q0[self.plain_q]
        if not len(self.rotation_q):
            return out
        turn = arrays.quaternion_product(arrays.quaternion_conjugate(q0[self.rotation_q]), q1[self.rotation_q])
        turn = np.where(turn[:, :1] < 0, -turn, turn)
        sine = np.sqrt(np.sum(turn[:, 1:] ** 2, axis=1, keepdims=True))
        angle = 2 * np.arctan2(sine, turn[:, :1])
        out[self.rotation_v] = np.where(sine > 1e-8, angle / np.maximum(sine, 1e-300), 2.0) * turn[:, 1:]
        return out

    def undo_difference(self, q0: np.ndarray, q1: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Convert derivatives with respect to `difference(q0, q1)` to derivatives with respect to increments of q1."""
        out = np.array(by, dtype=float)
        turn = self.difference(q0, q1)[self.rotation_v]
        angle2 = np.sum(turn**2, axis=1, keepdims=True)
        half = 0.5 * np.sqrt(np.maximum(angle2, 1e-8))
        # (1 - a/2 cot(a/2)) / a^2, by its series for small a, where cancellation would dominate
        c = np.where(angle2 > 1e-4, (1 - half / np.tan(half)) / np.maximum(angle2, 1e-8), 1 / 12 + angle2 / 720)
        across = np.cross(turn, by[self.rotation_v])
        out[self.rotation_v] += -0.5 * across + c * np.cross(turn, across)
        return out


def _pure(w: np.ndarray) -> np.ndarray:
    return np.hstack([np.zeros((len(w), 1)), w])
