"""Contacts seen from Python: records of who touches whom in a state, what they remember, and their part of the tangents."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

if TYPE_CHECKING:
    from pliant.equations.binding import Binding

RECORD = 24
"""Numbers of a record: `PL_CONTACT_RECORD` in `runtime/contact.h`."""

NO_MEMORY, HELD, SINCE = 0, 1, 2
"""Memories of contacts in `pl_binding`: nothing is known; springs of friction as they are; as they were in given poses."""


@dataclass(frozen=True)
class ContactRecords:
    """Contacts in one state, n of them, as rows of numbers."""

    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def law(self) -> np.ndarray:
        """Numbers of their laws."""
        return self.rows[:, 1].astype(int)

    @property
    def place(self) -> np.ndarray:
        """Where they are, n x 3 [m]."""
        return self.rows[:, 5:8]

    @property
    def slides(self) -> np.ndarray:
        """Whether they slide."""
        return self.rows[:, 10] != 0

    @property
    def force(self) -> np.ndarray:
        """Force on the first shape, n x 3 [N]; the second has its reaction."""
        return self.rows[:, 11:14]

    @property
    def normal(self) -> np.ndarray:
        """Direction from the second shape to the first, n x 3."""
        return self.rows[:, 14:17]

    @property
    def gap(self) -> np.ndarray:
        """Distance of the surfaces, below zero where they overlap [m]."""
        return self.rows[:, 17]

    @property
    def sliding(self) -> np.ndarray:
        """Velocity of the first surface along the second, n x 3 [m/s]."""
        return self.rows[:, 18:21]

    @property
    def shapes(self) -> np.ndarray:
        """Numbers of both shapes, n x 2."""
        return self.rows[:, 22:24].astype(int)


def contacts_at(binding: Binding, t: float, q: np.ndarray, v: np.ndarray) -> ContactRecords:
    """All contacts in a state."""
    program = binding.program
    if not program.tables.counts["n_shape"]:
        return ContactRecords(np.zeros((0, RECORD)))
    q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
    workspace, rows, count = program.workspace(binding), np.zeros((16, RECORD)), 16
    while True:
        found = program.library.pl_contacts_at(
            workspace.address, t, q.ctypes.data, v.ctypes.data, len(rows), rows.ctypes.data
        )
        if found <= len(rows):
            return ContactRecords(rows[:found].copy())
        rows = np.zeros((found, RECORD))


def contact_tangents(binding: Binding) -> tuple[Any, Any] | None:
    """Stiffness and damping (nv x nv, sparse) of the contacts that this thread has linearized last with a binding; none without."""
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


def anchored(binding: Binding, t: float, q: np.ndarray) -> Binding:
    """The binding with surfaces that touch in a configuration at rest, and have not slid there: friction holds against motions from it."""
    if not binding.program.tables.counts["n_shape"]:
        return binding
    records = contacts_at(binding.with_contacts(None), t, q, np.zeros(binding.nv)).rows
    return binding.with_contacts(records, since=q)
