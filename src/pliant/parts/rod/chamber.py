"""Chambers and muscles along a rod: pressure or force in, axial force and bending moment out."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, permutations
from typing import Annotated, Any, Self

import casadi as ca
from pydantic import Field, model_validator

from pliant.language.base import Problem, fault
from pliant.language.scalar import Angle, Area, Compliance, ForceSignal, Length, PressureSignal, Repeated, Scalar
from pliant.parts.assembly.build import Build

PAIRS = tuple(combinations_with_replacement(range(3), 2))
TRIPLES = tuple(combinations_with_replacement(range(3), 3))
STEADY = 6
"""Number of signals of chambers whose force is independent of the strains: that force."""
VARYING = STEADY + len(PAIRS) + len(TRIPLES)
"""Number of signals of chambers whose force depends on the strains: also the distinct entries of Q and C."""


def chamber_signals(x: Any, y: Any, coefficients: Sequence[Any]) -> list[Any]:
    """Signals of a chamber at (x, y) [m] that pushes with `c0 + c1 m + c2 m^2` [N] when stretched by m: six if c1 and c2 are
    omitted."""
    n = (1, y, -x)
    out = [0, 0, *(coefficients[0] * entry for entry in n), 0]
    if len(coefficients) > 1:
        out += [coefficients[1] * n[i] * n[j] for i, j in PAIRS]
        out += [coefficients[2] * n[i] * n[j] * n[k] for i, j, k in TRIPLES]
    return out


def actuation(strain: Any, signal: Any) -> Any:
    """Force along the six strains [N, N m] from a rod's signals: none, `STEADY` or `VARYING` ones."""
    if signal.numel() <= STEADY:
        return signal if signal.numel() else ca.DM.zeros(STEADY)
    z = ca.vertcat(1 + strain[2], strain[3], strain[4])
    pairs = signal[STEADY : STEADY + len(PAIRS)]
    triples = signal[STEADY + len(PAIRS) :]
    linear = ca.SX(3, 3)
    for at, (i, j) in enumerate(PAIRS):
        linear[i, j] = linear[j, i] = pairs[at]
    for at, triple in enumerate(TRIPLES):
        for i, j, k in sorted(set(permutations(triple))):
            linear[i, j] += triples[at] * z[k]
    push = linear @ z
    return signal[:STEADY] + ca.vertcat(0, 0, push, 0)


def signal_word(signals: int) -> str:
    """Suffix of the names of force kinds with different signals."""
    return {0: "", STEADY: "_actuated", VARYING: "_chambers"}[signals]


class Chamber(Repeated):
    """One or more chambers or muscles with a common pressure or force, along the entire rod.

    They push the end sections apart with pressure times area, or with a given force, at their position in the section. Windings
    around them keep their area constant, unless they have a `braid_angle` or an `area_growth`.
    """

    pressure: PressureSignal | None = None
    """Pressure above the surroundings, which may vary in time [Pa]."""
    force: ForceSignal | None = None
    """Force of each instead of a pressure, positive for a push, which may vary in time [N]."""
    radius: Length | None = None
    """Radius of each round chamber [m]."""
    area: Area | None = None
    """Area that the pressure acts on, instead of a radius [m^2]."""
    braid_angle: Angle | None = None
    """Angle between the threads of a braid and the chamber's axis in the undeformed rod, above 0 up to 90 degrees [rad]: a
    McKibben muscle. Its threads keep their length, so if the chamber is stretched by m its area is
    area (1 - m^2 cos^2) / sin^2, and it pushes with pressure * area (1 - 3 m^2 cos^2) / sin^2: below 54.7 degrees it
    contracts, above it extends, at 90 degrees it keeps its area."""
    area_growth: Compliance | None = None
    """Growth of the area with pressure, relative to the area [1/Pa], for elastic windings: the growth is proportional
    to the stretch, as the pressure then acts on a longer chamber. If the chamber is stretched by m its area is area
    (1 + area_growth * pressure * m), and it pushes with pressure times that. Energy stored in the windings does not
    count as supplied."""
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

    @model_validator(mode="after")
    def _one_wall(self) -> Self:
        walls = [key for key in ("braid_angle", "area_growth") if getattr(self, key) is not None]
        if self.force is not None and walls:
            hint = f"remove `{walls[0]}`, or give a pressure and a size"
            raise fault("overdetermined", f"a force needs no {walls[0]}", hint=hint, key=walls[0])
        if len(walls) > 1:
            message = "threads of a braid keep their length, so its area does not grow with pressure"
            raise fault("overdetermined", message, hint="remove `area_growth` or `braid_angle`", key="area_growth")
        return self

    above_zero, not_below_zero = ("radius", "area"), ("area_growth",)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The braid angle must be between 0 and 90 degrees."""
        if self.braid_angle is not None and not 0 < value(self.braid_angle) <= math.pi / 2 + 1e-12:
            found = f"{math.degrees(value(self.braid_angle)):g} deg"
            text = f"braid_angle must be above 0 and up to 90 deg, but it is {found}"
            yield ("braid_angle",), text, "it is measured from the chamber's axis"

    @property
    def depends_on_strains(self) -> bool:
        """Whether its force depends on the rod's strains."""
        return self.braid_angle is not None or self.area_growth is not None

    def signals(self, build: Build) -> list[Any]:
        """Its contribution to the rod's signals as expressions of time, inputs and parameters (`rod.actuation`)."""
        coefficients = self._push(build)
        each = [chamber_signals(build.value(x), build.value(y), coefficients) for x, y in self.positions]
        return [sum(parts) for parts in zip(*each, strict=True)]

    def area_at_rest(self, value: Callable[[Scalar], Any]) -> Any:
        """Area of each chamber in the undeformed rod without pressure [m^2]; zero for a chamber with a force."""
        assert self.area is not None or self.radius is not None, "checked when the model was read"
        return value(self.area) if self.area is not None else math.pi * value(self.radius) ** 2  # type: ignore[arg-type]

    def _push(self, build: Build) -> tuple[Any, ...]:
        """Force of each chamber [N] as a polynomial in its stretch: coefficients of ascending powers."""
        if self.force is not None:
            return (build.signal_expression(self.force),)
        assert self.pressure is not None, "checked when the model was read"
        pressure, area = build.signal_expression(self.pressure), self.area_at_rest(build.value)
        if self.braid_angle is not None:
            angle = build.value(self.braid_angle)
            across, along = _squares(angle)
            return pressure * area / across, 0.0, -3 * pressure * area * along / across
        if self.area_growth is not None:
            return pressure * area, build.value(self.area_growth) * pressure**2 * area, 0.0
        return (pressure * area,)


def _squares(angle: Any) -> tuple[Any, Any]:
    """Squares of sine and cosine of an angle that is a number or an expression."""
    sine = ca.sin(angle) ** 2
    return sine, 1 - sine
