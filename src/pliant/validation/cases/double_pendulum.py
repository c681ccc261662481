"""Double pendulum compared with its textbook equations."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.validation.case import CaseResult, Line, Plot, case

L1, L2, M1, M2, G = 0.4, 0.3, 0.3, 0.2, 9.81


def slope(_: float, y: np.ndarray) -> np.ndarray:
    """Of the angles of two uniform rods from the vertical, and of their rates."""
    a, b, da, db = y
    c, s = np.cos(a - b), np.sin(a - b)
    coupling = M2 * L1 * L2 / 2
    M = np.array([[M1 * L1**2 / 3 + M2 * L1**2, coupling * c], [coupling * c, M2 * L2**2 / 3]])
    first = -coupling * s * db**2 - (M1 / 2 + M2) * G * L1 * np.sin(a)
    second = coupling * s * da**2 - M2 * G * L2 / 2 * np.sin(b)
    return np.concatenate([[da, db], np.linalg.solve(M, [first, second])])


@case(
    "Motion",
    compared="Angles of both rods at 200 moments of the first 3 s",
    source="L. D. Landau and E. M. Lifshitz, Mechanics, 3rd ed. (1976), section 5, problem 1, with uniform rods; "
    "integrated by SciPy (DOP853, 1e-12).",
    tolerance=1e-3,
    measure="absolute",
    unit="rad",
)
def check() -> CaseResult:
    """The bundled double pendulum; its second angle is relative to the first rod."""
    run = simulate(derive("double_pendulum"), 3.0)
    time, q = np.asarray(run.time), np.asarray(run.q)
    value = np.cumsum(q, axis=1)
    found = scipy.integrate.solve_ivp(
        slope, (0, 3.0), [*value[0], 0, 0], method="DOP853", t_eval=time, rtol=1e-12, atol=1e-12
    )
    lines = (Line("lower rod", time, value[:, 1]), Line("SciPy", time, found.y[1], exact=True))
    return CaseResult(value, found.y[:2].T, Plot("time [s]", "angle [rad]", lines))
