"""Free body that tumbles about its middle axis."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

INERTIA = np.array([1.0, 2.0, 3.0])
MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {stone: {mass: 1 kg, inertia: {principal: [1, 2, 3 kg*m^2]}}}
joints: {ball: {type: spherical, child: stone, orientation: {rate: [0.4 rad/s, 0, 1 rad/s]}}}
"""


def exact(time: np.ndarray) -> np.ndarray:
    """Angular velocity in the body's axes (n x 3), which begins with w_2 = 0 and has 2 E I_2 below the angular momentum squared."""
    first, middle, last = INERTIA
    spin = np.array([0.4, 0.0, 1.0])
    energy, momentum = float(INERTIA @ spin**2), float(INERTIA**2 @ spin**2)
    assert momentum > energy * middle
    amplitudes = np.sqrt(
        [
            (energy * last - momentum) / (first * (last - first)),
            (energy * last - momentum) / (middle * (last - middle)),
            (momentum - energy * first) / (last * (last - first)),
        ]
    )
    rate = np.sqrt((last - middle) * (momentum - energy * first) / (first * middle * last))
    m = (middle - first) * (energy * last - momentum) / ((last - middle) * (momentum - energy * first))
    sn, cn, dn, _ = scipy.special.ellipj(rate * time, m)
    return np.asarray(amplitudes * np.array([cn, sn, dn]).T)


@case(
    "Motion",
    compared="Angular velocity in the body's axes at 200 moments of 30 s",
    source="L. Euler (1758), C. G. J. Jacobi (1849); L. D. Landau and E. M. Lifshitz, Mechanics, 3rd ed. (1976), "
    "section 37, eqs. (37.8)-(37.10). Elliptic functions by SciPy.",
    tolerance=1e-4,
    measure="of the largest",
    unit="rad/s",
)
def check() -> CaseResult:
    """Moments of inertia 1, 2 and 3 kg m^2."""
    run = simulate(derive(load_text(MODEL)), 30.0)
    time, value = np.asarray(run.time), np.asarray(run.v)
    reference = exact(time)
    lines = [Line(f"w{k + 1}", time, value[:, k]) for k in range(2)]
    return CaseResult(
        value,
        reference,
        Plot("time [s]", "angular velocity [rad/s]", (*lines, Line("Jacobi, w2", time, reference[:, 1], exact=True))),
    )
