"""CSV files of numbers whose first line names the columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from pliant.language.source import FileProblem, check_file
from pliant.language.words import describe, suggestion


def read_table(
    path: Path, shown: str, *, limit: str, columns: Sequence[str] | None = None
) -> tuple[list[str], np.ndarray]:
    """Names of the columns, and their numbers (rows x columns); with `columns`, of those alone.

    Columns that are not asked for may hold anything. `shown`: the file as messages name it. `limit`: name of the limit on its size.
    Raises FileProblem.
    """
    check_file(path, shown, limit)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            chosen = None if columns is None else [_index(name, header, shown) for name in columns]
            table = [
                _numbers(row, header, chosen, f"line {rows.line_num} of {shown}")
                for row in rows
                if any(map(str.strip, row))
            ]
    except (UnicodeDecodeError, csv.Error):
        raise FileProblem(f"{shown} is not a CSV file", "save it as comma-separated UTF-8 text") from None
    except OSError as error:
        raise FileProblem(f"cannot read {shown}: {error.strerror}") from None
    if not table:
        raise FileProblem(f"{shown} has no rows")
    return header if columns is None else list(columns), np.array(table)


def check_increasing(times: np.ndarray, shown: str) -> None:
    """Raise FileProblem where a time is not later than the one before."""
    for row, (before, after) in enumerate(pairwise(times), start=2):
        if after <= before:
            message = f"the times in {shown} must increase, but {after:g} follows {before:g} (row {row})"
            raise FileProblem(message, "sort the rows and remove repeated times")


def _index(name: str, header: list[str], shown: str) -> int:
    if name in header:
        return header.index(name)
    hint = suggestion(name, header, f"its columns: {', '.join(header)[:200]}")
    raise FileProblem(f"{shown} has no column {describe(name)}", hint)


def _numbers(row: list[str], header: list[str], chosen: list[int] | None, place: str) -> list[float]:
    if chosen is None and len(row) != len(header):
        raise FileProblem(f"{place} has {len(row)} entries for {len(header)} columns")
    try:
        values = [float(x) for x in (row if chosen is None else [row[k] for k in chosen])]
    except (ValueError, IndexError):
        lacking = "an entry that is not a number" if chosen is None else "no number where one is needed"
        raise FileProblem(f"{place} has {lacking}") from None
    if not all(map(math.isfinite, values)):
        raise FileProblem(f"{place} has a number that is not finite")
    return values
