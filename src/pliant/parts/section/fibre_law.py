"""Hyperelastic laws of a rod's material, each defined by the energy of a single stretched fibre."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.language.base import Problem

Value = Callable[[Any], Any]


@dataclass(frozen=True)
class FibreLaw:
    """An incompressible, isotropic solid in uniaxial stretch, per small-strain modulus.

    The section's energy follows from `energy` and `shear` by differentiation (`rod.section_law`). Both are functions of the
    stretch x, the present length over the undeformed one, and of the law's numbers c; they are scaled by the small-strain
    moduli, so near x = 1 `energy` is (x - 1)^2 / 2 and `shear` is 1. They are related: in every isotropic,
    incompressible solid `3 energy'(x) = shear(x) (x - 1/x^2)`.

    Attributes:
        energy: stored energy per undeformed volume over Young's modulus [-].
        shear: modulus of a small shear of the stretched solid over the shear modulus [-].
        key: field of the material with the law's numbers; empty if it has none.
        size: how many numbers there are.
        numbers: the numbers, from that field and a function that evaluates a value.
        problems: the problems of that field, from the same arguments.
        room: a function that is positive where the law is valid, in addition to a positive stretch; None for laws without limit.
    """

    energy: Callable[[Any, Any], Any]
    shear: Callable[[Any, Any], Any]
    key: str = ""
    size: int = 0
    numbers: Callable[[Any, Value], list[Any]] = lambda given, value: []
    problems: Callable[[Any, Value], Iterator[Problem]] = lambda given, value: iter(())
    room: Callable[[Any, Any], Any] | None = None

    def numbers_of(self, material: Any, value: Value) -> list[Any]:
        """The law's numbers from a material, which must give them."""
        return self.numbers(getattr(material, self.key), value) if self.key else []

    def within(self, x: Any, c: Any) -> Any:
        """The stretch if the law is valid, otherwise NaN: solvers then take a shorter step."""
        inside = x > 0
        if self.room is not None:
            inside = ca.logic_and(inside, self.room(x, c) > 0)
        return x * ca.if_else(inside, 1.0, ca.SX(float("nan")))


def first_invariant(x: Any) -> Any:
    """I1 of an incompressible solid in uniaxial stretch x."""
    return x**2 + 2 / x


def second_invariant(x: Any) -> Any:
    """I2 of an incompressible solid in uniaxial stretch x."""
    return 2 * x + 1 / x**2


def _gent_room(x: Any, c: Any) -> Any:
    """Fraction of the limit that is left."""
    return 1 - (first_invariant(x) - 3) / c[0]


def _gent_problems(limit: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not value(limit) > 0:
        yield (
            (),
            f"gent_limit must be above zero, but it is {value(limit):g}",
            "rubber has 30 to 100, soft tissue about 1",
        )


GENT = FibreLaw(
    energy=lambda x, c: -c[0] / 6 * ca.log(_gent_room(x, c)),
    shear=lambda x, c: 1 / _gent_room(x, c),
    key="gent_limit",
    size=1,
    numbers=lambda limit, value: [value(limit)],
    problems=_gent_problems,
    room=_gent_room,
)
"""Gent's solid, with chains of limited extensibility: W = -E/6 J ln(1 - (I1 - 3) / J)."""


def _mooney_energy(x: Any, c: Any) -> Any:
    return ((1 - c[0]) * (first_invariant(x) - 3) + c[0] * (second_invariant(x) - 3)) / 6


def _mooney_problems(ratio: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not 0 <= value(ratio) <= 1:
        text = f"mooney_ratio must be from 0 to 1, but it is {value(ratio):g}"
        yield (), text, "it is C2 / (C1 + C2); 0 is the neo-Hookean law"


MOONEY_RIVLIN = FibreLaw(
    energy=_mooney_energy,
    shear=lambda x, c: 1 - c[0] + c[0] / x,
    key="mooney_ratio",
    size=1,
    numbers=lambda ratio, value: [value(ratio)],
    problems=_mooney_problems,
)
"""Mooney-Rivlin solid: W = C1 (I1 - 3) + C2 (I2 - 3), with E = 6 (C1 + C2) and the ratio r = C2 / (C1 + C2)."""


NEO_HOOKEAN = FibreLaw(energy=lambda x, c: (first_invariant(x) - 3) / 6, shear=lambda x, c: 1.0)


MOST_TERMS = 3


def _ogden_energy(x: Any, c: Any) -> Any:
    terms = (c[2 * k] / c[2 * k + 1] ** 2 * _stretched(x, c[2 * k + 1]) for k in range(MOST_TERMS))
    return 2 / 3 * sum(terms)


def _stretched(x: Any, a: Any) -> Any:
    return ca.power(x, a) + 2 * ca.power(x, -a / 2) - 3


def _ogden_shear(x: Any, c: Any) -> Any:
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


def _ogden_numbers(terms: Sequence[Sequence[Any]], value: Callable[[Any], Any]) -> list[Any]:
    """Share and exponent of each term; missing terms have share 0."""
    missing = [(0.0, 2.0)] * (MOST_TERMS - len(terms))
    return [value(number) for term in (*terms, *missing) for number in term]


def _ogden_problems(terms: Sequence[Sequence[Any]], value: Callable[[Any], float]) -> Iterator[Problem]:
    for k, (_, exponent) in enumerate(terms):
        if value(exponent) == 0:
            yield (k, 1), "the exponent of an Ogden term cannot be zero", ""
    total = sum(value(share) for share, _ in terms)
    if abs(total - 1) > 1e-6:
        text = f"the shares of the Ogden terms add up to {total:g}, not to 1"
        hint = "with constants mu and a: youngs_modulus is 1.5 sum(mu a), and the share of a term mu a / sum(mu a)"
        yield (), text, hint


OGDEN = FibreLaw(
    energy=_ogden_energy,
    shear=_ogden_shear,
    key="ogden_terms",
    size=2 * MOST_TERMS,
    numbers=_ogden_numbers,
    problems=_ogden_problems,
)
"""Ogden's solid: W = sum of mu_p / a_p (x^a_p + 2 x^(-a_p / 2) - 3), with E = 3/2 sum mu_p a_p.

Each term is given by its share mu_p a_p / sum(mu a) of the small-strain modulus, and its exponent a_p.
"""


FIBRE_LAWS: dict[str, FibreLaw] = {
    "neo_hookean": NEO_HOOKEAN,
    "mooney_rivlin": MOONEY_RIVLIN,
    "gent": GENT,
    "ogden": OGDEN,
}
"""The laws by their keyword."""
