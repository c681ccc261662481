"""Large bending of a cantilever by its own weight."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.rods import BENDING, LINE_MASS, SLENDER, cantilevers

LOADS = (2.0, 8.0, 20.0)
WORDS = ("pcs:20", "cosserat:20", "finite_element:8")


def exact(load: float) -> tuple[float, float]:
    """Shortening and deflection of the tip over the length at a load w L^3 / EI: EI angle'' = -w (L - s) cos(angle)."""

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.vstack([y[1], -load * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    def ends(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([a[0], b[1], a[2], a[3]])

    s = np.linspace(0, 1, 41)
    found = scipy.integrate.solve_bvp(slope, ends, s, np.array([s, 1 - s, s, 0.3 * s]), tol=1e-9, max_nodes=20000)
    assert found.success
    return 1 - found.y[2, -1], found.y[3, -1]


@case(
    "Statics",
    compared="Shortening and deflection of the tip over the length at w L^3/EI = 2, 8 and 20, in three rod models",
    source="F. V. Rohde, Large deflections of a cantilever beam with uniformly distributed load, Quarterly of "
    "Applied Mathematics 11 (1953) 337-338, here as a boundary-value problem by SciPy.",
    tolerance=3e-3,
)
def check() -> CaseResult:
    """Equilibria with negligible shear and stretch; the load is the gravity of the bundled cantilever."""
    value = []
    for _, eqs in cantilevers(WORDS):
        for load in LOADS:
            x, _, z = (
                equilibrium(eqs, parameters={**SLENDER, "gravity": load * BENDING / LINE_MASS})
                .frames["rod.tip"]
                .position
            )
            value.append((1 - x, -z))
    loads = np.linspace(0.5, 20, 25)
    plot = Plot(
        "w L³/EI [-]",
        "deflection over length [-]",
        (
            Line("pcs:20", LOADS, [row[1] for row in value[:3]]),
            Line("continuous rod", loads, [abs(exact(x)[1]) for x in loads], exact=True),
        ),
    )
    return CaseResult(np.array(value), np.abs([exact(load) for load in LOADS] * len(WORDS)), plot)
