"""States specified by callers, and the projection of initial states on the constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.law_ranges import refuse_outside_laws
from pliant.analysis.numerics.loop_closure import SILENT_BELOW, AssemblyError, LoopClosure, changes, coordinate_sizes
from pliant.analysis.remark import Words, joined, remark
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations, with_independent_rows
from pliant.engine.initial_states import on_motions, prescribed_coordinates
from pliant.engine.model.inputs import SERIES
from pliant.engine.model.model import Model
from pliant.engine.state import HasFinal, HasState, SpecifiedValues, State, rate_name, state_of
from pliant.language.arguments import ArgumentError, number, of_type, real, vector
from pliant.language.message_text import describe
from pliant.language.time_series import TimeSeries
from pliant.parts.assembly.system import PLACEMENT_SIZE
from pliant.parts.constraint import ROWS

HALF_TURN = 0.98 * np.pi
"""Angle of frames against each other from which they are regarded as turned by 180 deg [rad]."""
ALONG = 0.99
"""Cosine of the angle between an axis of rotation and the constrained one up to which they are the same."""


def prescribed_half_turn(eqs: Equations, bound: Binding, q: np.ndarray) -> str:
    """Name of a constraint that prescribes a rotation of its frames and has reached half a turn; empty if there is none."""
    turns = _half_turns(eqs, bound, q)
    return next((name for name, rows, prescribed, _ in turns if prescribed and rows), "")


def opposite_frames(eqs: Equations, bound: Binding, q: np.ndarray) -> list[str]:
    """A remark on each constraint that should make directions of its frames coincide, but has turned them by 180 deg."""
    texts = []
    for name, rows, prescribed, axis in _half_turns(eqs, bound, q):
        # with two rotations constrained, frames with opposite axes may be intended
        if prescribed or len(rows) not in (1, 3):
            continue
        if len(rows) == 3 or np.abs(axis[ROWS.index(rows[0]) - 3]) > ALONG:
            texts.append(
                f"the frames of the constraint '{name}' are turned by 180 deg against each other, where its rotations are zero as "
                "well; start from a pose in which they are less than 90 deg apart"
            )
    return texts


def _half_turns(
    eqs: Equations, bound: Binding, q: np.ndarray
) -> Iterator[tuple[str, tuple[str, ...], bool, np.ndarray]]:
    """Constraints whose frames are turned by half a turn: name, constrained rotations, whether these are prescribed, and the axis
    of the rotation along the axes of the components."""
    specs = eqs.model.spec.constraints
    turning = [
        (c, rows)
        for c in eqs.model.system.constraints
        if c.name in specs and (rows := tuple(row for row in specs[c.name].rows if row in ROWS[3:]))
    ]
    if not turning or not np.all(np.isfinite(q)):
        return
    rotations, _ = bound.node_poses(q)
    for c, rows in turning:
        begins = (0, PLACEMENT_SIZE, 2 * PLACEMENT_SIZE)
        placed = (bound.constants[c.constants + k : c.constants + k + 9].reshape(3, 3).T for k in begins)
        first, second, axes = (rotations[node] @ end for node, end in zip(c.nodes, placed, strict=True))
        relative = second @ first.T
        if np.arccos(np.clip(0.5 * (np.trace(relative) - 1), -1, 1)) >= HALF_TURN:
            # (R + R') / 2 + 1 is twice the dyad of the axis, at half a turn
            dyad = 0.25 * (relative + relative.T) + 0.5 * np.eye(3)
            axis = dyad[:, np.argmax(np.diag(dyad))]
            yield c.name, rows, any(s >= 0 for s in c.signals), axes.T @ (axis / np.linalg.norm(axis))


LARGEST = 1e100
"""Positions and rates above this are rejected: their squares overflow."""

INITIAL, EQUILIBRIUM = "initial", "equilibrium"
"""States by name: the model's initial values, and the equilibrium reached from them."""


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
"""Specification of a state: by keyword, as a State or an object with one (an Equilibrium, a Result), coordinates and
rates by name, or positions at rest."""


