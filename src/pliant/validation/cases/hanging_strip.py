"""Strip of cloth that hangs between two clamps, as a shell."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.cases.catenary import elastic_catenary

LENGTH, SPAN, CELLS = 1.0, 0.7, 16
WIDTH, THICKNESS, E, DENSITY = 0.03, 0.2e-3, 5e6, 1000.0


def drawing() -> np.ndarray:
    """Nodes of links of one metre in total over the span, as an arc upwards, from which the strip falls through (n x 3) [m]."""
    angles = np.linspace(-1, 1, CELLS)
    scale = scipy.optimize.brentq(lambda a: np.cos(a * angles).mean() - SPAN / LENGTH, 1e-3, 3.0)
    steps = np.column_stack([np.cos(scale * angles), 0 * angles, np.sin(scale * angles)]) * LENGTH / CELLS
    return np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])


def model() -> str:
    """The strip with its ends held."""
    edges = [[k, k + 1] for k in range(1, CELLS + 1)]
    return f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {THICKNESS}}}}}
materials: {{rubber: {{youngs_modulus: {E}, poissons_ratio: 0.3, density: {DENSITY}}}}}
meshes:
  strip: {{type: shell, drawing: {{nodes: {drawing().tolist()}, edges: {edges}}}, section: strip, material: rubber}}
"""


@case(
    "Statics",
    compared="Places of the nodes of a strip of cloth of 1 m that hangs over a span of 0.7 m, as a shell of 16 edges",
    source="H. M. Irvine, Cable Structures, MIT Press (1981), section 1.4: the elastic catenary.",
    tolerance=3e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """Edges are straight or bent beams of 0.2 mm; the strip is drawn upwards and falls through."""
    frames = equilibrium(derive(load_text(model()))).frames
    value = np.array([frames[f"strip.n{k + 1}"].position[[0, 2]] for k in range(CELLS + 1)])
    area = WIDTH * THICKNESS
    cable = (DENSITY * area * 9.81, E * area, LENGTH, SPAN)
    fine = elastic_catenary(np.linspace(0, LENGTH, 60), *cable)
    lines = (Line("strip", value[:, 0], value[:, 1]), Line("catenary", fine[0], fine[1], exact=True))
    exact = elastic_catenary(np.linspace(0, LENGTH, CELLS + 1), *cable)
    return CaseResult(value, exact.T, Plot("x [m]", "z [m]", lines))
