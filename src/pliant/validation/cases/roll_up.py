"""Cantilever rolled up to a circle by a moment at its tip."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import BENDING, SLENDER, cantilevers

WORDS = ("pcs:8", "cosserat:8", "finite_element:3", "pcc:1")
TURNS = (0.3, 1.0)


@case(
    "Statics",
    compared="Place of the tip [m] and its direction, after 0.3 turns and one turn, in four rod models",
    source="A moment M bends a rod to an arc of the curvature M/EI: J. C. Simo and L. Vu-Quoc, A three-dimensional "
    "finite-strain rod model, part II, Comput. Methods Appl. Mech. Eng. 58 (1986) 79-116, section 5.1 (pure "
    "bending of a cantilever).",
    tolerance=1e-6,
    measure="absolute",
)
def check() -> CaseResult:
    """The moment has no potential in space, where the rolled-up rod flutters: any equilibrium is accepted, stable or not."""
    value, reference = [], []
    for _, eqs in cantilevers(WORDS):
        for turns in TURNS:
            angle = 2 * np.pi * turns
            parameters = {**SLENDER, "tip_moment": angle * BENDING}
            tip = equilibrium(eqs, parameters=parameters, stability="any").frames["rod.tip"]
            value.append((*tip.position[[0, 2]], *tip.rotation[[0, 2], 2]))
            s, c = np.sin(angle), np.cos(angle)
            reference.append((s / angle, (1 - c) / angle, c, s))
    return CaseResult(np.array(value), np.array(reference))
