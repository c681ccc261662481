"""States, and how a start is brought onto the constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations, with_independent_rows
from pliant.equations.state import HasFinal, HasState, State, state_of
from pliant.equations.workspace import EvaluationError
from pliant.language.arguments import ArgumentError, number, vector
from pliant.language.words import describe, renamed_hint
from pliant.model.model import Model
from pliant.model.time_series import TimeSeries

# A start closer to the constraints than this needs no word about it [m or rad].
SILENT_BELOW = 1e-6


class AssemblyError(RuntimeError):
    """The robot cannot be put together: a loop does not close."""


INITIAL, EQUILIBRIUM = "initial", "equilibrium"
"""States by name: that of the model's initial values, and the pose at rest that follows from it."""

WORDS = {"start": INITIAL}
"""New names of states that were called differently before."""

Start: TypeAlias = (
    Literal["initial", "equilibrium"]
    | State
    | HasState
    | HasFinal
    | Mapping[str, float]
    | Sequence[float]
    | np.ndarray
    | None
)
"""How a caller gives a state: by name, as a State or what has one (an Equilibrium, a Result), coordinates and rates by name, or
positions at rest."""


def given_state(eqs: Equations, given: Start, time: float, *, where: str) -> State:
    """The state that a caller gives; one without a time of its own is at `time` [s]. None is the model's initial state."""
    number("time", time)
    given = state_of(given)
    if given is None or (isinstance(given, str) and given == INITIAL):
        return replace(eqs.initial_state(), t=time)
    if isinstance(given, State):
        vector(f"q of {where}", given.q, len(eqs.coordinates))
        vector(f"v of {where}", given.v, len(eqs.rates))
        return given
    if isinstance(given, Mapping):
        return replace(eqs.state(given), t=time)
    if isinstance(given, str):
        known = f"known: {INITIAL}, and of a motion or linearization {EQUILIBRIUM}; or give values by name"
        raise ArgumentError(f"unknown state '{given}' as {where}", renamed_hint(given, WORDS) or known)
    if not np.iterable(given):
        raise ArgumentError(
            f"{where} must be a State, an Equilibrium, a Result, positions q or values by name, not {describe(given)}",
            f"write {where}=pliant.equilibrium(eqs)",
        )
    return State(vector(where, given, len(eqs.coordinates)).copy(), np.zeros(len(eqs.rates)), time)


@dataclass(frozen=True)
class AssembledState:
    """A state on the constraints, and what had to be done to get there.

    bound: the equations with an independent set of constraint rows in force.
    """

    bound: Binding
    q: np.ndarray
    v: np.ndarray
    messages: tuple[str, ...]
    gap: float = 0.0
    """Largest violation of the constraints before [m or rad]."""


def assemble(eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> AssembledState:
    """The nearest state that satisfies the constraints, and the equations without constraint rows that are redundant there.

    Raises AssemblyError with the remaining distance when there is none.
    """
    if not bound.m:
        return AssembledState(bound, q, v, ())
    bound = bound.with_rows(np.ones(bound.m, dtype=np.int32))
    messages: list[str] = []
    phi = bound.constraints(t, q, v)[0]
    before = float(np.max(np.abs(phi)))
    try:
        new_q, new_v = with_independent_rows(bound, t, q, v).project(t, q, v)
    except EvaluationError:
        new_q, new_v = _close_by_least_squares(eqs, bound, t, q, v)
    # the rank may differ once the loop is closed
    independent = with_independent_rows(bound, t, new_q, new_v)
    redundant = np.flatnonzero(independent.row_active == 0)
    left = bound.constraints(t, new_q, new_v)[0]
    if np.max(np.abs(left)) > 1e-8:
        worst = int(np.argmax(np.abs(left)))
        raise AssemblyError(_open_loop(eqs, worst, abs(float(left[worst]))))
    if before > SILENT_BELOW:
        messages.append(f"the start violated the constraints by {before:.3g}; it was moved onto them")
    if len(redundant):
        names = ", ".join(eqs.constraint_names[i] for i in redundant)
        messages.append(f"redundant constraints switched off: {names} (others already imply them)")
    return AssembledState(independent, new_q, new_v, tuple(messages), before)


def followed_positions(model: Model, bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> dict[int, TimeSeries]:
    """Positions of prescribed rates and accelerations as the state (q, v) at time t [s] has them, by the index of their input."""
    if not model.followed:
        return {}
    value, rate, _, _ = bound.constraints(t, q, v)
    at, at_rate = bound.signals(t)[1], bound.signal_rates(t)[0]
    return {
        item.input: TimeSeries(
            np.array([t]), np.array([[value[item.row] + at[item.position], rate[item.row] + at_rate[item.position]]])
        )
        for item in model.followed
    }


def _close_by_least_squares(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Second attempt, without masses: the configuration with the smallest constraint error."""
    zero = np.zeros(bound.nv)

    def error(x: np.ndarray) -> np.ndarray:
        return np.asarray(bound.constraints(t, bound.increment(q, x), zero)[0])

    found = scipy.optimize.least_squares(error, zero, method="trf", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=400)
    if np.max(np.abs(found.fun)) > 1e-8:
        worst = int(np.argmax(np.abs(found.fun)))
        raise AssemblyError(_open_loop(eqs, worst, float(np.linalg.norm(found.fun))))
    closed = bound.increment(q, found.x)
    return with_independent_rows(bound, t, closed, v).project(t, closed, v)


def _open_loop(eqs: Equations, row: int, distance: float) -> str:
    name = eqs.constraint_names[row]
    return (
        f"the loop cannot be closed: constraint '{name}' stays {distance:.4g} (m or rad) open at best. Check the "
        "lengths and placements it connects, or start from coordinates nearer to a closed pose."
    )