def given_state(eqs: Equations, given: Start, time: float, *, where: str) -> State:
    """The specified state; a state without a time is evaluated at `time` [s]. None is the model's initial state.

    Raises EvaluationError if a rod is beyond the limit of its law.
    """
    number("time", time)
    state = _state(eqs, given if isinstance(given, str) else state_of(given), time, where)
    refuse_outside_laws(eqs.model, eqs.binding, state.q)
    return state


def _state(eqs: Equations, given: Any, time: float, where: str) -> State:
    if given is None or (isinstance(given, str) and given == INITIAL):
        return eqs.initial_state(t=time)
    if isinstance(given, State):
        vector(f"q of {where}", given.q, len(eqs.coordinates))
        vector(f"v of {where}", given.v, len(eqs.rates))
        number(f"t of {where}", given.t)
        of_type(f"given of {where}", given.given, SpecifiedValues, "omit it")
        if given.contacts is not None:
            of_type(f"contacts of {where}", given.contacts, Contacts, "give those of a result")
        named = f"multipliers of {where}"
        if given.multipliers is not None and real(named, given.multipliers).size:  # constraint forces may be unknown
            vector(named, given.multipliers, len(eqs.constraint_names))
        return _on_motions(eqs, given)
    if isinstance(given, Mapping):
        return eqs.state(given, t=time)
    if isinstance(given, str):
        known = f"known: {INITIAL}, and for motions and linearizations {EQUILIBRIUM}; or give values by name"
        raise ArgumentError(f"unknown state '{given}' as {where}", known)
    if not np.iterable(given):
        raise ArgumentError(
            f"{where} must be a State, an Equilibrium, a Result, positions q or values by name, not {describe(given)}",
            f"write {where}=pliant.equilibrium(eqs)",
        )
    return _on_motions(eqs, State(vector(where, given, len(eqs.coordinates)).copy(), np.zeros(len(eqs.rates)), time))


def _on_motions(eqs: Equations, state: State) -> State:
    """A complete state with prescribed coordinates moved to their prescribed values; its own values of them are noted as
    requested."""
    asked = dict(state.given.asked)
    for entry in prescribed_coordinates(eqs.model):
        asked[eqs.coordinates[entry.q_at]] = float(state.q[entry.q_at])
    return eqs.on_motions(replace(state, given=replace(state.given, asked=asked)))


@dataclass(frozen=True)
class AssembledState:
    """A state that satisfies the constraints, and the changes that were necessary.

    bound: the equations with an independent set of active constraint rows.
    """

    bound: Binding
    q: np.ndarray
    v: np.ndarray
    gap: float = 0.0
    """Largest violation of the constraints before the projection [m or rad]; 0 if that needs no remark."""
    changes: Callable[[], list[str]] | None = None
    """Describes the changes; None if there are none."""

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """The changes as texts."""
        return tuple(self.changes()) if self.changes is not None else ()


@remark(
    f"moved by more than {SILENT_BELOW:g} of the size of a coordinate", "smaller changes are not visible in any result"
)
def moved_onto_constraints(eqs: Equations, result: Any) -> Words:
    """The given state did not satisfy the constraints and was moved onto them, or constraints are redundant there."""
    return joined(result.assembled.remarks)


