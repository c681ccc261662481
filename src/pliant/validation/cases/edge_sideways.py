"""Elastic energy of an edge of a shell whose end is moved sideways without turning."""

from __future__ import annotations

import numpy as np

from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

LENGTH, WIDTH, THICKNESS, E = 0.2, 0.03, 0.8e-3, 500e3
MOVED = (0.02, 0.2, 1.0, 5.0)
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {THICKNESS}}}}}
materials: {{jersey: {{youngs_modulus: {E}, poissons_ratio: 0.4, density: 300}}}}
meshes:
  edge: {{type: shell, drawing: {{nodes: [[0, 0, 0], [{LENGTH}, 0, 0]], edges: [[1, 2]]}}, ends: free,
         sets: {{root: {{nodes: 1}}}}, held: {{root: world}}, section: strip, material: jersey}}
"""


@case(
    "Statics",
    compared="Energy of a strip of 20 cm whose end is moved sideways by 2 cm to 5 m",
    source="EA (l - L)^2 / (2 L) of the stretch, and 6 EI / L times the square of the angle of its line to both ends.",
    tolerance=1e-4,
    unit="J",
)
def check() -> CaseResult:
    """A single edge; shear of a strip this thin is negligible."""
    eqs = derive(load_text(MODEL))
    q, v = eqs.initial_state()
    value = []
    for distance in MOVED:
        q[2] = distance
        value.append(eqs.energy(q, v).potential)
    moved = np.array(MOVED)
    area, second = WIDTH * THICKNESS, WIDTH * THICKNESS**3 / 12
    stretch = E * area * (np.hypot(LENGTH, moved) - LENGTH) ** 2 / (2 * LENGTH)
    return CaseResult(value, stretch + 6 * E * second / LENGTH * np.arctan2(moved, LENGTH) ** 2)
