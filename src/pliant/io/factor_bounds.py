"""Bounds on the size of the factors of a robot's system matrix, for programs without dynamic allocation."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.equations.tables import Tables


def factor_bounds(tables: Tables) -> tuple[int, int]:
    """Bounds on the entries below and above the diagonal of the factors of the system matrix, for any pivots.

    With a fixed column order, every row that could be the pivot of a column obtains the union of their patterns
    (George and Ng 1987, "Symbolic factorization for sparse Gaussian elimination with partial pivoting").
    """
    if tables.counts["kkt_dense"]:
        return 0, 0
    size = tables.counts["nv"] + tables.counts["m"]
    colptr, row = tables.integers["kkt_colptr"], tables.integers["kkt_row"]
    pattern = scipy.sparse.csc_matrix((np.ones(len(row)), row, colptr), shape=(size, size))
    return pivoting_bounds(pattern[:, tables.integers["kkt_order"]])


def pivoting_bounds(pattern: scipy.sparse.csc_matrix) -> tuple[int, int]:
    """Bounds on the entries of L and of U, without diagonals, for any row exchanges in a square matrix."""
    rows = pattern.tocsr()
    # groups of rows with the same pattern, as bits, by first column
    groups: dict[int, list[tuple[int, int]]] = {}
    for i in range(rows.shape[0]):
        bits = sum(1 << int(j) for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]])
        if bits:
            groups.setdefault(_first(bits), []).append((bits, 1))
    lower = upper = 0
    for column in range(rows.shape[0]):
        members = groups.pop(column, [])
        union, count = 0, 0
        for bits, number in members:
            union, count = union | bits, count + number
        rest = union & ~(1 << column)
        lower, upper = lower + max(0, count - 1), upper + rest.bit_count()
        if rest and count > 1:
            groups.setdefault(_first(rest), []).append((rest, count - 1))
    return lower, upper


def _first(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
