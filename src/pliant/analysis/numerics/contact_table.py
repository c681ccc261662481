"""Contacts of a motion as labelled arrays of its result, and the inverse conversion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable, named_axes
from pliant.engine.contacts import ENTRIES, RECORD, Contacts

ROWS, COUNT, NAMES, THINGS = "contact", "contact_count", "contact_name", "thing"
"""Axis of all contacts, number of contacts at each saved time, and the axes that name laws and parts."""


def joined_contacts(contacts: Sequence[Contacts | None], t: float) -> Contacts | None:
    """Contacts of several poses at one time [s], concatenated; None if the model has no contacts."""
    known = [x for x in contacts if x is not None]
    if not known:
        return None
    begins = np.concatenate([[0], np.cumsum([len(x) for x in known])]).astype(np.int32)
    rows = np.concatenate([x.rows for x in known])
    return Contacts(known[0].names, known[0].things, np.full(len(known), t), begins, rows)


def contact_variables(contacts: Contacts | None, axis: str = "time") -> tuple[dict[str, Variable], dict[str, Variable]]:
    """Variables and labels of the contacts at all saved times, or points of a path, concatenated; empty if the model has no
    contacts.

    `contact_count` is the number of contacts at each of them (a contiguous ragged array in the terms of netCDF's conventions).
    """
    if contacts is None or not contacts.names:
        return {}, {}
    about = {"long_name": "number of contacts", "units": "-", "sample_dimension": ROWS}
    variables: dict[str, Variable] = {COUNT: ((axis,), contacts.count, about)}
    for name, entry in ENTRIES.items():
        axes = (ROWS,) if entry.size == 1 else (ROWS, "axis")
        values = partial(_column, contacts, entry.at, entry.size)
        variables[f"contact_{name}"] = axes, values, {"long_name": entry.meaning, "units": entry.unit}
    return variables, named_axes({NAMES: contacts.names, THINGS: contacts.things})


def _column(contacts: Contacts, at: int, size: int) -> np.ndarray:
    return contacts.rows[:, at] if size == 1 else contacts.rows[:, at : at + size]


def contacts_at_time(recorded: LabelledArrays, t: float) -> Contacts | None:
    """The contacts in a result of poses at one time [s]; None if the model has no contacts."""
    return recorded_contacts(recorded, np.full(len(recorded[COUNT]), t)) if COUNT in recorded else None


def recorded_contacts(recorded: LabelledArrays, times: np.ndarray) -> Contacts:
    """The contacts in a result, at its saved times or at each of its points."""
    if COUNT not in recorded:
        return Contacts(times=times, begins=np.zeros(len(times) + 1, dtype=np.int32))
    count = recorded[COUNT]
    begins = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    rows = np.zeros((int(begins[-1]), RECORD))
    for name, entry in ENTRIES.items():
        rows[:, entry.at : entry.at + entry.size] = recorded[f"contact_{name}"].reshape(len(rows), entry.size)
    return Contacts(recorded.names(NAMES), recorded.names(THINGS), times, begins, rows)
