"""Matrices of constrained equations: saddle points, constraint forces, and projections onto the allowed motions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from pliant.engine.binding import LinearizedEquations

RANK_TOLERANCE = 1e-9


class PartitionError(ValueError):
    """The chosen coordinates do not determine the others."""


def null_space(jacobian: np.ndarray) -> np.ndarray:
    """Orthonormal basis (nv x f) of the motions that the constraints allow."""
    rows, columns = jacobian.shape
    if rows == 0 or columns == 0:
        return np.eye(columns)
    _, s, Vt = scipy.linalg.svd(jacobian, full_matrices=True)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0 else 0
    return np.asarray(Vt[rank:].T)


def partition(
    jacobian: np.ndarray, chosen: list[int] | None, names: tuple[str, ...], sizes: np.ndarray
) -> tuple[list[int], np.ndarray]:
    """Independent rates and the matrix G (nv x f) with `v = G v_independent`.

    Without a choice, the rates that the constraints determine best are made dependent (pivoted QR), so that the
    independent ones keep the partition well conditioned. sizes: reference sizes of changes of the coordinates (nv).
    """
    basis = null_space(jacobian * sizes)
    free = basis.shape[1]
    if chosen is None:
        _, _, order = scipy.linalg.qr(basis.T, mode="economic", pivoting=True)
        chosen = sorted(int(i) for i in order[:free])
    if len(chosen) != free:
        given = ", ".join(names[i] for i in chosen) or "none"
        raise PartitionError(f"the robot has {free} independent rates here; {len(chosen)} were chosen ({given})")
    block = basis[chosen]
    if free and np.linalg.cond(block) > 1 / RANK_TOLERANCE:
        given = ", ".join(names[i] for i in chosen)
        raise PartitionError(f"the rates {given} do not determine the others in this pose: choose different ones")
    if not free:
        return chosen, np.zeros((len(names), 0))
    return chosen, sizes[:, None] * (basis @ np.linalg.inv(block)) / sizes[chosen]


def saddle_matrix(A: Any, J: Any, active: np.ndarray | None = None, *, unit: float = 1.0) -> Any:
    """[A, -J'; J, 0], a dense array if `A` is dense and a sparse CSC matrix otherwise.

    `active`: 1 for active rows of J and 0 for inactive ones, which have `unit` on the diagonal instead.
    """
    off = np.zeros(J.shape[0]) if active is None else unit * (1.0 - active)
    if isinstance(A, np.ndarray):
        J = J if active is None else active[:, None] * J
        return np.block([[A, -J.T], [J, np.diag(off)]])
    if not len(off):
        return scipy.sparse.csc_matrix(A)
    J = J if active is None else scipy.sparse.diags(active.astype(float)) @ J
    return scipy.sparse.bmat([[A, -J.T], [J, scipy.sparse.diags(off)]], format="csc")


def balancing_multipliers(at: LinearizedEquations, force: np.ndarray, active_rows: np.ndarray) -> np.ndarray:
    """Multipliers (m) whose constraint forces balance a generalized force (nv) in the least-squares sense; zero in inactive
    rows."""
    out = np.zeros(at.jacobian.shape[0])
    D, rows = at.rate_sizes, at.row_sizes[active_rows]
    J = at.jacobian.toarray()[active_rows] * D / rows[:, None]
    out[active_rows] = np.linalg.lstsq(J.T, D * force, rcond=None)[0] / rows
    return out


def on_allowed_motions(
    at: LinearizedEquations, active_rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Basis Z (nv x f) of the motions allowed by the constraints, orthonormal in units of the coordinates' sizes, and Z'KZ, Z'CZ,
    Z'MZ."""
    own = at.in_sizes()
    J = own.jacobian.toarray()
    Z = null_space(J if active_rows is None else J[active_rows])
    K, C, M = (Z.T @ (x @ Z) for x in (own.stiffness, own.damping, own.mass))
    return at.rate_sizes[:, None] * Z, K, C, M


def first_order_matrix(K: np.ndarray, C: np.ndarray, M: np.ndarray) -> np.ndarray:
    """[0, I; -M^-1 K, -M^-1 C], the matrix of M a + C v + K x = 0 as a first-order system; M is positive definite."""
    solved = scipy.linalg.solve(M, np.hstack([K, C]), assume_a="pos")
    f = len(M)
    return np.block([[np.zeros((f, f)), np.eye(f)], [-solved[:, :f], -solved[:, f:]]])
