"""Thick cantilever that bends and shears under small loads."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {tip: 0 N, inside: 0 N, spread: 0 N/m}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, shear_modulus: 0.4 MPa}}
rods: {arm: {length: 10 cm, section: round, material: rubber, frames: {inside: 4 cm}}}
loads:
  tip: {frame: arm.tip, force: [=tip, 0, 0]}
  inside: {frame: arm.inside, force: [=inside, 0, 0]}
  spread: {type: distributed, rod: arm, force: [=spread, 0, 0]}
"""
WORDS = ("cosserat:40", "finite_element", "timoshenko")


def exact() -> tuple[float, float, float]:
    """Deflection of the tip [m] under 1 mN at the tip, at 4 cm, and distributed along it."""
    L, a, E, G, r, F = 0.1, 0.04, 1e6, 0.4e6, 0.02, 1e-3
    nu = E / (2 * G) - 1
    EI, GA = E * np.pi / 4 * r**4, 6 * (1 + nu) / (7 + 6 * nu) * G * np.pi * r**2
    tip = F * L**3 / (3 * EI) + F * L / GA
    inside = F * a**3 / (3 * EI) + F * a / GA + F * a**2 / (2 * EI) * (L - a)
    return tip, inside, F * L**3 / (8 * EI) + F * L / (2 * GA)


@case(
    "Statics",
    compared="Deflection of the tip under a force there, a force within the rod, and a load along it; shear makes a "
    "tenth to a fifth",
    source="P L^3 / (3 EI) + P L / (k G A) and alike: S. P. Timoshenko, Phil. Mag. 41 (1921) 744-746; shear "
    "coefficient k = 6 (1 + nu)/(7 + 6 nu) of a circle: G. R. Cowper, J. Applied Mechanics 33 (1966) 335-340, "
    "table 1.",
    tolerance=4e-3,  # distributed loads act at the middle of pieces
    unit="m",
)
def check() -> CaseResult:
    """1 mN in each case, so that theories of small displacements apply."""
    loads = ({"tip": 1e-3}, {"inside": 1e-3}, {"spread": 1e-2})
    value = [
        [equilibrium(eqs, parameters=load).frames["arm.tip"].position[0] for load in loads]
        for _, eqs in in_models(load_text(MODEL), "arm", WORDS)
    ]
    return CaseResult(np.array(value), exact())
