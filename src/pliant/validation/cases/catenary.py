"""Cable between two points, stretched by its own weight."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

LENGTH, SPAN, RADIUS, E, DENSITY = 1.0, 0.7, 1e-3, 5e6, 1100.0
HALF = 1.410185
"""Half the angle of the arc with this length and span, the initial shape of the cable [rad]."""
STATIONS = np.linspace(0, 1, 11)[1:-1]
MODEL = f"""
pliant: 1
sections: {{cord: {{shape: circle, radius: {RADIUS} m}}}}
materials: {{rubber: {{density: {DENSITY}, youngs_modulus: {E}, poissons_ratio: 0.4}}}}
bodies: {{pin: {{}}}}
joints: {{hinge: {{type: revolute, axis: y, child: pin, angle: {{initial: {HALF}}}}}}}
rods:
  cable:
    parent: pin
    rotation: {{axis: y, angle: 90 deg}}
    length: {LENGTH} m
    section: cord
    material: rubber
    strains: planar
    shape: {{type: arc, angle: {2 * HALF}, direction: {np.pi}}}
    stress_free: false
    frames: {{{", ".join(f"f{k}: {s} m" for k, s in enumerate(STATIONS))}}}
    model: {{kind: finite_element, elements: 20}}
constraints:
  end: {{between: [{{frame: world, position: [{SPAN} m, 0, 0]}}, cable.tip], components: [x, z], expressed_in: world}}
"""


def elastic_catenary(s: np.ndarray, w: float, EA: float, length: float, span: float) -> np.ndarray:
    """Position (x, z) of the elastic catenary at arc lengths [m] (Irvine, with both ends at the same height).

    w: weight per length [N/m]; length: without load [m].
    """
    V = w * length / 2

    def x(H: float, s: np.ndarray) -> np.ndarray:
        return np.asarray(H * s / EA + H / w * (np.arcsinh(V / H) - np.arcsinh((V - w * s) / H)))

    H = scipy.optimize.brentq(lambda H: x(H, np.array(length)) - span, 1e-6, 10.0, xtol=1e-14)
    down = s / EA * (V - w * s / 2) + H / w * (np.sqrt(1 + (V / H) ** 2) - np.sqrt(1 + ((V - w * s) / H) ** 2))
    return np.array([x(H, s), -down])


def exact(s: np.ndarray) -> np.ndarray:
    """Position (x, z) of the cable at arc lengths [m]."""
    area = np.pi * RADIUS**2
    return elastic_catenary(s, DENSITY * area * 9.81, E * area, LENGTH, SPAN)


@case(
    "Statics",
    compared="Places of nine sections of a cable of 1 m that hangs over a span of 0.7 m",
    source="H. M. Irvine, Cable Structures, MIT Press (1981), section 1.4: the elastic catenary.",
    tolerance=1e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """The cable is a rod of finite elements with negligible bending stiffness."""
    frames = equilibrium(derive(load_text(MODEL))).frames
    value = np.array([frames[f"cable.f{k}"].position[[0, 2]] for k in range(len(STATIONS))])
    fine = exact(np.linspace(0, LENGTH, 60))
    plot = Plot(
        "x [m]", "z [m]", (Line("cable", value[:, 0], value[:, 1]), Line("catenary", fine[0], fine[1], exact=True))
    )
    return CaseResult(value, exact(STATIONS).T, plot)
