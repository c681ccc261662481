"""Rod bent to an arc by a tendon parallel to its axis."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods: {arm: {length: 0.3 m, section: round, material: rubber}}
tendons: {pull: {type: tension, through: [{rod: arm, offset: [4 mm, 0], eyelets: 61}], tension: 0.3 N}}
"""
WORDS = ("pcs:6", "cosserat:60", "finite_element:60", "gvs:1", "pcc:1")


@case(
    "Statics",
    compared="Place of the tip, bent by 42 degrees, in five rod models",
    source="A tendon at the distance d bends with T d and compresses with T: curvature T d/EI, stretch -T/EA. D. C. "
    "Rucker and R. J. Webster, Statics and dynamics of continuum robots with general tendon routing, IEEE "
    "Trans. Robotics 27 (2011) 1033-1044.",
    tolerance=1e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """Sixty-one eyelets guide the tendon along the rod."""
    bend, stretch = 0.3 * 0.004 / (1e6 * np.pi / 4 * 0.005**4), -0.3 / (1e6 * np.pi * 0.005**2)
    angle, radius = 0.3 * bend, (1 + stretch) / bend
    value = [
        equilibrium(eqs).frames["arm.tip"].position[[0, 2]] for _, eqs in in_models(load_text(MODEL), "arm", WORDS)
    ]
    return CaseResult(np.array(value), (radius * (1 - np.cos(angle)), radius * np.sin(angle)))
