"""Sections given by their properties: area and moments, or stiffness and inertia per length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pliant.language.base import Problem, positive
from pliant.language.scalar import (
    Area,
    AxialStiffness,
    BendingStiffness,
    MassPerLength,
    Number,
    RotaryPerLength,
    SecondMoment,
)
from pliant.parts.section.base import Evaluate, GeometricSection, MaterialValues, OneSection, SectionProperties

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