@on_one_blas_thread
def assemble(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, given: SpecifiedValues | None = None
) -> AssembledState:
    """The nearest state that satisfies the constraints, and the equations without constraint rows that are redundant there.

    Values that were `given` are kept if the loops can be closed by the others; those of the caller take precedence over those
    of the model. Changed values are reported. Raises AssemblyError with the remaining distance if there is no such state, and
    EvaluationError if a rod is beyond the limit of its law there.
    """
    given = given or SpecifiedValues()
    refuse_extremes(eqs, q, v)
    if not bound.m:
        return AssembledState(bound, q, v)
    bound = bound.with_rows(np.ones(bound.m, dtype=np.int32)).with_series(_held_positions(eqs.model, bound, t, q, v))
    start = on_motions(eqs.model, bound, State(q, v, t, given=given))
    values = np.abs(bound.constraint_values(t, start.q, start.v)[0])
    if not np.all(np.isfinite(values)):
        raise AssemblyError("the constraints have no finite values at the start; check its coordinates and lengths")
    closing = LoopClosure(eqs, bound, t, start.q, given)
    before = float(np.max(values)) if np.max(values / closing.size) > SILENT_BELOW else 0.0
    new_q = closing.positions(start.q)
    new_v = closing.rates(start.q, start.v, new_q)
    refuse_outside_laws(eqs.model, bound, new_q)
    # the rank may differ after the loop is closed
    independent = with_independent_rows(bound, t, new_q, new_v)

    def said() -> list[str]:
        sizes = coordinate_sizes(eqs, bound, new_q)
        made = changes(eqs, start, State(new_q, new_v, t), given, before, sizes)
        made += _switched_off(eqs, independent, t, new_q, new_v)
        return made + opposite_frames(eqs, independent, new_q)

    return AssembledState(independent, new_q, new_v, before, said)


def _switched_off(eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> list[str]:
    """Remark on inactive constraint rows."""
    off = bound.row_active == 0
    if not np.any(off):
        return []
    holding = np.any(bound.constraint_jacobian(t, q, v), axis=1)
    texts = []
    for what, which, why in (
        ("redundant constraints", off & holding, "others already imply them"),
        ("ineffective constraints", off & ~holding, "no coordinate affects them"),
    ):
        if np.any(which):
            names = ", ".join(eqs.constraint_names[i] for i in np.flatnonzero(which))
            texts.append(f"{what} switched off: {names} ({why})")
    return texts


def driven_words(eqs: Equations, made: AssembledState, t: float) -> str:
    """Words on prescribed motions that have a rate or an acceleration at time t [s], which an equilibrium does not have."""
    what, values, names = "is driven at", made.v, eqs.rates
    if not np.any(values):
        accelerations, signals = made.bound.signal_rates(t)[1], np.array(eqs.model.system.row_signals(), dtype=int)
        rows = np.flatnonzero((signals >= 0) & made.bound.active_rows)
        what, values, names = "is accelerated at", np.zeros(len(signals)), eqs.constraint_names
        values[rows] = accelerations[signals[rows]]
    if not np.any(values):
        return ""
    k = int(np.argmax(np.abs(values)))
    return f"'{names[k]}' {what} {values[k]:.3g} (SI units) then, and forces caused by this motion are not included"


def refuse_extremes(eqs: Equations, q: np.ndarray, v: np.ndarray) -> None:
    """Reject positions and rates so large that their squares overflow."""
    for what, values in (("position", q), ("rate", v)):
        # the sum of squares is cheap; if it overflows, find the value
        with np.errstate(over="ignore"):
            squares = float(values @ values)
        if not squares <= LARGEST**2 and not np.abs(values).max(initial=0.0) <= LARGEST:  # nor NaN
            _refuse(eqs, what, values)


def _refuse(eqs: Equations, what: str, values: np.ndarray) -> None:
    at = int(np.flatnonzero(~(np.abs(values) <= LARGEST))[0])
    name = eqs.coordinates[at] if what == "position" else rate_name(eqs.rates[at])
    raise ArgumentError(
        f"the start of '{name}' is {values[at]:g}, too large to compute with",
        "values are in SI units: metres, radians and seconds",
    )


def _held_positions(model: Model, bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> dict[int, TimeSeries]:
    """Positions of prescribed rates and accelerations that nothing determines yet: a rate or an acceleration leaves its components
    where they are."""
    found = followed_positions(model, bound, t, q, v)
    return {index: series for index, series in found.items() if bound.input_kind[index] != SERIES}


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
