"""Automatic choice of an integration method from the vibrations and decays of the equations at the start.

The fastest of them limits the step of an explicit method, whether it takes part in the motion or not. So the explicit method is
for small robots where that costs few steps, or where all vibrations are about as fast as each other, so that a motion is made of
all of them. Otherwise an implicit method steps over what is fast and moves nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant.equations.binding import Binding, Linearized
from pliant.solve.motion.integrator import ExplicitRungeKutta, Method, Rosenbrock
from pliant.solve.saddle import first_order_matrix, on_allowed_motions, saddle_matrix

STABLE_STEP = 3.3
"""|eigenvalue| times step at which Dormand and Prince's method becomes unstable."""
FEW_STEPS = 300
"""An explicit method that is stable in so few steps is never a bad choice."""
ALIKE = 20
"""Ratio of the fastest to the slowest vibration up to which a motion is made of all of them."""
SMALL = 40
"""Rates up to which an explicit method is thought of."""
UNDAMPED = 0.3
"""Damping ratio below which an eigenvalue is a vibration."""
POWER_ITERATIONS = 25


def choose_method(
    bound: Binding,
    begin: float,
    end: float,
    q: np.ndarray,
    v: np.ndarray,
    **tolerances: float,
) -> tuple[Method, str]:
    """The integrator and, in a few words, why and what another would cost; `tolerances`: rtol and atol where they are given."""
    explicit, implicit = ExplicitRungeKutta(**tolerances), Rosenbrock(**tolerances)
    system = bound.system
    if not (system.coordinate_forces or system.frame_forces or system.routes):
        return explicit, "automatic: no springs or dampers"
    linear = _linearized(bound, begin, q, v)
    rate = fastest_rate(bound, linear)
    steps = rate * (end - begin) / STABLE_STEP
    if bound.nv <= SMALL and steps <= FEW_STEPS:
        return explicit, "automatic: not stiff"
    if bound.nv <= SMALL and _alike(bound, linear):
        return explicit, "automatic: not stiff, all vibrations take part in the motion"
    needed = f"{_rounded(steps)} steps" if np.isfinite(steps) else "no end of steps"
    return implicit, f"automatic: stiff, an explicit method would need {needed} to be stable"


def _linearized(bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> Linearized:
    a, multipliers = bound.forward(t, q, v)
    return bound.linearized(t, q, v, a, multipliers)


def fastest_rate(bound: Binding, linear: Linearized) -> float:
    """Magnitude [1/s] of the fastest vibration or decay about a state, by power iterations; infinite where mass is missing."""
    try:
        factors = spla.splu(saddle_matrix(linear.mass, linear.jacobian, bound.row_active))
    except RuntimeError:
        return np.inf

    def largest(matrix: sp.csc_matrix) -> float:
        x = np.random.default_rng(0).normal(size=bound.nv)
        size = 0.0
        for _ in range(POWER_ITERATIONS):
            x = factors.solve(np.concatenate([matrix @ x, np.zeros(bound.m)]))[: bound.nv]
            size = float(np.linalg.norm(x))
            if not (size > 0 and np.isfinite(size)):
                return size
            x = x / size
        return size

    return max(float(np.sqrt(largest(linear.stiffness))), largest(linear.damping))


def _alike(bound: Binding, linear: Linearized) -> bool:
    """Whether all motions about a state are vibrations, none of them much faster than the others."""
    _, K, C, M = on_allowed_motions(linear, bound.active_rows)
    try:
        values = np.linalg.eigvals(first_order_matrix(K, C, M))
    except (la.LinAlgError, np.linalg.LinAlgError):
        return False
    size = np.abs(values)
    if not size.size or not np.all(np.isfinite(size)) or np.any(-values.real > UNDAMPED * size):
        return False
    return float(size.max()) <= ALIKE * float(size.min())


def _rounded(steps: float) -> str:
    """A number of steps in words: two digits."""
    return f"{float(f'{steps:.1e}'):,.0f}" if steps < 1e9 else f"{steps:.0e}"
