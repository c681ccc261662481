"""Linear systems of expressions, solved by elimination without pivoting: structural zeros cost nothing.

Rows are eliminated from the last to the first, from the tips of a tree to its ground, which preserves the sparsity pattern of the
mass matrix of a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from pliant.language.arguments import ArgumentError

Rows = list[dict[int, Any]]


def rows_of(matrix: Any) -> Rows:
    """The nonzero entries of a matrix, by row and column."""
    found: Rows = [{} for _ in range(matrix.size1())]
    pattern = matrix.sparsity()
    values = matrix.nz[:]
    for k, (i, j) in enumerate(zip(pattern.row(), pattern.get_col(), strict=True)):
        if not values[k].is_zero():
            found[i][j] = values[k]
    return found


def factorized(matrix: Any, *, symmetric: bool) -> tuple[Rows, list[Any]]:
    """Rows of a matrix A = U L, with 1 on the diagonal of U, and the reciprocals of the diagonal of L.

    Entry (i, j) is that of L for j < i and of U for j > i. symmetric: whether the matrix is; entries below its diagonal are then
    not read.
    """
    n = matrix.size1()
    # in a mass matrix the entries above the diagonal are shorter: forces of the motion of a tip on its carriers
    rows = rows_of(ca.triu(matrix).T if symmetric else matrix)
    inverse: list[Any] = [None] * n
    for k in reversed(range(n)):
        if k not in rows[k]:
            raise ArgumentError(
                "the matrix of this robot has a zero on its diagonal: some coordinate moves no inertia,"
                " and fleets do not exchange rows",
                "give every moving body mass and inertia, or use pliant.simulate",
            )
        inverse[k] = 1 / rows[k][k]
        below = {j: x for j, x in rows[k].items() if j < k}
        above = below if symmetric else {i: rows[i][k] for i in range(k) if k in rows[i]}
        for i, x in above.items():
            factor = x * inverse[k]
            for j, y in below.items():
                if not symmetric or j <= i:
                    rows[i][j] = rows[i][j] - factor * y if j in rows[i] else -factor * y
            rows[i][k] = factor
    return rows, inverse


def solved(rows: Rows, inverse: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The solution x of A x = right with the factors of A."""
    n, x = len(rows), list(right)
    for k in reversed(range(n)):
        for i in range(k):
            if k in rows[i]:
                x[i] = x[i] - rows[i][k] * x[k]
    for k in range(n):
        for j in range(k):
            if j in rows[k]:
                x[k] = x[k] - rows[k][j] * x[j]
        x[k] = x[k] * inverse[k]
    return x


def solve(matrix: Any, right: Any, *, symmetric: bool) -> Any:
    """The solution of a system of expressions."""
    rows, inverse = factorized(matrix, symmetric=symmetric)
    return ca.vertcat(*solved(rows, inverse, ca.vertsplit(ca.densify(right)))) if rows else right


def packed(rows: Rows, inverse: Sequence[Any]) -> tuple[Any, Rows, list[Any]]:
    """The factors as one list, and the same factors read from symbols in that order: for separate functions that factorize and
    solve."""
    places = [(i, j) for i, row in enumerate(rows) for j in sorted(row) if j != i]
    numbers = ca.vertcat(*[rows[i][j] for i, j in places], *inverse)
    read = ca.SX.sym("factors", numbers.numel())
    again: Rows = [{} for _ in rows]
    for k, (i, j) in enumerate(places):
        again[i][j] = read[k]
    return numbers, again, [read[len(places) + k] for k in range(len(rows))]
