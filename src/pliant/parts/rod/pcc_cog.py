"""Rod model `pcc_cog`: piecewise constant curvature with the mass of each arc lumped at its centre of gravity.

Where the exact energy of an arc contains the integral of a product, this model contains a constant times the product of means: of
positions `int p dx`, and of the columns of `int R dx` for the rotation of the slices. With V and w the velocity and angular
velocity of the base, and the prime the derivative due to the arc's own coordinates,

    T = m/2 (|V|^2 + 2 V.(w x p + p') + k1 |w x p|^2 + 2 k2 (w x p).p' + k3 |p'|^2)
        + I/2 sum_i (k4 |w x r_i|^2 + 2 k5 (w x r_i).r_i' + k6 |r_i'|^2),      i = 1, 2.

The six constants apply to all arms. `tools/fit_pcc_cog_constants.py` computes them; they are stored in `pcc_cog_constants.json`.
Terms that are linear in a mean need no constant, so gravity is exact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pliant.parts.formula.inertia import Inertia
from pliant.parts.motion.arc_coordinates import ArcCoordinates
from pliant.parts.rod.arc import FORM, ArcEnergy, Energy
from pliant.parts.rod.pcc import ArcModel, energy_inertia

CONSTANTS_FILE = Path(__file__).with_name("pcc_cog_constants.json")


class PccCog(ArcModel):
    """Piecewise constant curvature with the mass of each arc lumped at its centre of gravity: a published approximation
    of `pcc`, for comparison. It costs as much as the exact mass in closed form."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  tube: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
materials:
  silicone: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.48}
rods:
  arm:
    length: 15 cm
    section: tube
    material: silicone
    chambers:
      first: {force: 1 N, positions: [[10 mm, 0]]}
    model: {kind: pcc_cog, coordinates: muscles, muscle_radius: 10 mm, names: [l11, l12, l13]}
"""

    kind: Literal["pcc_cog"] = "pcc_cog"

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Lumped mass of an arc."""
        return lumped_inertia(coordinates)


@cache
def energy_constants() -> tuple[float, ...]:
    """The six constants [-]."""
    return tuple(json.loads(CONSTANTS_FILE.read_text(encoding="utf-8"))["constants"])


@cache
def lumped_inertia(coordinates: ArcCoordinates) -> Inertia:
    """Mass of an arc on its base and coordinates; the constants are `ARC_MASS`."""
    return energy_inertia(f"lumped_arc_{coordinates.name}", coordinates, lumped_energy(energy_constants()))


@cache
def lumped_energy(k: tuple[float, ...]) -> Energy:
    """Energy with the six constants k; the slices are discs.

    The centre is `L p` with `p = a b + d e3`, and the mean columns of R are `e_i - b_i p`.
    """

    def energy(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
        a, d = c[3], c[2]
        a_s, d_s = (3 * c[5] - c[4]) / 2, (2 * c[4] - c[3]) / 2
        square, square_s = a * a * s + d * d, a * a + 2 * (a * a_s * s + d * d_s)
        rates, twist = 4 * (a * a_s + a_s * a_s * s + d_s * d_s), 2 * (a * d_s - d * a_s)
        mass = FORM.write(
            t0=k[0] * square, t1=-k[0] * a * a, t2=-k[0] * a * d, t3=-k[0] * d * d,
            k1=k[1] * a * a, k2=k[1] * a * d, k3=-k[1] * twist, k4=0, f1=k[2] * a * a, f2=k[2] * rates,
        )  # fmt: skip
        less = a * (2 - a * s)
        discs = FORM.write(
            t0=k[3] * (1 - less * s + d * d * s), t1=k[3] * less, t2=k[3] * d * (1 - a * s), t3=k[3] * (1 - d * d * s),
            k1=k[4] * s * a * a, k2=k[4] * d * (1 + a * s), k3=k[4] * (2 * d_s - s * twist), k4=0,
            f1=k[5] * (square + s * a * a), f2=k[5] * (2 * square_s + s * rates),
        )  # fmt: skip
        return ArcEnergy(mass, [inertia[0] * x for x in discs], a, d, k[2] * square)

    return energy
