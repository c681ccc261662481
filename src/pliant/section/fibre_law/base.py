"""A hyperelastic law of a rod's material, defined by the energy of a single stretched fibre."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
