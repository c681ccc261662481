"""The linearized equations at a state, as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy


@dataclass(frozen=True)
class LinearizedEquations:
    """First-order change of the equations at a state.

    `residual` = M a + h - J'lambda; `stiffness` = d/dq, `damping` = d/dv, `mass` = d/da of it (sparse, per local
    increment of q); `phi`, `jacobian`: constraint values [m or rad] and Jacobian. `rate_sizes` (nv) and `row_sizes` (m): reference
    sizes of increments of q and constraint values, see `Binding.sizes` and `Binding.constraint_sizes`.
    """

    residual: np.ndarray
    stiffness: scipy.sparse.csc_matrix
    damping: scipy.sparse.csc_matrix
    mass: scipy.sparse.csc_matrix
    phi: np.ndarray
    jacobian: scipy.sparse.csr_matrix
    rate_sizes: np.ndarray
    row_sizes: np.ndarray

    def in_sizes(self) -> LinearizedEquations:
        """The same in increments of q and constraint values relative to their sizes: forces are then work [J], and all entries of
        a matrix have the same dimension for any type of coordinates."""
        rates, rows = self.rate_sizes, 1 / self.row_sizes
        return LinearizedEquations(
            rates * self.residual, _scaled(self.stiffness, rates, rates), _scaled(self.damping, rates, rates),
            _scaled(self.mass, rates, rates), rows * self.phi, _scaled(self.jacobian, rows, rates),
            np.ones_like(self.rate_sizes), np.ones_like(self.row_sizes),
        )  # fmt: skip


def _scaled(matrix: Any, compressed: np.ndarray, others: np.ndarray) -> Any:
    """A sparse matrix with its columns (csc) or rows (csr) and the others scaled by factors; SciPy's products take far longer."""
    factors = np.repeat(compressed, np.diff(matrix.indptr)) * others[matrix.indices]
    return on_pattern(matrix, matrix.data * factors)


def on_pattern(pattern: Any, values: np.ndarray) -> Any:
    """A sparse matrix with other values on its pattern. SciPy's constructors would validate the whole pattern each time."""
    matrix = object.__new__(type(pattern))
    # nothing is shared with the pattern: users may change the matrix in place
    arrays = {"data": values, "indices": pattern.indices.copy(), "indptr": pattern.indptr.copy()}
    matrix.__dict__.update(pattern.__dict__, **arrays)
    return matrix
