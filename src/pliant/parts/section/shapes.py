"""Sections: circle, annulus, rectangle, given properties, and tables along the rod."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from pliant.language.base import Part, Problem, positive
from pliant.language.evaluate import evaluate
from pliant.language.names import SectionName
from pliant.language.scalar import (
    Area,
    AxialStiffness,
    BendingStiffness,
    Length,
    MassPerLength,
    Number,
    RotaryPerLength,
    Scalar,
    SecondMoment,
)
from pliant.language.syntax import Call, Symbol
from pliant.parts.section.base import (
    Evaluate,
    GeometricSection,
    MaterialValues,
    OneSection,
    SectionBase,
    SectionProperties,
    SectionShape,
)
from pliant.parts.section.material import Fibre, disc, rectangle, ring


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


SixStiffnesses = tuple[
    AxialStiffness, AxialStiffness, AxialStiffness, BendingStiffness, BendingStiffness, BendingStiffness
]


class ExplicitProperties(GeometricSection):
    """A section of any shape by its area and moments about its centre of area, which lies on the rod's axis."""

    shape: Literal["properties"] = "properties"
    area: Area
    """Area [m^2]."""
    second_moments: tuple[SecondMoment, SecondMoment]
    """About the section's x axis (integral of y^2) and about its y axis (integral of x^2) [m^4]."""
    product_of_inertia: SecondMoment = 0
    """Integral of x y, zero if x and y are principal axes [m^4]."""
    torsion_constant: SecondMoment
    """Saint-Venant's torsion constant [m^4]."""
    shear_factors: tuple[Number, Number]
    """Shear correction factors along x and y, up to 1 [-]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Values above zero, and moments that are possible for an area."""
        yield from positive(self, value, "area", "torsion_constant")
        about_x, about_y = map(value, self.second_moments)
        if min(about_x, about_y) <= 0 or about_x * about_y <= value(self.product_of_inertia) ** 2:
            text = "no area has these second moments: both must be above zero, and their product above product_of_inertia^2"
            yield ("second_moments",), text, ""
        elif value(self.torsion_constant) > (about_x + about_y) * (1 + 1e-9):
            text = f"torsion_constant {value(self.torsion_constant):g} m^4 is above the polar moment {about_x + about_y:g} m^4"
            yield ("torsion_constant",), text, "a round section has the largest torsion constant"
        yield from share_problems(self.shear_factors, value)

    def total_area(self, value: Evaluate) -> Any:
        """As given [m^2]."""
        return value(self.area)

    def moments(self, value: Evaluate) -> tuple[Any, Any, Any]:
        """As given [m^4]."""
        return value(self.second_moments[0]), value(self.second_moments[1]), value(self.product_of_inertia)

    def torsion(self, value: Evaluate) -> Any:
        """As given [m^4]."""
        return value(self.torsion_constant)

    def shear(self, value: Evaluate, poissons_ratio: Any) -> tuple[Any, Any, Any]:
        """As given [-]."""
        return value(self.shear_factors[0]), value(self.shear_factors[1]), 0.0

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Those of a rectangle with the same radii of gyration [m]."""
        about_x, about_y = (value(moment) / value(self.area) for moment in self.second_moments)
        return (3 * about_y) ** 0.5, (3 * about_x) ** 0.5


def share_problems(factors: tuple[Any, ...], value: Evaluate) -> Iterator[Problem]:
    """Shear factors are above 0 and at most 1."""
    for index, factor in enumerate(factors):
        if not 0 < value(factor) <= 1:
            text = f"a shear factor is above 0 and up to 1, but this one is {value(factor):g}"
            yield ("shear_factors", index), text, "solid sections have 0.8 to 0.9"


class ExplicitStiffness(OneSection):
    """A section by its stiffness and inertia per length, as measured or computed elsewhere; it needs no material."""

    needs_material: ClassVar[bool] = False

    shape: Literal["stiffness"] = "stiffness"
    stiffness: SixStiffnesses
    """Stiffness of the six strains shear-x, shear-y, stretch [N], bend-x, bend-y, twist [N m^2]."""
    mass_per_length: MassPerLength
    """Mass per length of rod [kg/m]."""
    inertia_per_length: tuple[RotaryPerLength, RotaryPerLength, RotaryPerLength] = (0, 0, 0)
    """Moments of inertia per length about the section's x, y and z axes [kg m]; a rod that twists needs the last."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Stiffness and mass above zero; moments of inertia that are possible for a mass."""
        yield from positive(self, value, "mass_per_length")
        for index, entry in enumerate(self.stiffness):
            if value(entry) <= 0:
                yield ("stiffness", index), f"a stiffness must be above zero, but this one is {value(entry):g}", ""
        about = sorted(map(value, self.inertia_per_length))
        if about[0] < 0 or about[2] > (about[0] + about[1]) * (1 + 1e-9):
            text = "no mass has these moments of inertia: each is at least 0 and at most the sum of the other two"
            yield ("inertia_per_length",), text, ""

    def properties(self, value: Evaluate, material: MaterialValues | None) -> SectionProperties:
        """As given."""
        about_x, about_y, about_z = map(value, self.inertia_per_length)
        return SectionProperties(
            tuple(map(value, self.stiffness)), (0.0, 0.0), value(self.mass_per_length), (about_x, about_y, about_z, 0.0)
        )

    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Those of a rectangle with the same ratios of bending to axial stiffness [m]."""
        about_x, about_y = (value(self.stiffness[k]) / value(self.stiffness[2]) for k in (3, 4))
        return (3 * about_y) ** 0.5, (3 * about_x) ** 0.5


class Station(Part):
    """A section at an arc length."""

    at: Length
    """Arc length from the rod's base [m]."""
    section: SectionName
    """The section there."""


class Table(SectionBase):
    """Sections by arc length from base to tip. Stiffness and inertia change linearly in between; two stations at the
    same arc length make a step."""

    needs_material: ClassVar[bool] = False

    shape: Literal["table"] = "table"
    stations: Annotated[tuple[Station, ...], Field(min_length=2)]
    """Stations in order; the first at 0, the last at the rod's length."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Stations are in order and start at the base."""
        places = [value(station.at) for station in self.stations]
        if places[0] != 0:
            yield ("stations", 0, "at"), f"the first station is at {places[0]:g} m", "begin at 0, the rod's base"
        for index, (a, b) in enumerate(pairwise(places), start=1):
            if b < a:
                text = f"the station at {b:g} m comes after the one at {a:g} m"
                yield ("stations", index, "at"), text, "put the stations in the order of arc length"
            if index > 1 and places[index - 2] == a == b:
                yield ("stations", index, "at"), f"three stations are at {b:g} m", "two make a step"

    def stations_by_arc_length(self) -> tuple[tuple[Scalar, str], ...]:
        """As given."""
        return tuple((station.at, station.section) for station in self.stations)
