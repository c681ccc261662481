"""Rods of all models that swing without damping."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models
from pliant.validation.thick_arm import MODEL

WORDS = ("pcs:3", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "gvs:1", "pcc:2")


@case(
    "Conservation",
    compared="Range of the total energy over the largest kinetic energy, of a heavy rod released from the horizontal, "
    "in seven rod models",
    source="Conservation of energy: H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 1-2.",
    tolerance=1e-5,
    measure="absolute",
)
def check() -> CaseResult:
    """With the explicit method and a relative tolerance of 1e-9, over 0.3 s."""
    value = []
    for _, eqs in in_models(load_text(MODEL), "arm", WORDS):
        run = simulate(eqs, 0.3, method="explicit", rtol=1e-9, parameters={"gravity": 9.81}, save_every=0.01)
        value.append(np.ptp(run.energy["total"].values) / run.energy["kinetic"].values.max())
    return CaseResult(value, 0.0)
