"""Rod model `pcc`: piecewise constant curvature. Arcs in a row with their exact mass, integrated in closed form."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import StrictBool

from pliant.formula.inertia import Inertia
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.motion.base import Vector
from pliant.rod.arc import arc_mass
from pliant.rod.arc_model import ARC_MASS, ArcModel


class Pcc(ArcModel):
    """Piecewise constant curvature: circular arcs in a row, two or three coordinates each, exact mass, for controllers."""

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
    """Whether the turning of slices counts, besides the motion of their centres. The two diameters of a slice that is not
    round count with their mean."""

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Exact mass of an arc."""
        return arc_inertia(coordinates, rotary=self.rotary_inertia)


@cache
def arc_inertia(coordinates: ArcCoordinates, *, rotary: bool) -> Inertia:
    """Mass of an arc on its base and coordinates, with the constants `ARC_MASS`."""

    def mass(pose: Any, z: Any, c: Any) -> Any:
        at = ARC_MASS.read(c)
        slices = (at.diameter, at.tangent) if rotary else (0, 0)
        return arc_mass(z[0:2], at.offset + z[2], at.mass, *slices)

    name = f"arc_{coordinates.name}" + ("" if rotary else "_points")
    return Inertia(name, 1, (Vector(coordinates.size),), ARC_MASS.size, mass, coordinates.matrix)
