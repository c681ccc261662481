"""Factorized tangents of constrained statics, and what their pivots imply for stability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import null_space
from pliant.analysis.statics.stability import is_symmetric, negative_eigenvalues, stiffness_scaling
from pliant.engine.binding import LinearizedEquations


@dataclass(frozen=True)
class FactorizationTolerances:
    """Numbers that decide about pivots."""

    eigenvalues_up_to: int = 200
    """Number of rates up to which eigenvalues are used to detect instability by forces without a potential; beyond, the parity
    of the number of negative pivots."""
    pivot: float = 1e-13
    """Scaled pivots below this are zero: the matrix is singular to round-off."""
    neutral: float = 1e-12
    """A scaled stiffness below this is round-off."""
    symmetric: float = 1e-9
    """Largest difference of a scaled stiffness and its transpose, relative to its largest entry, if forces have a potential."""
    compliance: float = 1e-5
    """Compliance of the springs that replace constraints when signs of pivots are counted in sparse matrices: stiffer ones leave
    fewer digits for the stiffness, of whose diagonal they are 1e5 times."""
    real: float = 1e-9
    """Imaginary part of a real eigenvalue, relative to its magnitude."""


TOLERANCES = FactorizationTolerances()

Solve = Callable[[np.ndarray], np.ndarray]


class Tangent:
    """[K + shift V, -J'; J, 0] with the active rows at a pose, factorized for several shifts.

    Rows and columns are scaled to a common size, so that tolerances apply equally to stiff and soft coordinates and to constraints.
    Arrays are dense if the metric is dense, else sparse.
    """

    def __init__(
        self, at: LinearizedEquations, metric: Any, rows: np.ndarray, added: tuple[np.ndarray, ...] | None = None
    ) -> None:
        """`metric`: V (nv x nv), positive definite, dense or sparse. `rows`: booleans of the active constraint rows. `added`:
        rows, columns and values that are added to the stiffness."""
        self.n, self.rows = at.stiffness.shape[0], rows
        J = scipy.sparse.csr_matrix(at.jacobian)[np.flatnonzero(rows)] if len(rows) else at.jacobian
        self.stiffness: Any = at.stiffness
        self.metric: Any = metric
        self._jacobian: Any = J
        self._is_dense = isinstance(metric, np.ndarray)
        if self._is_dense:
            self.stiffness, self._jacobian = at.stiffness.toarray(), J.toarray()
            if added is not None:
                np.add.at(self.stiffness, added[:2], added[2])
        elif added is not None:
            self.stiffness = scipy.sparse.csc_matrix(
                at.stiffness + scipy.sparse.csc_matrix((added[2], added[:2]), shape=(self.n, self.n))
            )
        self._inertia = metric.diagonal()
        size = stiffness_scaling(replace(at, stiffness=self.stiffness))
        self._size = size**-2.0
        self.symmetric = self._is_symmetric(size)
        if self.symmetric:
            self.stiffness = 0.5 * (self.stiffness + self.stiffness.T)

    def _is_symmetric(self, scale: np.ndarray) -> bool:
        if not self._is_dense:
            return is_symmetric(scipy.sparse.diags(scale) @ self.stiffness @ scipy.sparse.diags(scale))
        scaled = scale[:, None] * self.stiffness * scale
        return bool(
            np.abs(scaled - scaled.T).max(initial=0.0) <= TOLERANCES.symmetric * np.abs(scaled).max(initial=0.0)
        )

    def factorized(self, shift: float, compliance: np.ndarray | float = 0.0) -> Factors | None:
        """Factors for a shift; None if the matrix is singular. `compliance`: that of the active constraints, which replaces the
        zero block."""
        D = 1.0 / np.sqrt(self._size + shift * self._inertia)
        A = self.stiffness + shift * self.metric if shift else self.stiffness
        if self._is_dense:
            A, J = D[:, None] * A * D, self._jacobian * D
            size = np.linalg.norm(J, axis=1)
        else:
            A, J = scipy.sparse.diags(D) @ A @ scipy.sparse.diags(D), self._jacobian @ scipy.sparse.diags(D)
            size = np.sqrt(np.asarray(J.multiply(J).sum(axis=1)).ravel())
        E = 1.0 / np.where(size > 0, size, 1.0)
        J = E[:, None] * J if self._is_dense else scipy.sparse.diags(E) @ J
        whole = self._dense if self._is_dense else self._sparse
        factors = whole(A, J, compliance * E**2)
        if factors is not None and not self.symmetric and self.n <= TOLERANCES.eigenvalues_up_to:
            A, J = (x if self._is_dense else x.toarray() for x in (A, J))
            solve, even = factors  # an odd number of negative eigenvalues is not zero
            return Factors(solve, lambda: even and _has_no_negative(A, J), D, E, self.rows)
        if factors is None or not factors[1]:
            # directions without stiffness have a zero pivot, or one of either sign due to round-off
            lift = TOLERANCES.neutral * (np.eye(self.n) if self._is_dense else scipy.sparse.identity(self.n))
            lifted = whole(A + lift, J, compliance * E**2)
            if factors is None or (lifted is not None and lifted[1]):
                factors = lifted
        if factors is None:
            return None
        solve, sound = factors
        return Factors(solve, lambda: sound, D, E, self.rows)

    def _dense(self, A: np.ndarray, J: np.ndarray, compliance: np.ndarray) -> tuple[Solve, bool] | None:
        m = len(compliance)
        if not self.n + m:  # LAPACK rejects empty matrices
            return lambda b: b, True
        matrix = np.zeros((self.n + m, self.n + m), order="F")
        matrix[: self.n, : self.n] = A
        matrix[self.n :, : self.n], matrix[: self.n, self.n :] = J, J.T
        matrix[self.n :, self.n :] = -np.diag(compliance)
        if not np.all(np.isfinite(matrix)):
            return None
        if self.symmetric:
            packed, pivots, _ = scipy.linalg.lapack.dsytrf(matrix, lower=1, lwork=64 * max(1, self.n + m))
            values = _block_eigenvalues(packed, pivots)
            if np.abs(values).min(initial=np.inf) <= TOLERANCES.pivot * max(1.0, np.abs(values).max(initial=0.0)):
                return None
            sound = int(np.sum(values < 0)) == m
            return lambda b: scipy.linalg.lapack.dsytrs(packed, pivots, b, lower=1)[0], sound
        packed, pivots, _ = scipy.linalg.lapack.dgetrf(matrix)
        diagonal = np.diag(packed)
        if np.abs(diagonal).min(initial=np.inf) <= TOLERANCES.pivot * max(1.0, np.abs(diagonal).max(initial=0.0)):
            return None
        exchanges = int(np.sum(pivots != np.arange(len(pivots))))
        negative = int(np.sum(diagonal < 0)) + exchanges
        return lambda b: scipy.linalg.lapack.dgetrs(packed, pivots, b)[0], (negative - m) % 2 == 0

    def _sparse(
        self, A: scipy.sparse.spmatrix, J: scipy.sparse.spmatrix, compliance: np.ndarray
    ) -> tuple[Solve, bool] | None:
        m = len(compliance)
        whole = (
            scipy.sparse.bmat([[A, J.T], [J, -scipy.sparse.diags(compliance)]], format="csc")
            if m
            else scipy.sparse.csc_matrix(A)
        )
        if not np.all(np.isfinite(whole.data)):
            return None
        if self.symmetric:
            # replacing constraints by stiff springs keeps the signs on the motions that they allow
            stiff = A + J.T @ scipy.sparse.diags(1.0 / np.maximum(compliance, TOLERANCES.compliance)) @ J if m else A
            negative = negative_eigenvalues(scipy.sparse.csc_matrix(stiff))
        try:
            factors = scipy.sparse.linalg.splu(whole)
        except RuntimeError:
            return None
        pivots = factors.U.diagonal()
        size = max(1.0, float(np.abs(pivots).max(initial=0.0)))
        if not np.all(np.isfinite(pivots)) or np.abs(pivots).min(initial=np.inf) <= TOLERANCES.pivot * size:
            return None
        if self.symmetric:
            return factors.solve, negative == 0
        odd = int(np.sum(pivots < 0)) + _odd(factors.perm_r) + _odd(factors.perm_c)
        return factors.solve, (odd - m) % 2 == 0


class Factors:
    """A factorized tangent."""

    def __init__(self, solve: Solve, sound: Callable[[], bool], D: np.ndarray, E: np.ndarray, rows: np.ndarray) -> None:
        """`D` (nv) and `E` (active rows) are the scaling factors of the matrix."""
        self._solve, self._judge = solve, sound
        self._D, self._E, self._rows = D, E, rows

    @cached_property
    def sound(self) -> bool:
        """Whether the shifted stiffness has no negative real eigenvalues on the motions allowed by the constraints. For large
        unsymmetric matrices only the parity of their number is known."""
        return self._judge()

    def step(self, force: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's increments of q (nv) and of the multipliers (m) for these unbalanced forces and constraint values."""
        x = self._solve(-np.concatenate([self._D * force, self._E * phi[self._rows]]))
        multipliers = np.zeros(len(self._rows))
        multipliers[self._rows] = -self._E * x[len(self._D) :]
        return self._D * x[: len(self._D)], multipliers


def _has_no_negative(A: np.ndarray, J: np.ndarray) -> bool:
    """Whether a matrix of about unit diagonal has no negative real eigenvalues on the null space of J. Complex pairs are ignored:
    their real parts depend on the scaling."""
    if len(J):
        Z = null_space(J)
        A = Z.T @ A @ Z
    if bool(scipy.linalg.lapack.dpotrf(0.5 * (A + A.T), lower=1)[1] == 0):
        return True  # much faster than eigenvalues
    values = scipy.linalg.eigvals(A)
    real = values.real[np.abs(values.imag) <= TOLERANCES.real * np.abs(values)]
    return bool(real.min(initial=np.inf) > -TOLERANCES.neutral)


def _block_eigenvalues(packed: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """Eigenvalues of the blocks of D in LAPACK's L D L' (lower)."""
    values = np.diag(packed).copy()
    paired = pivots < 0
    k = 0
    while k < len(values):
        if paired[k]:
            a, b, c = packed[k, k], packed[k + 1, k], packed[k + 1, k + 1]
            middle, radius = 0.5 * (a + c), np.hypot(0.5 * (a - c), b)
            values[k], values[k + 1] = middle - radius, middle + radius
            k += 2
        else:
            k += 1
    return values


def _odd(permutation: np.ndarray) -> int:
    """1 for an odd permutation, 0 for an even one."""
    seen, odd = np.zeros(len(permutation), dtype=bool), 0
    for k in range(len(permutation)):
        length = 0
        while not seen[k]:
            seen[k] = True
            k, length = permutation[k], length + 1
        odd += max(0, length - 1)
    return odd % 2
