"""Curved cantilever that is bent out of its plane (45-degree bend)."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

RADIUS = 100.0
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
sections:
  square: {{shape: stiffness, stiffness: [5e6, 5e6, 1e7, {1e7 / 12}, {1e7 / 12}, {1e7 / 12}],
           mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
rods:
  bend:
    rotation: {{axis: x, angle: -90 deg}}
    length: ={RADIUS} m*pi/4
    section: square
    shape: {{type: arc, radius: {RADIUS} m}}
    model: {{kind: finite_element, elements: 8}}
loads: {{tip: {{frame: bend.tip, force: [0, 0, =push]}}}}
"""
PUBLISHED = {300.0: (22.33, 58.84, 40.08), 450.0: (18.62, 52.32, 48.39), 600.0: (15.79, 47.23, 53.37)}
"""Position of the tip for each load: towards the centre of the arc, along the tangent of the base, and out of the plane."""


@case(
    "Published systems",
    compared="Place of the tip under loads of 300, 450 and 600, of a quarter of a half circle of radius 100 (units "
    "as published)",
    source="K.-J. Bathe and S. Bolourchi, Large displacement analysis of three-dimensional beam structures, Int. J. "
    "Numerical Methods in Engineering 14 (1979) 961-986; numbers of J. C. Simo and L. Vu-Quoc, Comput. "
    "Methods Appl. Mech. Eng. 58 (1986) 79-116, table. Published solutions differ by 1 %.",
    tolerance=0.01,
    measure="of the largest",
)
def check() -> CaseResult:
    """Eight finite elements along the true arc."""
    eqs = derive(load_text(MODEL))
    value = [equilibrium(eqs, parameters={"push": load}).frames["bend.tip"].position for load in PUBLISHED]
    lines = (
        Line("finite_element", list(PUBLISHED), [x[2] for x in value]),
        Line("published", list(PUBLISHED), [x[2] for x in PUBLISHED.values()], exact=True),
    )
    return CaseResult(np.array(value), np.array(list(PUBLISHED.values())), Plot("load", "out of plane", lines))
