"""Columns that buckle under a dead force along their axis."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
sections: {{unit: {{shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}}}
bodies: {{foot: {{}}, head: {{}}}}
joints:
  foot: {{type: {foot}, child: foot}}
  head: {{type: weld, parent: column.tip, child: head}}
rods: {{column: {{parent: foot, length: 1 m, section: unit, strains: bend_y, model: {{kind: gvs, order: 4, elements: 4}}}}}}
loads: {{top: {{frame: head, force: [0, 0, =-push]}}}}
{held}
"""
HINGE = "revolute, axis: y"
HELD = "constraints: {{guide: {{between: [world, head], components: [{}]}}}}"
ENDS = {
    "clamped and free": ("weld", "", np.pi**2 / 4),
    "hinged": (HINGE, HELD.format("x"), np.pi**2),
    "clamped and hinged": ("weld", HELD.format("x"), None),
    "clamped": ("weld", HELD.format("x, ry"), 4 * np.pi**2),
}


@case(
    "Stability",
    compared="Critical load P L^2/EI of a clamped and free, a hinged, a clamped and hinged, and a clamped column, "
    "where the path of straight poses bifurcates",
    source="L. Euler, De curvis elasticis (1744); S. P. Timoshenko and J. M. Gere, Theory of Elastic Stability, 2nd "
    "ed. (1961), sections 2.1-2.2: pi^2/4, pi^2, the root of tan(k) = k squared, 4 pi^2.",
    tolerance=5e-4,
)
def check() -> CaseResult:
    """The rod can only bend; its curvature is a polynomial of order four in each quarter."""
    value, reference = [], []
    for foot, held, exact in ENDS.values():
        reference.append(exact or scipy.optimize.brentq(lambda k: np.tan(k) - k, 4.4, 4.6) ** 2)
        path = continuation(
            derive(load_text(MODEL.format(foot=foot, held=held))), parameter="push", to=1.1 * reference[-1]
        )
        value.append(path.special[0].value)
    return CaseResult(value, reference)
