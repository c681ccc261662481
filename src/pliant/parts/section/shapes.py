"""Sections of simple shapes: circle, ring and rectangle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from pliant.language.base import Problem, positive
from pliant.language.evaluate import evaluate
from pliant.language.scalar import Length
from pliant.language.syntax import Call, Symbol
from pliant.parts.section.base import Evaluate, SectionShape
from pliant.parts.section.fibres import Fibre, disc, rectangle, ring


class Circle(SectionShape):
    """A solid circle."""

    is_round: ClassVar[bool] = True

    shape: Literal["circle"] = "circle"
    radius: Length
    """Radius [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """The radius is above zero; holes lie inside."""
        yield from positive(self, value, "radius")
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies inside this one."""
        return np.hypot(x, y) + radius < value(self.radius)

    def full_fibres(self, value: Evaluate) -> list[Fibre]:
        """Of a disc."""
        return disc(0.0, 0.0, value(self.radius) if self.holes else 1.0)

    def full_area(self, value: Evaluate) -> Any:
        """pi r^2 [m^2]."""
        return math.pi * value(self.radius) ** 2

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """pi r^4 / 4 about both axes [m^4]."""
        moment = math.pi * value(self.radius) ** 4 / 4
        return moment, moment

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """6 (1 + nu) / (7 + 6 nu) [-]."""
        return 6 * (1 + poissons_ratio) / (7 + 6 * poissons_ratio)

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Its radius [m]."""
        return value(self.radius), value(self.radius)


class Annulus(SectionShape):
    """A circular ring."""

    is_round: ClassVar[bool] = True

    shape: Literal["annulus"] = "annulus"
    outer_radius: Length
    """Outer radius [m]."""
    inner_radius: Length
    """Inner radius, smaller than the outer one [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """The inner radius is smaller than the outer one; holes lie inside."""
        yield from positive(self, value, "outer_radius")
        if not 0 <= value(self.inner_radius) < value(self.outer_radius):
            text = f"inner_radius must be between 0 and outer_radius, but it is {value(self.inner_radius):g} m"
            yield ("inner_radius",), text, ""
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies between the inner and the outer radius."""
        away = np.hypot(x, y)
        return away + radius < value(self.outer_radius) and away - radius > value(self.inner_radius)

    def full_fibres(self, value: Evaluate) -> list[Fibre]:
        """Of a ring."""
        return ring(value(self.outer_radius), value(self.inner_radius))

    def full_area(self, value: Evaluate) -> Any:
        """pi (R^2 - r^2) [m^2]."""
        return math.pi * (value(self.outer_radius) ** 2 - value(self.inner_radius) ** 2)

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """pi (R^4 - r^4) / 4 about both axes [m^4]."""
        moment = math.pi * (value(self.outer_radius) ** 4 - value(self.inner_radius) ** 4) / 4
        return moment, moment

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """Cowper's factor of a hollow circle [-]."""
        nu, ratio = poissons_ratio, (value(self.inner_radius) / value(self.outer_radius)) ** 2
        full = (1 + ratio) ** 2
        return 6 * (1 + nu) * full / ((7 + 6 * nu) * full + (20 + 12 * nu) * ratio)

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Its outer radius [m]."""
        return value(self.outer_radius), value(self.outer_radius)

    def bore(self, value: Evaluate) -> Any:
        """Its inner radius [m]."""
        return value(self.inner_radius)


ODD_FIFTHS = 31 / 32 * 1.0369277551433699
"""Sum of 1 / n^5 over odd n: 31/32 of Riemann's zeta function at 5."""


class Rectangle(SectionShape):
    """A solid rectangle."""

    shape: Literal["rectangle"] = "rectangle"
    width: Length
    """Edge along the section's x axis [m]."""
    height: Length
    """Edge along the section's y axis [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """The edges are above zero; holes lie inside."""
        yield from positive(self, value, "width", "height")
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies inside the rectangle."""
        return abs(x) + radius < value(self.width) / 2 and abs(y) + radius < value(self.height) / 2

    def full_fibres(self, value: Evaluate) -> list[Fibre]:
        """Of a rectangle."""
        return rectangle(value(self.width), value(self.height)) if self.holes else rectangle(1.0, 1.0)

    def full_area(self, value: Evaluate) -> Any:
        """Width times height [m^2]."""
        return value(self.width) * value(self.height)

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """About x: width height^3 / 12, about y: height width^3 / 12 [m^4]."""
        width, height = value(self.width), value(self.height)
        return width * height**3 / 12, height * width**3 / 12

    def full_torsion(self, value: Evaluate) -> Any:
        """Saint-Venant's constant by its series [m^4], exact to 1e-11 for any proportion."""
        # with a the shorter edge, J = a^3 b (1/3 - 64 a / (pi^5 b) sum over odd n of tanh(n pi b / 2a) / n^5); with 1 in place
        # of the tanh the sum is known, and the series of the difference converges quickly
        width, height = value(self.width), value(self.height)
        short, long = _smaller(width, height), _larger(width, height)
        missing = sum((1 - _tanh(n * math.pi * long / (2 * short))) / n**5 for n in (1, 3, 5))
        total = ODD_FIFTHS - missing
        return short**3 * long * (1 / 3 - 64 * short / (math.pi**5 * long) * total)

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """10 (1 + nu) / (12 + 11 nu) [-]."""
        return 10 * (1 + poissons_ratio) / (12 + 11 * poissons_ratio)

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Half its width and height [m]."""
        return value(self.width) / 2, value(self.height) / 2

    def outline(self, value: Evaluate) -> list[tuple[Any, Any]]:
        """Its four corners [m]."""
        x, y = self.half_sizes(value)
        return [(-x, -y), (x, -y), (x, y), (-x, y)]


def _call(name: str, *arguments: Any) -> Any:
    """A function of the expression language, on numbers or symbols."""
    names = {f"x{i}": Symbol(f"x{i}") for i in range(len(arguments))}
    return evaluate(Call(name, tuple(names.values())), dict(zip(names, arguments, strict=True)))


def _smaller(a: Any, b: Any) -> Any:
    return _call("min", a, b)


def _larger(a: Any, b: Any) -> Any:
    return _call("max", a, b)


def _tanh(x: Any) -> Any:
    return _call("tanh", x)
