"""Stability of equilibria: eigenvalues of the stiffness on the motions that the constraints allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant.equations.binding import Linearized
from pliant.solve.independent_coordinates import null_space
from pliant.solve.statics.eigenvalue_count import is_symmetric, negative_eigenvalues

# Eigenvalues are computed densely up to this many rates.
DENSE_UP_TO = 600
# A scaled stiffness below this is none: the pose can drift without force.
NEUTRAL = 1e-10


@dataclass(frozen=True)
class Stability:
    """The stiffness on allowed motions.

    Attributes:
        values: eigenvalues of the scaled stiffness, ascending [-]; about 1 for a direction that is as stiff as single
            coordinates are. Their signs do not depend on the scaling.
        directions: the directions of `values` in increments of q, one per column.
        unstable: how many independent directions grow.
        neutral: how many have no stiffness.
        lowest: lowest eigenvalue of the stiffness itself [N/m or N m/rad in mass-free metric], or minus the fastest
            growth [1/s] where forces have no potential; None without allowed motions, or where it was not computed.
        conservative: whether the stiffness is symmetric; if not, `unstable` counts growing eigenvalues of the motion.
        remark: how it grows, where forces have no potential.
    """

    values: np.ndarray
    directions: np.ndarray
    unstable: int
    neutral: int
    lowest: float | None
    conservative: bool
    remark: str = ""

    @property
    def stable(self) -> bool | None:
        """Whether small disturbances stay small; None: it can drift."""
        if self.unstable:
            return False
        return None if self.neutral else True


def stiffness_scaling(at: Linearized) -> np.ndarray:
    """Positive numbers (nv) that bring stiff and soft coordinates to a common scale: D in D K D.

    Coordinates without stiffness of their own are scaled by their mass.
    """
    stiffness, mass = np.abs(at.stiffness.diagonal()), np.abs(at.mass.diagonal())
    fastest = np.max(np.divide(stiffness, mass, out=np.zeros_like(mass), where=mass > 0), initial=0.0)
    size = stiffness + 1e-8 * fastest * mass
    floor = 1e-12 * size.max(initial=0.0)
    return np.asarray(1.0 / np.sqrt(np.maximum(size, floor if floor > 0 else 1.0)))


def judge(at: Linearized, scaling: np.ndarray | None = None) -> Stability | None:
    """Stability at a pose; None where the system is too large for it.

    `scaling`: that of another pose, so that `values` at both are comparable.
    """
    n = at.stiffness.shape[0]
    if n == 0 or n > DENSE_UP_TO:
        return None
    D = stiffness_scaling(at) if scaling is None else scaling
    J = at.jacobian.toarray()
    Z = null_space(J)
    if Z.shape[1] == 0:
        return Stability(np.zeros(0), np.zeros((n, 0)), 0, 0, None, True)
    full = at.stiffness.toarray()
    plain = Z.T @ full @ Z
    # the same motions, with an orthonormal basis in scaled increments
    scaled = null_space(J * D) if J.size else np.eye(n)
    K = scaled.T @ (D[:, None] * full * D) @ scaled
    asymmetry = np.abs(K - K.T).max(initial=0.0)
    values, vectors = la.eigh(0.5 * (K + K.T))
    directions = D[:, None] * (scaled @ vectors)
    size = max(1.0, float(np.abs(values).max(initial=0.0)))
    neutral = int(np.sum(np.abs(values) <= NEUTRAL * size))
    if asymmetry <= 1e-9 * size:
        unstable = int(np.sum(values < -NEUTRAL * size))
        return Stability(values, directions, unstable, neutral, float(la.eigvalsh(0.5 * (plain + plain.T))[0]), True)
    # circulatory forces: growth shows in the eigenvalues of the motion, not in the sign of K
    roots, shapes = la.eig(K)
    order = np.argsort(roots.real)
    directions = D[:, None] * (scaled @ shapes[:, order].real)
    C, M = (Z.T @ x.toarray() @ Z for x in (at.damping, at.mass))
    found = growth(plain, C, M)
    return Stability(
        roots[order].real, directions, found.growing, found.neutral, -found.fastest, False, remark=found.remark
    )


def judge_large(at: Linearized) -> Stability | None:
    """Stability of a system without constraints that is too large for `judge`, without values and directions; None where
    forces have no potential, or round-off leaves it open."""
    n = at.stiffness.shape[0]
    if n == 0 or at.jacobian.shape[0] or not is_symmetric(at.stiffness):
        return None
    D = sp.diags(stiffness_scaling(at))
    K = D @ (0.5 * (at.stiffness + at.stiffness.T)) @ D
    below, above = (negative_eigenvalues(K + sign * NEUTRAL * sp.eye(n)) for sign in (1, -1))
    if below is None or above is None:
        return None
    lowest = None if above else _lowest(at.stiffness)
    return Stability(np.zeros(0), np.zeros((n, 0)), below, above - below, lowest, True)


def _lowest(stiffness: sp.spmatrix) -> float | None:
    """Lowest eigenvalue of a matrix that has no negative ones."""
    try:
        start = np.ones(stiffness.shape[0])
        return float(spla.eigsh(sp.csc_matrix(stiffness), k=1, sigma=0.0, v0=start, return_eigenvectors=False)[0])
    except (spla.ArpackError, RuntimeError):
        return None


@dataclass(frozen=True)
class Growth:
    """Small motions about a pose: how many eigenvalues grow, how many are zero, the fastest growth [1/s], in words."""

    growing: int
    neutral: int
    fastest: float
    remark: str = ""


def growth(K: np.ndarray, C: np.ndarray, M: np.ndarray) -> Growth:
    """Growth of the motions of M a + C v + K x = 0.

    Each eigenvalue is judged against its own round-off, by its condition: undamped motions, which only just do not grow,
    do not count, and a pair that flutters is told from one that round-off pushed off the axis.
    """
    try:
        L = la.cholesky(M, lower=True)
    except la.LinAlgError:
        return Growth(0, 1, 0.0)  # motions without mass are not judged
    k, c = (la.solve_triangular(L, la.solve_triangular(L, x, lower=True).T, lower=True).T for x in (K, C))
    # rates in units of the highest frequency, so that both halves of the state are of one size
    scale = max(float(np.sqrt(np.linalg.norm(k, 2))), 1e-300)
    f = len(k)
    A = np.block([[np.zeros((f, f)), scale * np.eye(f)], [-k / scale, -c]])
    values, left, right = la.eig(A, left=True)
    condition = 1 / np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), 1e-300)
    doubt = 100 * np.finfo(float).eps * np.linalg.norm(A, 2) * condition
    grows = values.real > doubt
    neutral = int(np.sum(np.abs(values) <= doubt))
    if not grows.any():
        return Growth(0, neutral, max(0.0, float(values.real.max())))
    worst = values[grows][np.argmax(values[grows].real)]
    how = f"flutters at {abs(worst.imag) / (2 * np.pi):.3g} Hz" if abs(worst.imag) > 1e-6 * abs(worst) else "gives way"
    remark = f"it {how} and grows by a factor e in {1 / worst.real:.3g} s"
    return Growth(int(grows.sum()), neutral, float(worst.real), remark)
