"""Bending frequencies of beams supported at both ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections:
  unit: {{shape: stiffness, stiffness: [1e5, 1e5, 1e7, 1, 1, 1], mass_per_length: 1, inertia_per_length: [1e-9, 1e-9, 1e-9]}}
bodies: {{foot: {{}}}}
joints: {{foot: {{type: {foot}, child: foot}}}}
rods: {{beam: {{parent: foot, length: 1 m, section: unit, strains: planar, model: {{kind: finite_element, elements: 12}}}}}}
constraints: {{end: {{between: [world, beam.tip], components: [{held}], holds: as at start}}}}
"""
HINGE = "revolute, axis: y"
ENDS = {"clamped": ("weld", "x, ry"), "hinged": (HINGE, "x"), "clamped and hinged": ("weld", "x")}


@case(
    "Vibration",
    compared="Three lowest frequencies of a clamped, a hinged, and a clamped and hinged beam [sqrt(EI/m)/L^2]",
    source="cos b cosh b = 1, sin b = 0, tan b = tanh b; R. D. Blevins, Formulas for Natural Frequency and Mode "
    "Shape (1979), table 8-1, cases 7, 5 and 6. Roots by SciPy.",
    tolerance=3e-3,
    unit="rad/s",
)
def check() -> CaseResult:
    """Twelve finite elements; supported ends may still move along the beam."""
    value = [
        2 * np.pi * modes(derive(load_text(MODEL.format(foot=foot, held=held))), at="initial", count=3).frequencies
        for foot, held in ENDS.values()
    ]
    n = np.arange(1, 4)
    clamped = [_root(lambda x: np.cos(x) - 1 / np.cosh(x), (k + 0.5) * np.pi) for k in n]
    mixed = [_root(lambda x: np.sin(x) - np.cos(x) * np.tanh(x), (k + 0.25) * np.pi) for k in n]
    return CaseResult(np.array(value), np.array([clamped, n * np.pi, mixed]) ** 2)


def _root(function: Callable[[float], float], near: float) -> float:
    return float(scipy.optimize.brentq(function, near - 0.1, near + 0.1))
