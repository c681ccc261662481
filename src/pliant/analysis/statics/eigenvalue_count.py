"""Number of negative eigenvalues of a symmetric sparse matrix, from the signs of its pivots; optionally on the null space of
constraints."""

from __future__ import annotations

import numpy as np
import scipy

# Without row exchanges entries may grow; beyond this growth the signs of the pivots are unreliable.
MOST_GROWTH = 1e6
LEAST_PIVOT = 1e-14
# Constraint rows that are linear combinations of others, to this relative tolerance, are dependent.
DEPENDENT = 1e-9


def is_symmetric(matrix: scipy.sparse.spmatrix, share: float = 1e-9) -> bool:
    """Whether a matrix is symmetric, to this fraction of its largest entry."""
    difference = (matrix - matrix.T).tocsr()
    largest = np.abs(matrix.data).max(initial=0.0)
    return bool(np.abs(difference.data).max(initial=0.0) <= share * largest)


def negative_eigenvalues(matrix: scipy.sparse.spmatrix) -> int | None:
    """Number of negative eigenvalues of a symmetric matrix of about unit diagonal (Sylvester's law of inertia for L D L').

    None if undetermined due to round-off: pivots close to zero, or pivots that would have to be off-diagonal.
    """
    try:
        factors = scipy.sparse.linalg.splu(
            scipy.sparse.csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return None
    pivots = factors.U.diagonal()
    size = np.abs(matrix.data).max(initial=0.0)
    if not np.array_equal(factors.perm_r, factors.perm_c) or not np.all(np.isfinite(pivots)):
        return None
    if np.abs(pivots).min(initial=np.inf) <= LEAST_PIVOT * size or np.abs(factors.U.data).max() > MOST_GROWTH * size:
        return None
    return int(np.sum(pivots < 0))


def independent_rows(jacobian: scipy.sparse.spmatrix) -> np.ndarray:
    """Indices of rows that span all rows of a Jacobian (m x n), ascending."""
    if not jacobian.shape[0]:
        return np.zeros(0, dtype=int)
    R, order = scipy.linalg.qr(jacobian.toarray().T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    return np.sort(order[: len(size)][size > DEPENDENT * max(float(size.max(initial=0.0)), 1e-300)])


def negative_eigenvalues_within(matrix: scipy.sparse.spmatrix, jacobian: scipy.sparse.spmatrix) -> int | None:
    """Number of negative eigenvalues of a symmetric matrix of about unit diagonal on the null space of independent rows.

    Adding J'J does not change it there and makes the matrix regular elsewhere; the inertia of the saddle point is then that of the
    matrix and of its Schur complement (Haynsworth). None if undetermined due to round-off.
    """
    if not jacobian.shape[0]:
        return negative_eigenvalues(matrix)
    length = np.sqrt(np.asarray(jacobian.multiply(jacobian).sum(axis=1)).ravel())
    J = scipy.sparse.csr_matrix(scipy.sparse.diags(1 / np.maximum(length, 1e-300)) @ jacobian)
    full = scipy.sparse.csc_matrix(matrix + J.T @ J)
    below = negative_eigenvalues(full)
    if below is None:
        return None
    complement = J @ scipy.sparse.linalg.splu(full).solve(J.T.toarray())
    values = scipy.linalg.eigvalsh(0.5 * (complement + complement.T))
    if np.abs(values).min() <= LEAST_PIVOT * np.abs(values).max():
        return None
    return below - int(np.sum(values < 0))
