"""Rod model `pcc_cog`: piecewise constant curvature with the mass of each arc lumped at its centre of gravity.

Where the exact energy of an arc has the integral of a product, this model has a constant times the product of means: of
positions `int p dx`, and of the columns of `int R dx` for the turning of the slices. With V and w the velocity and angular
velocity of the base, and the dot the change by the arc's own coordinates,

    T = m/2 (|V|^2 + 2 V.(w x p + p') + k1 |w x p|^2 + 2 k2 (w x p).p' + k3 |p'|^2)
        + I/2 sum_i (k4 |w x r_i|^2 + 2 k5 (w x r_i).r_i' + k6 |r_i'|^2),      i = 1, 2.

The six constants serve all arms. `tools/fit_pcc_cog_constants.py` finds them; they are kept in `pcc_cog_constants.json`.
Terms that are linear in a mean need none, so gravity is exact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import casadi as ca

from pliant.formula.inertia import Inertia
from pliant.geometry import so3
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.motion.base import Vector
from pliant.rod.arc import PLANE, ArcIntegrals, arc_integrals, in_plane, mean_position
from pliant.rod.arc_model import ARC_MASS, ArcModel

CONSTANTS_FILE = Path(__file__).with_name("pcc_cog_constants.json")


class PccCog(ArcModel):
    """Piecewise constant curvature with the mass of each arc lumped at its centre of gravity: a published approximation
    of `pcc`, for comparison. It costs as much as the exact mass in closed form does here."""

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

    def mass(pose: Any, z: Any, c: Any) -> Any:
        at = ARC_MASS.read(c)
        return lumped_factors(z[0:2], at.offset + z[2], at.mass, at.diameter, energy_constants())

    name = f"lumped_arc_{coordinates.name}"
    return Inertia(name, 1, (Vector(coordinates.size),), ARC_MASS.size, mass, coordinates.matrix)


def lumped_factors(w: Any, length: Any, mass: Any, rotary: Any, k: Sequence[float]) -> tuple[Any, Any]:
    """J and G of the mass matrix `J' G J` of an arc, 9 x 9, as `arc.arc_mass`; the slices are discs. k: six constants.

    The rows of J are the velocities in the energy: V, w x p and p', then w x r_i and r_i'.
    """
    i = arc_integrals(ca.dot(w, w))
    p, moved = mean_position(w, length, i)
    still, eye = ca.SX(3, 3), ca.SX.eye(3)
    rows = [[eye, still, still], [still, -so3.hat(p), still], [still, still, moved]]
    weights = [mass * ca.SX([[1, 1, 1], [1, k[0], k[1]], [1, k[1], k[2]]])]
    for axis in range(2):
        r, by_w = _mean_column(w, i, axis)
        rows += [[still, -so3.hat(r), still], [still, still, ca.horzcat(by_w, ca.SX(3, 1))]]
        weights.append(rotary * ca.SX([[k[3], k[4]], [k[4], k[5]]]))
    return ca.blockcat(rows), ca.kron(ca.diagcat(*weights), eye)


def _mean_column(w: Any, i: ArcIntegrals, axis: int) -> tuple[Any, Any]:
    """Mean over the arc of a column e of R, `e + c2 w x e + c3 (w (w.e) - s e)`, and its derivative by w (3 x 2)."""
    e, plane = ca.DM.eye(3)[:, axis], in_plane(w)
    across, twice = ca.cross(plane, e), plane * w[axis] - ca.dot(w, w) * e
    by_w = i.beta * (-so3.hat(e) @ PLANE) + i.alpha * (w[axis] * PLANE + plane @ e[0:2].T - 2 * e @ w.T)
    by_w += (i.beta_s * across + i.alpha_s * twice) @ (2 * w.T)
    return e + i.beta * across + i.alpha * twice, by_w
