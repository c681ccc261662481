"""Recordings: columns of numbers over time with their units, measured or computed, in memory and in files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.language.arguments import ArgumentError, file_name
from pliant.language.dimension import TIME, Dimension
from pliant.language.message_text import suggestion
from pliant.language.source import FileProblem
from pliant.language.table_files import Column, dimension_of, heading, read_columns, write_columns

if TYPE_CHECKING:
    import pandas

GAP = 10.0
"""Ratio of a step between samples to the median step above which it is a gap."""
TIMES = ("t", "time")
"""Names of the column with the times."""
POSES = " (rows that are equilibria need none: poses=True, or --rests of pliant fit)"
FILL = "fill the gap or drop these rows (`interpolate`, `dropna` of pandas)"


@dataclass(frozen=True, repr=False)
class Recording:
    """Columns in SI units over increasing times.

    Attributes:
        file: its origin, for messages.
        time: times of the samples [s].
        columns: values by name, one for each time.
        units: SI units by name; columns without one are taken as SI.
        flaws: description of missing numbers by column; they are NaN, and using such a column is an error.
        assumed: columns for which the file states no unit.
        gaps: columns of `flaws` whose only flaw is missing numbers; as measured outputs they can be used without these rows.
        timed: whether the rows have times; otherwise they are equilibria, and `time` numbers them: 0, 1, 2, ...
    """

    file: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str] = field(default_factory=dict)
    flaws: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    timed: bool = True
    gaps: tuple[str, ...] = ()

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "no times"
        names = [heading(name, self.units.get(name, "")) for name in self.columns]
        return f"Recording of {self.file}: {len(self.time)} samples, {span}; {', '.join(names)}"

    def column(self, name: str) -> np.ndarray:
        """A column by its name, without the unit (`p1` is the column `p1 [kPa]` of a file) [SI]."""
        if not isinstance(name, str) or name not in self.columns:
            hint = suggestion(name, self.columns, f"it has {', '.join(self.columns)}")
            raise ArgumentError(f"{self.file} has no column '{name}'; {hint}")
        if name in self.flaws:
            raise ArgumentError(f"{self.flaws[name]}; {FILL}")
        return self.columns[name]

    def __getitem__(self, name: str) -> np.ndarray:
        """A column by its name [SI], as `column`; `time` if no column has that name."""
        return self.time if name == "time" and name not in self.columns else self.column(name)

    def measured(self, name: str) -> np.ndarray:
        """A column by its name, with NaN where the file has no number [SI]."""
        return self.columns[name] if name in self.gaps else self.column(name)

    def series(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] and values [SI] of a column, in the form of `inputs` of analyses."""
        return self.time, self.column(name)

    def dimension(self, name: str) -> Dimension | None:
        """The quantity of a column; None if its unit is unknown."""
        return dimension_of(self.units.get(name, ""))

    def window(self, begin: float, end: float) -> Recording:
        """The part between two times [s]."""
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        if not inside.any():
            raise ArgumentError(f"{self.file} has nothing between {begin:g} and {end:g} s")
        return replace(self, time=self.time[inside], columns={k: v[inside] for k, v in self.columns.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .csv, .parquet or .mat file atomically; `read_recording` reads it back."""
        time = {"time": ("s", np.asarray(self.time, dtype=float))}
        others = {name: (self.units.get(name, ""), np.asarray(x, dtype=float)) for name, x in self.columns.items()}
        try:
            write_columns(file_name("path", path), time | others)
        except FileProblem as problem:
            raise as_recording_error(problem) from None

    def to_pandas(self) -> pandas.DataFrame:
        """A table of pandas with the times as index [s] and headings as in files (`tip.x [m]`)."""
        import pandas

        named = {heading(name, self.units.get(name, "")): values for name, values in self.columns.items()}
        return pandas.DataFrame(named, index=pandas.Index(self.time, name=heading("time", "s")))


def read_recording(path: str | os.PathLike[str], *, poses: bool = False) -> Recording:
    """Read a .csv, .parquet or .mat file whose columns have names with units: `tip.x [m]`, `x (mm)`, `x_mm`, or a row of units.

    The times are in the column t or time. Columns without a unit are assumed to be in SI units. poses: the rows are equilibria,
    which need no times; without times they are numbered.
    """
    source = file_name("path", path)
    if not source.exists():
        raise ArgumentError(f"there is no file {source}")
    try:
        found = by_name(read_columns(source, str(source), limit="recording"), str(source))
        timed = not poses or any(name.lower() in TIMES for name in found)
        time = times_of(found, str(source)) if timed else None
    except FileProblem as problem:
        raise as_recording_error(problem) from None
    if time is None:
        times = np.arange(float(max((len(column.values) for column in found.values()), default=0)))
    else:
        found, times = {name: column for name, column in found.items() if column is not time}, time.values
        _check_gaps(times, source)
    return Recording(
        str(source),
        times,
        {name: column.values for name, column in found.items()},
        {name: column.si for name, column in found.items() if column.unit is not None},
        {name: column.flaw for name, column in found.items() if column.flaw},
        tuple(name for name, column in found.items() if column.unit is None),
        timed,
        tuple(name for name, column in found.items() if column.flaw and column.gaps),
    )


def as_recording_error(problem: FileProblem) -> ArgumentError:
    """The problem as one sentence, with its hint."""
    return ArgumentError("; ".join(filter(None, (str(problem), problem.hint))))


def by_name(columns: Sequence[Column], shown: str) -> dict[str, Column]:
    """Columns by their names; raises FileProblem if two have the same name."""
    found: dict[str, Column] = {}
    for column in columns:
        if column.name in found:
            raise FileProblem(f"{shown} has two columns '{column.name}'", "rename one")
        found[column.name] = column
    return found


def times_of(columns: Mapping[str, Column], shown: str, name: str | None = None) -> Column:
    """The column of times [s]: by name, or the one called t or time; raises FileProblem if these are not increasing times."""
    chosen = find_column(columns, name, shown) if name else _named_time(columns, shown)
    if chosen.unit is not None and chosen.unit.dimension != TIME:
        kind = chosen.unit.dimension
        raise FileProblem(f"the times of {shown} are given in a unit of {kind}", "call the column 't [s]' or t_s")
    if chosen.flaw:
        raise FileProblem(chosen.flaw, "remove the rows without a time")
    back = np.flatnonzero(np.diff(chosen.values) <= 0)
    if len(back):
        before, after = chosen.values[back[0]], chosen.values[back[0] + 1]
        words = f"the times in {shown} must increase, but {after:g} follows {before:g} (row {back[0] + 2})"
        again = f"; {len(back)} rows do not" if len(back) > 1 else ""
        raise FileProblem(words + again, "sort the rows and remove repeated times")
    return chosen


def _named_time(columns: Mapping[str, Column], shown: str) -> Column:
    for name in columns:
        if name.lower() in TIMES:
            return columns[name]
    raise FileProblem(f"{shown} has no time column", f"call it 't [s]', t_s or time_s{POSES}")


def find_column(columns: Mapping[str, Column], name: str, shown: str) -> Column:
    """A column by its name or by its complete heading; raises FileProblem if there is none."""
    if name in columns:
        return columns[name]
    for column in columns.values():
        if column.heading == name:
            return column
    hint = suggestion(name, columns, f"its columns: {', '.join(columns)[:200]}")
    raise FileProblem(f"{shown} has no column '{name}'", hint)


def _check_gaps(time: np.ndarray, source: Path) -> None:
    if len(time) > 2:
        steps = np.diff(time)
        worst = int(np.argmax(steps))
        if steps[worst] > GAP * np.median(steps):
            raise ArgumentError(
                f"{source} has a gap of {steps[worst]:.3g} s at t = {time[worst]:.6g} s, where samples are usually "
                f"{np.median(steps):.3g} s apart; cut the recording there"
            )
