"""Stability of equilibria: by the stiffness on the motions allowed by constraints, or by the eigenvalues of the motion.

If forces have a potential, an equilibrium is stable at a minimum, as long as damping dissipates energy; gyroscopic terms then have
no influence. If they have no potential, if damping is negative, or if gyroscopic terms may stabilize a pose without positive
stiffness, the eigenvalues of the motion decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.analysis.numerics.quadratic_eigenvalues import (
    EPS,
    MasslessMotion,
    NotConverged,
    SparseMatrices,
    eigenpairs,
    lowest_eigenpairs,
    lowest_real_modes,
)
from pliant.analysis.numerics.saddle import null_space, on_allowed_motions
from pliant.engine.binding import LinearizedEquations


@dataclass(frozen=True)
class StabilityTolerances:
    """Numbers that decide about stability."""

    dense_up_to: int = 600
    """Number of rates up to which eigenvalues are computed with dense matrices; beyond, pivots of sparse ones are counted."""
    neutral: float = 1e-10
    """A scaled stiffness below this is zero: eigenvalues have a round-off of about 1e-16 times the condition of the scaled
    matrix."""
    symmetric: float = 1e-9
    """Asymmetry of a stiffness or damping, relative to its largest entry, that is round-off."""
    energy: float = 1e-12
    """Negative damping below this fraction, per rate, is round-off of a Cholesky factorization."""
    energy_of_large: float = 1e-9
    """The same for sparse factorizations, which exchange no rows."""
    damping_ratio: float = 0.01
    """Damping ratio that all vibrations of real parts are assumed to have: metal structures have 0.5 to 2 percent."""
    modes: int = 12
    """Number of modes that are examined in a large robot whose stiffness does not decide."""
    largest_growth: float = 1e6
    """Growth of entries in a factorization without row exchanges beyond which the signs of pivots are unreliable: six of sixteen
    digits are lost."""
    pivot: float = 1e-14
    """Pivots below this, relative to the largest entry, have no reliable sign."""
    dependent: float = 1e-9
    """Constraint rows that are linear combinations of others to this relative tolerance are dependent."""


TOLERANCES = StabilityTolerances()


@dataclass(frozen=True)
class Stability:
    """The stiffness on allowed motions, and whether they grow.

    Attributes:
        values: eigenvalues of the scaled stiffness, ascending [-]; about 1 for a direction that is as stiff as single
            coordinates are. Their signs do not depend on the scaling.
        directions: the eigenvectors of `values` in increments of q, one per column.
        unstable: number of independent growing directions.
        neutral: number of directions without stiffness.
        lowest: lowest eigenvalue of the stiffness itself [N/m or N m/rad in mass-free metric], or minus the fastest
            growth [1/s] where forces have no potential; None without allowed motions, or where it was not computed.
        conservative: whether the stiffness decides: `unstable` counts its negative eigenvalues. Otherwise it counts growing
            eigenvalues of the motion: forces have no potential, damping is negative, or gyroscopic terms stabilize it.
        growth: how it grows, or what stabilizes it, if the stiffness does not decide.
    """

    values: np.ndarray
    directions: np.ndarray
    unstable: int
    neutral: int
    lowest: float | None
    conservative: bool
    growth: str = ""

    @property
    def stable(self) -> bool | None:
        """Whether small disturbances stay small; None: the pose can drift."""
        if self.unstable:
            return False
        return None if self.neutral else True


def stiffness_scaling(at: LinearizedEquations) -> np.ndarray:
    """Positive numbers (nv) that scale stiff and soft coordinates to a common size: D in D K D.

    Coordinates without stiffness are scaled by their mass.
    """
    square = at.rate_sizes**2
    stiffness, mass = square * np.abs(at.stiffness.diagonal()), square * np.abs(at.mass.diagonal())
    fastest = np.max(
        np.divide(stiffness, mass, out=np.zeros_like(mass), where=mass > 1e-14 * mass.max(initial=0.0)), initial=0.0
    )
    size = stiffness + 1e-8 * fastest * mass
    floor = 1e-12 * size.max(initial=0.0)
    return np.asarray(at.rate_sizes / np.sqrt(np.maximum(size, floor if floor > 0 else 1.0)))


def judge(at: LinearizedEquations, scaling: np.ndarray | None = None) -> Stability | None:
    """Stability at a pose; None if the system is too large.

    `scaling`: that of another pose, so that `values` at both are comparable.
    """
    n = at.stiffness.shape[0]
    if n > TOLERANCES.dense_up_to:
        return None
    if n == 0:  # nothing can move
        return Stability(np.zeros(0), np.zeros((0, 0)), 0, 0, None, True)
    D = stiffness_scaling(at) if scaling is None else scaling
    Z, plain, C, M = on_allowed_motions(at)
    if Z.shape[1] == 0:
        return Stability(np.zeros(0), np.zeros((n, 0)), 0, 0, None, True)
    full = at.stiffness.toarray()
    # the same motions, with an orthonormal basis in scaled increments
    scaled = null_space(at.jacobian.toarray() / at.row_sizes[:, None] * D) if len(at.phi) else np.eye(n)
    K = scaled.T @ (D[:, None] * full * D) @ scaled
    asymmetry = np.abs(K - K.T).max(initial=0.0)
    values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
    directions = D[:, None] * (scaled @ vectors)
    size = max(1.0, float(np.abs(values).max(initial=0.0)))
    neutral = int(np.sum(np.abs(values) <= TOLERANCES.neutral * size))
    if asymmetry <= TOLERANCES.symmetric * size:
        lacking = int(np.sum(values < -TOLERANCES.neutral * size))
        unit = scipy.linalg.qr(Z, mode="economic")[0]
        lowest = float(scipy.linalg.eigvalsh(0.5 * unit.T @ (full + full.T) @ unit)[0])
        by_stiffness = Stability(values, directions, lacking, neutral, lowest, True)
        return by_stiffness if _stiffness_decides(at, C, lacking) else _by_motion(plain, C, M, by_stiffness)
    # circulatory forces: the stability depends on the eigenvalues of the motion, not on the sign of K
    roots, shapes = scipy.linalg.eig(K)
    order = np.argsort(roots.real)
    directions = D[:, None] * (scaled @ shapes[:, order].real)
    rates = growth(plain, C, M)
    return Stability(
        roots[order].real, directions, rates.growing, rates.neutral, -rates.fastest, False, growth=rates.growth
    )


def _stiffness_decides(at: LinearizedEquations, allowed: np.ndarray, lacking: int) -> bool:
    """Whether a symmetric stiffness decides about stability: damping dissipates energy, and no gyroscopic terms act if it is not
    positive.
    allowed: the damping on allowed motions."""
    C = at.in_sizes().damping
    if not C.count_nonzero():
        return True
    if lacking and not is_symmetric(C):
        return False  # gyroscopic terms may stabilize it
    return _takes_energy(0.5 * (C + C.T).toarray()) or _takes_energy(0.5 * (allowed + allowed.T))


def _takes_energy(C: np.ndarray) -> bool:
    """Whether a symmetric matrix has no negative eigenvalues beyond round-off."""
    size = np.abs(np.diag(C))
    D = 1 / np.sqrt(np.maximum(size, max(1e-12 * size.max(initial=0.0), 1e-300)))
    try:
        scipy.linalg.cholesky(D[:, None] * C * D + TOLERANCES.energy * len(C) * np.eye(len(C)))
    except scipy.linalg.LinAlgError:
        return False
    return True


def _by_motion(K: np.ndarray, C: np.ndarray, M: np.ndarray, by_stiffness: Stability) -> Stability:
    """The stability of a symmetric stiffness, corrected by the eigenvalues of the motion."""
    rates = growth(0.5 * (K + K.T), C, M)
    lacking = by_stiffness.unstable
    if not rates.judged or (lacking and rates.growing):
        return by_stiffness  # directions without stiffness are unstable
    if rates.growing:
        return replace(by_stiffness, unstable=rates.growing, conservative=False, growth=rates.growth)
    if lacking:
        way = "direction" if lacking == 1 else "directions"
        words = (
            f"only gyroscopic terms stabilize it, since its stiffness is negative in {lacking} {way}; any damping "
            "there makes it unstable"
        )
        return replace(by_stiffness, unstable=0, conservative=False, growth=words)
    return by_stiffness


def held_by_damping(at: LinearizedEquations) -> bool:
    """Whether a pose that flutters without any damping is stabilized by the light damping of all vibrations that real parts have.

    Circulatory loads, such as moments about fixed axes, make any undamped robot flutter, however small they are.
    """
    if np.abs(at.damping.data).max(initial=0.0) > 0 or at.stiffness.shape[0] > TOLERANCES.dense_up_to:
        return False
    _, K, _, M = on_allowed_motions(at)
    try:
        squares, shapes = scipy.linalg.eigh(0.5 * (K + K.T), M)
    except scipy.linalg.LinAlgError:
        return False
    momenta = M @ shapes
    C = (momenta * (2 * TOLERANCES.damping_ratio * np.sqrt(np.abs(squares)))) @ momenta.T
    return growth(K, C, M).growing == 0


def judge_large(at: LinearizedEquations) -> Stability | None:
    """Stability of a system that is too large for `judge`, without values and directions; None if undetermined due to round-off,
    or if the stiffness does not decide and no growing motion was found among the slowest."""
    n = at.stiffness.shape[0]
    if n == 0:
        return None
    raw, at = at, at.in_sizes()
    rows = independent_rows(at.jacobian)
    J = scipy.sparse.csr_matrix(at.jacobian[rows])
    if J.shape[0] >= n:
        return None
    D = scipy.sparse.diags(stiffness_scaling(at))
    K = D @ at.stiffness @ D
    if not is_symmetric(K) or not _takes_energy_large(at.damping):
        return _growing_large(at, J, symmetric=is_symmetric(K) and is_symmetric(at.damping))
    K = 0.5 * (K + K.T)
    below, above = (
        negative_eigenvalues_within(K + sign * TOLERANCES.neutral * scipy.sparse.eye(n), J @ D) for sign in (1, -1)
    )
    if below is None or above is None:
        return None
    if below and not is_symmetric(at.damping):
        return _growing_large(at, J, symmetric=False)
    lowest = None
    if not above:
        try:
            unit = SparseMatrices(
                scipy.sparse.csc_matrix(raw.stiffness),
                scipy.sparse.csc_matrix((n, n)),
                scipy.sparse.identity(n, format="csc"),
                scipy.sparse.csr_matrix(raw.jacobian[rows]),
            )
            lowest = float(lowest_real_modes(unit, 1).squares[0])
        except NotConverged:
            pass
    return Stability(np.zeros(0), np.zeros((n, 0)), below, above - below, lowest, True)


def _takes_energy_large(damping: scipy.sparse.spmatrix) -> bool:
    """Whether damping certainly dissipates energy."""
    C = scipy.sparse.csc_matrix(0.5 * (damping + damping.T))
    if not C.count_nonzero():
        return True
    size = np.abs(C.diagonal())
    D = scipy.sparse.diags(1 / np.sqrt(np.maximum(size, max(1e-12 * size.max(initial=0.0), 1e-300))))
    return negative_eigenvalues(D @ C @ D + TOLERANCES.energy_of_large * scipy.sparse.eye(C.shape[0])) == 0


def _growing_large(at: LinearizedEquations, J: scipy.sparse.csr_matrix, *, symmetric: bool) -> Stability | None:
    """Growing motions among the slowest of a large robot; None if there are none, because the others are unknown."""
    n = at.stiffness.shape[0]
    matrices = SparseMatrices(scipy.sparse.csc_matrix(at.stiffness), scipy.sparse.csc_matrix(at.damping), at.mass, J)
    try:
        pairs = lowest_eigenpairs(matrices, TOLERANCES.modes, symmetric=symmetric)
    except NotConverged:
        return None
    seen = _growth_of(pairs.values, pairs.doubts)
    if not seen.growing:
        return None
    return Stability(np.zeros(0), np.zeros((n, 0)), seen.growing, 0, -seen.fastest, False, growth=seen.growth)


def is_symmetric(matrix: scipy.sparse.spmatrix, share: float = TOLERANCES.symmetric) -> bool:
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
    if (
        np.abs(pivots).min(initial=np.inf) <= TOLERANCES.pivot * size
        or np.abs(factors.U.data).max() > TOLERANCES.largest_growth * size
    ):
        return None
    return int(np.sum(pivots < 0))


def independent_rows(jacobian: scipy.sparse.spmatrix) -> np.ndarray:
    """Indices of rows that span all rows of a Jacobian (m x n), ascending."""
    if not jacobian.shape[0]:
        return np.zeros(0, dtype=int)
    R, order = scipy.linalg.qr(jacobian.toarray().T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    return np.sort(order[: len(size)][size > TOLERANCES.dependent * max(float(size.max(initial=0.0)), 1e-300)])


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
    if np.abs(values).min() <= TOLERANCES.pivot * np.abs(values).max():
        return None
    return below - int(np.sum(values < 0))


@dataclass(frozen=True)
class GrowthRates:
    """Growth of small motions about a pose: number of growing and of zero eigenvalues, and the fastest growth [1/s].

    judged: False if motions without mass leave it undetermined.
    """

    growing: int
    neutral: int
    fastest: float
    growth: str = ""
    judged: bool = True


def growth(K: np.ndarray, C: np.ndarray, M: np.ndarray) -> GrowthRates:
    """Growth of the motions of M a + C v + K x = 0.

    Each eigenvalue is compared with its own round-off, from its condition number: undamped motions, which are marginal,
    are not counted, and a pair that flutters is distinguished from one that round-off moved off the axis.
    """
    try:
        pairs = eigenpairs(K, C, M)
    except MasslessMotion:
        # growth if some motions have no mass: they follow the others immediately, or creep against their dampers
        f, mass = len(K), max(float(np.linalg.norm(M, 2)), 1e-300)
        unit = np.sqrt(max(float(np.linalg.norm(K, 2)), 1e-300) / mass)
        A = np.block([[np.zeros((f, f)), np.eye(f)], [-K / (unit**2 * mass), -C / (unit * mass)]])
        B = np.block([[np.eye(f), np.zeros((f, f))], [np.zeros((f, f)), M / mass]])
        alpha, beta = scipy.linalg.eig(A, B, right=False, homogeneous_eigvals=True)
        finite = np.abs(beta) > 1e3 * EPS * np.maximum(np.abs(alpha), np.linalg.norm(B, 2))
        if not finite.any():
            return GrowthRates(0, 0, 0.0, judged=False)
        values = unit * alpha[finite] / beta[finite]
        doubts = 1e-9 * np.abs(values).max() + 1e-7 * np.abs(values)
        half = values.imag >= 0
        return _growth_of(values[half], doubts[half])
    return _growth_of(pairs.values, pairs.doubts)


def _growth_of(values: np.ndarray, doubts: np.ndarray) -> GrowthRates:
    """Growth from eigenvalues, with one of each conjugate pair, and their round-off."""
    twice = np.where(values.imag != 0, 2, 1)
    grows = values.real > doubts
    neutral = int(np.sum(np.abs(values) <= doubts))
    if not grows.any():
        return GrowthRates(0, neutral, max(0.0, float(values.real.max(initial=0.0))))
    worst = values[grows][np.argmax(values[grows].real)]
    how = f"flutters at {abs(worst.imag) / (2 * np.pi):.3g} Hz" if abs(worst.imag) > 1e-6 * abs(worst) else "gives way"
    words = f"it {how} and grows by a factor e in {1 / worst.real:.3g} s"
    return GrowthRates(int(twice[grows].sum()), neutral, float(worst.real), words)
