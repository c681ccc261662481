"""Frequencies of a taut string with bending stiffness."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: 0 N}
sections:
  wire: {shape: stiffness, stiffness: [1e7, 1e7, 1e8, 1, 1, 1], mass_per_length: 1, inertia_per_length: [1e-9, 1e-9, 1e-9]}
bodies: {foot: {}}
joints: {foot: {type: revolute, axis: y, child: foot}}
rods: {string: {parent: foot, length: 1 m, section: wire, strains: planar, model: {kind: finite_element, elements: 20}}}
constraints: {end: {between: [world, string.tip], components: [x]}}
loads: {pull: {frame: string.tip, force: [0, 0, =pull]}}
"""
PULLS = (0.0, 10.0, 100.0, 1000.0)


@case(
    "Vibration",
    compared="Three lowest frequencies of a hinged string at four tensions T L^2/EI between 0 and 1000",
    source="w = (n pi/L) sqrt(T/m) sqrt(1 + n^2 pi^2 EI/(T L^2)): H. Fletcher, Normal vibration frequencies of a "
    "stiff piano string, J. Acoust. Soc. Am. 36 (1964) 203-209.",
    tolerance=2e-3,
    unit="rad/s",
)
def check() -> CaseResult:
    """About the equilibrium under tension."""
    eqs, n = derive(load_text(MODEL)), np.arange(1, 4)
    value = [2 * np.pi * modes(eqs, parameters={"pull": x}, count=3).frequencies for x in PULLS]
    pulls = np.linspace(0, 1000, 20)
    exact = np.sqrt(pulls[:, None] * (n * np.pi) ** 2 + (n * np.pi) ** 4)
    lines = [Line(f"mode {k + 1}", PULLS, [row[k] for row in value]) for k in range(2)]
    marks = [Line(f"theory, mode {k + 1}", pulls, exact[:, k], exact=True) for k in range(2)]
    plot = Plot("T L²/EI [-]", "frequency [sqrt(EI/m)/L²]", (*lines, *marks))
    return CaseResult(np.array(value), np.sqrt(np.array(PULLS)[:, None] * (n * np.pi) ** 2 + (n * np.pi) ** 4), plot)
