"""Eigenvalues of small motions: (value^2 M + value C + K) x = 0 with dense matrices on the motions that constraints allow.

The problem is written in the undamped modes, which separate stiff and soft motions. Modes that damping does not couple have
eigenvalues in closed form; each group of coupled ones is solved as a first-order system, and its eigenvalues are improved by
quotients with their left and right vectors, which are accurate to the round-off of the matrices' entries (Tisseur and Meerbergen,
SIAM Review 43 (2001) 235, sections 4 and 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.saddle import saddle_matrix
from pliant.language.arguments import ArgumentError

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
        improved = with_real_doubles(_improved_values(at, values, x, symmetric), at.M)
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
    # raise NotConverged if (value^2 M + value C + K) x is a force whose response exceeds a fraction of x
    force = (at.M @ x) * values**2 + (at.C @ x) * values + at.K @ x
    for k in range(len(values)):
        moved = inverse.matvec(force[:, k].real) + 1j * inverse.matvec(force[:, k].imag)
        if np.linalg.norm(moved) > RESIDUAL * np.linalg.norm(x[:, k]):
            raise NotConverged(f"the eigenvalue {values[k]:.4g} has a residual")
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


def _improved_values(at: SparseMatrices, values: np.ndarray, x: np.ndarray, symmetric: bool) -> Eigenpairs:
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


EPS = float(np.finfo(float).eps)
# Round-off of products with a matrix, relative to the product with its entries' absolute values.
ROUND_OFF = 1e3 * EPS
# Modes below this fraction of the highest square are recomputed, because their relative round-off is larger.
LOW = 1e-6
# Squares with a smaller relative difference are equal.
ALIKE = 1e-8


class MasslessMotion(ArgumentError):
    """A motion allowed by the constraints has no mass."""

    def __init__(self) -> None:
        super().__init__(
            "the mass matrix is not positive definite on the allowed motions: give every moving body mass and inertia"
        )


@dataclass(frozen=True)
class RealModes:
    """Modes without damping: squares of angular frequencies [1/s^2], ascending, and mass-normalized shapes, one per column.

    Squares of motions without stiffness are exactly zero.
    """

    squares: np.ndarray
    shapes: np.ndarray


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues [1/s] and shapes (columns, real if possible), in no particular order.

    A conjugate pair is represented by the value with positive imaginary part. So is a pair of opposite sign with the same shape,
    due to missing damping: a rigid-body mode (0) and an unstable direction (the growing value). `doubts` are the round-off of
    each value [1/s].
    """

    values: np.ndarray
    shapes: np.ndarray
    doubts: np.ndarray


def real_modes(K: np.ndarray, M: np.ndarray, *, round_off: float = 0.0) -> RealModes:
    """All modes of the symmetric part of K; raises MasslessMotion if M is not positive definite.

    round_off: that of entries of K which are small differences of large forces [N/m or N m/rad].
    """
    K = 0.5 * (K + K.T)
    try:
        squares, shapes = scipy.linalg.eigh(K, M)
    except scipy.linalg.LinAlgError:
        raise MasslessMotion from None
    top = float(np.abs(squares).max(initial=0.0))
    while np.any(low := np.abs(squares) < LOW * top):
        # inverse iteration for these alone: in the first pass the round-off of the highest modes dominates them
        block, singular = scipy.linalg.lapack.dsysv(K + 1e-3 * ROUND_OFF * top * M, M @ shapes[:, low])[2:]
        scale = np.sqrt(np.einsum("ij,ij->j", block, M @ block))
        if singular or not np.all(np.isfinite(block)) or not np.all(scale > 0):
            break
        block /= scale
        try:
            squares[low], small = scipy.linalg.eigh(block.T @ K @ block, block.T @ M @ block)
        except scipy.linalg.LinAlgError:
            break  # the block has lost its rank: keep the result of the first pass
        shapes[:, low] = block @ small
        order = np.argsort(squares, kind="stable")
        squares, shapes = squares[order], shapes[:, order]
        top = float(np.abs(squares[low[order]]).max(initial=0.0))
        if top <= ROUND_OFF * float(np.abs(squares).max()):
            break
    noise = np.einsum("ij,ij->j", np.abs(shapes), np.abs(K) @ np.abs(shapes))
    noise = ROUND_OFF * noise + round_off * np.sum(shapes**2, axis=0)
    return RealModes(np.where(np.abs(squares) <= noise, 0.0, squares), shapes)


