"""The equations of statics at a time: unbalanced forces, constraint errors, and their derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.analysis.numerics.saddle import balancing_multipliers
from pliant.engine.binding import GRAVITY, Binding, LinearizedEquations, on_pattern
from pliant.engine.contacts import from_here

ROUND_OFF, NO_STIFFNESS = 1e-12, 1e-12
"""Forces below the first fraction of the acting forces, or of moments of the weight over the robot's size, are zero along
coordinates whose stiffness is below the second fraction of the largest one, or as small as these moments."""


def total_mass(bound: Binding) -> float:
    """The mass of all rigid parts [kg]."""
    return float(sum(bound.constants[k] for k in bound.system.masses.values()))


def largest_turn(before: np.ndarray, after: np.ndarray) -> float:
    """Largest angle [rad] between two sets of rotation matrices."""
    cosines = 0.5 * (np.einsum("nij,nij->n", before, after) - 1.0)
    return float(np.arccos(np.clip(cosines, -1.0, 1.0)).max(initial=0.0)) if np.all(np.isfinite(cosines)) else np.inf


def forces_in_play(at: LinearizedEquations, multipliers: np.ndarray) -> float:
    """Reference forces for the imbalance, as work over displacements of the sizes of the coordinates [J]: of a thousandth of such
    motions, and of the constraints."""
    D = at.rate_sizes
    stiffness = np.abs(D[at.stiffness.indices] * at.stiffness.data * np.repeat(D, np.diff(at.stiffness.indptr)))
    carried = np.abs(D * (at.jacobian.T @ multipliers)).max(initial=0.0) if len(multipliers) else 0.0
    return float(max(1e-3 * stiffness.max(initial=0.0), carried))


class StaticEquations:
    """`F(q, multipliers) = load`, `phi(q) = 0`; the load is zero unless a path has an imperfection."""

    def __init__(self, bound: Binding, t: float, tolerance: float) -> None:
        """`tolerance`: largest accepted unbalanced force, relative to the acting forces."""
        self.bound, self.t, self.tolerance = bound, t, tolerance
        self._zero = np.zeros(bound.nv)
        self._load = np.zeros(bound.nv)
        self._weight = total_mass(bound) * float(np.linalg.norm(bound.constants[GRAVITY]))

    def remember(self, q: np.ndarray) -> None:
        """Store the contacts of this pose: friction is then measured from it."""
        self.bound = from_here(self.bound, self.t, q)

    def linearized(self, q: np.ndarray, multipliers: np.ndarray) -> LinearizedEquations:
        """Unbalanced forces and constraint values at rest, with their derivatives; without the load and without round-off of
        forces along neutral coordinates, which no pose balances."""
        at = self.bound.linearized(self.t, q, self._zero, self._zero, multipliers)
        return self._without_round_off(q, at)

    def _without_round_off(self, q: np.ndarray, at: LinearizedEquations) -> LinearizedEquations:
        D, K = at.rate_sizes, abs(at.stiffness)
        stiffness = D * np.asarray(K @ D + K.T @ D).ravel()
        loops = np.asarray(abs(at.jacobian).sum(axis=0)).ravel()
        # of a wheel on its axle, moments of its weight and their stiffness are round-off of moments about the world's origin
        noise = ROUND_OFF * self._weight * self.bound.sizes(q)[0]
        soft = (loops == 0) & (stiffness <= max(NO_STIFFNESS * stiffness.max(initial=0.0), noise))
        if not np.any(soft & ((at.residual != 0) | (stiffness != 0))):
            return at
        gone = soft & (stiffness <= noise)
        if np.any(gone & (stiffness != 0)):
            columns = np.repeat(gone, np.diff(at.stiffness.indptr))
            at = replace(
                at,
                stiffness=on_pattern(
                    at.stiffness, np.where(columns | gone[at.stiffness.indices], 0.0, at.stiffness.data)
                ),
            )
        sources = self.bound.force_by_source(self.t, q, self._zero).values()
        acting = max((float(np.abs(D * force).max(initial=0.0)) for force in sources), default=0.0)
        left_out = soft & (np.abs(D * at.residual) <= max(ROUND_OFF * acting, noise))
        return replace(at, residual=np.where(left_out, 0.0, at.residual))

    def imbalance(
        self, q: np.ndarray, multipliers: np.ndarray, bound: Binding | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Unbalanced forces (nv) and constraint errors (m), of the current equations or of others."""
        bound = bound or self.bound
        force = bound.inverse(self.t, q, self._zero, self._zero) - self._load
        if bound.m:
            phi, _, _, J = bound.constraints(self.t, q, self._zero)
            active = bound.row_active
            return force - J.T @ (multipliers * active), phi * active
        return force, np.zeros(0)

    def balanced_multipliers(self, at: LinearizedEquations, force: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Multipliers that balance the forces in the least-squares sense."""
        return balancing_multipliers(at, force + at.jacobian.T @ multipliers, self.bound.active_rows)
