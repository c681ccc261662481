"""Upright top at the spin rate that stabilizes it."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MASS, HEIGHT, ACROSS, ALONG = 0.5, 0.06, 8e-4, 5e-4
MODEL = f"""
pliant: 1
bodies:
  gimbal: {{}}
  top: {{mass: {MASS} kg, center_of_mass: [0, 0, {HEIGHT} m], inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}}}}
joints:
  lean: {{type: universal, child: gimbal, axis1: x, axis2: y}}
  spin: {{type: revolute, parent: gimbal, child: top, axis: z}}
"""


@case(
    "Stability",
    compared="Smallest spin at which small motions about the upright pose do not grow",
    source="J.-L. Lagrange (1788): (C w)^2 = 4 A m g l with A about the point of support; H. Goldstein, Classical "
    "Mechanics, 2nd ed. (1980), section 5-7.",
    tolerance=1e-5,
    unit="rad/s",
)
def check() -> CaseResult:
    """The critical spin is found by bisection on whether a small motion grows; rates are included, because the motion is steady."""
    eqs = derive(load_text(MODEL))
    low, high = 50.0, 250.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        stable = not any(kind == "unstable" for kind in modes(eqs, at={"d(spin)/dt": middle}).kinds)
        low, high = (low, middle) if stable else (middle, high)
    inertia = ACROSS + MASS * HEIGHT**2
    return CaseResult((low + high) / 2, np.sqrt(4 * inertia * MASS * 9.81 * HEIGHT) / ALONG)
