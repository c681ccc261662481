"""Input signals: how an input parameter varies in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from pliant.language.base import ByKey, Part, Problem, ValueOrPart
from pliant.language.scalar import Angle, AnySignal, Frequency, Scalar, Time, Value


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
        """A ramp takes time."""
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
    """A recorded series: one column of a table, as written by `pliant simulate --out run.csv`."""

    file: str
    """The .csv, .parquet or .mat file, in the folder of the model file or below. Headings may contain units: `force [N]`."""
    column: str
    """Name of the column with the values, with or without its unit."""
    time_column: str | None = None
    """Name of the column with the times, which must increase; default: `t` or `time`."""
    time_unit: str | None = None
    """Unit of the times, if the heading has none; default: s."""
    unit: str | None = None
    """Unit of the values, if the heading has none; default: SI."""
    scale: Value = 1
    """Factor on the values in the file [-]."""
    interpolation: Literal["linear", "previous", "cubic"] = "linear"
    """Between two times: a line, the earlier value, or a cubic spline. Outside: the first or last value."""


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


class SeriesInput(Part):
    """A recorded series: `{series: {file: run.csv, column: pressure, unit: kPa}}`."""

    series: Series
    """The file, its columns, and how to read between its times."""


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
