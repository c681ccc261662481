"""Spectral convergence of polynomials along a rod."""

from __future__ import annotations

import numpy as np

from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.cases.rod_orders import error
from pliant.validation.thick_arm import continuous_arm

ORDERS = (1, 2, 3, 4)
CHANGES: tuple[dict[str, str], ...] = ({}, {"orientation": "three"})
PUBLISHED_ORDERS = (2, 3, 4, 5)
"""One more than the others: the energy of the published map is an integral, so that polynomials of low order lock."""


@case(
    "Convergence",
    compared="Distance of the tip from that of the continuous rod with polynomials of order four, of two kinds, and of order "
    "five of the published kind",
    source="Equilibrium of the continuous Cosserat rod, as a boundary-value problem by SciPy; spectral convergence: "
    "J. P. Boyd, Chebyshev and Fourier Spectral Methods, 2nd ed. (2001), section 2.3.",
    tolerance=2e-4,
    measure="absolute",
    unit="m",
    quick=False,
)
def check() -> CaseResult:
    """The same rod as in `rod_orders`; each order has less than a quarter of the error of the previous one."""
    exact = continuous_arm(0.5)
    errors = np.array(
        [[error(f"polynomial:{n}", exact, **changes) for n in ORDERS] for changes in CHANGES]
        + [[error(f"polynomial:{n}", exact, map="published") for n in PUBLISHED_ORDERS]]
    )
    if not np.all(errors[:, 1:] < 0.25 * errors[:, :-1]):
        raise RuntimeError(f"the errors do not fall by a factor of four from order to order: {errors}")
    plot = Plot("order", "error of the tip [m]", (Line("polynomial", ORDERS, errors[0]),), logarithmic=True)
    return CaseResult(errors[:, -1], 0.0, plot)
