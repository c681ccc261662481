"""Contacts in states of a robot: pairs, positions and forces, and the memory of contacts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from pliant.engine.program import check
from pliant.language.arguments import ArgumentError, number
from pliant.language.message_text import suggestion
from pliant.parts.assembly.contact_shapes import ContactSystem

if TYPE_CHECKING:
    from pliant.engine.binding import Binding

RECORD = 25
"""Size of a record: `PL_CONTACT_RECORD` in `runtime/contact.h`."""


class Entry(NamedTuple):
    """A quantity in a record: its first index, its size, its unit and description."""

    at: int
    size: int
    unit: str
    meaning: str


ENTRIES = {
    "key": Entry(0, 1, "-", "number that a contact keeps from step to step"),
    "law": Entry(1, 1, "-", "which of the model's contacts, by its place in the list of names"),
    "stretch": Entry(2, 3, "m", "stretch of the friction spring"),
    "place": Entry(5, 3, "m", "place of contact"),
    "meeting_speed": Entry(8, 1, "m/s", "speed at which the surfaces met"),
    "share": Entry(9, 1, "-", "part of the contact's stiffness"),
    "slides": Entry(10, 1, "-", "1 where the surfaces slide, 0 where they stick"),
    "force": Entry(11, 3, "N", "force on the first part"),
    "normal": Entry(14, 3, "-", "direction from the second part to the first"),
    "gap": Entry(17, 1, "m", "distance of the surfaces, below zero where they overlap"),
    "sliding_velocity": Entry(18, 3, "m/s", "velocity of the first surface along the second"),
    "gap_rate": Entry(21, 1, "m/s", "rate of the gap"),
    "first": Entry(22, 1, "-", "index of the first part"),
    "second": Entry(23, 1, "-", "index of the second part"),
    "energy": Entry(24, 1, "J", "energy stored in the contact"),
}
"""Contents of a record, in order."""

_TURNED = [*range(11, 17), *range(18, 21)]
"""Entries of a record that change sign if the two parts are swapped."""


@dataclass(frozen=True, repr=False, eq=False)
class Contacts:
    """Contacts in one state, or at the saved times of a motion; arrays have one row per contact, ordered by time.

    `contacts["grip"]` are those of one contact of the model, `contacts.between("finger", "ball")` those of a pair of
    parts and `contacts.at(0.5)` those at one saved time. Forces are in world axes and act on the first part; the
    reaction acts on the second.

    Attributes:
        names: contacts of the model; `law` is an index of these.
        things: surfaces, bodies, rods and meshes that can touch; `first` and `second` are indices of these.
        times: the saved times [s].
        begins: index of the first row of each saved time, and the number of rows.
        rows: all numbers, contacts x 25, in the order of `ENTRIES`.
    """

    names: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    begins: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int32))
    rows: np.ndarray = field(default_factory=lambda: np.zeros((0, RECORD)))

    def __len__(self) -> int:
        return len(self.rows)

    def _entry(self, name: str) -> np.ndarray:
        at, size, *_ = ENTRIES[name]
        return self.rows[:, at] if size == 1 else self.rows[:, at : at + size]

    # -- quantities -------------------------------------------------------------------------------------------------

    @property
    def name(self) -> tuple[str, ...]:
        """The contact of the model that each belongs to."""
        return tuple(self.names[int(k)] for k in self._entry("law"))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The two parts of each, in the order of the contact's `between`."""
        both = zip(self._entry("first"), self._entry("second"), strict=True)
        return tuple((self.things[int(a)], self.things[int(b)]) for a, b in both)

    @property
    def time(self) -> np.ndarray:
        """The saved time of each [s]."""
        return np.repeat(self.times, np.diff(self.begins))

    @property
    def place(self) -> np.ndarray:
        """Positions, n x 3 [m]."""
        return self._entry("place")

    @property
    def normal(self) -> np.ndarray:
        """Direction from the second part to the first, n x 3."""
        return self._entry("normal")

    @property
    def gap(self) -> np.ndarray:
        """Distance of the surfaces, negative if they overlap [m]."""
        return self._entry("gap")

    @property
    def force(self) -> np.ndarray:
        """Force on the first part, n x 3 [N]."""
        return self._entry("force")

    @property
    def normal_force(self) -> np.ndarray:
        """Normal component of the force [N]."""
        return np.asarray(np.einsum("ij,ij->i", self.force, self.normal))

    @property
    def friction_force(self) -> np.ndarray:
        """Tangential component of the force, n x 3 [N]."""
        return np.asarray(self.force - self.normal_force[:, None] * self.normal)

    @property
    def sliding_velocity(self) -> np.ndarray:
        """Velocity of the first surface along the second, n x 3 [m/s]; while they stick, that of the spring between them."""
        return self._entry("sliding_velocity")

    @property
    def sticks(self) -> np.ndarray:
        """Whether the surfaces stick (booleans)."""
        return np.asarray(self._entry("slides") == 0)

    @property
    def energy(self) -> np.ndarray:
        """Energy stored in each [J]."""
        return self._entry("energy")

    # -- sums at each time --------------------------------------------------------------------------------------------------

    @property
    def count(self) -> np.ndarray:
        """Number of contacts at each saved time."""
        return np.diff(self.begins)

    @property
    def total_force(self) -> np.ndarray:
        """Sum of the forces at each saved time, times x 3 [N]."""
        return self.total(self.force)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums over the contacts at each saved time of numbers or vectors with one row per contact."""
        out = np.zeros((len(self.times), *values.shape[1:]))
        np.add.at(out, np.repeat(np.arange(len(self.times)), self.count), values)
        return out

    # -- selection --------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Contacts:
        """The contacts of one contact of the model."""
        known("contact", name, self.names)
        return self._of(self._entry("law") == self.names.index(name))

    def between(self, first: str, second: str) -> Contacts:
        """The contacts of a pair of parts; forces then act on the first argument."""
        for thing in (first, second):
            known("part that can touch", thing, self.things)
        a, b = (np.array([thing == x for x in self.things]) for thing in (first, second))
        ends = self.rows[:, 22].astype(int), self.rows[:, 23].astype(int)
        straight, turned = a[ends[0]] & b[ends[1]], a[ends[1]] & b[ends[0]]
        found = replace(self, rows=_turn_over(self.rows, turned & ~straight))
        return found._of(straight | turned)

    def at(self, time: float) -> Contacts:
        """The contacts at one saved time [s]."""
        number("time", time)
        k = int(np.argmin(np.abs(self.times - time))) if len(self.times) else 0
        if not len(self.times) or abs(self.times[k] - time) > 1e-9 * max(float(np.ptp(self.times)), abs(time)):
            near = f"the nearest one is {self.times[k]:.9g} s" if len(self.times) else "nothing was saved"
            raise ArgumentError(f"{time:.9g} s is not a saved time", f"{near}; see `save_at` of simulate")
        return self.sample(k)

    def sample(self, index: int) -> Contacts:
        """The contacts at a saved time by its index; negative indices count from the end."""
        k = range(len(self.times))[index]
        return self.samples(k, k + 1)

    def samples(self, begin: int, end: int) -> Contacts:
        """The contacts at the saved times from one index up to another."""
        begins = self.begins[begin : end + 1]
        rows = self.rows[begins[0] : begins[-1]]
        return replace(self, times=self.times[begin:end], begins=begins - begins[0], rows=rows)

    def followed_by(self, later: Contacts) -> Contacts:
        """These and the contacts at later times."""
        begins = np.concatenate([self.begins, self.begins[-1] + later.begins[1:]])
        rows, times = np.concatenate([self.rows, later.rows]), np.concatenate([self.times, later.times])
        return Contacts(later.names, later.things, times, begins, rows)

    def _of(self, wanted: np.ndarray) -> Contacts:
        before = np.concatenate([[0], np.cumsum(wanted)]).astype(np.int32)
        return replace(self, begins=before[self.begins], rows=self.rows[wanted])

    # -- display ---------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if len(self.times) != 1:
            span = f" from {self.times[0]:g} to {self.times[-1]:g} s" if len(self.times) else ""
            return f"Contacts: {len(self)} at {len(self.times)} saved times{span}, at most {max(self.count, default=0)} at once"
        head = f"{len(self)} contact{'' if len(self) == 1 else 's'} at t = {self.times[0]:g} s"
        lines = [
            f"{name}: {a} on {b}, {normal:.4g} N and {np.linalg.norm(friction):.4g} N of friction, "
            f"{'sticks' if sticks else 'slides'}, at ({', '.join(f'{x:.4g}' for x in place)}) m"
            for name, (a, b), normal, friction, sticks, place in zip(
                self.name, self.pairs, self.normal_force, self.friction_force, self.sticks, self.place, strict=True
            )
        ]
        return "\n".join([head, *lines])


def known(what: str, name: str, names: Sequence[str]) -> None:
    """Reject an unknown name."""
    if name not in names:
        there = tuple(dict.fromkeys(names))
        hint = suggestion(name, there, f"there are {', '.join(there[:12])}" if there else "there are none")
        raise ArgumentError(f"there is no {what} '{name}'", hint)


def _turn_over(rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The rows with the two parts of some of them swapped. The memory of contacts does not depend on the order."""
    if not np.any(which):
        return rows
    rows = rows.copy()
    some = rows[which]
    some[:, _TURNED] *= -1
    some[:, [22, 23]] = some[:, [23, 22]]
    rows[which] = some
    return rows


