"""Pneumatic module that equal pressures in all chambers stretch without bending."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

WORDS = ("pcs:3", "cosserat:3")
PRESSURE = 40e3


@case(
    "Statics",
    compared="Length of the soft part at the end of a ramp of the pressures, and deflection of the tip, in two rod models",
    source="Balance of 6 p A with the force of an incompressible neo-Hookean bar, E A_s/3 (l - 1/l^2). The moments of the chambers "
    "cancel: S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), figure 14.",
    tolerance=1e-7,
    measure="absolute",
    unit="m",
)
def check() -> CaseResult:
    """Simulated by default: without weight, in 2 s to 40 kPa, and 1 s at rest."""
    flop = load("stiff_flop")
    flop = flop.model_copy(update={"world": flop.world.model_copy(update={"gravity": [0.0, 0.0, 0.0]})})
    chambers = 6 * np.pi * 2.5e-3**2
    walls = np.pi * (12.5e-3**2 - 4.5e-3**2) - chambers

    def excess(stretch: float) -> float:
        return 120e3 * walls / 3 * (stretch - stretch**-2) - PRESSURE * chambers

    exact = 44e-3 * float(scipy.optimize.brentq(excess, 1, 3)) + 14.5e-3
    ramp = dict.fromkeys(("p1", "p2", "p3"), f"{PRESSURE} Pa*min(t/(2 s), 1)")
    value = [
        simulate(eqs, 3.0, start="equilibrium", inputs=ramp)["tip"].values[-1]
        for _, eqs in in_models(flop, "arm", WORDS)
    ]
    return CaseResult(np.array(value), (0.0, 0.0, exact))
