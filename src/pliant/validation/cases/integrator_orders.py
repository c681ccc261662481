"""Convergence orders of the integration methods."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.validation.case import CaseResult, Line, Plot, case

METHODS = {
    "explicit": 5,
    "implicit": 4,
    "generalized_alpha": 2,
    "newmark": 2,
    "semi_implicit": 1,
    "symplectic_euler": 1,
}
AMPLITUDE = 2.0


def exact(time: float) -> float:
    """Angle of the bundled pendulum, released at its amplitude [rad]."""
    m = np.sin(AMPLITUDE / 2) ** 2
    rate = np.sqrt(3 * 9.81 / (2 * 0.5))
    _, cn, dn, _ = scipy.special.ellipj(rate * time, m)
    return float(2 * np.arcsin(np.sin(AMPLITUDE / 2) * cn / dn))


@case(
    "Convergence",
    compared="Order of each method between equal steps of 1/50 and 1/100 s",
    source="Motion of the pendulum by Jacobi's functions (SciPy): E. T. Whittaker, Analytical Dynamics, 4th ed. "
    "(1937); orders of the methods: docs/analyses.md.",
    tolerance=0.35,
    measure="absolute",
)
def check() -> CaseResult:
    """The bundled pendulum, released at 2 rad, after 1 s."""
    eqs, value, lines = derive("pendulum"), [], []
    steps = (1 / 25, 1 / 50, 1 / 100)
    for method in METHODS:
        errors = [
            abs(simulate(eqs, 1.0, start={"hinge": AMPLITUDE}, method=method, step=h).q[-1, 0] - exact(1.0))
            for h in steps
        ]
        value.append(np.log2(errors[-2] / errors[-1]))
        lines.append(Line(method, steps, errors))
    return CaseResult(value, list(METHODS.values()), Plot("step [s]", "error [rad]", tuple(lines), logarithmic=True))
