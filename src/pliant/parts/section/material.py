"""Reusable materials, referred to by name; cross-sections are in `pliant.parts.section`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Self, TypeAlias

from pydantic import Field, model_validator

from pliant.language.base import Problem, fault, positive
from pliant.language.repeated import Repeated
from pliant.language.scalar import Density, Number, Pressure, Scalar
from pliant.parts.section.fibre_law import FIBRE_LAWS

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
