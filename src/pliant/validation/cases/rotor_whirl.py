"""Disc on an elastic shaft that whirls forward and backward."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MASS, ACROSS, ALONG, EI, LENGTH = 2.0, 0.02, 0.04, 200.0, 0.5
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{speed: 0 rad/s}}
sections:
  shaft: {{shape: stiffness, stiffness: [1e9, 1e9, 1e9, {EI}, {EI}, 1e9], mass_per_length: 1e-9,
          inertia_per_length: [1e-12, 1e-12, 1e-12]}}
rods: {{shaft: {{length: {LENGTH} m, section: shaft, strains: kirchhoff, model: {{kind: gvs, order: 1}}}}}}
bodies: {{disc: {{mass: {MASS} kg, inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}}}}}}
joints: {{bearing: {{type: revolute, axis: z, parent: shaft.tip, child: disc, angle: {{motion: "=speed*t"}}}}}}
"""
SPEEDS = (0.0, 50.0, 100.0, 200.0)


def exact(speed: float) -> np.ndarray:
    """The four lowest whirling speeds [rad/s]: with x + i y ~ exp(i w t), M w^2 - G speed w - K = 0."""
    k = EI / LENGTH**3 * np.array([[12, -6 * LENGTH], [-6 * LENGTH, 4 * LENGTH**2]])
    M, G = np.diag([MASS, ACROSS]), np.diag([0, ALONG]) * speed
    zero, one = np.zeros((2, 2)), np.eye(2)
    state = np.block([[zero, one], [np.linalg.solve(M, k), np.linalg.solve(M, G)]])
    return np.sort(np.abs(np.linalg.eigvals(state).real))


@case(
    "Vibration",
    compared="Four whirling speeds of an overhung disc at four speeds of rotation",
    source="A. Stodola, Dampf- und Gasturbinen, 5th ed. (1924); G. Genta, Dynamics of Rotating Systems (2005), "
    "section 2.5: the gyroscopic disc on a massless shaft, eigenvalues by NumPy.",
    tolerance=1e-4,
    unit="rad/s",
)
def check() -> CaseResult:
    """The disc rotates at a prescribed constant speed; linear curvature along the shaft is exact."""
    eqs = derive(load_text(MODEL))
    value = []
    for speed in SPEEDS:
        found = np.abs(modes(eqs, at="initial", parameters={"speed": speed}).eigenvalues.imag)
        value.append(np.sort(found[found > 1e-3])[:4])
    speeds = np.linspace(0, 200, 25)
    branches = np.array([exact(x) for x in speeds])
    lines = [Line(f"{word} whirl", SPEEDS, [row[k] for row in value]) for k, word in enumerate(("slow", "next"))]
    marks = [Line(f"theory, {word}", speeds, branches[:, k], exact=True) for k, word in enumerate(("slow", "next"))]
    plot = Plot("speed of rotation [rad/s]", "whirling speed [rad/s]", (*lines, *marks))
    return CaseResult(np.array(value), np.array([exact(x) for x in SPEEDS]), plot)
