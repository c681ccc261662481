"""Bar stretched by its own weight and by a mass at its end."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 100 kPa, poissons_ratio: 0.25}}
rods: {bar: {rotation: [{axis: x, angle: 180 deg}], length: 40 cm, section: round, material: rubber}}
bodies: {weight: {mass: 0.1 kg}}
joints: {hook: {type: weld, parent: bar.tip, child: weight}}
"""
WORDS = ("pcs:6", "cosserat:6", "finite_element:6", "pseudo_rigid:6", "polynomial:3", "timoshenko:6", "gvs:1")


@case(
    "Statics",
    compared="Elongation of the bar, in seven rod models",
    source="m g L / (E A) + rho g L^2 / (2 E): S. P. Timoshenko, Strength of Materials, part I, 3rd ed. (1955), "
    "section 5.",
    tolerance=1e-6,
    unit="m",
)
def check() -> CaseResult:
    """Equilibria."""
    value = [
        -equilibrium(eqs).frames["bar.tip"].position[2] - 0.4 for _, eqs in in_models(load_text(MODEL), "bar", WORDS)
    ]
    return CaseResult(value, 0.1 * 9.81 * 0.4 / (100e3 * np.pi * 0.02**2) + 1000 * 9.81 * 0.4**2 / (2 * 100e3))
