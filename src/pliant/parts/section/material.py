"""Materials: laws of stress and strain of fibres, and their integration over a section."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from pliant.language.base import Problem, fault, positive
from pliant.language.scalar import Density, Number, Pressure, Repeated, Scalar

Value = Callable[[Any], Any]


@dataclass(frozen=True)
class FibreLaw:
    """An incompressible, isotropic solid in uniaxial stretch, per small-strain modulus.

    The section's energy follows from `energy` and `shear` by differentiation (`rod.section_law`). Both are functions of the
    stretch x, the present length over the undeformed one, and of the law's numbers c; they are scaled by the small-strain
    moduli, so near x = 1 `energy` is (x - 1)^2 / 2 and `shear` is 1. They are related: in every isotropic,
    incompressible solid `3 energy'(x) = shear(x) (x - 1/x^2)`.

    Attributes:
        energy: stored energy per undeformed volume over Young's modulus [-].
        shear: modulus of a small shear of the stretched solid over the shear modulus [-].
        key: field of the material with the law's numbers; empty if it has none.
        size: how many numbers there are.
        numbers: the numbers, from that field and a function that evaluates a value.
        problems: the problems of that field, from the same arguments.
        room: a function that is positive where the law is valid, in addition to a positive stretch; None for laws without limit.
    """

    energy: Callable[[Any, Any], Any]
    shear: Callable[[Any, Any], Any]
    key: str = ""
    size: int = 0
    numbers: Callable[[Any, Value], list[Any]] = lambda given, value: []
    problems: Callable[[Any, Value], Iterator[Problem]] = lambda given, value: iter(())
    room: Callable[[Any, Any], Any] | None = None

    def numbers_of(self, material: Any, value: Value) -> list[Any]:
        """The law's numbers from a material, which must give them."""
        return self.numbers(getattr(material, self.key), value) if self.key else []

    def within(self, x: Any, c: Any) -> Any:
        """The stretch if the law is valid, otherwise NaN: solvers then take a shorter step."""
        inside = x > 0
        if self.room is not None:
            inside = ca.logic_and(inside, self.room(x, c) > 0)
        return x * ca.if_else(inside, 1.0, ca.SX(float("nan")))


def first_invariant(x: Any) -> Any:
    """I1 of an incompressible solid in uniaxial stretch x."""
    return x**2 + 2 / x


def second_invariant(x: Any) -> Any:
    """I2 of an incompressible solid in uniaxial stretch x."""
    return 2 * x + 1 / x**2


def _gent_room(x: Any, c: Any) -> Any:
    """Fraction of the limit that is left."""
    return 1 - (first_invariant(x) - 3) / c[0]


