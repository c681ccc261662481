"""Flutter of a column under a follower force."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods: {column: {length: 1 m, section: unit, strains: bend_y, model: {kind: gvs, order: 4, elements: 4}}}
loads: {end: {frame: column.tip, force: [0, 0, =-push], expressed_in: column.tip}}
"""


def characteristic(load: float, frequency: float) -> float:
    """Zero at the frequencies of the column [sqrt(EI/m)/L^2] under a load [EI/L^2]."""
    root = np.sqrt(load**2 / 4 + frequency**2)
    a, b = np.sqrt(root - load / 2), np.sqrt(root + load / 2)
    waves = 2 * frequency**2 * (1 + np.cosh(a) * np.cos(b)) + load * frequency * np.sinh(a) * np.sin(b)
    return float(load**2 + waves)


def critical() -> float:
    """The load at which the two lowest frequencies meet: where their function of the frequency touches zero."""

    def slope(x: np.ndarray) -> list[float]:
        h = 1e-4
        both = (characteristic(x[0], x[1] + h) - characteristic(x[0], x[1] - h)) / (2 * h)
        return [characteristic(x[0], x[1]), both]

    return float(scipy.optimize.fsolve(slope, [20.0, 11.0], xtol=1e-12)[0])


@case(
    "Stability",
    compared="Load P L^2/EI at which the undamped column begins to flutter",
    source="M. Beck, Die Knicklast des einseitig eingespannten, tangential gedrückten Stabes, ZAMP 3 (1952) 225-228: "
    "20.05, here from its characteristic equation by SciPy.",
    tolerance=5e-4,
)
def check() -> CaseResult:
    """Small motions of the straight column; the critical load is found by bisection on whether one of them grows."""
    eqs = derive(load_text(MODEL))

    def grows(load: float) -> bool:
        return not modes(eqs, at="initial", parameters={"push": load}).stable

    low, high = 15.0, 25.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) else (middle, high)
    loads = np.linspace(0, 20, 21)
    pairs = np.array(
        [
            2 * np.pi * np.sort(np.abs(modes(eqs, at="initial", parameters={"push": x}, count=2).frequencies))
            for x in loads
        ]
    )
    roots = np.array([(x, f) for x in loads[1::4] for f in _roots(x)])
    lines = (Line("first mode", loads, pairs[:, 0]), Line("second mode", loads, pairs[:, 1]))
    plot = Plot(
        "P L²/EI [-]", "frequency [sqrt(EI/m)/L²]", (*lines, Line("Beck", roots[:, 0], roots[:, 1], exact=True))
    )
    return CaseResult((low + high) / 2, critical(), plot)


def _roots(load: float) -> list[float]:
    """The two lowest frequencies under a load."""
    grid = np.linspace(0.5, 25, 400)
    signs = np.sign([characteristic(load, x) for x in grid])
    at = np.flatnonzero(np.diff(signs))[:2]
    return [float(scipy.optimize.brentq(lambda x: characteristic(load, x), grid[k], grid[k + 1])) for k in at]
