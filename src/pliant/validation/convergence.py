"""Orders of convergence of rods and integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.simulate import simulate
from pliant.robot.reader import load_text
from pliant.robot.rod_switch import parse_rod_model, with_rod_model
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.rods import LOADS, THICK_ARM, continuous_arm

case = cases_of("Convergence")

METHODS = {
    "explicit": 5,
    "implicit": 4,
    "generalized_alpha": 2,
    "newmark": 2,
    "semi_implicit": 1,
    "symplectic_euler": 1,
}
AMPLITUDE = 2.0


def pendulum_exact(time: float) -> float:
    """Angle of the bundled pendulum, released at its amplitude [rad]."""
    m = np.sin(AMPLITUDE / 2) ** 2
    rate = np.sqrt(3 * 9.81 / (2 * 0.5))
    _, cn, dn, _ = scipy.special.ellipj(rate * time, m)
    return float(2 * np.arcsin(np.sin(AMPLITUDE / 2) * cn / dn))


@case(tolerance=0.35, measure="absolute")
def integrator_orders() -> CaseResult:
    """Convergence orders of the integration methods.

    The bundled pendulum, released at 2 rad, after 1 s.
    Compared: Order of each method between equal steps of 1/50 and 1/100 s.
    Source: Motion of the pendulum by Jacobi's functions (SciPy): E. T. Whittaker, Analytical Dynamics, 4th ed. (1937); orders
    of the methods: docs/analyses.md.
    """
    eqs, value, lines = derive("pendulum"), [], []
    steps = (1 / 25, 1 / 50, 1 / 100)
    for method in METHODS:
        errors = [
            abs(simulate(eqs, 1.0, start={"hinge": AMPLITUDE}, method=method, step=h).q[-1, 0] - pendulum_exact(1.0))
            for h in steps
        ]
        value.append(np.log2(errors[-2] / errors[-1]))
        lines.append(Line(method, steps, errors))
    return CaseResult(value, list(METHODS.values()), Plot("step [s]", "error [rad]", tuple(lines), logarithmic=True))


ORDERS = (1, 2, 3, 4)
CHANGES: tuple[dict[str, str], ...] = ({}, {"orientation": "three"})
PUBLISHED_ORDERS = (2, 3, 4, 5)
"""One more than the others: the energy of the published map is an integral, so that polynomials of low order lock."""


@case(tolerance=2e-4, measure="absolute", unit="m", quick=False)
def polynomial_rods() -> CaseResult:
    """Spectral convergence of polynomials along a rod.

    The same rod as in `rod_orders`; each order has less than a quarter of the error of the previous one.
    Compared: Distance of the tip from that of the continuous rod with polynomials of order four, of two kinds, and of order
    five of the published kind.
    Source: Equilibrium of the continuous Cosserat rod, as a boundary-value problem by SciPy; spectral convergence: J. P. Boyd,
    Chebyshev and Fourier Spectral Methods, 2nd ed. (2001), section 2.3.
    """
    exact = continuous_arm(0.5)
    errors = np.array(
        [[error(f"polynomial:{n}", exact, **changes) for n in ORDERS] for changes in CHANGES]
        + [[error(f"polynomial:{n}", exact, map="published") for n in PUBLISHED_ORDERS]]
    )
    if not np.all(errors[:, 1:] < 0.25 * errors[:, :-1]):
        raise RuntimeError(f"the errors do not fall by a factor of four from order to order: {errors}")
    plot = Plot("order", "error of the tip [m]", (Line("polynomial", ORDERS, errors[0]),), logarithmic=True)
    return CaseResult(errors[:, -1], 0.0, plot)


ROD_KINDS = (
    ("pcs", "exponential", 2), ("pcs", "published", 1), ("cosserat", "logarithm", 2), ("cosserat", "midpoint", 2),
    ("cosserat", "published", 1), ("pseudo_rigid", "midpoint", 1), ("pseudo_rigid", "published", 1),
)  # fmt: skip
"""Kind, map, and theoretical order."""
SIZES = (12, 24)


def error(word: str, exact: np.ndarray, loads: Any = LOADS, **changes: Any) -> float:
    """Distance of the tip from the exact one [m]."""
    options = parse_rod_model(word).model_copy(update=changes)
    eqs = derive(with_rod_model(load_text(THICK_ARM), "arm", options))
    tip = equilibrium(eqs, parameters=loads, stability="any").frames["arm.tip"]
    return float(np.linalg.norm(tip.position - exact))


@case(tolerance=0.2, measure="absolute")
def rod_orders() -> CaseResult:
    """Convergence orders of rod models to the continuous rod.

    A thick rod that is bent, twisted, sheared and stretched in space.
    Compared: Order measured between 12 and 24 elements, of seven models and maps, and of `finite_element` without weight.
    Source: Order of each method in theory (docs/validation.md); the continuous rod as a boundary-value problem by SciPy.
    """
    exact, light = continuous_arm(0.5), {**LOADS, "gravity": 0.0}
    lines, value = [], []
    for kind, name, _ in ROD_KINDS:
        errors = [error(f"{kind}:{n}", exact, map=name) for n in SIZES]
        value.append(np.log2(errors[-2] / errors[-1]))
        if (kind, name) in (("pcs", "exponential"), ("pseudo_rigid", "midpoint")):
            lines.append(Line(kind, SIZES, errors))
    weightless = continuous_arm(0.5, light)
    fine = [error(f"finite_element:{n}", weightless, light) for n in (6, 12, 24)]
    value.append(np.log2(fine[-2] / fine[-1]))
    plot = Plot(
        "elements", "error of the tip [m]", (*lines, Line("finite_element", (6, 12, 24), fine)), logarithmic=True
    )
    return CaseResult(value, [order for *_, order in ROD_KINDS] + [4], plot)
