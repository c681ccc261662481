"""Curved cantilever compared with the continuous rod."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.cases.bathe_bend import MODEL, RADIUS
from pliant.validation.continuous_rod import ClampedRod
from pliant.validation.rods import in_models

WORDS = ("finite_element:8", "cosserat:24", "pcs:24")


@case(
    "Statics",
    compared="Place of the tip of the 45-degree bend under a load of 600, in three rod models",
    source="Equilibrium of the continuous Cosserat rod with a natural curvature, S. S. Antman, Nonlinear Problems of "
    "Elasticity, 2nd ed. (2005), chapter 8, as a boundary-value problem by SciPy.",
    tolerance=1e-3,
    measure="of the largest",
)
def check() -> CaseResult:
    """The same arc as in `bathe_bend`."""
    EI = 1e7 / 12
    base = (np.cos(np.pi / 4), -np.sin(np.pi / 4), 0.0, 0.0)
    rod = ClampedRod(
        RADIUS * np.pi / 4, (5e6, 5e6, 1e7), (EI, EI, EI), base, natural=(0, 1 / RADIUS, 0), force=(0, 0, 600.0)
    )
    value = [
        equilibrium(eqs, parameters={"push": 600.0}).frames["bend.tip"].position
        for _, eqs in in_models(load_text(MODEL), "bend", WORDS)
    ]
    return CaseResult(np.array(value), rod.position(rod.length))
