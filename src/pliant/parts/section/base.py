"""Common base of rod sections: properties per length, shapes with holes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field

from pliant.language.base import Part, Problem
from pliant.language.scalar import Length, Repeated, Scalar
from pliant.parts.section.material import Fibre, small_disc

Evaluate: TypeAlias = Callable[[Scalar], Any]


@dataclass(frozen=True)
class MaterialValues:
    """A material in numbers or expressions: Young's modulus [Pa], shear modulus [Pa], density [kg/m^3]."""

    youngs_modulus: Any
    shear_modulus: Any
    density: Any

    @property
    def poissons_ratio(self) -> Any:
        """Poisson's ratio of an isotropic material with these moduli [-]."""
        return self.youngs_modulus / (2 * self.shear_modulus) - 1


@dataclass(frozen=True)
class SectionProperties:
    """A section in numbers or expressions of parameters.

    Attributes:
        stiffness: of the six strains (kGA, kGA, EA [N], EI_x, EI_y, GJ [N m^2]).
        coupling: stiffness between shear-x and shear-y [N], and between bend-x and bend-y [N m^2]; zero where the
            section's axes are principal axes.
        mass: per length [kg/m].
        rotary: inertia per length about the section's x, y, z, and its xy entry [kg m].
    """

    stiffness: tuple[Any, ...]
    coupling: tuple[Any, Any]
    mass: Any
    rotary: tuple[Any, Any, Any, Any]

    def entries(self) -> list[Any]:
        """All values in one list."""
        return [*self.stiffness, *self.coupling, self.mass, *self.rotary]

    @classmethod
    def from_entries(cls, numbers: Sequence[Any]) -> SectionProperties:
        """The section with these `entries`."""
        a, b, c, d = numbers[9:13]
        return cls(tuple(numbers[0:6]), (numbers[6], numbers[7]), numbers[8], (a, b, c, d))

    def scaled(self, factors: Sequence[Any]) -> SectionProperties:
        """Copy with the six stiffnesses multiplied by factors, and each coupling by the mean of its two factors."""
        if all(isinstance(factor, int | float) and factor == 1 for factor in factors):
            return self  # expressions are slow to create
        stiffness = tuple(f * k for f, k in zip(factors, self.stiffness, strict=True))
        shear, bend = self.coupling
        coupling = ((factors[0] + factors[1]) / 2 * shear, (factors[3] + factors[4]) / 2 * bend)
        return SectionProperties(stiffness, coupling, self.mass, self.rotary)


class SectionBase(Repeated):
    """A cross-section of a rod, or several along it."""

    needs_material: ClassVar[bool] = True
    """Whether a rod with this section needs a material."""
    is_round: ClassVar[bool] = False
    """Whether it is drawn round."""

    def stations_by_arc_length(self) -> tuple[tuple[Scalar, str], ...]:
        """Arc length and section name of each station, if the section is a table; otherwise empty."""
        return ()


class OneSection(SectionBase):
    """A single cross-section."""

    @abstractmethod
    def properties(self, value: Evaluate, material: MaterialValues | None) -> SectionProperties:
        """Stiffness and inertia per length, as numbers or expressions (`value` evaluates a field)."""

    @abstractmethod
    def half_sizes(self, value: Evaluate) -> tuple[Any, Any]:
        """Half its extent along x and along y [m], for drawings and contacts."""

    def outline(self, value: Evaluate) -> Sequence[tuple[Any, Any]]:
        """Corners of its outline in order, about the axis, x and y of each [m], for contacts; none for round sections."""
        return ()

    def fibres(self, value: Evaluate) -> list[Fibre]:
        """Points of its material about the axis, for integrals over the section in any unit of length; none if its outline is
        unknown."""
        return []

    def bore(self, value: Evaluate) -> Any:
        """Radius of its central hole [m], for drawings."""
        return 0.0


class GeometricSection(OneSection):
    """A section defined by its area and moments; its stiffness and inertia also depend on a material."""

    @abstractmethod
    def total_area(self, value: Evaluate) -> Any:
        """Area of the material [m^2]."""

    @abstractmethod
    def moments(self, value: Evaluate) -> tuple[Any, Any, Any]:
        """Integrals of y^2, x^2 (second moments about x and y) and x y over the section [m^4]."""

    @abstractmethod
    def torsion(self, value: Evaluate) -> Any:
        """Torsion constant [m^4]: torque = shear modulus * torsion constant * twist per length."""

    @abstractmethod
    def shear(self, value: Evaluate, poissons_ratio: Any) -> tuple[Any, Any, Any]:
        """Shear correction factors along x, along y, and between them [-]."""

    def properties(self, value: Evaluate, material: MaterialValues | None) -> SectionProperties:
        """Stiffness and inertia per length of the section in a material."""
        assert material is not None, "checked when the model was read"
        E, G, density = material.youngs_modulus, material.shear_modulus, material.density
        area, (I_x, I_y, I_xy) = self.total_area(value), self.moments(value)
        along_x, along_y, between = self.shear(value, material.poissons_ratio)
        # the strain of a fibre at (x, y) is bend_x y - bend_y x, hence the signs of the products of inertia
        return SectionProperties(
            stiffness=(along_x * G * area, along_y * G * area, E * area, E * I_x, E * I_y, G * self.torsion(value)),
            coupling=(between * G * area, -E * I_xy),
            mass=density * area,
            rotary=(density * I_x, density * I_y, density * (I_x + I_y), -density * I_xy),
        )


