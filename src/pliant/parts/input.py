"""Inputs: how an input parameter varies in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import scipy
from pydantic import Field, PrivateAttr, model_validator

from pliant.language.arguments import ArgumentError
from pliant.language.base import ByKey, FromFiles, Part, Problem, ValueOrPart, fault
from pliant.language.recording import FILL, by_name, find_column, times_of
from pliant.language.scalar import Angle, AnySignal, Frequency, Scalar, Time, Value
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


TERMS = 6
"""Coefficients of a piece, constant term first: polynomials of degree five (`PL_SERIES_TERMS` in the runtime)."""

# Smaller jumps are ignored: relative to the largest value, rate or acceleration, and relative to the largest value
# over powers of the length of the pieces, the effect of errors of samples on rates and accelerations.
SMOOTH, NOISE = 1e-5, np.array([1e-9, 1e-8, 1e-7])


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """An input over time as a piecewise polynomial, constant before and after its times.

    time: n times [s], increasing. poly: coefficients of (t - time[i])^k from time[i] on, constant term first, n x 6 (those of
    higher terms may be omitted).
    """

    time: np.ndarray
    poly: np.ndarray

    def __post_init__(self) -> None:
        poly = np.zeros((len(self.time), TERMS))
        poly[:, : np.shape(self.poly)[1]] = self.poly
        object.__setattr__(self, "time", np.asarray(self.time, dtype=float))
        object.__setattr__(self, "poly", poly)

    def at(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time t [s]; at a jump those after it."""
        first, last = float(self.time[0]), float(self.time[-1])
        inside = min(max(t, first), last)
        i = int(np.searchsorted(self.time, inside, side="right")) - 1
        x, v, a = piece_ends(self.poly[i : i + 1], np.array([inside - self.time[i]]))[0].tolist()
        return (x, v, a) if inside == t else (x, 0.0, 0.0)

    @property
    def breaks(self) -> np.ndarray:
        """Times at which the value, its rate or its acceleration jumps [s]."""
        return self.time[np.any(self._jumps, axis=1)]

    @property
    def value_jumps(self) -> np.ndarray:
        """Times at which the value jumps [s]."""
        return self.time[self._jumps[:, 0]]

    @property
    def rate_jumps(self) -> np.ndarray:
        """Times at which the rate jumps [s]."""
        return self.time[self._jumps[:, 1]]

    @cached_property
    def _jumps(self) -> np.ndarray:
        """Whether value, rate and acceleration jump at each time, n x 3."""
        n = len(self.time)
        before, after = np.zeros((n, 3)), self.poly[:, :3] * (1.0, 1.0, 2.0)
        before[0, 0], after[-1, 1:] = self.poly[0, 0], 0.0
        length = np.full(n, np.inf)
        if n > 1:
            h = np.diff(self.time)
            before[1:] = piece_ends(self.poly[:-1], h)
            length[:-1] = h
            length[1:] = np.minimum(length[1:], h)
        size = np.maximum(np.max(np.abs(before), axis=0), np.max(np.abs(after), axis=0))
        noise = NOISE * size[0] / length[:, None] ** np.arange(3)
        return np.asarray(np.abs(after - before) > SMOOTH * size + noise)