def _gent_problems(limit: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not value(limit) > 0:
        yield (
            (),
            f"gent_limit must be above zero, but it is {value(limit):g}",
            "rubber has 30 to 100, soft tissue about 1",
        )


GENT = FibreLaw(
    energy=lambda x, c: -c[0] / 6 * ca.log(_gent_room(x, c)),
    shear=lambda x, c: 1 / _gent_room(x, c),
    key="gent_limit",
    size=1,
    numbers=lambda limit, value: [value(limit)],
    problems=_gent_problems,
    room=_gent_room,
)
"""Gent's solid, with chains of limited extensibility: W = -E/6 J ln(1 - (I1 - 3) / J)."""


def _mooney_energy(x: Any, c: Any) -> Any:
    return ((1 - c[0]) * (first_invariant(x) - 3) + c[0] * (second_invariant(x) - 3)) / 6


def _mooney_problems(ratio: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not 0 <= value(ratio) <= 1:
        text = f"mooney_ratio must be from 0 to 1, but it is {value(ratio):g}"
        yield (), text, "it is C2 / (C1 + C2); 0 is the neo-Hookean law"


MOONEY_RIVLIN = FibreLaw(
    energy=_mooney_energy,
    shear=lambda x, c: 1 - c[0] + c[0] / x,
    key="mooney_ratio",
    size=1,
    numbers=lambda ratio, value: [value(ratio)],
    problems=_mooney_problems,
)
"""Mooney-Rivlin solid: W = C1 (I1 - 3) + C2 (I2 - 3), with E = 6 (C1 + C2) and the ratio r = C2 / (C1 + C2)."""


NEO_HOOKEAN = FibreLaw(energy=lambda x, c: (first_invariant(x) - 3) / 6, shear=lambda x, c: 1.0)


MOST_TERMS = 3


def _ogden_energy(x: Any, c: Any) -> Any:
    terms = (c[2 * k] / c[2 * k + 1] ** 2 * _stretched(x, c[2 * k + 1]) for k in range(MOST_TERMS))
    return 2 / 3 * sum(terms)


def _stretched(x: Any, a: Any) -> Any:
    return ca.power(x, a) + 2 * ca.power(x, -a / 2) - 3


def _ogden_shear(x: Any, c: Any) -> Any:
    # (x^a - x^(-a/2)) / (x^2 - 1/x) 2/a, written without 0/0 at x = 1
    log = ca.log(x)
    total = 0
    for k in range(MOST_TERMS):
        share, a = c[2 * k], c[2 * k + 1]
        total += share * ca.power(x, a / 4 - 0.5) * _sinhc(0.75 * a * log) / _sinhc(1.5 * log)
    return total


def _sinhc(y: Any) -> Any:
    """sinh(y) / y."""
    square = y * y
    series = 1 + square / 6 * (1 + square / 20 * (1 + square / 42 * (1 + square / 72)))
    small = square < 0.01
    safe = ca.if_else(small, 1.0, y)
    return ca.if_else(small, series, ca.sinh(safe) / safe)


def _ogden_numbers(terms: Sequence[Sequence[Any]], value: Callable[[Any], Any]) -> list[Any]:
    """Share and exponent of each term; missing terms have share 0."""
    missing = [(0.0, 2.0)] * (MOST_TERMS - len(terms))
    return [value(number) for term in (*terms, *missing) for number in term]


def _ogden_problems(terms: Sequence[Sequence[Any]], value: Callable[[Any], float]) -> Iterator[Problem]:
    for k, (_, exponent) in enumerate(terms):
        if value(exponent) == 0:
            yield (k, 1), "the exponent of an Ogden term cannot be zero", ""
    total = sum(value(share) for share, _ in terms)
    if abs(total - 1) > 1e-6:
        text = f"the shares of the Ogden terms add up to {total:g}, not to 1"
        hint = "with constants mu and a: youngs_modulus is 1.5 sum(mu a), and the share of a term mu a / sum(mu a)"
        yield (), text, hint


OGDEN = FibreLaw(
    energy=_ogden_energy,
    shear=_ogden_shear,
    key="ogden_terms",
    size=2 * MOST_TERMS,
    numbers=_ogden_numbers,
    problems=_ogden_problems,
)
"""Ogden's solid: W = sum of mu_p / a_p (x^a_p + 2 x^(-a_p / 2) - 3), with E = 3/2 sum mu_p a_p.

Each term is given by its share mu_p a_p / sum(mu a) of the small-strain modulus, and its exponent a_p.
"""


FIBRE_LAWS: dict[str, FibreLaw] = {
    "neo_hookean": NEO_HOOKEAN,
    "mooney_rivlin": MOONEY_RIVLIN,
    "gent": GENT,
    "ogden": OGDEN,
}
"""The laws by their keyword."""


OgdenTerms: TypeAlias = Annotated[tuple[tuple[Number, Number], ...], Field(min_length=1, max_length=3)]


class Material(Repeated):
    """An isotropic material. Give only what is needed: a rigid body uses only the density."""

    density: Density | None = None
    """Mass per volume [kg/m^3]."""
    youngs_modulus: Pressure | None = None
    """Young's modulus [Pa]."""
    poissons_ratio: Number | None = None
    """Poisson's ratio, above -1 up to 0.5 [-]; gives the shear modulus."""
    shear_modulus: Pressure | None = None
    """Shear modulus [Pa]; default: from Young's modulus and Poisson's ratio."""
    gent_limit: Number | None = None
    """Gent's law: the largest value of I1 - 3, at which its chains are fully stretched [-]. In uniaxial stretch x, I1 - 3
    is x^2 + 2/x - 3."""
    mooney_ratio: Number | None = None
    """Mooney-Rivlin law: C2 / (C1 + C2), from 0 to 1 [-]; Young's modulus is 6 (C1 + C2)."""
    ogden_terms: OgdenTerms | None = None
    """Ogden's law: share and exponent of each of up to three terms [-, -]. With constants mu and a, Young's modulus
    is 1.5 sum(mu a), and the share of a term is mu a / sum(mu a)."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
materials:
  silicone: {density: 1070 kg/m^3, youngs_modulus: 205 kPa, poissons_ratio: 0.49}
bodies:
  finger: {shape: {type: cylinder, radius: 1 cm, length: 8 cm}, material: silicone}
joints:
  knuckle: {type: revolute, child: finger, axis: y}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Moduli and density are above zero, Poisson's ratio is above -1 and at most 0.5."""
        yield from positive(self, value, "density", "youngs_modulus", "shear_modulus")
        if self.poissons_ratio is not None and not -1 < value(self.poissons_ratio) <= 0.5:
            text = f"poissons_ratio must be above -1 and up to 0.5, but it is {value(self.poissons_ratio):g}"
            yield ("poissons_ratio",), text, ""
        for law in FIBRE_LAWS.values():
            given = getattr(self, law.key) if law.key else None
            if given is not None:
                yield from (((law.key, *path), text, hint) for path, text, hint in law.problems(given, value))

    @model_validator(mode="after")
    def _one_shear_law(self) -> Self:
        if self.poissons_ratio is not None and self.shear_modulus is not None:
            message = "poissons_ratio and shear_modulus are redundant"
            raise fault("overdetermined", message, hint="keep one of them", key="shear_modulus")
        return self


Fibre = tuple[Any, Any, Any]
"""x, y [m] and area [m^2]; numbers or expressions. The area of holes is negative."""

DIRECTIONS = 10
"""Directions of the points on a circle: exact for degree 9."""


def disc(x: Any, y: Any, radius: Any) -> list[Fibre]:
    """A disc: its centre and two circles, at the points of Gauss-Radau in the squared radius."""
    area, root = math.pi * radius**2, math.sqrt(6)
    disc = [(x, y, area / 9)]
    for k, (share, weight) in enumerate((((6 - root) / 10, (16 + root) / 36), ((6 + root) / 10, (16 - root) / 36))):
        disc += _circle(x, y, radius * math.sqrt(share), area * weight, 0.5 * k)
    return disc


def small_disc(x: Any, y: Any, radius: Any) -> list[Fibre]:
    """A disc that is small in its section: the centre and six points (degree 5)."""
    area = math.pi * radius**2
    return [(x, y, area / 4), *_circle(x, y, radius * math.sqrt(2 / 3), 0.75 * area, 0.0, 6)]


def ring(outer: Any, inner: Any) -> list[Fibre]:
    """A ring about the axis: three circles, at the points of Gauss in the squared radius."""
    ring = []
    for k, (point, weight) in enumerate(zip(*_gauss(3), strict=True)):
        square = inner**2 + (outer**2 - inner**2) * (1 + point) / 2
        ring += _circle(0.0, 0.0, square**0.5, math.pi * (outer**2 - inner**2) * weight / 2, 0.5 * (k % 2))
    return ring


def rectangle(width: Any, height: Any) -> list[Fibre]:
    """A rectangle about the axis: five by five points."""
    points = list(zip(*_gauss(5), strict=True))
    return [(width / 2 * a, height / 2 * b, width * height / 4 * u * w) for a, u in points for b, w in points]


def polygon(corners: Sequence[tuple[Any, Any]]) -> list[Fibre]:
    """A polygon about the axis, in either direction: triangles between the axis and its edges, of negative area where the outline
    runs back; all points lie between the outermost corners."""
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    total = sum(a * d - b * c for (a, b), (c, d) in edges)
    sign = total / (total * total) ** 0.5
    polygon = []
    for (a, b), (c, d) in edges:
        area = sign * (a * d - b * c) / 2
        polygon += [(u * a + w * c, u * b + w * d, area * weight) for u, w, weight in TRIANGLE]
    return polygon


def standardized(fibres: Sequence[Fibre]) -> list[Any]:
    """x and y of all fibres over the radii of gyration, and their shares of the area, in one list."""
    x, y, area = ([fibre[k] for fibre in fibres] for k in range(3))
    total = sum(area)
    x_size = (sum(w * u**2 for u, w in zip(x, area, strict=True)) / total) ** 0.5
    y_size = (sum(w * u**2 for u, w in zip(y, area, strict=True)) / total) ** 0.5
    return [*(u / x_size for u in x), *(u / y_size for u in y), *(w / total for w in area)]


def _circle(x: Any, y: Any, radius: Any, area: Any, turned: float, count: int = DIRECTIONS) -> list[Fibre]:
    angles = [2 * math.pi * (k + turned) / count for k in range(count)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle), area / count) for angle in angles]


def _gauss(count: int) -> tuple[list[float], list[float]]:
    points, weights = np.polynomial.legendre.leggauss(count)
    return points.tolist(), weights.tolist()


def _triangle() -> list[tuple[float, float, float]]:
    """Radon's seven points of a triangle with a corner at the origin: fractions of the other two corners, and weights."""
    triangle, root = [(1 / 3, 1 / 3, 9 / 40)], math.sqrt(15)
    for side, weight in (((6 - root) / 21, (155 - root) / 1200), ((6 + root) / 21, (155 + root) / 1200)):
        triangle += [(side, side, weight), (side, 1 - 2 * side, weight), (1 - 2 * side, side, weight)]
    return triangle


TRIANGLE = _triangle()
