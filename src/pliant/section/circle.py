"""A solid circle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from pliant.language.base import Problem, positive
from pliant.language.scalar import Length
from pliant.section.base import Evaluate, SectionShape
from pliant.section.fibres import Fibre, disc


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
