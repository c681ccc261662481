"""Grid of beams that models a clamped plate."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

YOUNGS_MODULUS, THICKNESS, MASS_PER_AREA = 1e9, 5e-3, 5.0
"""[Pa], [m], [kg/m^2]; the plate is 1 m wide and has no Poisson effect."""


def model(cells: int) -> str:
    """The plate as a grid with this number of cells along a side; every strip represents its part of the width.

    Strips at the edge have mass as well, although there is no plate beyond it: the total is heavier by that amount.
    """
    return f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{strip: {{shape: rectangle, width: {1 / cells}, height: {THICKNESS}}}}}
materials: {{sheet: {{youngs_modulus: {YOUNGS_MODULUS}, poissons_ratio: 0}}}}
meshes:
  plate: {{type: shell, drawing: {{rectangle: [1 m, 1 m], cells: [{cells}, {cells}]}}, section: strip, material: sheet,
          mass: {MASS_PER_AREA * (cells + 1) / cells}, held: {{a: world, b: world, c: world, d: world}},
          sets: {{a: {{plane: x}}, b: {{plane: x, through: [1, 0, 0]}}, c: {{plane: y}}, d: {{plane: y, through: [0, 1, 0]}}}}}}
"""


def isotropic() -> float:
    """Lowest frequency of the plate itself [Hz]."""
    bending = YOUNGS_MODULUS * THICKNESS**3 / 12
    return float(35.99 * np.sqrt(bending / MASS_PER_AREA) / (2 * np.pi))


def orthotropic(cells: int) -> float:
    """Lowest frequency of a plate with the bending stiffness of the strips and the torsional stiffness of both families [Hz]."""
    bending, width, t = YOUNGS_MODULUS * THICKNESS**3 / 12, 1 / cells, THICKNESS
    torsion = width * t**3 * (1 / 3 - 0.21 * t / width * (1 - (t / width) ** 4 / 12))
    twist = 2 * (YOUNGS_MODULUS / 2) * torsion / width
    return float(np.sqrt((4.730**4 * 2 * bending + 151.3 * twist) / MASS_PER_AREA) / (2 * np.pi))


@case(
    "Vibration",
    compared="Lowest frequency of a square sheet that is clamped all around, as a shell of 24 x 24 cells",
    source="R. F. S. Hearmon, The frequency of flexural vibration of rectangular orthotropic plates with clamped or "
    "supported edges, J. Applied Mechanics 26 (1959) 537-540: one-term formula, an upper estimate.",
    tolerance=0.015,
    unit="Hz",
)
def check() -> CaseResult:
    """The strips are twice as stiff in torsion as a sheet: frequencies are a tenth above those of an isotropic plate."""
    return CaseResult(modes(derive(load_text(model(24))), count=1).frequencies[0], orthotropic(24))
