"""Lowest eigenvalues of small motions of large robots, by shift-invert iteration with sparse factors that include the
constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from pliant.analysis.numerics.quadratic_eigenvalues import (
    ROUND_OFF,
    Eigenpairs,
    RealModes,
    shapes_of_unit_mass,
    with_real_doubles,
)
from pliant.analysis.numerics.saddle import saddle_matrix

RESIDUAL = 1e-6
"""Eigenvectors with a larger residual than this, in the metric of the shifted inverse, are not accepted."""

MOST_RESTARTS = 40
"""Maximum number of iterations: for closely spaced eigenvalues, as of strongly damped motions, more iterations rarely help."""


class NotConverged(RuntimeError):
    """The lowest eigenvalues could not be found by iteration."""


@dataclass(frozen=True)
class SparseMatrices:
    """K, C, M and the active constraint rows, which are independent."""

    K: scipy.sparse.csc_matrix
    C: scipy.sparse.csc_matrix
    M: scipy.sparse.csc_matrix
    J: scipy.sparse.csr_matrix
    round_off: float = 0.0
    """Round-off of entries of K that are small differences of large forces [N/m or N m/rad]."""

    @property
    def freedom(self) -> int:
        """Number of independent motions."""
        return int(self.K.shape[0] - self.J.shape[0])

    def inverse(self, shift: float) -> scipy.sparse.linalg.LinearOperator:
        """Response of the constrained system with stiffness shift^2 M + shift C + K to a force."""
        return self._solver(shift * shift * self.M + shift * self.C + self.K)

    def static_inverse(self, square: float) -> scipy.sparse.linalg.LinearOperator:
        """The same with stiffness (K + K')/2 - square M."""
        return self._solver(0.5 * (self.K + self.K.T) - square * self.M)

    def _solver(self, matrix: scipy.sparse.spmatrix) -> scipy.sparse.linalg.LinearOperator:
        n, m = matrix.shape[0], self.J.shape[0]
        try:
            factors = scipy.sparse.linalg.splu(saddle_matrix(scipy.sparse.csc_matrix(matrix), self.J))
        except RuntimeError:
            raise NotConverged("the shifted stiffness is singular") from None
        zeros = np.zeros(m)

        def solve(force: np.ndarray) -> np.ndarray:
            given = np.concatenate([np.asarray(force, dtype=float).ravel(), zeros])
            return np.asarray(factors.solve(given)[:n])

        return scipy.sparse.linalg.LinearOperator((n, n), matvec=solve, dtype=float)


def lowest_real_modes(at: SparseMatrices, count: int) -> RealModes:
    """The lowest undamped modes, with the symmetric part of the stiffness."""
    count = min(count, at.freedom - 1)
    K = scipy.sparse.csc_matrix(0.5 * (at.K + at.K.T))
    mass = at.M.diagonal()
    fastest = float(
        np.max(
            np.divide(np.abs(K.diagonal()), mass, out=np.zeros_like(mass), where=mass > 1e-14 * mass.max(initial=0.0)),
            initial=0.0,
        )
    )
    shift = -1e-12 * max(fastest, 1e-300)
    inverse = at.static_inverse(shift)
    start = inverse.matvec(at.M @ np.random.default_rng(0).normal(size=K.shape[0]))
    try:
        _, shapes = scipy.sparse.linalg.eigsh(
            K, k=count, M=at.M, sigma=shift, OPinv=inverse, v0=start, ncv=min(at.freedom, max(2 * count + 20, 40))
        )
    except (scipy.sparse.linalg.ArpackError, RuntimeError) as reason:
        raise NotConverged(str(reason)) from None
    shapes = shapes_of_unit_mass(shapes, at.M)
    squares = np.einsum("ij,ij->j", shapes, K @ shapes)
    noise = np.einsum("ij,ij->j", np.abs(shapes), abs(K) @ np.abs(shapes))
    noise = ROUND_OFF * noise + at.round_off * np.sum(shapes**2, axis=0)
    squares = np.where(np.abs(squares) <= noise, 0.0, squares)
    order = np.argsort(squares, kind="stable")
    return RealModes(squares[order], shapes[:, order])


def lowest_eigenpairs(at: SparseMatrices, count: int, *, symmetric: bool) -> Eigenpairs:
    """At least the `count` eigenvalues closest to zero, as returned by `eigenpairs`; symmetric: whether K and C are."""
    real = lowest_real_modes(at, count)
    if symmetric and not at.C.count_nonzero():
        squares = real.squares
        values = np.where(squares >= 0, 1j, 1.0) * np.sqrt(np.abs(squares))
        return Eigenpairs(values, real.shapes, np.zeros(len(squares)))
    rigid = real.shapes[:, real.squares == 0] if symmetric else np.zeros((at.K.shape[0], 0))
    held = np.sqrt(np.abs(real.squares[real.squares != 0]))
    unit = float(np.median(held)) if len(held) else 1.0
    shift = 0.1 * float(held.min(initial=unit))
    inverse = at.inverse(shift)
    wanted = 2 * count + 6 + 2 * rigid.shape[1]
    while True:
        values, x = _nearest(at, inverse, shift, unit, wanted)
        reach = float(np.abs(values - shift).max()) - shift  # all eigenvalues within this radius are known
        improved = with_real_doubles(_improved(at, values, x, symmetric), at.M)
        values, x, doubts = improved.values, improved.shapes, improved.doubts
        kept = np.abs(values) > doubts  # rigid-body modes are taken exactly from the undamped problem
        values = np.concatenate([np.zeros(rigid.shape[1]), values[kept]])
        order = np.argsort(np.abs(values), kind="stable")[: max(count, rigid.shape[1])]
        if wanted >= 2 * at.freedom - 2 or (len(order) >= count and abs(values[order[-1]]) <= reach * (1 + 1e-9)):
            break
        wanted *= 2
        if wanted > 8 * count + 100:
            raise NotConverged("too many eigenvalues are of about one size")
    x = np.hstack([rigid, x[:, kept]])[:, order]
    values, doubts = values[order], np.concatenate([np.zeros(rigid.shape[1]), doubts[kept]])[order]
    _check(at, inverse, values, x)
    return Eigenpairs(values, x, doubts)


def _nearest(
    at: SparseMatrices, inverse: scipy.sparse.linalg.LinearOperator, shift: float, unit: float, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues closest to the shift, one of each conjugate pair, and their shapes; `unit` is a typical rate [1/s]."""
    n = at.K.shape[0]
    forward = scipy.sparse.csr_matrix(at.C + shift * at.M)

    def apply(state: np.ndarray) -> np.ndarray:
        # (x, v / unit): both halves have a similar size
        x, v = state[:n], unit * state[n:]
        moved = -inverse.matvec(at.M @ v + forward @ x)
        return unit * np.concatenate([moved, (x + shift * moved) / unit])

    operator = scipy.sparse.linalg.LinearOperator((2 * n, 2 * n), matvec=apply, dtype=float)
    start = apply(np.random.default_rng(0).normal(size=2 * n))
    wanted = min(wanted, 2 * at.freedom - 2)
    try:
        eigenvalues, states = scipy.sparse.linalg.eigs(
            operator, k=wanted, v0=start, ncv=min(2 * at.freedom, max(2 * wanted + 20, 60)), maxiter=MOST_RESTARTS
        )
    except (scipy.sparse.linalg.ArpackError, RuntimeError) as reason:
        raise NotConverged(str(reason)) from None
    values = shift + unit / eigenvalues
    values = np.where(np.abs(values.imag) <= 1e-12 * np.abs(values), values.real + 0j, values)
    half = values.imag >= 0
    return values[half], shapes_of_unit_mass(states[:n, half], at.M)


def _improved(at: SparseMatrices, values: np.ndarray, x: np.ndarray, symmetric: bool) -> Eigenpairs:
    """Eigenvalues improved by quotients if the left vectors are known, with their round-off."""
    y = x if symmetric else x.conj()
    m, d, s = (np.einsum("ij,ij->j", y, matrix @ x) for matrix in (at.M, at.C, at.K))
    noise_m, noise_d, noise_s = (
        np.einsum("ij,ij->j", np.abs(x), abs(matrix) @ np.abs(x)) for matrix in (at.M, at.C, at.K)
    )
    slope = 2 * values * m + d
    if symmetric:
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (values**2 * m + values * d + s) / slope
        values = np.where(np.abs(change) <= 1e-3 * np.abs(values), values - change, values)
    size = np.abs(values)
    share = ROUND_OFF * (size**2 * noise_m + size * noise_d + noise_s)
    share += at.round_off * np.sum(np.abs(x) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        doubts = np.fmin(share / np.abs(slope), np.sqrt(share / np.abs(m)))
    return Eigenpairs(values, x, np.maximum(doubts, 1e-9 * size * (np.abs(values.imag) <= 1e-9 * size)))


def _check(at: SparseMatrices, inverse: scipy.sparse.linalg.LinearOperator, values: np.ndarray, x: np.ndarray) -> None:
    """Raise NotConverged if (value^2 M + value C + K) x is a force whose response exceeds a fraction of x."""
    force = (at.M @ x) * values**2 + (at.C @ x) * values + at.K @ x
    for k in range(len(values)):
        moved = inverse.matvec(force[:, k].real) + 1j * inverse.matvec(force[:, k].imag)
        if np.linalg.norm(moved) > RESIDUAL * np.linalg.norm(x[:, k]):
            raise NotConverged(f"the eigenvalue {values[k]:.4g} has a residual")
