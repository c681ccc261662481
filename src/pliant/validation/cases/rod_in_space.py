"""Thick rod with combined bending, twist, shear and stretch in space."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models
from pliant.validation.thick_arm import LOADS, MODEL, continuous_arm

WORDS = ("pcs:24", "cosserat:25", "finite_element:10", "polynomial:4")


@case(
    "Statics",
    compared="Place of the tip and of a frame at two fifths of the length, under weight, a force and a moment, in "
    "four rod models",
    source="Equilibrium of the continuous Cosserat rod, S. S. Antman, Nonlinear Problems of Elasticity, 2nd ed. "
    "(2005), chapter 8, as a boundary-value problem by SciPy.",
    tolerance=2e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """The dead moment has no potential in space; any equilibrium is accepted, stable or not."""
    value = []
    for _, eqs in in_models(load_text(MODEL), "arm", WORDS):
        frames = equilibrium(eqs, parameters=LOADS, stability="any").frames
        value.append([frames["arm.tip"].position, frames["arm.middle"].position])
    return CaseResult(np.array(value), continuous_arm((0.5, 0.2)).T)
