"""Automatic choice of an integration method from the constraints and the stiffness at the start."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from pliant.equations.binding import Binding
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.motion.integrator import ExplicitRungeKutta, GeneralizedAlpha, Method, Rosenbrock
from pliant.solve.saddle import first_order_matrix, on_allowed_motions

# An explicit method needs about |eigenvalue| T / 3 steps for stability alone; beyond this many, implicit is cheaper.
EXPLICIT_STEPS = 4000
# A damped eigenvalue costs explicit methods steps without giving accuracy, an oscillation is part of the answer.
DAMPED_STEPS = 600
EIGENVALUES_UP_TO = 400


@on_one_blas_thread
def choose_method(
    bound: Binding,
    begin: float,
    end: float,
    q: np.ndarray,
    v: np.ndarray,
    *,
    rtol: float = 1e-6,
    atol: float | None = None,
) -> tuple[Method, str]:
    """The integrator and, in a few words, why."""
    stiff, why = _stiffness(bound, begin, end, q, v)
    if bound.m and stiff:
        return GeneralizedAlpha(rtol=rtol, atol=atol), f"automatic: constraints, {why}"
    if stiff:
        return Rosenbrock(rtol=rtol, atol=atol), f"automatic: {why}"
    return ExplicitRungeKutta(rtol=rtol, atol=atol), f"automatic: {why}"


def _stiffness(bound: Binding, begin: float, end: float, q: np.ndarray, v: np.ndarray) -> tuple[bool, str]:
    system = bound.system
    if not (system.coordinate_forces or system.frame_forces or system.routes):
        return False, "no springs or dampers"
    if bound.nv > EIGENVALUES_UP_TO:
        return True, f"{bound.nv} rates with springs"
    a, multipliers = bound.forward(begin, q, v)
    linear = bound.linearized(begin, q, v, a, multipliers)
    _, K, C, M = on_allowed_motions(linear, bound.active_rows)
    if not len(M):
        return False, "no free motion"
    try:
        values = np.linalg.eigvals(first_order_matrix(K, C, M))
    except (la.LinAlgError, np.linalg.LinAlgError):
        return True, "a mass matrix that is nearly singular"
    duration = end - begin
    size = np.abs(values)
    damped = -values.real > 0.3 * size
    fast, decay = float(size.max(initial=0.0)), float(size[damped].max(initial=0.0))
    if decay * duration / 3 > DAMPED_STEPS:
        return True, f"stiff, a motion decays in {1 / decay:.2g} s"
    if fast * duration / 3 > EXPLICIT_STEPS:
        return True, f"stiff, fastest mode {fast / (2 * np.pi):.3g} Hz"
    return False, "not stiff"
