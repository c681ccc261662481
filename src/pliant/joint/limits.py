"""Limits of coordinates: hard stops at the ends of a range, with the force law of contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pliant.formula.stops import STOPS, stops
from pliant.language.base import Part, Problem
from pliant.language.scalar import Angle, AngularStiffness, Length, Scalar, Slowness, Stiffness, Time

if TYPE_CHECKING:
    from pliant.model.build import Build


class Limits(Part):
    """Range of a coordinate. Within it nothing acts; beyond an end a stop pushes back with
    `stiffness * depth * (1 + dissipation * rate of depth)`, as contacts do, and never pulls."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The minimum is below the maximum; stiffness and dissipation are not negative."""
        lower, upper = self._ends
        for field in ("stiffness", "dissipation"):
            if value(getattr(self, field)) < 0:
                yield (field,), f"{field} must not be negative, but it is {value(getattr(self, field)):g}", ""
        if lower is None and upper is None:
            yield (), "the limits have neither a minimum nor a maximum", "give one of them, or both"
        elif lower is not None and upper is not None and value(lower) >= value(upper):
            text = f"the minimum {value(lower):g} is not below the maximum {value(upper):g}"
            yield ("minimum",), text, "swap them, or omit one"

    @property
    def _ends(self) -> tuple[Any, Any]:
        return self.minimum, self.maximum  # type: ignore[attr-defined]

    def apply(self, build: Build, q_at: int, v_at: int, name: str, count: int = 1) -> None:
        """Add the stops to `count` consecutive coordinates."""
        lower, upper = self._ends
        constants = STOPS.write(
            minimum=0.0 if lower is None else build.value(lower),
            maximum=0.0 if upper is None else build.value(upper),
            stiffness=build.value(self.stiffness),  # type: ignore[attr-defined]
            dissipation=build.value(self.dissipation),  # type: ignore[attr-defined]
        )
        force = stops(count, lower=lower is not None, upper=upper is not None)
        build.system.coordinate_force(force, q_at, v_at, constants, 0, name)


class LengthLimits(Limits):
    """Range of a displacement, with stiff stops at its ends."""

    minimum: Length | None = None
    """Smallest value [m]."""
    maximum: Length | None = None
    """Largest value [m]."""
    stiffness: Stiffness
    """Force of a stop per depth beyond it [N/m]; 0 for none."""
    dissipation: Slowness = "50 s/m"
    """Relative increase of the force per rate of depth [s/m]."""


class AngleLimits(Limits):
    """Range of an angle, with stiff stops at its ends."""

    minimum: Angle | None = None
    """Smallest value [rad]."""
    maximum: Angle | None = None
    """Largest value [rad]."""
    stiffness: AngularStiffness
    """Torque of a stop per angle beyond it [N m/rad]; 0 for none."""
    dissipation: Time = "5 s"
    """Relative increase of the torque per rate of the angle beyond the stop [s/rad]."""