def contacts_of(system: ContactSystem, times: np.ndarray, begins: np.ndarray, rows: np.ndarray) -> Contacts:
    """Contacts from the runtime's records, each with its parts in the order of its law."""
    first, second = rows[:, 22].astype(int), rows[:, 23].astype(int)
    turned = np.zeros(len(rows), dtype=bool)
    for k, law in enumerate(system.laws):
        ours = rows[:, 1] == k
        if np.any(ours):
            in_first, in_second = (
                np.isin(np.arange(len(system.shapes)), list(side)) for side in (law.first, law.second)
            )
            as_named = in_first[first] & in_second[second]
            turned |= ours & ~as_named
    rows = _turn_over(rows, turned) if np.any(turned) else rows.copy()
    things = tuple(dict.fromkeys(shape.name for shape in system.shapes))
    number_of = np.array([things.index(shape.name) for shape in system.shapes])
    rows[:, 22:24] = number_of[rows[:, 22:24].astype(int)]
    names = tuple(law.name for law in system.laws)
    return Contacts(names, things, np.asarray(times, dtype=float), np.asarray(begins, dtype=np.int32), rows)


def read_records(fill: Callable[[int, int], int]) -> np.ndarray:
    """Records from a function of the runtime: `fill(room, address)` writes as many as fit; returns their number, or a negative
    status."""
    rows = np.zeros((16, RECORD))
    while True:
        count = fill(len(rows), rows.ctypes.data)
        if count < 0:
            check(-count)
        if count <= len(rows):
            return rows[:count].copy()
        rows = np.zeros((count, RECORD))


