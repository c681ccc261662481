"""Linear algebra of steps: dense for small systems, where sparse bookkeeping costs more than it saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant.solve.integrator.base import StepFailure
from pliant.solve.integrator.status import Status

DENSE_UP_TO = 150
"""Rates up to which matrices are kept dense."""

Matrix: TypeAlias = np.ndarray | sp.spmatrix


def handy(matrix: sp.spmatrix) -> Matrix:
    """A matrix in the form that suits its size."""
    return matrix.toarray() if matrix.shape[1] <= DENSE_UP_TO else matrix


def saddle_point(
    upper: Matrix, jacobian: Matrix, active: np.ndarray, lower: Matrix | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """A solver of [upper, -J'; lower, 0] x = b; `lower` is J when None. Rows that are not `active` set their
    multiplier to zero."""
    n, on = upper.shape[0], active.astype(float)
    below = jacobian if lower is None else lower

    def masked(b: np.ndarray) -> np.ndarray:
        return np.concatenate([b[:n], on * b[n:]])

    if isinstance(upper, np.ndarray):
        matrix = np.zeros((n + len(on), n + len(on)))
        matrix[:n, :n], matrix[n:, n:] = upper, np.diag(1 - on)
        matrix[:n, n:], matrix[n:, :n] = -(on[:, None] * jacobian).T, on[:, None] * below
        lu, pivots, info = la.lapack.dgetrf(matrix)
        if info:
            raise StepFailure(Status.SINGULAR)
        return lambda b: np.asarray(la.lapack.dgetrs(lu, pivots, masked(b))[0])
    keep = sp.diags(on)
    blocks = [[upper, -(keep @ jacobian).T], [keep @ sp.csr_matrix(below), sp.diags(1 - on)]]
    try:
        factors = spla.splu(sp.bmat(blocks, format="csc") if len(on) else sp.csc_matrix(upper))
    except RuntimeError:
        raise StepFailure(Status.SINGULAR) from None
    return lambda b: np.asarray(factors.solve(masked(b)))
