"""Cases of a study: all combinations of varied values, or samples. Values vary as Python values say, or texts such as `1:3:20 kPa`,
`pcs:4, cosserat:10` or `normal(2, 0.1) kPa`."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, overload

import numpy as np
import scipy

from pliant.language.arguments import ArgumentError, is_number, mapping, whole
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


MOST_CASES = 10_000_000
SAMPLERS = ("random", "sobol", "halton", "latin")


@dataclass(frozen=True)
class Cases(Sequence[Mapping[str, Any]]):
    """A sequence of cases, each a mapping from names to values (SI units).

    units: unit in which the values of a name were given, if any.
    """

    rows: tuple[Mapping[str, Any], ...]
    units: Mapping[str, Unit] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Cases: ...

    def __getitem__(self, index: int | slice) -> Any:
        return Cases(self.rows[index], self.units) if isinstance(index, slice) else self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"Cases: {len(self)} with {', '.join(self.names) or 'nothing that varies'}"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all varied quantities, in order of appearance."""
        names: dict[str, None] = {}
        for row in self.rows:
            if not row.keys() <= names.keys():
                names |= dict.fromkeys(row)
        return tuple(names)


def cases(vary: Mapping[str, Any], sample: str | None = None, *, seed: int = 0) -> Cases:
    """Cases as all combinations of values, or as samples.

    vary: by name (a parameter, an input, a coordinate or rate at the start, a rod, `variant` or `start`) a list of values, or a
        text: a range `1:3:20 kPa` (20 values from 1 to 3 kPa; `log 1:100:5` in equal ratios), or a list `1, 2, 5 kPa` or
        `pcs:4, cosserat:10`. For samples also a range without a number, `1:3 kPa`, or a distribution with a unit:
        `normal(mean, deviation)`, `uniform(low, high)`, `lognormal(median, deviation of the logarithm)`,
        `triangular(low, most likely, high)`. Numbers without a unit are in SI units.
    sample: sampling method and number of samples: "random:1000", "sobol:1024", "halton:1000" or "latin:1000" (Latin hypercube);
        of a list or a range with a number each value is taken equally often. None: all combinations, the last name fastest.
    seed: of the samples.
    """
    varied = {name: read_variation(name, given) for name, given in mapping("vary", vary).items()}
    units = {name: variation.unit for name, variation in varied.items() if variation.unit is not None}
    if sample is None:
        return Cases(tuple(_combinations(varied)), units)
    return Cases(tuple(_samples(varied, sample, whole("seed", seed, least=0))), units)


def read_cases(given: Any) -> Cases:
    """Cases as callers give them: from `cases`, as a list of mappings, or as what varies, of which all combinations are meant."""
    if isinstance(given, Cases):
        return given
    if isinstance(given, Mapping):
        return cases(given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"cases cannot be {describe(given)}", "write [{'length': 0.1}, {'length': 0.2}]")
    for row in given:
        if not isinstance(row, Mapping):
            raise ArgumentError(f"a case cannot be {describe(row)}", "write {'length': 0.1}, a value for each name")
    return Cases(tuple(dict(row) for row in given))


def _combinations(varied: Mapping[str, Variation]) -> Iterator[dict[str, Any]]:
    listed = {}
    for name, variation in varied.items():
        values = variation.values()
        if values is None:
            hint = "give a number of values, FROM:TO:COUNT, or ask for samples: sample='sobol:1000' (--sample)"
            raise ArgumentError(f"'{name}' has infinitely many values, so there are no combinations", hint)
        listed[name] = values
    count = math.prod(len(values) for values in listed.values())
    if count > MOST_CASES:
        raise ArgumentError(f"these are {count:.3g} combinations", f"at most {MOST_CASES:,}; use samples instead")
    return (dict(zip(listed, row, strict=True)) for row in itertools.product(*listed.values()))


def _samples(varied: Mapping[str, Variation], sample: str, seed: int) -> Iterator[dict[str, Any]]:
    kind, _, number = str(sample).partition(":")
    if kind not in SAMPLERS:
        hint = suggestion(kind, SAMPLERS, f"known: {', '.join(SAMPLERS)}; write sobol:1000")
        raise ArgumentError(f"unknown kind of samples '{kind}'", hint)
    if not number.strip().isdecimal() or not 0 < int(number) <= MOST_CASES:
        raise ArgumentError(f"cannot read the number of samples in '{sample}'", f"write {kind}:1000")
    shares = _shares(kind, int(number), len(varied), seed)
    columns = [variation.at(column) for variation, column in zip(varied.values(), shares.T, strict=True)]
    return (dict(zip(varied, row, strict=True)) for row in zip(*columns, strict=True))


def _shares(kind: str, count: int, dimensions: int, seed: int) -> np.ndarray:
    """Points in the unit cube, count x dimensions."""
    if kind == "random" or not dimensions:
        return np.random.default_rng(seed).random((count, dimensions))
    qmc = scipy.stats.qmc
    kinds = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # any number is welcome, not powers of two alone
        points = kinds[kind](dimensions, seed=np.random.default_rng(seed)).random(count)
    return np.asarray(points)
