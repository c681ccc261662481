"""Rod model `pcc`: piecewise constant curvature. Arcs in series with their exact mass, integrated in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import StrictBool

from pliant.formula.inertia import Inertia
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.rod.arc import arc_integrals
from pliant.rod.arc_energy import FORM, ArcEnergy
from pliant.rod.arc_model import ArcModel, energy_inertia


class Pcc(ArcModel):
    """Piecewise constant curvature: a series of circular arcs, two or three coordinates each, exact mass, for controllers."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  tube: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
materials:
  silicone: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: tube, material: silicone, model: {kind: pcc, sections: 2}}
outputs:
  angle: {rod: arm, section: 2, quantity: angle}
"""

    kind: Literal["pcc"] = "pcc"
    rotary_inertia: StrictBool = True
    """Whether to include the rotary inertia of slices, in addition to the motion of their centres. For a slice that
    is not round the mean of its two diameters is used."""

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Exact mass of an arc."""
        return arc_inertia(coordinates, rotary=self.rotary_inertia)


@cache
def arc_inertia(coordinates: ArcCoordinates, *, rotary: bool) -> Inertia:
    """Mass of an arc on its base and coordinates, with the constants `ARC_MASS`."""
    name = f"arc_{coordinates.name}" + ("" if rotary else "_points")
    return energy_inertia(name, coordinates, exact_energy if rotary else exact_energy_of_points)


def exact_energy(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """Energy of uniform mass along the arc."""
    i, about_diameter, excess = arc_integrals(s, c), inertia[0], inertia[1] - inertia[0]
    mass = FORM.write(
        t0=2 * i.alpha, t1=-i.alpha_alpha, t2=-i.alpha_beta, t3=-i.beta_beta,
        k1=i.alpha_alpha, k2=i.alpha_beta, k3=-2 * i.alpha_beta_s, k4=0, f1=i.alpha_alpha, f2=i.gamma_gamma,
    )  # fmt: skip
    slices = FORM.write(
        t0=about_diameter, t1=excess * i.beta_beta, t2=excess * i.c_beta, t3=excess * i.c_c,
        k1=about_diameter * i.alpha - excess * i.c_alpha, k2=about_diameter * i.beta, k3=about_diameter * i.gamma,
        k4=excess * i.alpha_beta, f1=2 * about_diameter * i.alpha + excess * s * i.alpha_alpha,
        f2=2 * about_diameter * i.kappa - excess * i.alpha_alpha,
    )  # fmt: skip
    return ArcEnergy(mass, slices, i.alpha, i.beta, 2 * i.alpha)


def exact_energy_of_points(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """The same without the rotation of slices."""
    return replace(exact_energy(s, c, inertia), slices=[0.0] * FORM.size)
