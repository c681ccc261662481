"""How positions move with rates: plain coordinates, and unit quaternions with body angular velocities."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pliant.model.system import System
from pliant.solve.integrator.saddle import DENSE_UP_TO, Matrix

# (1 - a/2 cot(a/2)) / a^2 as a series in a^2, and the angle [rad] below which it is exact to round-off
_SERIES = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160)
_SERIES_BELOW = 0.3


class Group:
    """The positions q of a system as a group: increments x (of the size of v) act on its plain coordinates by
    addition and on its rotations from the body side."""

    def __init__(self, system: System) -> None:
        pairs = system.quaternions()
        self.nq, self.nv = system.q_size, system.v_size
        self.rotation_q = np.array([[q + k for k in range(4)] for q, _ in pairs], dtype=int).reshape(-1, 4)
        self.rotation_v = np.array([[v + k for k in range(3)] for _, v in pairs], dtype=int).reshape(-1, 3)
        self.plain_q = np.setdiff1d(np.arange(self.nq), self.rotation_q)
        self.plain_v = np.setdiff1d(np.arange(self.nv), self.rotation_v)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """dq/dt for the rates v."""
        out = np.empty(self.nq)
        out[self.plain_q] = v[self.plain_v]
        out[self.rotation_q] = 0.5 * _product(q[self.rotation_q], _pure(v[self.rotation_v]))
        return out

    def rate_matrix(self, q: np.ndarray) -> np.ndarray:
        """N with dq/dt = N v, nq x nv."""
        out = np.zeros((self.nq, self.nv))
        out[self.plain_q, self.plain_v] = 1.0
        for k in range(3):
            axis = np.tile(np.eye(4)[k + 1], (len(self.rotation_q), 1))
            out[self.rotation_q, self.rotation_v[:, k : k + 1]] = 0.5 * _product(q[self.rotation_q], axis)
        return out

    def second_rates(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """d2q/dt2 for the rates v and accelerations a."""
        out = self.rates(q, a)
        speed = np.sum(v[self.rotation_v] ** 2, axis=1, keepdims=True)
        out[self.rotation_q] -= 0.25 * speed * q[self.rotation_q]
        return out

    def motion(self, q: np.ndarray, q_dot: np.ndarray, q_ddot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and a of positions that move so; quaternions need not have unit length."""
        v, a = np.empty(self.nv), np.empty(self.nv)
        v[self.plain_v], a[self.plain_v] = q_dot[self.plain_q], q_ddot[self.plain_q]
        Q, D = q[self.rotation_q], q_dot[self.rotation_q]
        conjugate = Q * [1, -1, -1, -1]
        scale = 2 / np.sum(Q * Q, axis=1, keepdims=True)
        turn = scale * _product(conjugate, D)[:, 1:]
        growth = scale * np.sum(Q * D, axis=1, keepdims=True)
        v[self.rotation_v] = turn
        a[self.rotation_v] = scale * _product(conjugate, q_ddot[self.rotation_q])[:, 1:] - growth * turn
        return v, a

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """q with quaternions of unit length."""
        out = q.copy()
        Q = q[self.rotation_q]
        out[self.rotation_q] = Q / np.sqrt(np.sum(Q * Q, axis=1, keepdims=True))
        return out

    def increment(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """q with the increment x applied."""
        out = np.empty(self.nq)
        out[self.plain_q] = q[self.plain_q] + x[self.plain_v]
        turn = x[self.rotation_v]
        half = 0.5 * np.sqrt(np.sum(turn * turn, axis=1, keepdims=True))
        turned = np.hstack([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn])
        out[self.rotation_q] = _product(q[self.rotation_q], turned)
        return self.normalized(out)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The increment that leads from q0 to q1, rotations the short way round."""
        out = np.empty(self.nv)
        out[self.plain_v] = q1[self.plain_q] - q0[self.plain_q]
        turn = _product(q0[self.rotation_q] * [1, -1, -1, -1], q1[self.rotation_q])
        turn = np.where(turn[:, :1] < 0, -turn, turn)
        sine = np.sqrt(np.sum(turn[:, 1:] ** 2, axis=1, keepdims=True))
        angle = 2 * np.arctan2(sine, turn[:, :1])
        out[self.rotation_v] = np.where(sine > 1e-8, angle / np.maximum(sine, 1e-300), 2.0) * turn[:, 1:]
        return out

    def increment_rate(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """B(x) v: how the increment x from a fixed start changes at the rates v (the inverse of exp's tangent)."""
        out = np.array(v, dtype=float)
        turn, w = x[self.rotation_v], v[self.rotation_v]
        once = np.cross(turn, w)
        out[self.rotation_v] = w + 0.5 * once + _third(turn)[:, None] * np.cross(turn, once)
        return out

    def increment_matrix(self, x: np.ndarray) -> Matrix:
        """B(x) as a matrix, nv x nv."""
        hat = _hats(x[self.rotation_v])
        return self._blocks(0.5 * hat + _third(x[self.rotation_v])[:, None, None] * (hat @ hat), 1.0)

    def bracket_matrix(self, v: np.ndarray, factor: float) -> Matrix:
        """factor + Gamma(v)/2, nv x nv, where Gamma is hat(w) on rotations."""
        return self._blocks(0.5 * _hats(v[self.rotation_v]), factor)

    def scale(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """What errors of increments are measured against: |q| of plain coordinates, 1 rad for rotations."""
        out = np.ones(self.nv)
        out[self.plain_v] = np.maximum(np.abs(q0[self.plain_q]), np.abs(q1[self.plain_q]))
        return out

    def _blocks(self, blocks: np.ndarray, diagonal: float) -> Matrix:
        """3x3 blocks on the rotations, plus a multiple of the identity."""
        rows, columns = np.repeat(self.rotation_v, 3, axis=1), np.tile(self.rotation_v, (1, 3))
        if self.nv <= DENSE_UP_TO:
            out = diagonal * np.eye(self.nv)
            out[rows.ravel(), columns.ravel()] += blocks.ravel()
            return out
        off = sp.coo_matrix((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(self.nv, self.nv))
        return sp.csc_matrix(off + diagonal * sp.identity(self.nv))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hamilton product of rows [w, x, y, z]."""
    w = a[:, :1] * b[:, :1] - np.sum(a[:, 1:] * b[:, 1:], axis=1, keepdims=True)
    return np.hstack([w, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])


def _pure(w: np.ndarray) -> np.ndarray:
    return np.hstack([np.zeros((len(w), 1)), w])


def _hats(w: np.ndarray) -> np.ndarray:
    """Skew matrices with `hat(w) @ x == cross(w, x)`, n x 3 x 3."""
    out = np.zeros((len(w), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i, j], out[:, j, i] = -w[:, k], w[:, k]
    return out


def _third(turn: np.ndarray) -> np.ndarray:
    """(1 - a/2 cot(a/2)) / a^2 for the angles a of rotation vectors."""
    a2 = np.sum(turn * turn, axis=1)
    near = a2 < _SERIES_BELOW**2
    a = np.sqrt(np.where(near, 1.0, a2))
    closed = (1 - 0.5 * a / np.tan(0.5 * a)) / (a * a)
    return np.where(near, np.polynomial.polynomial.polyval(a2, _SERIES), closed)