class Holes(Part):
    """Round holes of one size along the entire rod."""

    radius: Length
    """Radius of each hole [m]."""
    positions: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=1)]
    """Centres of the holes in the section: x and y of each [m]."""

    def circles(self, value: Evaluate) -> list[tuple[Any, Any, Any]]:
        """Centre x, centre y and radius of each hole [m]."""
        return [(value(x), value(y), value(self.radius)) for x, y in self.positions]


class HoledSection(GeometricSection):
    """A section with round holes."""

    holes: tuple[Holes, ...] = ()
    """Holes along the rod. Except in a polygon they must not shift the centre of the section."""

    @abstractmethod
    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies inside the material's outline."""

    def circles(self, value: Evaluate) -> list[tuple[Any, Any, Any]]:
        """Centre x, centre y and radius of every hole [m]."""
        return [circle for holes in self.holes for circle in holes.circles(value)]

    def hole_fibres(self, value: Evaluate) -> list[Fibre]:
        """Points of the holes, with negative areas."""
        return [(x, y, -area) for circle in self.circles(value) for x, y, area in small_disc(*circle)]

    def hole_problems(self, value: Evaluate) -> Iterator[Problem]:
        """Holes lie inside, apart from each other, and balanced about the centre."""
        for index, holes in enumerate(self.holes):
            if value(holes.radius) <= 0:
                yield ("holes", index, "radius"), f"radius must be above zero, but it is {value(holes.radius):g} m", ""
            for place, (x, y, r) in enumerate(holes.circles(value)):
                if not self.contains(value, x, y, r):
                    text = f"the hole at ({x:g}, {y:g}) m with radius {r:g} m leaves the section"
                    yield ("holes", index, "positions", place), text, "move it inside, or make it smaller"
        if any(r <= 0 for _, _, r in self.circles(value)):
            return
        for (x, y, r), (u, w, s) in combinations(self.circles(value), 2):
            if np.hypot(x - u, y - w) < r + s:
                text = f"the holes at ({x:g}, {y:g}) m and ({u:g}, {w:g}) m overlap"
                yield ("holes",), text, "move them apart, or make them smaller"
                return
        yield from self.balance_problems(value)

    def balance_problems(self, value: Evaluate) -> Iterator[Problem]:
        """The holes leave the centre of area on the rod's axis."""
        circles = self.circles(value)
        if circles:
            moments = [sum(r**2 * c[k] for c in circles for r in c[2:]) for k in (0, 1)]
            size = sum(r**2 * (abs(x) + abs(y) + r) for x, y, r in circles)
            if max(map(abs, moments)) > 1e-6 * size:
                text = "the holes move the centre of the section off the rod's axis"
                yield ("holes",), text, "place them evenly around the centre"


class SectionShape(HoledSection):
    """An outline with holes, which are subtracted from its area and moments."""

    @abstractmethod
    def full_fibres(self, value: Evaluate) -> list[Fibre]:
        """Points of the area inside the outline, holes not subtracted; in any unit of length if there are none."""

    def fibres(self, value: Evaluate) -> list[Fibre]:
        """Points of the material."""
        return self.full_fibres(value) + self.hole_fibres(value)

    @abstractmethod
    def full_area(self, value: Evaluate) -> Any:
        """Area inside the outline [m^2], holes not subtracted."""

    @abstractmethod
    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """Second moments about the section's x and y axes [m^4], holes not subtracted."""

    def full_torsion(self, value: Evaluate) -> Any:
        """Torsion constant [m^4], holes not subtracted; the polar moment for round shapes."""
        return sum(self.full_second_moments(value))

    def total_area(self, value: Evaluate) -> Any:
        """Area of the material [m^2]."""
        return self.full_area(value) - sum(math.pi * r**2 for _, _, r in self.circles(value))

    def moments(self, value: Evaluate) -> tuple[Any, Any, Any]:
        """Integrals of y^2, x^2 and x y over the material [m^4]."""
        about_x, about_y = self.full_second_moments(value)
        product: Any = 0.0
        for x, y, r in self.circles(value):
            about_x = about_x - math.pi * r**2 * (r**2 / 4 + y**2)
            about_y = about_y - math.pi * r**2 * (r**2 / 4 + x**2)
            product = product - math.pi * r**2 * x * y
        return about_x, about_y, product

    def torsion(self, value: Evaluate) -> Any:
        """Torsion constant [m^4]: torque = shear modulus * torsion constant * twist per length.

        The polar moment of holes is subtracted, which is exact for a central hole in a round section and otherwise an estimate.
        """
        lost = sum(math.pi * r**2 * (r**2 / 2 + x**2 + y**2) for x, y, r in self.circles(value))
        return self.full_torsion(value) - lost

    @abstractmethod
    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """Shear correction factor [-], after Cowper (1966) if available."""

    def shear(self, value: Evaluate, poissons_ratio: Any) -> tuple[Any, Any, Any]:
        """The shear factor, equal along both axes."""
        factor = self.shear_factor(value, poissons_ratio)
        return factor, factor, 0.0
