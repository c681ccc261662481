"""Frequencies of a rod as expressions of its parameters, so that Rayleigh damping at modes follows them.

The lowest eigenvalues of K x = w^2 M x are computed by subspace iteration from the modes at the model's own values: two inverse
iterations, then the Ritz values by Jacobi rotations (Golub and Van Loan, Matrix Computations, 8.2 and 8.5), all as
expressions. Blocks of coordinates that are not coupled, such as the planes of bending, are solved separately.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np
import scipy

from pliant.engine.equations import Equations
from pliant.engine.symbolic import symbolic_system

NEAR = 4.0
"""Modes up to this multiple of the highest wanted frequency are followed: they may become lower than others."""
ITERATIONS = 2
"""Inverse iterations. The error of a Ritz value shrinks each time by the square of its ratio to the lowest omitted eigenvalue."""
SWEEPS = 6
"""Jacobi sweeps, which converge quadratically."""
SAME = 1e-6
"""Largest relative difference from the frequencies that were computed otherwise."""
FEW = 60
"""Number of coordinates up to which products with the mass matrix take fewer operations than inverse dynamics."""
TINY = 1e-150
"""Keeps rotations of equal eigenvalues without coupling finite."""

Inertia = Callable[[ca.SX], ca.SX]
"""Inertia forces for accelerations, in columns."""


def frequency_function(eqs: Equations, frequencies: list[float]) -> ca.Function | None:
    """`parameters -> frequencies` [Hz] of the lowest modes of a rod alone, as many as `found` at the model's own values; None if
    the expressions do not reproduce these."""
    model = eqs.model
    p = ca.SX.sym("p", len(model.parameter_names))
    own = model.parameter_vector()
    K, M, inertia = _stiffness_and_mass(eqs, p)
    at = ca.Function("at", [p], [K, M])
    K0, M0 = (np.asarray(ca.DM(x)) for x in at(own))
    linked = scipy.sparse.csr_matrix(
        (np.asarray(ca.DM(K.sparsity(), 1)) != 0) | (np.asarray(ca.DM(M.sparsity(), 1)) != 0)
    )
    count, label = scipy.sparse.csgraph.connected_components(linked, directed=False)
    highest, values = NEAR * max(frequencies), []
    for block in range(count):
        rows = np.flatnonzero(label == block)
        try:
            squares, shapes = scipy.linalg.eigh(K0[np.ix_(rows, rows)], M0[np.ix_(rows, rows)])
        except np.linalg.LinAlgError:
            return None
        if squares[0] <= 0:
            return None
        kept = min(len(rows), 1 + int(np.sum(np.sqrt(squares) <= 2 * np.pi * highest)))
        forces = partial(_on_block, inertia, rows, len(K0))
        values += _lowest(K[rows.tolist(), rows.tolist()], forces, shapes[:, :kept], squares[:kept])
    function = ca.Function(
        "frequencies", [p], [ca.vertcat(*[ca.sqrt(x) / (2 * ca.pi) for x in _sorted(values, len(frequencies))])]
    )
    check = np.asarray(function(own)).ravel()
    return function if np.all(np.abs(check - frequencies) <= SAME * np.abs(frequencies)) else None


def _stiffness_and_mass(eqs: Equations, p: ca.SX) -> tuple[ca.SX, ca.SX, Inertia]:
    """Derivatives of the residual with respect to increments of the positions and to accelerations, at rest in the initial pose;
    and the latter as a function of accelerations, which takes fewer operations than its matrix if it is large."""
    model, x = eqs.model, symbolic_system(eqs.model.system)
    start = model.initial(p)[0]
    signals = [x.signals, x.signal_rates, x.signal_accelerations]
    residual = ca.Function("residual", [x.q, x.v, x.a, x.constants, *signals], [x.residual])
    rates = ca.Function("rates", [x.q], [x.rate_matrix])
    n, constants = x.v.numel(), ca.SX(model.system.constants.expression(p))
    still, none = ca.SX(n, 1), [ca.SX(s.numel(), 1) for s in signals]
    q, a = ca.SX.sym("q", x.q.numel()), ca.SX.sym("a", n)
    stiffness = ca.Function("stiffness", [q, p], [ca.jacobian(residual(q, still, still, constants, *none), q)])
    K = stiffness(start, p) @ rates(start)
    M = ca.jacobian(residual(start, still, a, constants, *none), a)
    held = residual(start, still, still, constants, *none)

    def inertia(accelerations: ca.SX) -> ca.SX:
        if n <= FEW:
            return ca.SX(M @ accelerations)
        columns = ca.horzsplit(accelerations)
        return ca.horzcat(*[residual(start, still, column, constants, *none) - held for column in columns])

    return ca.sparsify(0.5 * (K + K.T)), ca.sparsify(M), inertia


def _on_block(inertia: Inertia, rows: np.ndarray, size: int, part: ca.SX) -> ca.SX:
    """Inertia forces of a block of coordinates for its accelerations (columns)."""
    whole = ca.SX(size, part.shape[1])
    whole[rows.tolist(), :] = part
    return inertia(whole)[rows.tolist(), :]


def _lowest(K: ca.SX, inertia: Inertia, shapes: np.ndarray, squares: np.ndarray) -> list[ca.SX]:
    """The lowest eigenvalues s of K x = s M x as expressions, from shapes (columns) with eigenvalues `squares` at some values."""
    D, LT, order = ca.ldl(K)
    X: ca.SX = ca.SX(ca.DM(shapes))
    forces = inertia(X)
    for _ in range(ITERATIONS):
        forces = forces @ ca.diag(ca.DM(squares))
        X = ca.ldl_solve(forces, D, LT, order)
        reduced_K = X.T @ forces
        forces = inertia(X)
    reduced_M = X.T @ forces
    L = _cholesky(reduced_K)
    half = ca.solve(L, reduced_M)  # forward substitution: L is triangular
    return [1 / value for value in _eigenvalues(ca.solve(L, half.T))]


def _cholesky(A: ca.SX) -> ca.SX:
    """The lower triangular factor of a dense positive definite matrix."""
    n = A.shape[0]
    L = ca.SX.zeros(n, n)
    for j in range(n):
        L[j, j] = ca.sqrt(A[j, j] - ca.sumsqr(L[j, :j]))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - ca.dot(L[i, :j], L[j, :j])) / L[j, j]
    return ca.SX(ca.tril(L))


def _eigenvalues(A: ca.SX) -> list[ca.SX]:
    """Eigenvalues of a symmetric matrix, by cyclic Jacobi rotations."""
    n = A.shape[0]
    a = [[A[i, j] if i <= j else A[j, i] for j in range(n)] for i in range(n)]
    for _ in range(SWEEPS if n > 1 else 0):
        for i in range(n):
            for j in range(i + 1, n):
                gap = a[j][j] - a[i][i]
                side = ca.if_else(gap < 0, -1, 1)
                t = 2 * side * a[i][j] / (ca.fabs(gap) + ca.sqrt(gap**2 + 4 * a[i][j] ** 2 + TINY))
                c = 1 / ca.sqrt(1 + t**2)
                s = t * c
                a[i][i], a[j][j] = a[i][i] - t * a[i][j], a[j][j] + t * a[i][j]
                a[i][j] = a[j][i] = ca.SX(0)
                for k in range(n):
                    if k not in (i, j):
                        left, right = a[k][i], a[k][j]
                        a[k][i] = a[i][k] = c * left - s * right
                        a[k][j] = a[j][k] = s * left + c * right
    return [a[i][i] for i in range(n)]


def _sorted(values: list[ca.SX], count: int) -> list[ca.SX]:
    """The `count` smallest values, in order."""
    left, out = list(values), []
    for _ in range(count):
        for k in range(len(left) - 1, 0, -1):
            left[k - 1], left[k] = ca.fmin(left[k - 1], left[k]), ca.fmax(left[k - 1], left[k])
        out.append(left.pop(0))
    return out
