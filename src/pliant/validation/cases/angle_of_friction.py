"""Slope at which a block begins to slide."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import block


@case(
    "Contact",
    compared="Tangent of the slope between the last on which the block stays for two seconds and the first on which "
    "it slides",
    source="G. Amontons (1699): the coefficient of friction, 0.5.",
    tolerance=2e-3,
)
def check() -> CaseResult:
    """Bisection from 0.49 and 0.51."""
    low, high = 0.49, 0.51
    while high - low > 1e-3:
        middle = (low + high) / 2
        slides = np.asarray(simulate(block(float(np.arctan(middle))), 2.0, save_every=0.5).v)[-1, 0] > 1e-3
        low, high = (low, middle) if slides else (middle, high)
    return CaseResult((low + high) / 2, 0.5)
