"""Pneumatic chambers along a rod: pressure in, axial force and bending moment out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import casadi as ca
from pydantic import Field

from pliant.spec.base import Part, Problem, positive
from pliant.spec.scalar import Length, PressureSignal, Scalar

if TYPE_CHECKING:
    from pliant.model.build import Build


class Chamber(Part):
    """One or more round chambers with a common pressure, running along the whole rod.

    They push the end sections apart with pressure times area, at their place in the section. Their radius is kept (they
    are braided), so the area does not change with pressure.
    """

    pressure: PressureSignal
    """Pressure above the surroundings, which may vary in time [Pa]."""
    radius: Length
    """Radius of each chamber [m]."""
    positions: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=1)]
    """Centres of the chambers in the section: x and y of each [m]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Radius above zero."""
        yield from positive(self, value, "radius")

    def wrench(self, build: Build) -> Any:
        """Force along the six strains as an expression of time, inputs and parameters: `p a (e3 ; r x e3)`."""
        push = build.signal_expression(self.pressure) * ca.pi * build.value(self.radius) ** 2
        total = ca.SX(6, 1)
        for x, y in self.positions:
            total += push * ca.vertcat(0, 0, 1, build.value(y), -build.value(x), 0)
        return total
