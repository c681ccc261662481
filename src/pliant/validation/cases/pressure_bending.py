"""Rod bent to an arc by the pressure in a chamber off its axis."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm:
    length: 0.4 m
    section: strip
    material: rubber
    chambers: {one: {pressure: 80 kPa, radius: 4 mm, positions: [[8 mm, 0]]}}
"""
WORDS = ("pcs:3", "cosserat:4", "finite_element:3", "pcc:1", "gvs:1")


@case(
    "Statics",
    compared="Place of the tip and its direction, in five rod models",
    source="A chamber of area A at the distance d pushes with p A and bends with p A d: stretch p A/(E A_s), "
    "curvature p A d/(E I), an arc of a circle. J. Fras et al., New STIFF-FLOP module construction idea, IEEE "
    "ICRA 2015.",
    tolerance=1e-6,
    measure="absolute",
)
def check() -> CaseResult:
    """Equilibria without weight."""
    push, area, inertia = 80e3 * np.pi * 0.004**2, 0.03 * 0.02, 0.02 * 0.03**3 / 12
    stretch, bend = push / (1e6 * area), push * 0.008 / (1e6 * inertia)
    angle, radius = 0.4 * bend, (1 + stretch) / bend
    value = []
    for _, eqs in in_models(load_text(MODEL), "arm", WORDS):
        tip = equilibrium(eqs).frames["arm.tip"]
        value.append((*tip.position[[0, 2]], *tip.rotation[[0, 2], 2]))
    # the chamber is on the +x side and bends the arm away from it
    exact = (-radius * (1 - np.cos(angle)), radius * np.sin(angle), -np.sin(angle), np.cos(angle))
    return CaseResult(np.array(value), exact)
