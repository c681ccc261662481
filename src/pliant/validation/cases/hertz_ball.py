"""Ball pressed into a plane by its weight (Hertz)."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import ball


@case(
    "Contact",
    compared="Depth at rest, and where a motion settles, with force = 1e6 N/m^1.5 depth^1.5",
    source="H. Hertz, Über die Berührung fester elastischer Körper, J. reine angew. Math. 92 (1881) 156-171: "
    "(load/stiffness)^(2/3).",
    tolerance=1e-3,
    unit="m",
)
def check() -> CaseResult:
    """A weight of 0.98 N causes a depth of a tenth of a millimetre."""
    eqs = ball("exponent: 1.5, stiffness: =1e6 N/m^1.5, dissipation: 200 s/m")
    rest, run = equilibrium(eqs), simulate(eqs, 0.5, save_every=0.5)
    return CaseResult([0.03 - rest.q[2], 0.03 - np.asarray(run.q)[-1, 2]], (0.1 * 9.81 / 1e6) ** (2 / 3))
