"""The coordinates of a pose as a short table: those of joints one by one, those of long rods and meshes in groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.engine.model.model import Model

FEW = 12
"""Robots with at most this many coordinates have one row for each."""
MOST_GROUPS = 24
"""With more groups, each rod or mesh has one row."""


@dataclass(frozen=True)
class CoordinateRow:
    """A row: a name, or the first and the last name of a group; the SI unit (empty if none); a value, or the range of a group."""

    name: str
    unit: str
    value: str
    count: int = 1


def coordinate_rows(model: Model, q: np.ndarray) -> list[CoordinateRow]:
    """The rows of a pose q."""
    named = [(name, "" if c.is_rotation else c.unit) for c in model.coordinates for name in c.q_names]
    every = [(name, unit, float(x)) for (name, unit), x in zip(named, q.tolist(), strict=True)]
    parts = {*model.spec.rods, *model.spec.meshes}
    if len(every) <= FEW:
        return [_row([one]) for one in every]
    own = [_row([one]) for one in every if one[0].partition(".")[0] not in parts]
    groups: dict[tuple[str, ...], list[tuple[str, str, float]]] = {}
    for one in every:
        part, _, label = one[0].partition(".")
        if part in parts:
            groups.setdefault((part, re.sub(r"\d+", "", label)), []).append(one)
    if len(groups) > MOST_GROUPS:
        whole: dict[str, int] = {}
        for (part, _), entries in groups.items():
            whole[part] = whole.get(part, 0) + len(entries)
        return own + [CoordinateRow(part, "", f"{count} coordinates", count) for part, count in whole.items()]
    return own + [_row(entries) for entries in groups.values()]


def _row(entries: Sequence[tuple[str, str, float]]) -> CoordinateRow:
    (name, unit, _), values = entries[0], [x for _, _, x in entries]
    low, high = (f"{x + 0.0:.6g}" for x in (min(values), max(values)))
    shown = f"{values[0]:.9g}" if len(entries) == 1 else low if low == high else f"{low} to {high}"
    name = name if len(entries) == 1 else f"{name} ... {entries[-1][0].partition('.')[2]}"
    return CoordinateRow(name, "" if unit in ("-", "") else unit, shown, len(entries))
