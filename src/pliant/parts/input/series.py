"""Recorded series: one column of a table, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.language.recording import FILL, by_name, find_column, times_of
from pliant.language.source import FileProblem, Source
from pliant.language.table_files import Column, read_columns
from pliant.language.units import Unit, UnitError, parse_unit


@dataclass(frozen=True)
class Samples:
    """Times [s] and values [SI], of equal length, times increasing; `unit` is that of the file or the model, None if not stated."""

    times: np.ndarray
    values: np.ndarray
    unit: Unit | None


def read_samples(
    source: Source,
    file: str,
    column: str,
    *,
    time_column: str | None = None,
    time_unit: str | None = None,
    unit: str | None = None,
) -> Samples:
    """Samples from a column of a file, which a model from `source` refers to; raises FileProblem."""
    found = by_name(read_columns(source.find(file), file, limit="table"), file)
    times = times_of(found, file, time_column)
    values = find_column(found, column, file)
    if values.flaw:
        raise FileProblem(values.flaw, FILL)
    time, _ = _in_si(times, "time_unit", time_unit)
    numbers, stated = _in_si(values, "unit", unit)
    return Samples(time, numbers, stated)


def _in_si(column: Column, key: str, given: str | None) -> tuple[np.ndarray, Unit | None]:
    """Values in SI units, and their unit: that of the file or, if it states none, that given in the model."""
    if given is None:
        return column.values, column.unit
    try:
        unit = parse_unit(given)
    except UnitError as error:
        raise FileProblem(f"in {key}: {error}", error.hint) from None
    if column.unit is None:
        with np.errstate(over="ignore"):  # numbers that overflow are rejected when the interpolation is created
            return column.values * unit.factor, unit
    if unit != column.unit:
        raise FileProblem(f"`{key}` is {given}, but the heading in the file is '{column.heading}'", f"remove `{key}`")
    return column.values, unit
