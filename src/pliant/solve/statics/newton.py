"""Newton's method for constrained statics, globalized.

Negative eigenvalues of the stiffness on allowed motions are replaced by their absolute values, so that every step descends
and the iteration ends in a stable equilibrium. Near one there are none, and convergence is quadratic. Where the iteration
fails, the imbalance of the start is removed in stages.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant.equations.binding import Binding, Linearized
from pliant.equations.workspace import EvaluationError
from pliant.solve.independent_coordinates import null_space
from pliant.solve.saddle import balancing_multipliers, saddle_matrix
from pliant.solve.statics.eigenvalue_count import is_symmetric, negative_eigenvalues
from pliant.solve.statics.stability import DENSE_UP_TO, stiffness_scaling

MAX_ITERATIONS = 200
# Newton's full steps without a guard converge within this many or not at all.
FREE_ITERATIONS = 40
# After so many short steps in a row it is quicker to apply the load in stages.
SLOW_ITERATIONS = 10
# No node turns further than this in one step [rad], so that no equilibrium is jumped over.
MAX_TURN = 1.5


# From so many rates on a sparse factorization tells sooner than eigenvalues that a stiffness has no negative ones.
SPARSE_FROM = 40

Again = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _surely_downhill(at: Linearized) -> bool:
    """Whether Newton's step goes downhill as it is: the stiffness is symmetric and has no negative eigenvalues."""
    if not is_symmetric(at.stiffness):
        return False
    D = sp.diags(stiffness_scaling(at))
    return negative_eigenvalues(D @ (0.5 * (at.stiffness + at.stiffness.T)) @ D) == 0


def largest_turn(before: np.ndarray, after: np.ndarray) -> float:
    """Largest angle [rad] between two sets of rotation matrices."""
    cosines = 0.5 * (np.einsum("nij,nij->n", before, after) - 1.0)
    return float(np.arccos(np.clip(cosines, -1.0, 1.0)).max(initial=0.0)) if np.all(np.isfinite(cosines)) else np.inf


