"""Large bending of a cantilever by a dead transverse tip force."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.rods import BENDING, SLENDER, cantilevers

LOADS = (1.0, 2.0, 5.0, 10.0)
WORDS = ("pcs:20", "cosserat:20", "finite_element:5", "pseudo_rigid:25")


def exact(load: float) -> tuple[float, float, float]:
    """Deflection and shortening over the length, and angle of the tip [rad], at a load P L^2 / EI, by elliptic integrals."""

    def integrals(angle: float) -> tuple[float, float]:
        m = (1 + np.sin(angle)) / 2
        begin = np.arcsin(1 / np.sqrt(2 * m))
        first = scipy.special.ellipk(m) - scipy.special.ellipkinc(begin, m)
        return first, scipy.special.ellipe(m) - scipy.special.ellipeinc(begin, m)

    angle = scipy.optimize.brentq(lambda x: integrals(x)[0] - np.sqrt(load), 1e-6, np.pi / 2 - 1e-9, xtol=1e-14)
    return 1 - 2 * integrals(angle)[1] / np.sqrt(load), 1 - np.sqrt(2 * np.sin(angle) / load), angle


@case(
    "Statics",
    compared="Deflection and shortening of the tip over the length, and its angle [rad], at P L^2/EI = 1, 2, 5 and "
    "10, in four rod models",
    source="K. E. Bisshopp and D. C. Drucker, Large deflection of cantilever beams, Quarterly of Applied Mathematics "
    "3 (1945) 272-275; tabulated by K. Mattiasson, Int. J. Numerical Methods in Engineering 17 (1981) "
    "145-153. Elliptic integrals by SciPy.",
    tolerance=1e-3,
)
def check() -> CaseResult:
    """Equilibria with negligible shear and stretch."""
    value = []
    for _, eqs in cantilevers(WORDS):
        for load in LOADS:
            tip = equilibrium(eqs, parameters={**SLENDER, "tip_force": load * BENDING}).frames["rod.tip"]
            tangent = tip.rotation[:, 2]
            value.append((-tip.position[2], 1 - tip.position[0], np.arctan2(-tangent[2], tangent[0])))
    loads = np.linspace(0.2, 10, 25)
    curves = [Line(f"{word}", LOADS, [row[0] for row in value[4 * k : 4 * k + 4]]) for k, word in enumerate(WORDS[:1])]
    plot = Plot(
        "P L²/EI [-]",
        "deflection over length [-]",
        (*curves, Line("elliptic integrals", loads, [exact(x)[0] for x in loads], exact=True)),
    )
    return CaseResult(np.array(value), np.array([exact(load) for load in LOADS] * len(WORDS)), plot)
