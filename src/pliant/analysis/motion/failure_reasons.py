"""Explanation of why a run could not continue, with a suggestion."""

from __future__ import annotations

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.motion.progress_monitor import fastest
from pliant.analysis.numerics.half_turns import prescribed_half_turn
from pliant.analysis.numerics.law_ranges import law_range_notes
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.layout import RuntimeStatus
from pliant.engine.time_loop import TimeLoop

DEPENDENT = 1e-3
"""The constraints are at a dead point if their smallest singular value is below this fraction of its initial value."""
MOST_ROWS = 2000
"""Number of constraints whose singular values can be computed in a second."""
INVOLVED = 0.2
"""Fraction of the largest weight above which a constraint is named."""
MECHANICAL = (
    RuntimeStatus.SINGULAR,
    RuntimeStatus.NOT_FINITE,
    RuntimeStatus.NO_CONVERGENCE,
    RuntimeStatus.STEP_TOO_SMALL,
    RuntimeStatus.PROJECTION,
)
"""Description of the end of a run at a dead point, by method."""


def failure_reason(
    eqs: Equations, bound: Binding, method: Method, run: TimeLoop, status: int, start: tuple[float, np.ndarray]
) -> str:
    """The message of a run that ended with this status.

    start: initial time [s] and coordinates.
    """
    at = f"at t = {run.t:.6g} s"
    q = np.array(run.q)
    notes = law_range_notes(eqs.model, bound, [q])
    beyond = "".join(f" There, {note}." for note in notes)
    turned = prescribed_half_turn(eqs, bound, q) if status in MECHANICAL else ""
    if turned:
        return (
            f"the constraint '{turned}' has turned its frames by 180 deg against each other {at}, the limit of rotations that a "
            "constraint prescribes. For further turns let a revolute joint turn the frame, and prescribe its angle (`motion`)."
        )
    dependent = dependent_constraints(eqs, bound, start, (run.t, q)) if status in MECHANICAL else []
    if dependent:
        what = f"constraint{'' if len(dependent) == 1 else 's'} {', '.join(dependent)}"
        return (
            f"the mechanism reaches a dead point {at}: the {what} can no longer be satisfied with finite "
            "speeds and forces. Change the prescribed motions, lengths or initial values so that it stays clear of this pose."
            + beyond
        )
    if status == RuntimeStatus.NOT_FINITE:
        # a step that failed internally does not identify a rate: take the one that diverged most
        known = 0 <= run.where < len(eqs.rates)
        name = eqs.rates[run.where] if known else fastest(eqs, run)
        return (
            f"the rate of '{name}' is no longer a finite number {at}. The motion diverges: use a smaller step"
            f"{' or an implicit method' if method.explicit else ''}, or check stiffness, mass and input values near that "
            "coordinate." + beyond
        )
    if status == RuntimeStatus.SINGULAR and method.explicit and method.fixed:
        return (
            f"the mass matrix became singular {at}, which indicates a diverging motion: the step of {method.step:g} s is too "
            "long for the fastest vibration. Use a smaller step or an implicit method." + beyond
        )
    return f"{at}: {RuntimeStatus(status).meaning}{beyond}"


def dependent_constraints(
    eqs: Equations, bound: Binding, start: tuple[float, np.ndarray], now: tuple[float, np.ndarray]
) -> list[str]:
    """Names of constraints, including prescribed motions, that have become dependent since the start, or have no effect any more;
    empty if all are as independent as at the start."""
    rows = np.flatnonzero(bound.active_rows)
    if not 0 < len(rows) <= MOST_ROWS or not np.all(np.isfinite(now[1])):
        return []
    (_, before), (weights, after) = (_scaled(bound, rows, *state) for state in (start, now))
    if not after[-1] < DEPENDENT * before[-1]:
        return []
    share = np.abs(weights[:, -1])
    names = [eqs.constraint_names[i] for i in rows[share > INVOLVED * share.max()]]
    return [f"'{name}'" for name in names]


def _scaled(bound: Binding, rows: np.ndarray, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values of the constraints, with values and coordinates relative to their sizes."""
    rest = np.zeros(bound.nv)
    jacobian = bound.constraint_jacobian(t, q, rest)[rows] * bound.sizes(q)[1]
    found = np.linalg.svd(jacobian / bound.constraint_sizes(t, q, rest)[rows, None], full_matrices=False)
    return np.asarray(found[0]), np.asarray(found[1])
