"""Ring that buckles out of its plane when twisted."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

RATIO = 1.5
"""Ratio of torsional to bending stiffness."""
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{turned: 0 rad}}
sections:
  round: {{shape: stiffness, stiffness: [1e4, 1e4, 1e4, 1, 1, {RATIO}], mass_per_length: 1, inertia_per_length: [1e-3, 1e-3, 2e-3]}}
bodies: {{collar: {{}}}}
joints: {{turn: {{type: revolute, axis: z, child: collar, angle: {{motion: =turned}}}}}}
rods:
  ring:
    length: =2*pi
    section: round
    shape: {{type: arc, angle: 360 deg}}
    stress_free: false
    frames: {{half: =pi}}
    model: {{kind: finite_element, elements: 16}}
constraints:
  closed: {{between: [collar, ring.tip], components: all}}
  plane: {{between: [world, ring.half], components: [y]}}
"""


@case(
    "Stability",
    compared="Angle by which a ring, bent of a straight rod, can be twisted before it buckles out of its plane",
    source="J. H. Michell, On the stability of a bent and twisted wire, Messenger of Mathematics 19 (1889-90) "
    "181-184; A. Goriely, Twisted elastic rings and the rediscoveries of Michell's instability, J. Elasticity "
    "84 (2006) 281-299: 2 pi sqrt(3) EI/GJ.",
    tolerance=3e-3,
    unit="rad",
    quick=False,
)
def check() -> CaseResult:
    """The ring is fixed at one section, where it is twisted, and against rotation about the tangent there, which costs no energy:
    only its rigid-body motions are removed."""
    exact = 2 * np.pi * np.sqrt(3) / RATIO
    path = continuation(derive(load_text(MODEL)), parameter="turned", to=1.05 * exact)
    return CaseResult(path.special[0].value, exact)