def eigenpairs(K: np.ndarray, C: np.ndarray, M: np.ndarray, *, round_off: float = 0.0) -> Eigenpairs:
    """All eigenvalues of M a + C v + K x = 0, M positive definite. K and C need not be symmetric; `round_off`: see `real_modes`."""
    undamped = real_modes(K, M, round_off=round_off)
    squares, shapes = undamped.squares, undamped.shapes
    shapes = shapes @ _within_clusters(squares, _cleaned(C, C, shapes))
    c, turning = _cleaned(C, C, shapes), _cleaned(0.5 * (K - K.T), K, shapes)
    stiffness = np.diag(squares) + turning
    size = np.abs(shapes)
    noise_c, noise_k = ROUND_OFF * size.T @ np.abs(C) @ size, size.T @ (ROUND_OFF * np.abs(K) @ size + round_off * size)
    _, group = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_matrix(np.abs(c) + np.abs(turning)), directed=False
    )
    values, vectors, doubts = [], [], []
    for g in range(group.max(initial=-1) + 1):
        members = np.flatnonzero(group == g)
        within = np.ix_(members, members)
        if len(members) == 1:
            here = np.array(_single(float(squares[members[0]]), float(c[within][0, 0])), dtype=complex)
            right = left = np.ones((1, len(here)))
        else:
            here, right, left = _coupled(stiffness[within], c[within])
        values.append(here)
        vectors.append(shapes[:, members] @ right)
        doubts.append(_doubts(here, right, left, c[within], noise_k[within], noise_c[within]))
    if not values:
        return Eigenpairs(np.zeros(0, dtype=complex), np.zeros((len(K), 0)), np.zeros(0))
    pairs = Eigenpairs(np.concatenate(values), np.hstack(vectors), np.concatenate(doubts))
    return with_real_doubles(pairs, M)


def with_real_doubles(pairs: Eigenpairs, M: Any) -> Eigenpairs:
    """Eigenvalues with pairs that round-off has moved off the real axis replaced by two real values."""
    values, x = pairs.values, shapes_of_unit_mass(pairs.shapes, M)
    double = (values.imag != 0) & (np.abs(values.imag) <= pairs.doubts) & (np.abs(values.real) > pairs.doubts)
    if not double.any():
        return Eigenpairs(values, x, pairs.doubts)
    first, second = x[:, double].real, x[:, double].imag
    second = np.where(np.abs(second).max(axis=0) > 1e-3 * np.abs(first).max(axis=0), second, first)
    real = values[double].real + 0j
    shapes = np.hstack([x[:, ~double], shapes_of_unit_mass(first, M), shapes_of_unit_mass(second, M)])
    doubts = np.concatenate([pairs.doubts[~double], pairs.doubts[double], pairs.doubts[double]])
    return Eigenpairs(np.concatenate([values[~double], real, real]), shapes, doubts)


def _cleaned(matrix: np.ndarray, of: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """A matrix in modal coordinates, without the entries that are round-off of the matrix it was extracted from."""
    if not np.any(matrix):
        return np.zeros((shapes.shape[1],) * 2)
    modal = shapes.T @ matrix @ shapes
    noise = np.abs(shapes).T @ np.abs(of) @ np.abs(shapes)
    return np.where(np.abs(modal) <= ROUND_OFF * noise, 0.0, modal)


def _within_clusters(squares: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Rotation within modes of equal frequency that diagonalizes their damping."""
    turn = np.eye(len(squares))
    gaps = np.abs(np.diff(squares)) > ALIKE * np.maximum(np.abs(squares[1:]), np.abs(squares[:-1]))
    for cluster in np.split(np.arange(len(squares)), np.flatnonzero(gaps) + 1):
        if len(cluster) > 1:
            block = c[np.ix_(cluster, cluster)]
            if np.any(block - np.diag(np.diag(block))):
                turn[np.ix_(cluster, cluster)] = scipy.linalg.eigh(0.5 * (block + block.T))[1]
    return turn


def _single(square: float, c: float) -> list[complex]:
    """Eigenvalues of a single mode."""
    if c == 0.0:
        return [1j * np.sqrt(square) if square >= 0 else complex(np.sqrt(-square))]
    inside = 0.25 * c * c - square
    if inside < 0:
        return [complex(-0.5 * c, np.sqrt(-inside))]
    larger = -0.5 * c - np.copysign(np.sqrt(inside), c)
    return [complex(square / larger), complex(larger)]


def _coupled(k: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues, right and left vectors of x'' + c x' + k x = 0; zero columns of k are rigid motions."""
    size = len(k)
    free = ~np.any(k, axis=0)
    held = np.flatnonzero(~free)
    # stiff motions first, each scaled by its own rate: the matrix is graded, which keeps slow eigenvalues accurate
    unit = np.sqrt(np.abs(np.diag(k)[held]))
    unit = np.where(unit > 0, unit, max(float(unit.max(initial=0.0)), float(np.abs(c).max()), 1e-300))
    A = np.zeros((len(held) + size,) * 2)
    A[np.arange(len(held)), len(held) + held] = unit
    A[len(held) :, : len(held)] = -k[:, held] / unit
    A[len(held) :, len(held) :] = -c
    weight = np.concatenate([unit, np.maximum(np.sqrt(np.abs(np.diag(k))), np.abs(np.diag(c)))])
    order = np.argsort(-weight, kind="stable")
    values, left, right = scipy.linalg.eig(A[np.ix_(order, order)], left=True)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    left, right = left[back], right[back]
    condition = 1 / np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), 1e-300)
    zero = np.abs(values) <= 100 * EPS * np.linalg.norm(A, 2) * condition if free.any() else np.zeros(len(values), bool)
    keep = (values.imag >= 0) & ~zero
    values, y = values[keep], left[len(held) :, keep]
    # a displacement without a rate is a rigid motion, whose value is zero up to round-off
    values = np.where(np.any(right[len(held) :, keep], axis=0), values, 0.0)
    x = right[len(held) :, keep] / np.where(values == 0, 1.0, values)
    if np.any(values == 0):
        x[held[:, None], np.flatnonzero(values == 0)] = (right[: len(held), keep] / unit[:, None])[:, values == 0]
    values = _improved(values, x, y, k, c)
    rigid = np.eye(size)[:, free]
    left_rigid = scipy.linalg.null_space(k.T)[:, : free.sum()] if free.any() else rigid
    if left_rigid.shape[1] < free.sum():
        left_rigid = rigid
    return (np.concatenate([np.zeros(int(free.sum())), values]), np.hstack([rigid, x]), np.hstack([left_rigid, y]))


