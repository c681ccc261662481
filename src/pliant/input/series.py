"""Recorded series: one column of a CSV file, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.input.inputs import Series
from pliant.language.csv_table import check_increasing, read_table
from pliant.language.source import FileProblem, Source
from pliant.language.units import UnitError, parse_unit


@dataclass(frozen=True)
class Samples:
    """Times [s] and values [SI units of the file's unit], of equal length, times increasing."""

    times: np.ndarray
    values: np.ndarray


def read_series(series: Series, source: Source) -> Samples:
    """The series of a model from `source`; raises FileProblem that says what is wrong with the file."""
    path = source.find(series.file)
    factors = []
    for name, unit in (("time_unit", series.time_unit), ("unit", series.unit or "1")):
        try:
            factors.append(parse_unit(unit).factor)
        except UnitError as error:
            raise FileProblem(f"in {name}: {error}", error.hint) from None
    _, table = read_table(path, series.file, limit="table", columns=(series.time_column, series.column))
    with np.errstate(over="ignore"):  # numbers that leave no room for a polynomial are refused where one is made
        table = table * factors
    check_increasing(table[:, 0], series.file)
    return Samples(table[:, 0], table[:, 1])
