"""Frequencies of stretching and of twisting of a clamped bar."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{round: {{shape: circle, radius: 1 cm}}}}
materials: {{steel: {{density: 7800, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}}}
rods: {{bar: {{length: 0.5 m, section: round, material: steel, strains: {strain}, model: {{kind: {kind}}}}}}}
"""
KINDS = ("pcs, elements: 24", "gvs, order: 4")


@case(
    "Vibration",
    compared="Two lowest frequencies of stretching and of twisting, in two rod models",
    source="(2 n - 1) c/(4 L) with c = sqrt(E/rho) and sqrt(G/rho): R. D. Blevins, Formulas for Natural Frequency "
    "and Mode Shape (1979), tables 8-16 and 8-19, clamped and free.",
    tolerance=2e-3,
    unit="Hz",
)
def check() -> CaseResult:
    """The rod has only the strain under test."""
    value = [
        [modes(derive(load_text(MODEL.format(strain=strain, kind=kind))), count=2).frequencies for kind in KINDS]
        for strain in ("stretch", "twist")
    ]
    speeds = np.sqrt(np.array([200e9, 200e9 / 2.6]) / 7800)
    return CaseResult(np.array(value), (speeds[:, None] * np.array([1, 3]) / (4 * 0.5))[:, None, :])
