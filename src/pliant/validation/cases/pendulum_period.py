"""Period of a pendulum at large amplitude."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.equations.equations import Equations
from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.validation.case import CaseResult, Line, Plot, case

ANGLES = np.radians([30.0, 90.0, 150.0, 175.0])


def exact(amplitude: float) -> float:
    """Period of the bundled pendulum, a uniform rod of 0.5 m [s]."""
    return float(4 * np.sqrt(2 * 0.5 / (3 * 9.81)) * scipy.special.ellipk(np.sin(amplitude / 2) ** 2))


def period(eqs: Equations, amplitude: float) -> float:
    """From the first to the third passage of the lowest point [s]."""
    run = simulate(eqs, 2.2 * exact(amplitude), start={"hinge": amplitude}, save_every=exact(amplitude) / 400)
    time, angle = np.asarray(run.time), np.asarray(run["hinge"].values)
    cubic = scipy.interpolate.CubicSpline(time, angle)
    passes = [x for x in cubic.roots() if 0 < x < time[-1]]
    return float(passes[2] - passes[0])


@case(
    "Motion",
    compared="Period at amplitudes of 30, 90, 150 and 175 degrees",
    source="A.-M. Legendre, Traité des fonctions elliptiques (1825); 4 sqrt(J/(m g s)) K(sin(a/2)): L. D. Landau and "
    "E. M. Lifshitz, Mechanics, 3rd ed. (1976), section 11, problem 1. Elliptic integral by SciPy.",
    tolerance=1e-5,
    unit="s",
)
def check() -> CaseResult:
    """The bundled pendulum, from rest at its amplitude."""
    eqs = derive("pendulum")
    value = [period(eqs, float(x)) for x in ANGLES]
    fine = np.linspace(5, 178, 40)
    lines = (
        Line("simulated", np.degrees(ANGLES), value),
        Line("elliptic integral", fine, [exact(np.radians(x)) for x in fine], exact=True),
    )
    return CaseResult(value, [exact(float(x)) for x in ANGLES], Plot("amplitude [deg]", "period [s]", lines))
