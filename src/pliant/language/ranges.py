"""Ranges of a quantity as text: `1:3 kPa`, `log 1:100:5 Pa`."""

import re
from dataclasses import dataclass

from pliant.language.arguments import ArgumentError
from pliant.language.faults import ExpressionError
from pliant.language.units import Unit, parse_unit

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A number in a text, as a regular expression."""
_RANGE = re.compile(rf"(log\s+)?({NUMBER})\s*:\s*({NUMBER})(?:\s*:\s*({NUMBER}))?\s*([^\d\s:,].*)?")


@dataclass(frozen=True)
class Range:
    """A range from `low` to `high` [SI]. count: the number of values, as written; unit: the unit it was given in, if any."""

    low: float
    high: float
    count: str | None
    logarithmic: bool
    unit: Unit | None


def read_range(name: str, text: str) -> Range | None:
    """The range of the quantity `name`; None if the text is not a range. Raises ArgumentError if it is empty, or logarithmic and
    not positive."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    logarithmic, first, last, count, unit_text = match.groups()
    unit = read_unit(name, unit_text)
    factor = 1.0 if unit is None else unit.factor
    low, high = float(first) * factor, float(last) * factor
    if not low < high:
        raise ArgumentError(f"the range '{text}' of '{name}' is empty", "write the lower value first")
    if logarithmic and low <= 0:
        raise ArgumentError(f"the range '{text}' of '{name}' has no logarithms", "begin it above zero")
    return Range(low, high, count, bool(logarithmic), unit)


def read_unit(name: str, text: str | None) -> Unit | None:
    """The unit of the values of a quantity; None if there is no text. Raises ArgumentError if it is not a unit."""
    if text is None:
        return None
    try:
        return parse_unit(text.strip())
    except ExpressionError as error:
        raise ArgumentError(f"the values of '{name}': {error}", error.hint or "") from None
