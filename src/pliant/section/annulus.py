"""A circular ring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from pliant.language.base import Problem, positive
from pliant.language.scalar import Length
from pliant.section.base import Evaluate, SectionShape
from pliant.section.fibres import Fibre, ring


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
