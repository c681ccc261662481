"""Chambers and muscles along a rod: pressure or force in, axial force and bending moment out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

import casadi as ca
from pydantic import Field, model_validator

from pliant.language.base import Part, Problem, fault, positive
from pliant.language.scalar import Area, ForceSignal, Length, PressureSignal, Scalar

if TYPE_CHECKING:
    from pliant.model.build import Build


class Chamber(Part):
    """One or more chambers or muscles with a common pressure or force, running along the whole rod.

    They push the end sections apart with pressure times area, or with a given force, at their place in the section. Their
    area is kept (they are braided), so it does not change with pressure.
    """

    pressure: PressureSignal | None = None
    """Pressure above the surroundings, which may vary in time [Pa]."""
    force: ForceSignal | None = None
    """Force that each pushes with instead, negative for a pull, which may vary in time [N]."""
    radius: Length | None = None
    """Radius of each round chamber [m]."""
    area: Area | None = None
    """Area that the pressure acts on, instead of a radius [m^2]."""
    positions: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=1)]
    """Centres of the chambers in the section: x and y of each [m]."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.pressure is None) == (self.force is None):
            message = "a chamber has either a pressure or a force"
            raise fault("overdetermined" if self.force is not None else "missing", message, hint="give one of them")
        sizes = [key for key in ("radius", "area") if getattr(self, key) is not None]
        if self.force is not None and sizes:
            hint = f"remove `{sizes[0]}`, or give a pressure"
            raise fault("overdetermined", "a force needs no size of the chamber", hint=hint, key=sizes[0])
        if self.pressure is not None and len(sizes) != 1:
            hint = "give the radius of a round chamber, or the area that the pressure acts on"
            raise fault("missing" if not sizes else "overdetermined", "a pressure needs a radius or an area", hint=hint)
        return self

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero."""
        yield from positive(self, value, "radius", "area")

    def wrench(self, build: Build) -> Any:
        """Force along the six strains as an expression of time, inputs and parameters: `p a (e3 ; r x e3)`."""
        push = self._push(build)
        total = ca.SX(6, 1)
        for x, y in self.positions:
            total += push * ca.vertcat(0, 0, 1, build.value(y), -build.value(x), 0)
        return total

    def _push(self, build: Build) -> Any:
        """Force of each chamber [N]."""
        if self.force is not None:
            return build.signal_expression(self.force)
        assert self.pressure is not None, "checked when the model was read"
        if self.area is not None:
            return build.signal_expression(self.pressure) * build.value(self.area)
        assert self.radius is not None, "checked when the model was read"
        return build.signal_expression(self.pressure) * math.pi * build.value(self.radius) ** 2
