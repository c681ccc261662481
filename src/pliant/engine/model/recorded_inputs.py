"""Inputs over time from the columns of a recording."""

from __future__ import annotations

import numpy as np

from pliant.engine.model.model import Model
from pliant.language.arguments import ArgumentError
from pliant.language.dimension import Dimension
from pliant.language.recording import Recording
from pliant.language.time_series import TimeSeries, interpolated

OVERSHOOT = 0.05
"""Distance of a spline from the range between neighbouring samples, relative to the range of all samples, above which samples are
connected by lines."""


def driving_columns(model: Model, recording: Recording) -> dict[str, str]:
    """The column that drives each input, for those that have one: `input.NAME`, as where an output has the same name, or `NAME`."""
    both = {name: (f"input.{name}", name) for name in model.input_names}
    found = {name: next((x for x in known if x in recording.columns), None) for name, known in both.items()}
    return {name: column for name, column in found.items() if column is not None}


def recorded_inputs(model: Model, recording: Recording) -> dict[str, TimeSeries]:
    """The inputs that a recording has columns of, by name; raises ArgumentError where there are none or their units are wrong."""
    columns = driving_columns(model, recording)
    for name in model.input_names:
        if name in columns:
            kind = model.environment.dimension(name)
            check_dimension(recording, columns[name], kind, f"the input '{name}' is a {kind}")
        elif lost := next((x for x in recording.columns if x.startswith((f"{name}_", f"{name} [", f"{name} ("))), None):
            raise ArgumentError(
                f"{recording.file} has a column '{lost}', but '{lost[len(name) + 1 :].strip('[]()')}' is no known unit; write a "
                f"unit such as '{name} [Pa]', or rename the column if it is not the input '{name}'"
            )
    if model.input_names and not columns:
        alike = {x.lower(): x for x in recording.columns}
        other = next(((alike[x.lower()], x) for x in model.input_names if x.lower() in alike), None)
        hint = f"rename '{other[0]}' to '{other[1]}'" if other else "name a column like the input that it drives"
        raise ArgumentError(
            f"{recording.file} drives none of the model's inputs ({', '.join(model.input_names)}); it has the columns "
            f"{', '.join(recording.columns)}; {hint}"
        )
    return {name: _series(recording, column, name in model.smooth_inputs) for name, column in columns.items()}


def _series(recording: Recording, column: str, smooth: bool) -> TimeSeries:
    """The samples of a column: a cubic spline, or lines if it overshoots, as at steps; always a spline for prescribed motions."""
    time, values = recording.time, recording.column(column)
    try:
        spline = interpolated(time, values, "cubic")
        if smooth or _overshoot(spline, values) <= OVERSHOOT * np.ptp(values):
            return spline
        return interpolated(time, values, "linear")
    except ArgumentError as reason:
        raise ArgumentError(f"the column '{column}' of {recording.file}: {reason}") from None


def _overshoot(series: TimeSeries, values: np.ndarray) -> float:
    """Largest distance of a series from the range between neighbouring samples."""
    inside = np.linspace(0.0, 1.0, 9)[1:-1, None] * np.diff(series.time)
    between = np.polynomial.polynomial.polyval(inside, series.poly[:-1].T[:, None, :], tensor=False)
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    return float(np.max(np.maximum(low - between, between - high), initial=0.0))


def check_dimension(recording: Recording, name: str, expected: Dimension | None, words: str) -> None:
    """Reject a column whose unit has the wrong dimension; `words` describes the expected one."""
    found = recording.dimension(name)
    if expected is not None and found is not None and found != expected:
        raise ArgumentError(f"the column '{name}' of {recording.file} is in a unit of {found}, but {words}")
