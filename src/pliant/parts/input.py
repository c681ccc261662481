"""Inputs: how an input parameter varies in time."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from pliant.language.arguments import ArgumentError
from pliant.language.base import ByKey, FromFiles, Part, Problem, ValueOrPart, fault
from pliant.language.faults import ExpressionError
from pliant.language.recording import FILL, Column, by_name, find_column, read_columns, times_of
from pliant.language.scalar import Angle, AnySignal, Frequency, Scalar, Time, Value
from pliant.language.source import FileProblem, Source
from pliant.language.time_series import TimeSeries, interpolated
from pliant.language.units import Unit, parse_unit


@dataclass(frozen=True)
class Samples:
    """Times [s] and values [SI], of equal length, times increasing; `unit` is that of the file or the model, None if not stated."""

    times: np.ndarray
    values: np.ndarray
    unit: Unit | None


def read_samples(
    source: Source, file: str, column: str, *, time_column: str | None = None, time_unit: str | None = None,
    unit: str | None = None,
) -> Samples:  # fmt: skip
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
    except ExpressionError as error:
        raise FileProblem(f"in {key}: {error}", error.hint) from None
    if column.unit is None:
        with np.errstate(over="ignore"):  # numbers that overflow are rejected when the interpolation is created
            return column.values * unit.factor, unit
    if unit != column.unit:
        raise FileProblem(f"`{key}` is {given}, but the heading in the file is '{column.heading}'", f"remove `{key}`")
    return column.values, unit


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
                source, series.file or "", series.column or "", time_column=series.time_column,
                time_unit=series.time_unit, unit=series.unit,
            )  # fmt: skip
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
