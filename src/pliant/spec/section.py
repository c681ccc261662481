"""Cross-sections of rods: shapes with holes, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from pliant.spec.base import ByType, Part, Problem, positive
from pliant.spec.evaluate import evaluate
from pliant.spec.scalar import Length, Scalar
from pliant.spec.syntax import Call, Symbol

Evaluate: TypeAlias = Callable[[Scalar], Any]


class Holes(Part):
    """Round holes of one size, running along the whole rod."""

    radius: Length
    """Radius of each hole [m]."""
    positions: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=1)]
    """Centres of the holes in the section: x and y of each [m]."""

    def circles(self, value: Evaluate) -> list[tuple[Any, Any, Any]]:
        """Centre x, centre y and radius of each hole [m]."""
        return [(value(x), value(y), value(self.radius)) for x, y in self.positions]


class SectionShape(Part):
    """What every section can tell: areas and moments, as numbers or expressions (`value` evaluates a field)."""

    holes: tuple[Holes, ...] = ()
    """Holes along the rod; they must leave the section's centre where it is."""

    def full_area(self, value: Evaluate) -> Any:
        """Area inside the outline [m^2], holes not subtracted."""
        raise NotImplementedError(f"{type(self).__name__} does not know its area")

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """Second moments about the section's x and y axes [m^4], holes not subtracted."""
        raise NotImplementedError(f"{type(self).__name__} does not know its second moments")

    def full_torsion(self, value: Evaluate) -> Any:
        """Torsion constant [m^4], holes not subtracted; the polar moment for round shapes."""
        return sum(self.full_second_moments(value))

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Whether a circle lies inside the material's outline."""
        raise NotImplementedError(f"{type(self).__name__} does not know its outline")

    def circles(self, value: Evaluate) -> list[tuple[Any, Any, Any]]:
        """Centre x, centre y and radius of every hole [m]."""
        return [circle for holes in self.holes for circle in holes.circles(value)]

    def area(self, value: Evaluate) -> Any:
        """Area of the material [m^2]."""
        return self.full_area(value) - sum(math.pi * r**2 for _, _, r in self.circles(value))

    def second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """Second moments of the material about the section's x and y axes [m^4]."""
        about_x, about_y = self.full_second_moments(value)
        for x, y, r in self.circles(value):
            about_x = about_x - math.pi * r**2 * (r**2 / 4 + y**2)
            about_y = about_y - math.pi * r**2 * (r**2 / 4 + x**2)
        return about_x, about_y

    def torsion(self, value: Evaluate) -> Any:
        """Torsion constant [m^4]: torque = shear modulus * torsion constant * twist per length.

        Holes take away their polar moment, which is exact for a central hole in a round section and otherwise an estimate.
        """
        lost = sum(math.pi * r**2 * (r**2 / 2 + x**2 + y**2) for x, y, r in self.circles(value))
        return self.full_torsion(value) - lost

    def hole_problems(self, value: Evaluate) -> Iterator[Problem]:
        """Holes lie inside, apart from each other, and balanced about the centre."""
        for index, holes in enumerate(self.holes):
            if value(holes.radius) <= 0:
                yield ("holes", index, "radius"), f"radius must be above zero, but it is {value(holes.radius):g} m", ""
            for place, (x, y, r) in enumerate(holes.circles(value)):
                if not self.contains(value, x, y, r):
                    text = f"the hole at ({x:g}, {y:g}) m with radius {r:g} m leaves the section"
                    yield ("holes", index, "positions", place), text, "move it inside, or make it smaller"
        for (x, y, r), (u, w, s) in combinations(self.circles(value), 2):
            if math.hypot(x - u, y - w) < r + s:
                text = f"the holes at ({x:g}, {y:g}) m and ({u:g}, {w:g}) m overlap"
                yield ("holes",), text, "move them apart, or make them smaller"
                return
        circles = self.circles(value)
        if circles:
            moments = [sum(r**2 * c[k] for c in circles for r in c[2:]) for k in (0, 1)]
            size = sum(r**2 * (abs(x) + abs(y) + r) for x, y, r in circles)
            if max(map(abs, moments)) > 1e-6 * size:
                text = "the holes move the centre of the section off the rod's axis"
                yield ("holes",), text, "place them evenly around the centre"

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """Share of the area that carries shear [-], after Cowper (1966) where he gives it."""
        raise NotImplementedError(f"{type(self).__name__} does not know its shear factor")


