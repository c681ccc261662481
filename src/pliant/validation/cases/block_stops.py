"""Block stopped by friction on level ground."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import block


@case(
    "Contact",
    compared="Way of a block that slides at 1 m/s, with a coefficient of 0.5",
    source="C.-A. de Coulomb (1785): v^2/(2 mu g).",
    tolerance=2e-3,
    unit="m",
)
def check() -> CaseResult:
    """Afterwards it stays at rest."""
    run = simulate(block(0.0, speed=1.0), 1.0, save_every=0.05)
    return CaseResult(np.asarray(run.q)[-1, 0], 1 / (2 * 0.5 * 9.81))
