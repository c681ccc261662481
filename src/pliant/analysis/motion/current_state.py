"""The current state of a run as events, mid-step functions and controllers see and set it.

A state that is set is projected onto the constraints: set values are kept, and the others follow by impulses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.loop_closure import CLOSED, AssemblyError, coordinate_sizes, differs
from pliant.analysis.numerics.state import LARGEST, assemble
from pliant.engine.binding import Binding
from pliant.engine.contact_sums import indexed_questions
from pliant.engine.contacts import Contacts, contact_gap, known
from pliant.engine.core import UnknownName, check_names
from pliant.engine.equations import Energy, Equations, with_independent_rows
from pliant.engine.initial_states import carried_along, prescribed_coordinates
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import SpecifiedValues, State, rate_name
from pliant.language.arguments import ArgumentError, mapping, number, vector
from pliant.language.message_text import suggestion
from pliant.language.time_series import TimeSeries
from pliant.parts.output.base import ContactQuery

SETTABLE = ("q", "v", "inputs", "parameters")
"""Values that a mid-step function or the function of an event may set."""
SHORTEST_QUATERNION = 1e-6
"""A quaternion shorter than this does not define a rotation."""


class StateVector(np.ndarray):
    """Positions or rates of a `Now`: an array whose entries are also accessible by name (`now.v["hinge"]`)."""

    names: tuple[str, ...]
    reader: str

    def __new__(cls, values: Any, names: tuple[str, ...], reader: str = "") -> StateVector:
        """A copy of the values. reader: the caller that may not set them; empty if they may be set."""
        out = np.array(values, dtype=float).view(cls)
        out.names, out.reader = names, reader
        out.flags.writeable = not reader
        return out

    def __array_finalize__(self, other: Any) -> None:
        self.names, self.reader = (), ""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.reader:
            raise ArgumentError(*_refusal(self.reader, "the state"))
        super().__setitem__(self._index(key), value)

    def _index(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        names = {name: i for i, name in enumerate(self.names)}
        index = names.get(key, {rate_name(name): i for name, i in names.items()}.get(key))
        if index is None:
            raise UnknownName("coordinate or rate", key, self.names)
        return index


class ReadOnlyValues(dict[str, Any]):
    """Read-only inputs or parameters."""

    def __init__(self, values: Mapping[str, Any], what: str, reader: str) -> None:
        super().__init__(values)
        self._what, self._reader = what, reader

    def _refuse(self, *given: Any, **named: Any) -> Any:
        raise ArgumentError(*_refusal(self._reader, self._what))

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _refusal(reader: str, what: str) -> tuple[str, str]:
    hint = "a mid-step function or the `then` of an event may set it"
    if reader == "a controller" and what == "inputs":
        hint = "return the commands by name"
    return f"{what} cannot be set by {reader}", f"{hint}; work on a copy"


@dataclass
class Now:
    """The current state of a run: time [s], positions and rates (by index or name), current inputs and parameters,
    derived quantities.

    A mid-step function, and the function `then` of an event, may set `q`, `v` (entries by index or name, or whole
    arrays), `inputs` and `parameters` (by name); see `impact` and `bounce` for rates after impacts. A controller
    returns its commands. `memory` persists for the run. `noise`, if any, is added to the values of `measure`.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    equations: Equations
    inputs: dict[str, Any]
    parameters: dict[str, float]
    memory: dict[str, Any] = field(default_factory=dict)
    noise: Mapping[str, np.ndarray] = field(default_factory=dict)
    motions: Mapping[int, TimeSeries] = field(default_factory=dict, repr=False)
    """Series, by index of the input, that prescribed motions follow in the run."""
    reader: str = field(default="", repr=False)
    """The caller with read-only access; empty if values may be set."""
    contacts: Contacts = field(default_factory=Contacts, repr=False)
    """Contacts: pairs, positions and forces."""

    def __post_init__(self) -> None:
        put = self.__dict__
        put["q"] = StateVector(self.q, self.equations.coordinates, self.reader)
        put["v"] = StateVector(self.v, self.equations.rates, self.reader)
        if self.reader:
            for name in ("inputs", "parameters"):
                put[name] = ReadOnlyValues(put[name], name, self.reader)

    def __setattr__(self, name: str, value: Any) -> None:
        known, made = type(self).__dataclass_fields__, name in self.__dict__
        if (name in known and not made) or name == "memory":
            self.__dict__[name] = value
        elif name not in SETTABLE:
            why = "cannot be set" if name in known or hasattr(type(self), name) else "is unknown"
            near = suggestion(name, SETTABLE)
            raise ArgumentError(
                f"now.{name} {why}", f"{near}{' ' if near else ''}these can be set: {', '.join(SETTABLE)}, memory"
            )
        elif self.reader:
            raise ArgumentError(*_refusal(self.reader, name if name in ("inputs", "parameters") else "the state"))
        elif name in ("q", "v"):
            there = self.__dict__[name]
            there[:] = vector(f"now.{name}", value, len(there))
        else:
            self.__dict__[name] = mapping(f"now.{name}", value)

    def frame(self, name: str) -> Any:
        """Motion of a frame now."""
        return self.equations.frame(name, self.q, self.v, parameters=self.parameters)

    @property
    def energy(self) -> Any:
        """Energies now."""
        return Energy(*map(float, self._values().energies(self.t, self.q, self.v)[:4]))

    @property
    def outputs(self) -> dict[str, Any]:
        """The model's outputs now."""
        bound = with_independent_rows(self._values(), self.t, self.q, self.v)
        a, multipliers = bound.forward(self.t, self.q, self.v)
        return evaluate_outputs(self.equations.model, bound, self.t, self.q, self.v, a, multipliers, 0.0)

    def _values(self) -> Binding:
        eqs = self.equations.at(inputs=self.inputs, parameters=self.parameters)
        bound = eqs.binding.with_series(self.motions)
        return bound.with_contacts(self.contacts.rows) if self.contacts.names else bound

    def gap(self, contact: str, of: Sequence[str] = ()) -> float:
        """Smallest current distance of the surfaces of a contact, or of two of its parts; negative if they overlap [m]."""
        system = self.equations.model.system.contacts
        known("contact", contact, [law.name for law in system.laws])
        if of and len(of) != 2:
            raise ArgumentError(f"a gap is between two parts, not {len(of)}", "write of=('finger', 'ball')")
        for thing in of:
            known("part that can touch", thing, [shape.name for shape in system.shapes])
        asked = indexed_questions(system, [ContactQuery(contact, tuple(of))])
        return contact_gap(self._values(), self.q, int(asked.law[0]), asked.side[0])

    def measure(self, names: Sequence[str]) -> np.ndarray:
        """The current values of the named outputs as one row, with the noise of their sensors."""
        values = self.outputs
        check_names("output", names, values)
        return np.concatenate([np.atleast_1d(values[name]) + self.noise.get(name, 0.0) for name in names])

    def impact(self, rates: Mapping[str, float]) -> None:
        """Set the rates to those right after an impact that gives some of them these values (SI units, by name).

        The impulse acts along these coordinates only, with the impulses of closed loops: M (v+ - v-) = W'p + J'l. All other rates
        follow by inertia. (Setting single entries of `v` leaves the others unchanged, as far as loops permit.)
        """
        given = mapping("rates", rates)
        check_names("rate", given, self.equations.rates)
        at = [self.equations.rates.index(name) for name in given]
        rows = np.zeros((len(at), len(self.v)))
        rows[np.arange(len(at)), at] = 1.0
        targets = np.array([number(f"rate of '{name}' after the impact", x) for name, x in given.items()])
        self._strike(rows, targets, ", ".join(given))

    def bounce(self, frame: str, normal: Sequence[float], restitution: float = 1.0) -> None:
        """Set the rates to those right after a frame's origin hits a smooth fixed wall.

        The impulse acts on the origin along the wall's normal (any length, world axes), and the velocity along it becomes
        -`restitution` times what it was: M (v+ - v-) = J_n'p + J'l.
        """
        check_names("frame", [frame], self.equations.frame_names)
        along = vector("normal", normal, 3)
        if not np.any(along):
            raise ArgumentError("the normal of the wall is zero", "give the direction away from the wall")
        share = number("restitution", restitution, at_least=0, at_most=1)
        row = (along / np.linalg.norm(along)) @ self.equations.frame_jacobian(
            frame, self.q, parameters=self.parameters
        )[:3]
        velocity = self.frame(frame).velocity @ along / np.linalg.norm(along)
        self._strike(row[None], row[None] @ self.v - (1 + share) * velocity, frame)

    def _strike(self, rows: np.ndarray, targets: np.ndarray, what: str) -> None:
        """Rates after impulses along rows (k x nv), whose products with the rates then have these values (k)."""
        if self.reader:
            raise ArgumentError(*_refusal(self.reader, "the state"))
        bound = with_independent_rows(self._values(), self.t, self.q, self.v)
        v, everything = np.array(self.v), np.ones(len(self.v), dtype=bool)
        after = impulse(bound, self.t, np.array(self.q), v, everything, rows, targets)
        if after is None:
            raise ArgumentError(
                f"no impulse can give '{what}' this rate at t = {self.t:g} s", "constraints or motions prescribe it"
            )
        self.__dict__["v"][:] = after


