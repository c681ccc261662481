"""Number of negative eigenvalues of a symmetric sparse matrix, from the signs of its pivots."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

# Without row exchanges entries may grow; beyond this the signs of the pivots are not to be trusted.
MOST_GROWTH = 1e6
LEAST_PIVOT = 1e-14


def is_symmetric(matrix: sp.spmatrix, share: float = 1e-9) -> bool:
    """Whether a matrix is symmetric to that share of its largest entry."""
    difference = (matrix - matrix.T).tocsr()
    largest = np.abs(matrix.data).max(initial=0.0)
    return bool(np.abs(difference.data).max(initial=0.0) <= share * largest)


def negative_eigenvalues(matrix: sp.spmatrix) -> int | None:
    """Number of negative eigenvalues of a symmetric matrix of about unit diagonal (Sylvester's law of inertia for L D L').

    None where round-off leaves it open: pivots that are next to zero, or that would have to be looked for off the diagonal.
    """
    try:
        factors = spla.splu(
            sp.csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
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
