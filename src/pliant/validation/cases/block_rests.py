"""Block that sticks on a slope for an hour."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import block


@case(
    "Contact",
    compared="Way of a block on a slope of 0.4 rad with a coefficient of 0.5, between the first second and the end "
    "of an hour",
    source="C.-A. de Coulomb (1785): tan 0.4 is below 0.5, so it does not move.",
    tolerance=1e-6,
    measure="absolute",
    unit="m",
)
def check() -> CaseResult:
    """Any creep would accumulate."""
    run = simulate(block(0.4), 3600.0, save_every=1.0)
    return CaseResult(np.ptp(np.asarray(run.q)[1:, :3], axis=0), np.zeros(3))