class NewtonStatics:
    """Newton iterations on `F(q, multipliers) = remaining * F0, phi(q) = 0`."""

    def __init__(self, bound: Binding, t: float, tolerance: float) -> None:
        self.bound, self.t, self.tolerance = bound, t, tolerance
        self._zero = np.zeros(bound.nv)
        self._load = np.zeros(bound.nv)
        self._gap = np.zeros(bound.m)
        self._free = False

    def linearized(self, q: np.ndarray, multipliers: np.ndarray) -> Linearized:
        return self.bound.linearized(self.t, q, self._zero, self._zero, multipliers)

    def _residual(
        self, q: np.ndarray, multipliers: np.ndarray, bound: Binding | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Unbalanced forces and open constraints, of the equations in force or of others."""
        bound = bound or self.bound
        force = bound.inverse(self.t, q, self._zero, self._zero) - self._load
        if bound.m:
            phi, _, _, J = bound.constraints(self.t, q, self._zero)
            active = bound.row_active
            return force - J.T @ (multipliers * active), (phi - self._gap) * active
        return force, np.zeros(0)

    def _scale(self, at: Linearized) -> float:
        """Typical force: what the stiffness makes of a small motion, or the residual itself."""
        stiffness = np.abs(at.stiffness.data).max(initial=0.0)
        return float(max(1e-3 * stiffness, np.abs(at.residual).max(initial=0.0), 1e-9))

    def solve(
        self, q: np.ndarray, multipliers: np.ndarray, remaining: float
    ) -> tuple[np.ndarray, np.ndarray, int, bool]:
        """Iterate; `remaining` is the share of the initial imbalance left unapplied."""
        bound = self.bound
        self._load = remaining * self._initial if remaining else np.zeros(bound.nv)
        scale: float | None = None
        damping, slow = 0.0, 0
        for iteration in range(FREE_ITERATIONS if self._free else MAX_ITERATIONS):
            at = self.linearized(q, multipliers)
            force, phi = at.residual - self._load, (at.phi - self._gap) * bound.row_active
            if iteration == 0 and bound.m:
                multipliers = self.balanced_multipliers(at, force, multipliers)
                force, phi = self._residual(q, multipliers)
                at = self.linearized(q, multipliers)
            # steps without a guard may pass through enormous forces, by which any imbalance would look small
            if scale is None or not self._free:
                scale = max(scale or 0.0, self._scale(at))
            norm = np.abs(force).max(initial=0.0)
            if norm <= self.tolerance * scale and np.abs(phi).max(initial=0.0) <= 1e-11:
                return q, multipliers, iteration, True
            found = self._step(q, at, force, phi, damping)
            if found is None:
                return q, multipliers, iteration, False
            step, again = found
            q_new, multipliers_new, share = self._search(q, multipliers, step, force, phi, again)
            if share == 0.0:
                if damping > 1e12:
                    return (q, multipliers, iteration, norm <= 1e3 * self.tolerance * scale)
                damping = max(10 * damping, 1e-3)
                continue
            slow = slow + 1 if share < 0.1 else 0
            if slow == SLOW_ITERATIONS and not bound.m:
                return q, multipliers, iteration, False
            damping = 0.0 if share == 1.0 and damping < 1e-6 else 0.1 * damping
            q, multipliers = q_new, multipliers_new
            if not np.all(np.isfinite(q)):
                return q, multipliers, iteration, False
        return q, multipliers, iteration + 1, False

    def polish(self, q: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A solution with what the tolerance left of the imbalance taken down to round-off, while full steps lower it."""
        free, self._free = self._free, True
        for _ in range(6):
            at = self.linearized(q, multipliers)
            force, phi = at.residual - self._load, (at.phi - self._gap) * self.bound.row_active
            found = self._step(q, at, force, phi, 0.0)
            if found is None:
                break
            step, _ = found
            q_new, multipliers_new = self.bound.increment(q, step[0]), multipliers + step[1]
            now, closure = self._residual(q_new, multipliers_new)
            near = np.linalg.norm(step[0]) < 1e-3 and np.abs(closure).max(initial=0.0) <= 1e-11
            if not near or not np.abs(now).max(initial=0.0) < 0.9 * np.abs(force).max(initial=0.0):
                break
            q, multipliers = q_new, multipliers_new
        self._free = free
        return q, multipliers

    def balanced_multipliers(self, at: Linearized, force: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Multipliers that carry as much of the imbalance as they can."""
        return balancing_multipliers(at, force + at.jacobian.T @ multipliers, self.bound.active_rows)

    def _has_potential(self, q: np.ndarray) -> bool:
        """Whether the stored energy explains all forces: not so where loads and drives do work."""
        return bool(self.bound.energies(self.t, q, np.ones(self.bound.nv))[3] == 0.0)

    def _step(
        self, q: np.ndarray, at: Linearized, force: np.ndarray, phi: np.ndarray, damping: float
    ) -> tuple[tuple[np.ndarray, np.ndarray], Again | None] | None:
        """A step, and the function that gives Newton's next one with the same stiffness from another imbalance."""
        bound = self.bound
        stiffness, mass = (np.abs(at.stiffness.data).max(initial=1.0), np.abs(at.mass.data).max(initial=1e-300))
        if bound.nv <= DENSE_UP_TO and not self._free and (bound.m or self._has_potential(q)):
            downhill = self._downhill(at, force, phi, damping * stiffness / mass)
            if downhill is not None:
                return downhill
        K = at.stiffness + damping * stiffness / mass * at.mass
        rhs = -np.concatenate([force, phi])
        matrix = saddle_matrix(K, at.jacobian, bound.row_active)
        again: Again | None = None
        try:
            factors = spla.splu(matrix)
            x = factors.solve(rhs)

            def again(force: np.ndarray, phi: np.ndarray) -> np.ndarray:
                return np.asarray(factors.solve(-np.concatenate([force, phi]))[: bound.nv])

        except RuntimeError:
            # neutral directions: the shortest step that balances what can be balanced
            if matrix.shape[0] > DENSE_UP_TO:
                return None
            x = np.linalg.lstsq(matrix.toarray(), rhs, rcond=1e-12)[0]
        if not np.all(np.isfinite(x)):
            return None
        return (x[: bound.nv], x[bound.nv :]), again

    def _downhill(
        self, at: Linearized, force: np.ndarray, phi: np.ndarray, added: float
    ) -> tuple[tuple[np.ndarray, np.ndarray], Again] | None:
        """Newton's step with the negative eigenvalues of the stiffness turned positive; None where there are none.

        `added` to all of them makes the step shorter: slack ropes give directions without stiffness, along which it would
        have no end.
        """
        if not self.bound.m and at.stiffness.shape[0] >= SPARSE_FROM and _surely_downhill(at):
            return None
        on = self.bound.active_rows
        J, K = at.jacobian.toarray()[on], at.stiffness.toarray()
        Z = null_space(J)
        if Z.shape[1] == 0:
            return None
        inner, M = K, at.mass.toarray()
        if self.bound.m:
            inner, M = Z.T @ inner @ Z, Z.T @ M @ Z
        if not np.allclose(inner, inner.T, atol=1e-9 * np.abs(inner).max()):
            return None  # loads without a potential: there is no downhill
        try:
            values, vectors = la.eigh(0.5 * (inner + inner.T), M)
        except la.LinAlgError:
            return None
        size = np.abs(values)
        if values[0] >= -1e-12 * size.max():
            return None

        def solve(force: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            particular = -np.linalg.lstsq(J, phi[on], rcond=None)[0] if on.any() else np.zeros(len(force))
            pull = -Z.T @ (force + K @ particular)
            x = particular + Z @ (vectors @ ((vectors.T @ pull) / (np.maximum(size, 1e-12 * size.max()) + added)))
            change = np.zeros(self.bound.m)
            if on.any():
                change[on] = np.linalg.lstsq(J.T, force + K @ x, rcond=None)[0]
            return x, change

        return solve(force, phi), lambda force, phi: solve(force, phi)[0]

    def _search(
        self,
        q: np.ndarray,
        multipliers: np.ndarray,
        step: tuple[np.ndarray, np.ndarray],
        force: np.ndarray,
        phi: np.ndarray,
        again: Again | None,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Backtracking: the longest share of the step that lowers the energy, the imbalance, or the next step.

        The last is Deuflhard's natural criterion: forces of stiff directions (a rod's stretch) that a step sideways
        brings up by geometry count for no more than the small motion that will remove them.
        """
        bound = self.bound
        rotations = bound.node_poses(q)[0]
        # by its first-order turns a step of many whole turns is not mistaken for a small one
        turn = float(np.linalg.norm(bound.node_twists(q, step[0])[:, 3:], axis=1).max(initial=0.0))
        share = min(1.0, MAX_TURN / turn) if turn > 0 else 1.0
        energy = bound.energies(self.t, q, self._zero)[1]
        imbalance = np.linalg.norm(force) + np.linalg.norm(phi)
        slope = float(force @ step[0])
        for _ in range(30):
            q_new = bound.increment(q, share * step[0])
            if largest_turn(rotations, bound.node_poses(q_new)[0]) > MAX_TURN:
                share *= 0.5
                continue
            multipliers_new = multipliers + share * step[1]
            try:
                force_new, phi_new = self._residual(q_new, multipliers_new)
            except EvaluationError:
                share *= 0.5
                continue
            now = np.linalg.norm(force_new) + np.linalg.norm(phi_new)
            if np.isfinite(now):
                lower = (
                    not bound.m
                    and not self._load.any()
                    and slope < 0
                    and bound.energies(self.t, q_new, self._zero)[1] < energy + 1e-4 * share * slope
                )
                nearer = again is not None and np.linalg.norm(again(force_new, phi_new)) <= (
                    1 - 0.25 * share
                ) * np.linalg.norm(step[0])
                if self._free or lower or nearer or now < (1 - 1e-4 * share) * imbalance or now < 1e-14:
                    return q_new, multipliers_new, share
            share *= 0.5
        return q, multipliers, 0.0

    def continuation(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, bool]:
        """Apply the imbalance of the start bit by bit."""
        bound = self.bound
        self._load = np.zeros(bound.nv)
        multipliers = np.zeros(bound.m)
        at = self.linearized(q, multipliers)
        if bound.m:
            multipliers = self.balanced_multipliers(at, at.residual, multipliers)
        self._initial = self._residual(q, multipliers)[0]
        # Newton's full steps pass through states of high stress in stiff rods; short stages keep them near the solution
        self._free = not bound.m
        applied, stride, total = 0.0, 0.1, 0
        while applied < 1.0:
            target = min(1.0, applied + stride)
            q_new, multipliers_new, iterations, done = self.solve(q, multipliers, 1.0 - target)
            total += iterations
            if done:
                q, multipliers, applied = q_new, multipliers_new, target
                stride = min(0.5, 1.7 * stride)
            else:
                stride *= 0.3
                if stride < 1e-4:
                    self._load = np.zeros(bound.nv)
                    return q, multipliers, total, False
        self._load = np.zeros(bound.nv)
        return q, multipliers, total, True
