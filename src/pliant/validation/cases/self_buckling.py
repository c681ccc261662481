"""Column that buckles under its own weight."""

from __future__ import annotations

import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, =-g]}
parameters: {g: 0 m/s^2}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods: {column: {length: 1 m, section: unit, strains: bend_y, model: {kind: gvs, order: 4, elements: 4}}}
"""


@case(
    "Stability",
    compared="Critical weight w L^3/EI of a column that is clamped below and free above, where the path bifurcates",
    source="A. G. Greenhill, Determination of the greatest height consistent with stability that a vertical pole or "
    "mast can be made, Proc. Cambridge Phil. Soc. 4 (1881) 65-73: 9/4 of the square of the first zero of "
    "J(-1/3), by SciPy.",
    tolerance=5e-4,
)
def check() -> CaseResult:
    """Gravity is the parameter of the path."""
    zero = scipy.optimize.brentq(lambda x: scipy.special.jv(-1 / 3, x), 1.5, 2.2)
    path = continuation(derive(load_text(MODEL)), parameter="g", to=9.0)
    return CaseResult(path.special[0].value, 9 / 4 * zero**2)
