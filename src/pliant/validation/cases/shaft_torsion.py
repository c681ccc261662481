"""Shaft twisted by a torque at its end."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 100 kPa, poissons_ratio: 0.25}}
rods: {shaft: {length: 40 cm, section: round, material: rubber}}
loads: {twist: {frame: shaft.tip, moment: [0, 0, 0.02 N*m]}}
"""
WORDS = ("pcs:6", "cosserat:6", "finite_element:6", "pseudo_rigid:6", "polynomial:3", "timoshenko:6", "gvs:1")


@case(
    "Statics",
    compared="Angle of the tip, in seven rod models",
    source="C.-A. de Coulomb (1784); T L / (G J) in S. P. Timoshenko, Strength of Materials, part I, 3rd ed. (1955), "
    "section 61.",
    tolerance=1e-3,
    unit="rad",
)
def check() -> CaseResult:
    """A torque that twists the soft shaft by about four fifths of a radian."""
    value = []
    for _, eqs in in_models(load_text(MODEL), "shaft", WORDS):
        R = equilibrium(eqs, stability="any").frames["shaft.tip"].rotation
        value.append(np.arctan2(R[1, 0], R[0, 0]))
    return CaseResult(value, 0.02 * 0.4 / (40e3 * np.pi / 2 * 0.02**4))
