"""Cases of a study: all combinations of varied values, or samples."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
import scipy

from pliant.language.arguments import ArgumentError, mapping, whole
from pliant.language.message_text import describe, suggestion
from pliant.language.units import Unit
from pliant.study.variation import Variation, read_variation

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
        found: dict[str, None] = {}
        for row in self.rows:
            if not row.keys() <= found.keys():
                found |= dict.fromkeys(row)
        return tuple(found)


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
