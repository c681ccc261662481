"""Generalized-alpha method, and the step it shares with Newmark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.language.arguments import number
from pliant.solve.integrator.base import Adaptive, StepFailure, Trial, error_norm
from pliant.solve.integrator.saddle import handy, saddle_point
from pliant.solve.integrator.status import Status

if TYPE_CHECKING:
    from pliant.solve.integrator.driver import PythonRun

MAX_ITERATIONS = 25
NEWTON_TOLERANCE = 1e-8  # of the acceleration, relative to 1 + |a|
CONSTRAINT_TOLERANCE = 1e-11
LOST = 30  # a step so many times as long as the first one will not lead back
SEARCH_ABOVE = 1e-6  # steps that change the acceleration by less are taken as they are
OVERSHOT = 0.8  # of the work of a step at its start, what may be left of it at its end with the other sign
FOUND = 0.5  # and what a shortened step leaves at most
SEARCHES = 12
MARGIN = 0.05  # of an interval, searched points keep at least so far from its ends


@dataclass(frozen=True, kw_only=True)
class GeneralizedAlpha(Adaptive):
    """For constrained and stiff motions, and for structures whose fast vibrations are of no interest.

    Order 2 in positions, rates and multipliers, stable for any step. Constraints hold at position level after every
    step, rates are then projected on their derivatives, and accelerations and multipliers are those of the new state.
    Increments are applied on the group, so rotations need nothing special. Adaptive steps take their error from
    differences of the acceleration, seen through the stiffness of the step.

    Attributes:
        spectral_radius: what remains per step of an oscillation much faster than the step, from 0 (all damped away) to
            1 (undamped). Slow motions are hardly damped in either case.

    References: Chung and Hulbert, J. Appl. Mech. 60 (1993); Arnold and Bruels, Multibody Syst. Dyn. 18 (2007); Bruels,
    Cardona and Arnold, Mech. Mach. Theory 48 (2012) for rotations; Lunk and Simeon, ZAMM 86 (2006) for the projection.
    """

    spectral_radius: float = 0.8

    name: ClassVar[str] = "generalized_alpha"
    code: ClassVar[int] = 2
    order: ClassVar[int] = 2
    error_exponent: ClassVar[int] = 3
    projected: ClassVar[bool] = False
    evaluated: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        number(
            "GeneralizedAlpha: spectral_radius", self.spectral_radius, at_least=0, at_most=1,
            hint="with 0 fast oscillations vanish in a step, with 1 nothing is damped",
        )  # fmt: skip

    @property
    def coefficients(self) -> tuple[float, ...]:
        """alpha_m, alpha_f, beta, gamma."""
        rho = self.spectral_radius
        alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        return alpha_m, alpha_f, 0.25 * (1 - alpha_m + alpha_f) ** 2, 0.5 - alpha_m + alpha_f

    def describe(self) -> str:
        """The method and its options in words."""
        return f"generalized-alpha, spectral radius {self.spectral_radius:g}, {self._stepping()}"

    def take_step(self, run: PythonRun, h: float) -> Trial:
        """One step of size h [s] from the state of the run."""
        return newmark_family_step(run, h, *self.coefficients)


def newmark_family_step(run: PythonRun, h: float, alpha_m: float, alpha_f: float, beta: float, gamma: float) -> Trial:
    """One step of size h [s]: the equations at its end, positions and rates from an averaged acceleration.

    That average is `a + h lead` at the start, whatever the step, and follows from
    (1 - alpha_m) average' + alpha_m average = (1 - alpha_f) a' + alpha_f a.
    """
    engine, group, nv = run.engine, run.group, run.group.nv
    t = run.input_time(run.t + h)
    average = run.a + h * run.lead
    # start Newton from an unchanged acceleration
    a, multipliers = run.a.copy(), run.multipliers.copy()
    after = (a - alpha_m * average) / (1 - alpha_m)
    x = h * (run.v + h * ((0.5 - beta) * average + beta * after))
    v = run.v + h * ((1 - gamma) * average + gamma * after)
    # dx/da and dv/dx; the equations are scaled by the former so that all blocks stay of order one for small steps
    s, to_v = h * h * beta * (1 - alpha_f) / (1 - alpha_m), gamma / (h * beta)

    def moved(share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """x, v, a and multipliers after a share of the step found last."""
        return (
            x + share * change,
            v + share * to_v * change,
            a + share * change / s,
            multipliers + share * found[nv:] / s,
        )

    def work_along(residual: np.ndarray, phi: np.ndarray) -> float:
        """Work of the step against what is out of balance: of displacements against forces, of multipliers against
        constraints. Where equations are those of a minimum it grows along the step from below zero."""
        return float(s * found[:nv] @ residual + (engine.row_active * found[nv:]) @ phi)

    def left_after(share: float) -> float:
        x, v, a, multipliers = moved(share)
        at = engine.linearized(t, group.increment(run.q, x), v, a, multipliers)
        return work_along(at.residual, at.phi)

    last, first_size, converged, iteration = np.inf, np.inf, False, 0
    while True:
        q = group.increment(run.q, x)
        if converged and (not engine.m or run.violation(t, q) <= CONSTRAINT_TOLERANCE):
            break
        if iteration == MAX_ITERATIONS:
            raise StepFailure(Status.NO_CONVERGENCE)
        at = engine.linearized(t, q, v, a, multipliers)
        # unknowns are increments y of q, and B(x) y those of x
        M, C, K, J = (handy(matrix) for matrix in (at.mass, at.damping, at.stiffness, at.jacobian))
        solve = saddle_point((M + s * to_v * C) @ group.increment_matrix(x) + s * K, J, engine.row_active)
        found = solve(-np.concatenate([s * at.residual, at.phi]))
        change = group.increment_rate(x, found[:nv])
        run.check_finite(a + change / s)
        norm = float(np.max(np.abs(change) / (h * h * (1 + np.abs(a + change / s))), initial=0.0))
        size = float(np.max(np.abs(change), initial=0.0))
        if not np.isfinite(norm) or (norm > SEARCH_ABOVE and size > LOST * first_size):
            raise StepFailure(Status.NO_CONVERGENCE)
        first_size = first_size if iteration else size
        share, work = 1.0, work_along(at.residual, at.phi)
        if norm > SEARCH_ABOVE and work < 0:
            share = _share(work, left_after)
        # what is left is smaller by the rate of convergence; or nothing but round-off is left
        rate = norm / last if last < np.inf else 1.0
        converged = share == 1 and (
            norm < 1e-3 * NEWTON_TOLERANCE
            or (rate < 1 and rate / (1 - rate) * norm < NEWTON_TOLERANCE)
            or (last < np.inf and rate > 0.3 and size < 1e-12)
        )
        x, v, a, multipliers = moved(share)
        last, iteration = norm if share == 1 else np.inf, iteration + 1
    errors: list[np.ndarray] = []
    if not run.fixed:
        # the part that constraints allow; what stiffness holds back does not count, so it goes through Newton's matrix
        raw = _raw_errors(run, h, a, alpha_m, alpha_f, beta, gamma)
        errors = [solve(np.concatenate([M @ e, np.zeros(engine.m)]))[:nv] for e in raw]
    if engine.m:
        v, a, multipliers, normal = _consistent_rates(run, t, q, v)
        if not run.fixed:
            # the part against the constraints shows how well the step resolves a prescribed motion
            raw = _raw_errors(run, h, a, alpha_m, alpha_f, beta, gamma)
            errors = [e + normal(r) for e, r in zip(errors, raw, strict=True)]
    error = 0.0 if run.fixed else error_norm(run, q, v, *errors)
    after = ((1 - alpha_f) * a + alpha_f * run.a - alpha_m * average) / (1 - alpha_m)
    return Trial(q, v, error, a=a, multipliers=multipliers, lead=(after - a) / h)


def _share(at_start: float, left_after: Callable[[float], float]) -> float:
    """The whole of a step, or where it goes past the balance along it, as where ropes go slack or beams buckle, the share
    at which its work is next to nothing (method of false position, Illinois variant)."""
    low, high, below, above, share = 0.0, 1.0, at_start, left_after(1.0), 1.0
    if not np.isfinite(above):
        raise StepFailure(Status.NO_CONVERGENCE)
    if above <= -OVERSHOT * at_start:
        return 1.0
    for _ in range(SEARCHES):
        margin = MARGIN * (high - low)
        share = min(max(low - below * (high - low) / (above - below), low + margin), high - margin)
        work = left_after(share)
        if not np.isfinite(work):
            raise StepFailure(Status.NO_CONVERGENCE)
        if abs(work) < -FOUND * at_start:
            break
        if work > 0:
            high, above, below = share, work, below / 2
        else:
            low, below, above = share, work, above / 2
    return share


def _consistent_rates(
    run: PythonRun, t: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Rates on the constraints (nearest in the mass metric), accelerations and multipliers of that state, and a
    function that keeps of an increment the part against the constraints."""
    engine, nv = run.engine, run.group.nv
    _, rate, _, J = engine.constraints(t, q, v)
    J = handy(J)
    solve = saddle_point(handy(engine.mass_matrix(q)), J, engine.row_active)
    v = v + solve(np.concatenate([np.zeros(nv), -rate]))[:nv]
    _, _, gamma, _ = engine.constraints(t, q, v)
    found = solve(-np.concatenate([engine.inverse(t, q, v, np.zeros(nv)), gamma]))

    def normal(e: np.ndarray) -> np.ndarray:
        return solve(np.concatenate([np.zeros(nv), J @ e]))[:nv]

    return v, found[:nv], found[nv:], normal


def _raw_errors(
    run: PythonRun, h: float, a: np.ndarray, alpha_m: float, alpha_f: float, beta: float, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Local errors of positions and rates from differences of the acceleration.

    Their leading terms are h^3 a' in positions, h^2 a' (first-order members of the family only) and h^3 a'' in rates.
    """
    shift, jump = alpha_m - alpha_f, a - run.a
    c_q = max(abs(beta + 0.5 * shift - 1 / 6), 1 / 24)
    c_v, c_vv = gamma + shift - 0.5, shift * (alpha_m - 0.5) + gamma * (0.5 + shift) - 1 / 6
    e_q, e_v = c_q * h * h * jump, c_v * h * jump
    turns = run.group.rotation_v  # the axis of a rotation turns within the step
    e_q[turns] -= h**3 / 12 * np.cross(run.v[turns], run.a[turns])
    if run.h_before > 0:
        past = h / run.h_before
        e_v += c_vv * h * 2 * past / (1 + past) * (jump - past * (run.a - run.a_before))
    return e_q, e_v