def impulse(
    bound: Binding, t: float, q: np.ndarray, v: np.ndarray, free: np.ndarray, rows: np.ndarray, targets: np.ndarray
) -> np.ndarray | None:
    """Rates after impulses of the constraints and along additional rows (k x nv), which take these values (k); None if impossible.

    Rates that are not free (nv booleans) are unchanged; for the others M (v+ - v-) = J'l + W'p.
    """
    on = bound.active_rows
    _, rate, _, J = bound.constraints(t, q, v)
    G = scipy.sparse.vstack([J.tocsr()[on], scipy.sparse.csr_matrix(rows)]).tocsc()
    wanted = np.concatenate([-rate[on], targets - rows @ v])
    if not G.shape[0] or not np.any(wanted):
        return v
    D = scipy.sparse.diags(bound.sizes(q)[1])
    M, own = (D @ bound.mass_matrix(q) @ D).tocsc()[:, free][free, :], (G @ D).tocsc()[:, free]
    n, m = M.shape[0], own.shape[0]
    length = np.sqrt(np.asarray(own.multiply(own).sum(axis=1)).ravel())
    rows_of_one = scipy.sparse.diags(1 / np.where(length > 0, length, 1.0))
    own, right = rows_of_one @ own, rows_of_one @ wanted
    scale = float(M.diagonal().max(initial=0.0)) or 1.0
    kkt = scipy.sparse.bmat([[M / scale, own.T], [own, None]]).tocsc()
    right = np.concatenate([np.zeros(n), right])
    try:
        solution = scipy.sparse.linalg.splu(kkt).solve(right)
    except RuntimeError:  # redundant rows
        solution = np.linalg.lstsq(kkt.toarray(), right, rcond=None)[0]
    after = v.copy()
    after[free] += D.diagonal()[free] * solution[:n]
    left = rows_of_one @ (G @ (after - v) - wanted)
    size = max(float(np.max(np.abs(right))), float(np.max(np.abs(v / D.diagonal()), initial=0.0)))
    if not np.all(np.isfinite(after)) or np.max(np.abs(left)) > 1e-8 * size:
        return None
    return after if m else v


# -- states that are set ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetState:
    """A state that satisfies the constraints; energy: added by setting it [J]; changed: values that could not be set as
    requested, by name: those given and those used."""

    bound: Binding
    q: np.ndarray
    v: np.ndarray
    energy: float
    changed: dict[str, tuple[float, float]]


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
    return SetState(after, end_q, end_v, new - old, _changed(eqs, asked, sizes, end_q, end_v))


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


def _changed(
    eqs: Equations, asked: dict[str, float], sizes: np.ndarray, q: np.ndarray, v: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Set values that could not be kept: those given and those used, by name."""
    names = (*eqs.coordinates, *map(rate_name, eqs.rates))
    there, size = (dict(zip(names, x.tolist(), strict=True)) for x in (np.concatenate([q, v]), sizes))
    return {x: (value, there[x]) for x, value in asked.items() if differs(value, there[x], size[x])}
