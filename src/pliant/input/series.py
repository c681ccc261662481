"""Recorded series: one column of a CSV file, checked."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from itertools import pairwise

from pliant.input.inputs import Series
from pliant.language.source import FileProblem, Source
from pliant.language.units import UnitError, parse_unit
from pliant.language.words import describe, suggestion

MAX_BYTES = 50_000_000


@dataclass(frozen=True)
class Recording:
    """Times [s] and values [SI units of the file's unit], of equal length, times increasing."""

    times: tuple[float, ...]
    values: tuple[float, ...]


def read_series(series: Series, source: Source) -> Recording:
    """The series of a model from `source`; raises FileProblem that says what is wrong with the file."""
    path = source.find(series.file)
    factors = []
    for name, unit in (("time_unit", series.time_unit), ("unit", series.unit or "1")):
        try:
            factors.append(parse_unit(unit).factor)
        except UnitError as error:
            raise FileProblem(f"in {name}: {error}", error.hint) from None
    if path.stat().st_size > MAX_BYTES:
        raise FileProblem(f"the file {series.file} is too large", f"at most {MAX_BYTES / 1e6:g} MB")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            columns = [_column(name, header, series.file) for name in (series.time_column, series.column)]
            pairs = [_row(row, columns, rows.line_num, series.file) for row in rows if any(map(str.strip, row))]
    except (UnicodeDecodeError, csv.Error):
        raise FileProblem(f"{series.file} is not a CSV file", "save it as comma-separated UTF-8 text") from None
    except OSError as error:
        raise FileProblem(f"cannot read {series.file}: {error.strerror}") from None
    if not pairs:
        raise FileProblem(f"{series.file} has no rows")
    for before, after in pairwise(pairs):
        if after[0] <= before[0]:
            message = f"the times in {series.file} must increase, but {after[0]:g} follows {before[0]:g}"
            raise FileProblem(message, "sort the rows and remove repeated times")
    return Recording(tuple(time * factors[0] for time, _ in pairs), tuple(value * factors[1] for _, value in pairs))


def _column(name: str, header: list[str], file: str) -> int:
    if name in header:
        return header.index(name)
    hint = suggestion(name, header, f"its columns: {', '.join(header)[:200]}")
    raise FileProblem(f"{file} has no column {describe(name)}", hint)


def _row(row: list[str], columns: list[int], line: int, file: str) -> tuple[float, float]:
    try:
        time, value = (float(row[column]) for column in columns)
    except (ValueError, IndexError):
        raise FileProblem(f"line {line} of {file} has no number where one is needed") from None
    if not (math.isfinite(time) and math.isfinite(value)):
        raise FileProblem(f"line {line} of {file} has a number that is not finite")
    return time, value
