"""Closed loop that swings for one minute."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.validation.case import CaseResult, Line, Plot, case


@case(
    "Conservation",
    compared="Range of the total energy over that of the kinetic energy, and largest error of the constraint, of the "
    "bundled four-bar linkage in a minute [-, m]",
    source="Conservation of energy; M. Gonzalez et al., A benchmarking system for MBS simulation software, Multibody "
    "System Dynamics 16 (2006) 179-190, which measures by the same.",
    tolerance=2e-3,
    measure="absolute",
)
def check() -> CaseResult:
    """At the defaults."""
    run = simulate(derive("four_bar"), 60.0)
    energy = {name: run.energy[name].values for name in ("total", "kinetic")}
    value = [np.ptp(energy["total"]) / np.ptp(energy["kinetic"]), run.constraint_error.max()]
    lines = (Line("total", run.time, energy["total"]), Line("kinetic", run.time, energy["kinetic"]))
    return CaseResult(value, 0.0, Plot("time [s]", "energy [J]", lines))
