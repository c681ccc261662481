"""Bending frequencies of a slender clamped beam."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.linear.modal import modes
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import BENDING, LINE_MASS, SLENDER, cantilevers

WORDS = ("pcs:30", "cosserat:30", "finite_element:8", "pseudo_rigid:30", "timoshenko:8")


@case(
    "Vibration",
    compared="Three lowest frequencies in both planes, in five rod models",
    source="L. Euler (1744) and D. Bernoulli (1751): cos b cosh b = -1, w = b^2 sqrt(EI/(m L^4)); R. D. Blevins, "
    "Formulas for Natural Frequency and Mode Shape (1979), table 8-1, case 3. Roots by SciPy.",
    tolerance=5e-3,
    unit="Hz",
)
def check() -> CaseResult:
    """Shear and stretch are negligible; rotary inertia of the sections lowers the third frequency by a thousandth."""
    b = np.array([_root(x) for x in (1.9, 4.7, 7.9)])
    exact = np.repeat(b**2 * np.sqrt(BENDING / LINE_MASS) / (2 * np.pi), 2)
    return CaseResult(
        np.array([modes(x, parameters=SLENDER, count=6).frequencies for _, x in cantilevers(WORDS)]), exact
    )


def _root(near: float) -> float:
    return float(scipy.optimize.brentq(lambda x: np.cos(x) + 1 / np.cosh(x), near - 0.1, near + 0.1))