class Circle(SectionShape):
    """A full circle."""

    shape: Literal["circle"] = "circle"
    radius: Length
    """Radius [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "radius")
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Inside the circle."""
        return math.hypot(x, y) + radius < value(self.radius)

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


class Annulus(SectionShape):
    """A circular ring."""

    shape: Literal["annulus"] = "annulus"
    outer_radius: Length
    """Outer radius [m]."""
    inner_radius: Length
    """Inner radius, smaller than the outer one [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "outer_radius")
        if not 0 <= value(self.inner_radius) < value(self.outer_radius):
            text = f"inner_radius must be between 0 and outer_radius, but it is {value(self.inner_radius):g} m"
            yield ("inner_radius",), text, ""
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Between the circles."""
        away = math.hypot(x, y)
        return away + radius < value(self.outer_radius) and away - radius > value(self.inner_radius)

    def full_area(self, value: Evaluate) -> Any:
        """pi (R^2 - r^2) [m^2]."""
        return math.pi * (value(self.outer_radius) ** 2 - value(self.inner_radius) ** 2)

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """pi (R^4 - r^4) / 4 about both axes [m^4]."""
        moment = math.pi * (value(self.outer_radius) ** 4 - value(self.inner_radius) ** 4) / 4
        return moment, moment

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """Between that of a circle and one half, by the ratio of the radii [-]."""
        nu, ratio = poissons_ratio, (value(self.inner_radius) / value(self.outer_radius)) ** 2
        full = (1 + ratio) ** 2
        return 6 * (1 + nu) * full / ((7 + 6 * nu) * full + (20 + 12 * nu) * ratio)


class Rectangle(SectionShape):
    """A full rectangle."""

    shape: Literal["rectangle"] = "rectangle"
    width: Length
    """Edge along the section's x axis [m]."""
    height: Length
    """Edge along the section's y axis [m]."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "width", "height")
        yield from self.hole_problems(value)

    def contains(self, value: Evaluate, x: float, y: float, radius: float) -> bool:
        """Inside the rectangle."""
        return abs(x) + radius < value(self.width) / 2 and abs(y) + radius < value(self.height) / 2

    def full_area(self, value: Evaluate) -> Any:
        """Width times height [m^2]."""
        return value(self.width) * value(self.height)

    def full_second_moments(self, value: Evaluate) -> tuple[Any, Any]:
        """About x: width height^3 / 12, about y: height width^3 / 12 [m^4]."""
        width, height = value(self.width), value(self.height)
        return width * height**3 / 12, height * width**3 / 12

    def full_torsion(self, value: Evaluate) -> Any:
        """Saint-Venant's constant by its series [m^4], exact to 1e-6 for any proportion."""
        # with a the shorter edge, J = a^3 b (1/3 - 64 a / (pi^5 b) sum tanh(n pi b / 2a) / n^5)
        width, height = value(self.width), value(self.height)
        short, long = _smaller(width, height), _larger(width, height)
        total = sum(_tanh(n * math.pi * long / (2 * short)) / n**5 for n in (1, 3, 5, 7))
        return short**3 * long * (1 / 3 - 64 * short / (math.pi**5 * long) * total)

    def shear_factor(self, value: Evaluate, poissons_ratio: Any) -> Any:
        """10 (1 + nu) / (12 + 11 nu) [-]."""
        return 10 * (1 + poissons_ratio) / (12 + 11 * poissons_ratio)


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


Section: TypeAlias = Annotated[Circle | Annulus | Rectangle, ByType("section", key="shape")]
