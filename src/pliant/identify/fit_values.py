"""Fitted values as text: in the units of the model file, with the digits that their standard deviations leave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from pliant.equations.equations import Equations
from pliant.language.message_text import unit_text
from pliant.language.units import UnitError, parse_unit

_QUANTITY = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*([^\s].*?)\s*")
MOST_DIGITS = 9


@dataclass(frozen=True)
class WrittenUnit:
    """Unit in which the model file writes a parameter. factor: SI value of one unit."""

    name: str
    factor: float

    def number(self, value: float, deviation: float) -> str:
        """A value [SI] in this unit, without its name, to two digits of its standard deviation [SI]."""
        return digits(value / self.factor, deviation / self.factor)

    def plain(self, value: float, form: str = ".6g") -> str:
        """A value [SI] with the unit."""
        return f"{value / self.factor:{form}} {self.name}".strip()

    def value(self, value: float, deviation: float) -> str:
        """A value [SI] with the unit, to two digits of its standard deviation [SI]."""
        return f"{self.number(value, deviation)} {self.name}".strip()

    def interval(self, low: float, high: float, deviation: float) -> str:
        """Both ends of an interval [SI] with the unit, to two digits of the standard deviation [SI]."""
        if not (isfinite(low) or isfinite(high)):
            return "not determined"
        if self.number(low, deviation) == self.number(high, deviation):  # narrower than the digits
            return f"{self.number(0.5 * (low + high), deviation)} ± {self.plain(0.5 * (high - low), '.2g')}"
        return f"{self.number(low, deviation)} to {self.value(high, deviation)}"


def written_units(eqs: Equations, labels: Sequence[str]) -> Mapping[str, WrittenUnit]:
    """Units of fitted parameters by label (`NAME`, or `NAME@RECORDING`): as written in the model file, otherwise SI."""
    return {label: _written(eqs, label.partition("@")[0]) for label in labels}


def _written(eqs: Equations, name: str) -> WrittenUnit:
    parameter = eqs.model.spec.parameters.get(name)
    match = _QUANTITY.fullmatch(parameter.value) if parameter and isinstance(parameter.value, str) else None
    if match:
        try:
            return WrittenUnit(match[1], parse_unit(match[1]).factor)
        except UnitError:  # an expression
            pass
    dimension = eqs.model.environment.dimension(name)
    return WrittenUnit(unit_text(dimension), 1.0)


def digits(value: float, deviation: float) -> str:
    """A number to two digits of its standard deviation; zeros at the end are significant."""
    if not (isfinite(value) and isfinite(deviation) and deviation > 0):
        return f"{value:.6g}"
    size = floor(log10(max(abs(value), deviation)))
    count = min(max(size - floor(log10(deviation)) + 2, 2), MOST_DIGITS)
    return f"{value:.{max(count - 1 - size, 0)}f}" if -5 <= size < 7 else f"{value:.{count - 1}e}"
