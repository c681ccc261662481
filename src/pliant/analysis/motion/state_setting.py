"""States set by events and mid-step functions during a run: projection onto the constraints, and the added energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.analysis.motion.current_state import impulse
from pliant.analysis.numerics.loop_closure import CLOSED, AssemblyError, coordinate_sizes, differs
from pliant.analysis.numerics.state import LARGEST, assemble
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.initial_states import carried_along, prescribed_coordinates
from pliant.engine.state import SpecifiedValues, State, rate_name
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import enumeration

SHORTEST_QUATERNION = 1e-6
"""A quaternion shorter than this does not define a rotation."""


@dataclass(frozen=True)
class SetState:
    """A state that satisfies the constraints; energy: added by setting it [J]; note: values that could not be set as requested,
    or empty."""

    bound: Binding
    q: np.ndarray
    v: np.ndarray
    energy: float
    note: str


def set_state(
    eqs: Equations, bound: Binding, t: float, before: tuple[np.ndarray, np.ndarray], q: np.ndarray, v: np.ndarray
) -> SetState | None:
    """The state on the constraints in which entries that differ from `before` (q, v) keep their values; None if there are none.

    Carried nodes (with their own poses) move along. Positions close their loops as at a start: set values are kept, and the others
    change as little as possible in the metric of the mass. Set rates are kept, and the others change by the impulses of the
    constraints
    alone: M (v+ - v-) = J'l on them.
    """
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    new_q, new_v = q != before[0], v != before[1]  # NaN differs from every value
    if not np.any(new_q) and not np.any(new_v):
        return None
    _refuse(eqs, t, q, v)
    for c in eqs.model.coordinates:
        part = slice(c.q_at, c.q_at + len(c.q_names))
        if c.is_rotation and np.any(new_q[part]):
            length = float(np.linalg.norm(q[part]))
            if length < SHORTEST_QUATERNION:
                raise ArgumentError(
                    f"the quaternion of '{c.name}' was set to zero at t = {t:g} s", "set one of unit length"
                )
            q[part] /= length
            new_q[part] = True
    asked = {name: float(x) for name, x, new in zip(eqs.coordinates, q, new_q, strict=True) if new}
    asked |= {rate_name(name): float(x) for name, x, new in zip(eqs.rates, v, new_v, strict=True) if new}
    wanted = State(q, v, t, given=SpecifiedValues(asked))
    wanted = carried_along(eqs.model, bound, State(*before, t), wanted)
    after = bound
    end_q, end_v = wanted.q, wanted.v
    if bound.m:
        try:
            after, end_q, end_v = _on_constraints(eqs, bound, wanted, bool(np.any(new_q)), new_v)
        except AssemblyError as reason:
            raise ArgumentError(f"the state that was set at t = {t:g} s: {reason}") from None
    old = float(np.sum(bound.energies(t, *before)[:2]))
    new = float(np.sum(after.energies(t, end_q, end_v)[:2]))
    sizes = np.concatenate(coordinate_sizes(eqs, after, end_q))
    return SetState(after, end_q, end_v, new - old, _changed(eqs, t, asked, sizes, end_q, end_v))


def _on_constraints(
    eqs: Equations, bound: Binding, wanted: State, moved: bool, new_v: np.ndarray
) -> tuple[Binding, np.ndarray, np.ndarray]:
    t, q, v = wanted.t, wanted.q, wanted.v
    values, sizes = bound.constraint_values(t, q, v)[0], bound.constraint_sizes(t, q, v)
    closed = np.max(np.abs(values) / sizes, initial=0.0) <= 10 * CLOSED
    if moved or not closed:
        made = assemble(eqs, bound, t, q, v, wanted.given)
        # nodes moved by closing the loops keep their rates relative to their carriers
        bound, q = made.bound, made.q
        v = carried_along(eqs.model, bound, State(wanted.q, wanted.v, t), State(q, v, t, given=wanted.given)).v
    for entry in prescribed_coordinates(eqs.model):
        v[entry.v_at] = bound.signal_rates(t)[0][entry.signal]
        new_v = new_v.copy()
        new_v[entry.v_at] = True
    nothing = np.zeros((0, bound.nv)), np.zeros(0)
    found = impulse(bound, t, q, v, ~new_v, *nothing)
    if found is None:  # the set values are inconsistent: a least-squares solution
        found = impulse(bound, t, q, v, np.ones(bound.nv, dtype=bool), *nothing)
    if found is None:
        raise ArgumentError(f"the rates that were set at t = {t:g} s cannot satisfy the constraints")
    return bound, q, found


def _refuse(eqs: Equations, t: float, q: np.ndarray, v: np.ndarray) -> None:
    """Reject NaN and values that overflow."""
    for what, values, names in (("position", q, eqs.coordinates), ("rate", v, eqs.rates)):
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST))
        if len(wrong):
            raise ArgumentError(
                f"the {what} of '{names[wrong[0]]}' was set to {values[wrong[0]]:g} at t = {t:g} s",
                "set finite numbers in SI units",
            )


def _changed(eqs: Equations, t: float, asked: dict[str, float], sizes: np.ndarray, q: np.ndarray, v: np.ndarray) -> str:
    """Remark on set values that could not be kept."""
    names = (*eqs.coordinates, *map(rate_name, eqs.rates))
    there, size = (dict(zip(names, x.tolist(), strict=True)) for x in (np.concatenate([q, v]), sizes))
    off = [x for x, value in asked.items() if differs(value, there[x], size[x])]
    if not off:
        return ""
    texts = enumeration([f"{name} from {asked[name]:.6g} to {there[name]:.6g}" for name in off], 4)
    return f"values that were set at t = {t:.6g} s contradict the constraints and were changed: {texts}"
