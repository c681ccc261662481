"""Varied quantities of a study, from Python values or from text such as `1:3:20 kPa`, `pcs:4, cosserat:10` or `normal(2, 0.1)
kPa`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy

from pliant.language.arguments import ArgumentError, is_number
from pliant.language.message_text import describe, suggestion
from pliant.language.ranges import NUMBER, Range, read_range, read_unit
from pliant.language.units import Unit

_DISTRIBUTION = re.compile(rf"([a-z]+)\s*\(\s*({NUMBER}(?:\s*,\s*{NUMBER})*)\s*\)\s*([^\d\s:,].*)?")
_QUANTITY = re.compile(rf"({NUMBER})\s*([^\d\s:,].*)?")

MOST_VALUES = 1_000_000
"""Values of one range."""


@dataclass(frozen=True)
class Variation(ABC):
    """Values of one quantity. unit: the unit in which they were given; None for SI units."""

    unit: Unit | None

    @abstractmethod
    def values(self) -> list[Any] | None:
        """All values (SI units), for combinations; None if there are infinitely many."""

    @abstractmethod
    def at(self, shares: np.ndarray) -> list[Any]:
        """The values at these fractions, numbers from 0 to 1: uniformly distributed fractions give the intended distribution."""


@dataclass(frozen=True)
class ListedValues(Variation):
    """Individual values."""

    given: tuple[Any, ...]

    def values(self) -> list[Any]:
        """All values."""
        return list(self.given)

    def at(self, shares: np.ndarray) -> list[Any]:
        """Each value equally often."""
        places = np.minimum((shares * len(self.given)).astype(int), len(self.given) - 1)
        return [self.given[k] for k in places]


@dataclass(frozen=True)
class ValueRange(Variation):
    """All numbers between two, uniformly distributed, or uniformly in their logarithm."""

    low: float
    high: float
    logarithmic: bool = False

    def values(self) -> None:
        """None: infinitely many."""

    def at(self, shares: np.ndarray) -> list[float]:
        """Uniformly distributed values."""
        return _between(self.low, self.high, shares, logarithmic=self.logarithmic)


@dataclass(frozen=True)
class Distribution(Variation):
    """Numbers of a distribution; quantile: its quantile function."""

    quantile: Callable[[np.ndarray], np.ndarray]

    def values(self) -> None:
        """None: infinitely many."""

    def at(self, shares: np.ndarray) -> list[float]:
        """Values by the inverse of the distribution function."""
        inside = np.clip(shares, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        with np.errstate(over="ignore", invalid="ignore"):
            return _all_finite(self.quantile(inside))


def _between(low: float, high: float, shares: np.ndarray, *, logarithmic: bool) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore"):
        return _all_finite(low * (high / low) ** shares if logarithmic else low + (high - low) * shares)


def _all_finite(values: np.ndarray) -> list[float]:
    if not np.isfinite(values).all():
        raise ArgumentError("values of a range or distribution are too large for numbers", "use a smaller one")
    return [float(x) for x in values]


def read_variation(name: str, given: Any) -> Variation:
    """Variation given by a caller: a text, a list of values, or one value."""
    if isinstance(given, Variation):
        return given
    if isinstance(given, str):
        return _read_text(name, given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence):
        if not given:
            raise ArgumentError(f"there are no values of '{name}'", "give at least one")
        return _listed(name, [x.strip() if isinstance(x, str) else x for x in given])
    return _listed(name, [given])


def _read_text(name: str, text: str) -> Variation:
    if (found := read_range(name, text)) is not None:
        return _in_range(name, text, found)
    if match := _DISTRIBUTION.fullmatch(text.strip()):
        return _distribution(name, text, *match.groups())
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    if not all(parts):
        raise ArgumentError(f"cannot read the values '{text}' of '{name}'", _EXAMPLE)
    return _listed(name, parts)


_EXAMPLE = "write a range such as 1:3:20 kPa, a list such as 1, 2, 5 kPa, or a distribution such as normal(2, 0.1) kPa"


def _in_range(name: str, text: str, given: Range) -> Variation:
    """`FROM:TO` or `FROM:TO:COUNT` with a unit."""
    if given.count is None:
        return ValueRange(given.unit, given.low, given.high, given.logarithmic)
    number = float(given.count)
    if not 1 <= number <= MOST_VALUES or number != int(number):
        raise ArgumentError(f"the range '{text}' of '{name}' has {given.count} values", "write how many: FROM:TO:COUNT")
    shares = np.linspace(0.0, 1.0, int(number)) if number > 1 else np.array([0.0])
    return ListedValues(given.unit, tuple(_between(given.low, given.high, shares, logarithmic=given.logarithmic)))


def _distribution(name: str, text: str, kind: str, numbers: str, unit_text: str | None) -> Variation:
    unit = read_unit(name, unit_text)
    factor = 1.0 if unit is None else unit.factor
    given = [float(x) for x in numbers.split(",")]
    known = {"normal": 2, "uniform": 2, "lognormal": 2, "triangular": 3}
    if kind not in known:
        hint = suggestion(kind, known, f"known: {', '.join(known)}")
        raise ArgumentError(f"unknown distribution '{kind}' of '{name}'", hint)
    if len(given) != known[kind]:
        raise ArgumentError(f"'{text}' of '{name}': {kind} takes {known[kind]} numbers, not {len(given)}", _USE[kind])
    if kind == "uniform" and given[0] < given[1]:
        return ValueRange(unit, given[0] * factor, given[1] * factor)
    quantile = _quantile(kind, given)
    if quantile is None:
        raise ArgumentError(f"'{text}' of '{name}' is not a distribution", _USE[kind])
    return Distribution(unit, lambda shares: factor * quantile(shares))


_USE = {
    "normal": "write normal(mean, standard deviation), the second above zero",
    "uniform": "write uniform(low, high), the first below the second",
    "lognormal": "write lognormal(median, standard deviation of the logarithm), both above zero",
    "triangular": "write triangular(low, most likely, high), in this order",
}


def _quantile(kind: str, given: list[float]) -> Callable[[np.ndarray], np.ndarray] | None:
    """The inverse of a distribution function; None if its parameters are invalid."""
    if kind == "normal" and given[1] > 0:
        return lambda shares: given[0] + given[1] * scipy.special.ndtri(shares)
    if kind == "lognormal" and min(given) > 0:
        return lambda shares: given[0] * np.exp(given[1] * scipy.special.ndtri(shares))
    if kind == "triangular" and given[0] <= given[1] <= given[2] and given[0] < given[2]:
        return lambda shares: _triangular(shares, *given)
    return None


def _triangular(shares: np.ndarray, low: float, peak: float, high: float) -> np.ndarray:
    rising = (peak - low) / (high - low)
    with np.errstate(invalid="ignore"):
        left = low + np.sqrt(shares * (high - low) * (peak - low))
        right = high - np.sqrt((1 - shares) * (high - low) * (high - peak))
    return np.where(shares < rising, left, right)


def _listed(name: str, given: Sequence[Any]) -> Variation:
    """A list of values: numbers, optionally with units (`1, 2, 5 kPa`: the unit of the last applies to bare numbers
    before it), or others."""
    if all(isinstance(x, Real) and not isinstance(x, bool) for x in given):
        return ListedValues(None, tuple(_finite(name, x) for x in given))
    matches = [_QUANTITY.fullmatch(x) if isinstance(x, str) else None for x in given]
    if not all(matches):
        return ListedValues(None, tuple(given))
    units = [read_unit(name, match.group(2)) for match in matches if match]
    last = units[-1]
    if last is None and any(units):
        raise ArgumentError(f"the last of the values {describe(', '.join(given))} of '{name}' has no unit", "add it")
    if any(unit is not None and last is not None and unit.dimension != last.dimension for unit in units):
        raise ArgumentError(f"the values {describe(', '.join(given))} of '{name}' differ in dimension", "use one unit")
    factors = [1.0 if last is None else (unit or last).factor for unit in units]
    numbers = [float(match.group(1)) * factor for match, factor in zip(matches, factors, strict=True) if match]
    return ListedValues(last, tuple(_finite(name, x) for x in numbers))


def _finite(name: str, value: Any) -> float:
    if not is_number(value):
        raise ArgumentError(f"a value of '{name}' is not finite", "give finite numbers")
    return float(value)