def _improved(values: np.ndarray, x: np.ndarray, y: np.ndarray, k: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Roots of y^H (value^2 + value c + k) x closest to each value."""
    m, d, s = (np.einsum("ij,ij->j", y.conj(), z) for z in (x, c @ x, k @ x))
    root = np.sqrt(d * d - 4 * m * s)
    root = np.where((root.conj() * d).real < 0, -root, root)
    q = -0.5 * (d + root)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.array([q / m, s / q])
        near = np.abs(both - values)
    near = np.where(np.isfinite(near), near, np.inf)
    best = both[np.argmin(near, axis=0), np.arange(len(values))]
    # left and right vectors of a double eigenvalue are orthogonal: the quotient is undefined
    trust = (near.min(axis=0) <= 1e-3 * np.abs(values)) & np.isfinite(best)
    better = np.where(trust, best, values)
    return np.where(values.imag == 0, better.real + 0j, better)


def _doubts(
    values: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray, noise_k: np.ndarray, noise_c: np.ndarray
) -> np.ndarray:
    """Round-off of eigenvalues due to the round-off of the entries of the matrices."""
    size = np.abs(values)
    ax, ay = np.abs(x), np.abs(y)
    share = (
        ROUND_OFF * size**2 * np.einsum("ij,ij->j", ay, ax)
        + size * np.einsum("ij,ij->j", ay, noise_c @ ax)
        + np.einsum("ij,ij->j", ay, noise_k @ ax)
    )
    slope = np.abs(np.einsum("ij,ij->j", y.conj(), 2 * values * x + c @ x))
    # a perturbation e of a double eigenvalue splits it by about sqrt(e)
    curve = np.abs(np.einsum("ij,ij->j", y.conj(), x))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        doubts = np.fmin(share / slope, np.sqrt(share / curve))
    return np.where(share == 0, 0.0, np.where(np.isnan(doubts), np.inf, doubts))


def shapes_of_unit_mass(x: np.ndarray, M: Any) -> np.ndarray:
    """Shapes with x^H M x = 1, with phases that make them as real as possible; a real array if all of them are real."""
    if np.iscomplexobj(x):
        square, size = np.einsum("ij,ij->j", x, M @ x), np.einsum("ij,ij->j", x.conj(), M @ x).real
        largest = x[
            np.argmax(np.abs(x), axis=0), np.arange(x.shape[1])
        ]  # circular motions, which are not real in any phase
        x = x * np.exp(-1j * np.where(np.abs(square) > 1e-6 * size, 0.5 * np.angle(square), np.angle(largest)))
        if not np.any(np.abs(x.imag) > 1e-12 * np.abs(x).max(axis=0, initial=0.0)):
            x = x.real
    masses = np.einsum("ij,ij->j", x.conj(), M @ x).real
    if not np.all(masses > 0):  # that of a motion without mass is round-off of either sign
        raise MasslessMotion
    return x / np.sqrt(masses)