def piece_ends(poly: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Value, rate and acceleration at the ends of pieces of length h [s], n x 3."""
    out = np.zeros((len(h), 3))
    for k in range(3):
        out[:, k] = np.sum(poly * h[:, None] ** np.arange(poly.shape[1]), axis=1)
        poly = poly[:, 1:] * np.arange(1, poly.shape[1])
    return out


def interpolated(time: np.ndarray, values: np.ndarray, interpolation: str) -> TimeSeries:
    """A piecewise polynomial through samples: "previous" (zero-order hold), "linear" or "cubic" (a spline).

    Raises ArgumentError if its coefficients are not finite.
    """
    poly = np.zeros((len(time), 4))
    poly[:, 0] = values
    with np.errstate(all="ignore"):  # checked below
        steps = np.diff(values) / np.diff(time)
        if interpolation == "linear" or (interpolation == "cubic" and len(time) == 2):
            poly[:-1, 1] = steps
        elif interpolation == "cubic" and len(time) > 2 and np.all(np.isfinite(steps)):
            poly[:-1] = _spline(time, values)
    if not (np.all(np.isfinite(poly)) and np.all(np.isfinite(steps))):
        raise ArgumentError("values change too steeply between two times", "look for numbers that are far too large")
    return TimeSeries(time, poly)


def _spline(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of a cubic spline, constant term first; NaN if they overflow."""
    try:
        return np.asarray(scipy.interpolate.CubicSpline(time, values).c[::-1].T)
    except ValueError:  # its slopes are infinite
        return np.full((len(time) - 1, 4), np.nan)


def between(h: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Polynomials over lengths h [s] with given value, rate and acceleration (n x 3 each) at both ends, n x 6."""
    x, v, a = before.T
    d = after[:, 0] - x - h * (v + 0.5 * h * a)
    e, f = h * (after[:, 1] - v - h * a), 0.5 * h**2 * (after[:, 2] - a)
    third, fourth, fifth = 10 * d - 4 * e + f, -15 * d + 7 * e - 2 * f, 6 * d - 3 * e + f
    return np.column_stack([x, v, 0.5 * a, third / h**3, fourth / h**4, fifth / h**5])


def integrated(rate: TimeSeries, value: float) -> TimeSeries:
    """Positions that result from a rate and an initial value."""
    h, poly = np.diff(rate.time), rate.poly[:-1]
    k = np.arange(TERMS)
    values = value + np.concatenate([[0.0], np.cumsum(np.sum(poly * h[:, None] ** (k + 1) / (k + 1), axis=1))])
    ends = piece_ends(poly, h)
    begin = np.column_stack([values[:-1], poly[:, :2]])
    end = np.column_stack([values[1:], ends[:, :2]])
    last = [values[-1], *(ends[-1, :2] * (1.0, 0.5) if len(h) else rate.poly[-1, :2]), 0.0, 0.0, 0.0]
    return TimeSeries(rate.time, np.vstack([between(h, begin, end), last]))


def integrated_twice(acceleration: TimeSeries, value: float, rate: float) -> TimeSeries:
    """Positions that result from an acceleration, an initial value and an initial rate."""
    h, poly = np.diff(acceleration.time), acceleration.poly[:-1]
    k = np.arange(TERMS)
    powers = h[:, None] ** (k + 1)
    once = np.sum(poly * powers / (k + 1), axis=1)
    twice = h * np.sum(poly * powers / ((k + 1) * (k + 2)), axis=1)
    rates = rate + np.concatenate([[0.0], np.cumsum(once)])
    values = value + np.concatenate([[0.0], np.cumsum(h * rates[:-1] + twice)])
    at_ends = piece_ends(poly, h)[:, 0]
    begin = np.column_stack([values[:-1], rates[:-1], poly[:, 0]])
    end = np.column_stack([values[1:], rates[1:], at_ends])
    last = [values[-1], rates[-1], 0.5 * (at_ends[-1] if len(h) else acceleration.poly[-1, 0]), 0.0, 0.0, 0.0]
    return TimeSeries(acceleration.time, np.vstack([between(h, begin, end), last]))


# -- commands of a controller ------------------------------------------------------------------------------------------


def led_to(target: float, present: Sequence[float], t: float, duration: float) -> TimeSeries:
    """A smooth transition from the current value, rate and acceleration at time t [s] to a commanded value after a duration [s].

    Value, rate and acceleration are continuous. With a command every `duration`, rate and acceleration at the end are those of
    the parabola through the last three commands; so uniformly accelerated motions are reproduced exactly, and after a step the
    value rests from the third sample on. Without a further command it comes to rest within another `duration`.
    """
    x, v, a = present
    h = duration
    beyond = target - x - h * (v + 0.5 * h * a)
    reached = [target, v + h * a + 1.5 * beyond / h, a + beyond / h**2]
    rest = [target, 0.0, 0.0]
    pieces = between(np.array([h, h]), np.array([present, reached]), np.array([reached, rest]))
    return TimeSeries(np.array([t, t + h, t + 2 * h]), np.vstack([pieces, [target, 0, 0, 0, 0, 0]]))


class Step(Part):
    """One value before a time, another from then on."""

    at: Time
    """Time of the step [s]."""
    before: Value = 0
    """Value before the step [unit of the parameter]."""
    after: Value
    """Value from the step on [unit of the parameter]."""


class Ramp(Part):
    """One value before a time, another after a later time, a straight line between."""

    start: Time = 0
    """Time at which the ramp begins [s]."""
    end: Time
    """Time at which the ramp ends [s]."""
    before: Value = 0
    """Value before the ramp [unit of the parameter]."""
    after: Value
    """Value after the ramp [unit of the parameter]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A ramp ends after it starts."""
        if value(self.end) <= value(self.start):
            yield ("end",), "the ramp must end after it starts", "use a step for a jump"


class Sine(Part):
    """`offset + amplitude * sin(2 pi frequency t + phase)`."""

    amplitude: Value
    """Amplitude [unit of the parameter]."""
    frequency: Frequency
    """Cycles per second [Hz]."""
    phase: Angle = 0
    """Phase at t = 0 [rad]."""
    offset: Value = 0
    """Mean value [unit of the parameter]."""


class Piece(Part):
    """One piece of a piecewise signal."""

    value: AnySignal
    """Value or expression of `t` in this piece [unit of the parameter]."""
    until: Time | None = None
    """End of the piece [s]; omitted in the last piece."""


class Series(Part):
    """A recorded series: one column of a table, such as `pliant simulate --out run.csv` writes, or times and values in lists."""

    file: str | None = None
    """The .csv, .parquet or .mat file, in the folder of the model file or below. Headings may include units: `force [N]`."""
    column: str | None = None
    """Name of the column with the values, with or without its unit."""
    times: tuple[Time, ...] | None = Field(default=None, min_length=1)
    """The times instead [s]; they must increase."""
    values: tuple[Value, ...] | None = Field(default=None, min_length=1)
    """The values at these times [unit of the parameter]."""
    time_column: str | None = None
    """Name of the column with the times, which must increase; default: `t` or `time`."""
    time_unit: str | None = None
    """Unit of the times, if the heading has none; default: s."""
    unit: str | None = None
    """Unit of the values, if the heading has none; default: SI."""
    scale: Value = 1
    """Factor on the values [-]."""
    interpolation: Literal["linear", "previous", "cubic"] = "linear"
    """Between two times: a line, the earlier value, or a cubic spline. Outside: the first or last value."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        listed = self.times is not None and self.values is not None
        from_file = self.file is not None and self.column is not None
        given = [key for key in ("file", "column", "times", "values") if getattr(self, key) is not None]
        if listed == from_file or len(given) != 2:
            message = "a series needs either `file` and `column`, or `times` and `values`"
            raise fault("no_series", message, hint="give one of these pairs")
        if listed and len(self.times or ()) != len(self.values or ()):
            message = f"there are {len(self.times or ())} times and {len(self.values or ())} values"
            raise fault("no_series", message, hint="give one value for each time")
        unused = [key for key in ("time_column", "time_unit", "unit") if getattr(self, key) is not None]
        if listed and unused:
            message = f"`{unused[0]}` applies to a file, but the times and values are listed"
            raise fault("no_series", message, hint="write units at the numbers: `100 ms`")
        return self


class StepInput(Part):
    """A step: `{step: {at: 1 s, before: 0 N, after: 5 N}}`."""

    step: Step
    """The step."""


class RampInput(Part):
    """A ramp: `{ramp: {start: 0 s, end: 2 s, before: 0 N, after: 5 N}}`."""

    ramp: Ramp
    """The ramp."""


class SineInput(Part):
    """A sine: `{sine: {amplitude: 5 N, frequency: 2 Hz}}`."""

    sine: Sine
    """The sine."""


class PiecewiseInput(Part):
    """Pieces in turn: `{piecewise: [{until: 1 s, value: 0 N}, {value: "=2 N * exp(-t)"}]}`."""

    piecewise: Annotated[tuple[Piece, ...], Field(min_length=1)]
    """The pieces in order of time; the last one has no `until`."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Times increase, and only the last piece is open."""
        before = -math.inf
        for index, piece in enumerate(self.piecewise):
            last = index == len(self.piecewise) - 1
            place = ("piecewise", index)
            if piece.until is None and not last:
                yield place, "only the last piece may have no `until`", "add `until`"
            elif piece.until is not None and last:
                yield ((*place, "until"), "the last piece has no end", "remove its `until`, or add a piece")
            elif piece.until is not None and value(piece.until) <= before:
                yield (*place, "until"), "the times of the pieces must increase", ""
            before = value(piece.until) if piece.until is not None else before


class SeriesInput(FromFiles):
    """A recorded series: `{series: {file: run.csv, column: pressure, unit: kPa}}`."""

    series: Series
    """The file and its columns, or lists; and the interpolation between times."""

    _samples: Samples | None = PrivateAttr(default=None)

    @property
    def samples(self) -> Samples:
        """Times and values, before `scale`."""
        assert self._samples is not None, "flattening reads the files"
        return self._samples

    @property
    def is_read(self) -> bool:
        return self._samples is not None

    def values_read(self) -> tuple[Any, ...]:
        return (*(self.series.times or ()), *(self.series.values or ()))

    def with_files(self, source: Source, value: Callable[[Any], float]) -> Self:
        """The input with its samples read."""
        series, copy = self.series, self.model_copy()
        if series.times is not None and series.values is not None:
            times, values = (np.array([float(value(x)) for x in listed]) for listed in (series.times, series.values))
            if np.any(np.diff(times) <= 0):
                at = int(np.argmax(np.diff(times) <= 0)) + 1
                message = f"the times must increase, but {times[at]:g} s follows {times[at - 1]:g} s"
                raise FileProblem(message, "sort the samples by time", ("series", "times"))
            copy._samples = Samples(times, values, None)
            return copy
        try:
            copy._samples = read_samples(
                source,
                series.file or "",
                series.column or "",
                time_column=series.time_column,
                time_unit=series.time_unit,
                unit=series.unit,
            )
        except FileProblem as problem:
            raise FileProblem(str(problem), problem.hint, ("series",)) from None
        return copy

    def interpolated(self, value: Callable[[Scalar], float]) -> TimeSeries:
        """The series as a piecewise polynomial in SI units; raises FileProblem."""
        series = self.series
        try:
            values = float(value(series.scale)) * self.samples.values
            return interpolated(self.samples.times, values, series.interpolation)
        except ArgumentError as reason:
            where = f"in {series.file}, " if series.file else ""
            raise FileProblem(f"{where}{reason.message}", reason.hint) from None

    def without_files(self) -> Self:
        """The input with its samples as lists, in SI units."""
        listed = {"times": tuple(self.samples.times.tolist()), "values": tuple(self.samples.values.tolist())}
        none = dict.fromkeys(("file", "column", "time_column", "time_unit", "unit"))
        return self.model_copy(update={"series": self.series.model_copy(update={**none, **listed})})


Waveform: TypeAlias = Annotated[StepInput | RampInput | SineInput | PiecewiseInput | SeriesInput, ByKey("input signal")]

Input: TypeAlias = Annotated[AnySignal | Waveform, ValueOrPart()]
"""A constant, an expression of `t`, or one of step, ramp, sine, piecewise, series."""


class Inputs(Part):
    """How input parameters vary in time, by parameter: a constant, an expression of `t`, or a waveform."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  force: {value: 0 N, input: true}
  torque: {value: 0 N*m, input: true}
bodies:
  cart: {mass: 1 kg}
  pole: {mass: 100 g, shape: {type: slender_rod, length: 1 m, axis: z}, center_of_mass: [0, 0, 0.5 m]}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y, angle: {input: =torque}}
inputs:
  force: {sine: {amplitude: 5 N, frequency: 2 Hz, phase: 90 deg}}
  torque:
    piecewise:
      - {until: 1 s, value: 0}
      - {until: 2 s, value: "=0.1 N*m * (t/1 s - 1)"}
      - {value: 0.1 N*m}
"""