def contacts_at(binding: Binding, t: float, q: Any, v: Any) -> Contacts:
    """All contacts in a state."""
    system, program = binding.system.contacts, binding.program
    if not system.laws:
        return Contacts(times=np.array([t]), begins=np.zeros(2, dtype=np.int32))
    q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
    address, find = program.workspace(binding).address, program.library.pl_contacts_at
    rows = read_records(lambda room, to: find(address, t, q.ctypes.data, v.ctypes.data, room, to))
    return contacts_of(system, np.array([t]), np.array([0, len(rows)]), rows)


def contact_gap(binding: Binding, q: Any, law: int, sides: np.ndarray | None = None) -> float:
    """The smallest distance of the surfaces of a contact, negative if they overlap [m]; infinite if there are none.

    sides: per shape 1, 2 or 3 for the first side, the second or both; by default all shapes of the law.
    """
    q, program = np.ascontiguousarray(q, dtype=float), binding.program
    address = None if sides is None else sides.ctypes.data
    return float(program.library.pl_contact_gap(program.workspace(binding).address, q.ctypes.data, law, address))


def contact_tangents(binding: Binding) -> tuple[Any, Any] | None:
    """Stiffness and damping (nv x nv, sparse) of the contacts of the last linearization with a binding in this thread."""
    program = binding.program
    if not program.tables.counts["n_shape"]:
        return None
    address, library = program.workspace(binding).address, program.library
    count = library.pl_contact_entries(address, 0, None, None, None, None)
    if not count:
        return None
    rows, columns = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    stiffness, damping = np.zeros(count), np.zeros(count)
    arrays = (ctypes.c_void_p(x.ctypes.data) for x in (rows, columns, stiffness, damping))
    library.pl_contact_entries(address, count, *arrays)
    shape = (program.nv, program.nv)
    K, C = (scipy.sparse.csc_matrix((x, (rows, columns)), shape=shape) for x in (stiffness, damping))
    return K, C


def contacts_at_rest(binding: Binding, t: float, q: np.ndarray) -> Contacts | None:
    """Contacts of an equilibrium, with their memory; None if the robot has no contacts."""
    if not binding.program.tables.counts["n_shape"]:
        return None
    return contacts_at(binding, t, q, np.zeros(binding.nv))


def from_here(binding: Binding, t: float, q: np.ndarray) -> Binding:
    """The binding with the contact memory of a configuration at rest: friction resists motions from it.

    An existing memory is used. Without one, surfaces in contact have not slid yet.
    """
    touching = contacts_at_rest(binding, t, q)
    return binding if touching is None else binding.with_contacts(touching.rows, since=q)
