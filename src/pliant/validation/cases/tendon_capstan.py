"""Tension loss of a tendon over guides."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

GUIDES = 12
POINTS = [(np.sin(x), 1 - np.cos(x)) for x in np.linspace(0, 2.0, GUIDES)]
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{carriage: {{mass: 1 kg}}}}
joints:
  slide:
    {{type: prismatic, child: carriage, axis: [{np.cos(2.0)}, 0, {np.sin(2.0)}], displacement: {{spring: 100 N/m}},
      position: [{POINTS[-1][0] + np.cos(2.0)} m, 0, {POINTS[-1][1] + np.sin(2.0)} m]}}
tendons:
  line:
    type: tension
    friction: 0.3
    at_rest: pulled
    tension: 10 N
    through:
      - {{frame: world, position: [-1 m, 0, 0]}}
{"".join(f"      - {{frame: world, position: [{x} m, 0, {z} m]}}" + chr(10) for x, z in POINTS)}
      - carriage
outputs:
  pull: {{tendon: line, quantity: end_tension}}
"""


@case(
    "Statics",
    compared="Tension at the end of a line that is pulled over twelve guides and turns by 2 rad, and the way of the "
    "spring there",
    source="L. Euler (1769) and J. A. Eytelwein (1808): T exp(-mu turn); S. P. Timoshenko and D. H. Young, "
    "Engineering Mechanics (1940).",
    tolerance=1e-3,  # a line that was pulled has tanh(4) of the full friction
)
def check() -> CaseResult:
    """The total angle of the line is the same for any number of guides; the spring at its end measures the remaining tension."""
    rest = equilibrium(derive(load_text(MODEL)))
    left = 10 * np.exp(-0.3 * 2.0)
    return CaseResult([float(rest.outputs["pull"]), -float(rest.q[0])], [left, left / 100])
