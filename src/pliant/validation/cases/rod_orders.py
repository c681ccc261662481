"""Convergence orders of rod models to the continuous rod."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.spec.rod_switch import parse_rod_model, with_rod_model
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.thick_arm import LOADS, MODEL, continuous_arm

KINDS = (
    ("pcs", "exponential", 2),
    ("pcs", "published", 1),
    ("cosserat", "logarithm", 2),
    ("cosserat", "midpoint", 2),
    ("cosserat", "published", 1),
    ("pseudo_rigid", "midpoint", 1),
    ("pseudo_rigid", "published", 1),
)
"""Kind, map, and theoretical order."""
SIZES = (12, 24)


def error(word: str, exact: np.ndarray, loads: Any = LOADS, **changes: Any) -> float:
    """Distance of the tip from the exact one [m]."""
    options = parse_rod_model(word).model_copy(update=changes)
    eqs = derive(with_rod_model(load_text(MODEL), "arm", options))
    tip = equilibrium(eqs, parameters=loads, stability="any").frames["arm.tip"]
    return float(np.linalg.norm(tip.position - exact))


@case(
    "Convergence",
    compared="Order measured between 12 and 24 elements, of seven models and maps, and of `finite_element` without weight",
    source="Order of each method in theory (docs/validation.md); the continuous rod as a boundary-value problem by "
    "SciPy.",
    tolerance=0.2,
    measure="absolute",
)
def check() -> CaseResult:
    """A thick rod that is bent, twisted, sheared and stretched in space."""
    exact, light = continuous_arm(0.5), {**LOADS, "gravity": 0.0}
    lines, value = [], []
    for kind, name, _ in KINDS:
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
    return CaseResult(value, [order for *_, order in KINDS] + [4], plot)
