"""Lateral buckling of a strip under a force at its end."""

from __future__ import annotations

import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {strip: {shape: stiffness, stiffness: [1, 1, 1, 1e5, 1, 1], mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
rods: {strip: {length: 1 m, section: strip, strains: kirchhoff, model: {kind: gvs, order: 6}}}
loads: {end: {frame: strip.tip, force: [0, =push, 0]}}
"""


@case(
    "Stability",
    compared="Critical force P L^2/sqrt(EI GJ) of a cantilever that is stiff in the plane of the force, where the "
    "path bifurcates",
    source="L. Prandtl, Kipp-Erscheinungen (1899), and A. G. M. Michell, Phil. Mag. 48 (1899) 298-309; S. P. "
    "Timoshenko and J. M. Gere, Theory of Elastic Stability, 2nd ed. (1961), section 6.3: twice the first "
    "zero of J(-1/4), by SciPy.",
    tolerance=5e-4,
    quick=False,
)
def check() -> CaseResult:
    """The bending stiffness in its plane is 100,000 times larger, so that its deflection before buckling is negligible."""
    zero = scipy.optimize.brentq(lambda x: scipy.special.jv(-1 / 4, x), 1.5, 2.5)
    path = continuation(derive(load_text(MODEL)), parameter="push", to=5.0)
    return CaseResult(path.special[0].value, 2 * zero)
