"""Strip that a weight bends in both planes and twists (Princeton beam)."""

from __future__ import annotations

import numpy as np

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.continuous_rod import ClampedRod
from pliant.validation.rods import in_models
from pliant.validation.thick_arm import torsion

LENGTH, WIDTH, HEIGHT, E, NU, WEIGHT = 0.508, 12.7e-3, 3.175e-3, 71.7e9, 0.31, 13.345
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{angle: 0 rad}}
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {HEIGHT}}}}}
materials: {{aluminium: {{density: 2810, youngs_modulus: {E}, poissons_ratio: {NU}}}}}
rods: {{beam: {{length: {LENGTH} m, section: strip, material: aluminium}}}}
loads: {{tip: {{frame: beam.tip, force: ["={WEIGHT} N*cos(angle)", "={WEIGHT} N*sin(angle)", 0]}}}}
"""
ANGLES = np.radians([15.0, 45.0, 75.0])
WORDS = ("finite_element:8", "cosserat:40")


def exact(angle: float) -> np.ndarray:
    """Position of the tip with the weight at an angle from the stiff direction [m]."""
    G, area = E / (2 * (1 + NU)), WIDTH * HEIGHT
    shear = 10 * (1 + NU) / (12 + 11 * NU) * G * area
    bending = (E * WIDTH * HEIGHT**3 / 12, E * HEIGHT * WIDTH**3 / 12, G * torsion(WIDTH, HEIGHT))
    force = (WEIGHT * np.cos(angle), WEIGHT * np.sin(angle), 0.0)
    return ClampedRod(LENGTH, (shear, shear, E * area), bending, (1.0, 0, 0, 0), force=force).position(LENGTH)


@case(
    "Published systems",
    compared="Place of the tip with a weight of 13.3 N at 15, 45 and 75 degrees from the strip's stiff direction, in "
    "two rod models",
    source="E. H. Dowell, J. Traybar and D. H. Hodges, An experimental-theoretical correlation study of non-linear "
    "bending and torsion deformations of a cantilever beam, J. Sound and Vibration 50 (1977) 533-544 "
    "(set-up); the continuous rod by SciPy.",
    tolerance=1e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """Bending in both planes twists the strip, an effect that linear theories do not contain."""
    value = [
        [equilibrium(eqs, parameters={"angle": float(x)}).frames["beam.tip"].position for x in ANGLES]
        for _, eqs in in_models(load_text(MODEL), "beam", WORDS)
    ]
    reference = np.array([exact(float(x)) for x in ANGLES])
    lines = (
        Line("finite_element", np.degrees(ANGLES), [x[1] for x in value[0]]),
        Line("continuous rod", np.degrees(ANGLES), reference[:, 1], exact=True),
    )
    return CaseResult(np.array(value), reference, Plot("angle of the weight [deg]", "deflection across [m]", lines))
