"""Recordings: measured inputs and outputs over time, and models driven by them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pliant.equations.equations import Equations
from pliant.language.csv_table import check_increasing, read_table
from pliant.language.dimension import FORCE, PRESSURE, TIME, TORQUE, Dimension
from pliant.language.source import FileProblem
from pliant.language.units import Unit, UnitError, parse_unit
from pliant.language.words import suggestion
from pliant.model.time_series import interpolated

MAX_BYTES = 200_000_000
# A step between samples longer than this many usual ones counts as a gap.
GAP = 10.0


class RecordingError(ValueError):
    """A recording that cannot be used, with the place and the way out."""


@dataclass(frozen=True)
class Recording:
    """Columns of a CSV file in SI units, over increasing times [s]; dimensions of those whose headings have units.

    timed: whether the rows have times; otherwise they are poses at rest, and `time` numbers them: 0, 1, 2, ...
    """

    file: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    timed: bool = True

    def column(self, name: str) -> np.ndarray:
        """A column by its name with or without the unit (`p1` finds `p1_Pa`)."""
        if name in self.columns:
            return self.columns[name]
        hint = suggestion(name, self.columns, f"it has {', '.join(self.columns)}")
        raise RecordingError(f"{self.file} has no column '{name}'; {hint}")

    def window(self, begin: float, end: float) -> Recording:
        """The part between two times [s]."""
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        if not inside.any():
            raise RecordingError(f"{self.file} has nothing between {begin:g} and {end:g} s")
        return replace(self, time=self.time[inside], columns={k: v[inside] for k, v in self.columns.items()})


def read_recording(path: str | os.PathLike[str], *, poses: bool = False) -> Recording:
    """Read a CSV file whose first line names the columns, each with its unit after an underscore: t_s, p1_Pa, x_mm.

    The time column is the first one called t or time. Columns without a unit are taken as SI.
    poses: the rows are poses at rest, which need no time column; without one they are numbered.
    """
    source = Path(path)
    if not source.is_file():
        raise RecordingError(f"there is no file {source}")
    try:
        header, data = read_table(source, str(source), max_bytes=MAX_BYTES)
    except FileProblem as problem:
        raise _as_recording_error(problem) from None
    columns, dimensions = {}, {}
    for k, heading in enumerate(header):
        name, unit = _name_and_unit(heading)
        if name in columns:
            raise RecordingError(f"{source} has two columns '{name}'; rename one")
        columns[name] = data[:, k] * (unit.factor if unit else 1.0)
        if unit:
            dimensions[name] = unit.dimension
    time_name = next((name for name in ("t", "time") if name in columns), None)
    if time_name is None and poses:
        return Recording(str(source), np.arange(float(len(data))), columns, dimensions, timed=False)
    if time_name is None:
        raise RecordingError(
            f"{source} has no time column; call it t_s or time_s (rows that are poses at rest need none: poses=True, or --rests "
            "of pliant fit)"
        )
    time = columns.pop(time_name)
    if dimensions.get(time_name, TIME) != TIME:
        raise RecordingError(
            f"the times of {source} are given in a unit of {dimensions[time_name]}; call the column t_s"
        )
    _check_times(time, source)
    return Recording(str(source), time, columns, dimensions)


def _as_recording_error(problem: FileProblem) -> RecordingError:
    return RecordingError("; ".join(filter(None, (str(problem), problem.hint))))


def thousandths(unit: str) -> str:
    """The unit of numbers that are given in thousandths of an SI unit: mm of positions, mN of forces."""
    return f"m{unit}" if unit in ("m", "N", "N m", "J", "rad", "m/s", "rad/s") else f"1e-3 {unit}".strip()


def _name_and_unit(heading: str) -> tuple[str, Unit | None]:
    name, underscore, unit = heading.rpartition("_")
    if underscore:
        try:
            return name, parse_unit(unit)
        except UnitError:
            pass
    return heading, None


def _check_times(time: np.ndarray, source: Path) -> None:
    try:
        check_increasing(time, str(source))
    except FileProblem as problem:
        raise _as_recording_error(problem) from None
    if len(time) > 2:
        steps = np.diff(time)
        worst = int(np.argmax(steps))
        if steps[worst] > GAP * np.median(steps):
            raise RecordingError(
                f"{source} has a gap of {steps[worst]:.3g} s at t = {time[worst]:.6g} s, where samples are usually "
                f"{np.median(steps):.3g} s apart; cut the recording there"
            )


def drive(eqs: Equations, recording: Recording) -> tuple[Equations, tuple[str, ...]]:
    """The same equations with inputs that follow the recording's columns of the same name; and which they are."""
    model = eqs.model
    driven = {}
    for name in model.input_names:
        if name in recording.columns:
            driven[name] = interpolated(recording.time, recording.columns[name], "cubic")
            _check_dimension(eqs, recording, name)
        elif lost := next((column for column in recording.columns if column.startswith(f"{name}_")), None):
            raise RecordingError(
                f"{recording.file} has a column '{lost}', but '{lost[len(name) + 1 :]}' is no known unit; write a unit such "
                f"as {name}_Pa, or rename the column if it is not the input '{name}'"
            )
    if model.input_names and not driven:
        raise RecordingError(
            f"{recording.file} drives none of the model's inputs ({', '.join(model.input_names)}); it has the columns "
            f"{', '.join(recording.columns)}"
        )
    return eqs.at(inputs=driven), tuple(driven)


def undriven(recording: Recording, driven: Sequence[str]) -> list[str]:
    """A remark where the recording holds forces, moments or pressures that are not zero and drive no input of the model."""
    loads = (FORCE, TORQUE, PRESSURE)
    unused = [
        name
        for name, values in recording.columns.items()
        if name not in driven and recording.dimensions.get(name) in loads and np.any(values)
    ]
    if not unused:
        return []
    return [
        f"the columns {', '.join(unused)} of {recording.file} drive nothing: the model has no inputs of these names"
    ]


def _check_dimension(eqs: Equations, recording: Recording, name: str) -> None:
    expected, found = eqs.model.environment.dimension(name), recording.dimensions.get(name)
    if expected is not None and found is not None and found != expected:
        raise RecordingError(
            f"the column '{name}' of {recording.file} is in a unit of {found}, but the input '{name}' is a {expected}"
        )


def plateaus(recording: Recording, inputs: Sequence[str], *, least: float = 1.0, share: float = 0.02) -> list[float]:
    """Times near the end of stretches of at least `least` seconds in which no input moves by more than `share` of its range and
    one of them is above a tenth of it: where the robot can be expected at rest under load."""
    values = np.array([recording.columns[name] for name in inputs])
    ranges = np.ptp(values, axis=1)
    found: list[float] = []
    start = 0
    for k in range(1, values.shape[1] + 1):
        moved = k == values.shape[1] or np.any(np.abs(values[:, k] - values[:, start]) > share * ranges)
        if not moved:
            continue
        middle = (start + k) // 2
        loaded = np.any(np.abs(values[:, middle]) > 0.1 * ranges)
        if recording.time[k - 1] - recording.time[start] >= least and loaded:
            found.append(float(recording.time[start] + 0.8 * (recording.time[k - 1] - recording.time[start])))
        start = k
    return found
