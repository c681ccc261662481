"""Mooney-Rivlin solid: W = C1 (I1 - 3) + C2 (I2 - 3), with E = 6 (C1 + C2) and the ratio r = C2 / (C1 + C2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pliant.language.base import Problem
from pliant.section.fibre_law.base import FibreLaw, first_invariant, second_invariant


def _energy(x: Any, c: Any) -> Any:
    return ((1 - c[0]) * (first_invariant(x) - 3) + c[0] * (second_invariant(x) - 3)) / 6


def _problems(ratio: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not 0 <= value(ratio) <= 1:
        text = f"mooney_ratio must be from 0 to 1, but it is {value(ratio):g}"
        yield (), text, "it is C2 / (C1 + C2); 0 is the neo-Hookean law"


MOONEY_RIVLIN = FibreLaw(
    energy=_energy,
    shear=lambda x, c: 1 - c[0] + c[0] / x,
    key="mooney_ratio",
    size=1,
    numbers=lambda ratio, value: [value(ratio)],
    problems=_problems,
)
