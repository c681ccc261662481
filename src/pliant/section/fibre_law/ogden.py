"""Ogden's solid: W = sum of mu_p / a_p (x^a_p + 2 x^(-a_p / 2) - 3), with E = 3/2 sum mu_p a_p.

Each term is given by its share mu_p a_p / sum(mu a) of the small-strain modulus, and its exponent a_p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import casadi as ca

from pliant.language.base import Problem
from pliant.section.fibre_law.base import FibreLaw

MOST_TERMS = 3


def _energy(x: Any, c: Any) -> Any:
    terms = (c[2 * k] / c[2 * k + 1] ** 2 * _stretched(x, c[2 * k + 1]) for k in range(MOST_TERMS))
    return 2 / 3 * sum(terms)


def _stretched(x: Any, a: Any) -> Any:
    return ca.power(x, a) + 2 * ca.power(x, -a / 2) - 3


def _shear(x: Any, c: Any) -> Any:
    # (x^a - x^(-a/2)) / (x^2 - 1/x) 2/a, written without 0/0 at x = 1
    log = ca.log(x)
    total = 0
    for k in range(MOST_TERMS):
        share, a = c[2 * k], c[2 * k + 1]
        total += share * ca.power(x, a / 4 - 0.5) * _sinhc(0.75 * a * log) / _sinhc(1.5 * log)
    return total


def _sinhc(y: Any) -> Any:
    """sinh(y) / y."""
    square = y * y
    series = 1 + square / 6 * (1 + square / 20 * (1 + square / 42 * (1 + square / 72)))
    small = square < 0.01
    safe = ca.if_else(small, 1.0, y)
    return ca.if_else(small, series, ca.sinh(safe) / safe)


def _numbers(terms: Sequence[Sequence[Any]], value: Callable[[Any], Any]) -> list[Any]:
    """Share and exponent of each term; missing terms have share 0."""
    missing = [(0.0, 2.0)] * (MOST_TERMS - len(terms))
    return [value(number) for term in (*terms, *missing) for number in term]


def _problems(terms: Sequence[Sequence[Any]], value: Callable[[Any], float]) -> Iterator[Problem]:
    for k, (_, exponent) in enumerate(terms):
        if value(exponent) == 0:
            yield (k, 1), "the exponent of an Ogden term cannot be zero", ""
    total = sum(value(share) for share, _ in terms)
    if abs(total - 1) > 1e-6:
        text = f"the shares of the Ogden terms add up to {total:g}, not to 1"
        hint = "with constants mu and a: youngs_modulus is 1.5 sum(mu a), and the share of a term mu a / sum(mu a)"
        yield (), text, hint


OGDEN = FibreLaw(
    energy=_energy, shear=_shear, key="ogden_terms", size=2 * MOST_TERMS, numbers=_numbers, problems=_problems
)
