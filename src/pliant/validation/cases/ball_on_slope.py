"""Ball that rolls down a slope."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import ball

ANGLES = (0.1, 0.3)


@case(
    "Contact",
    compared="Acceleration of a ball on slopes of 0.1 and 0.3 rad",
    source="G. Galilei (1638), with the rotation: 5/7 g sin a, H. Goldstein, Classical Mechanics, 2nd ed. (1980), "
    "chapter 1.",
    tolerance=1e-3,
    unit="m/s^2",
)
def check() -> CaseResult:
    """The slope is modelled by a force along a level plane, whose normal force is sufficient for rolling without slip."""
    value = []
    for angle in ANGLES:
        run = simulate(ball("friction: 0.5", speed=0.0, pull=float(9.81 * np.sin(angle))), 1.0, save_every=0.1)
        value.append((run.v[-1, 0] - run.v[5, 0]) / 0.5)
    return CaseResult(value, 5 / 7 * 9.81 * np.sin(ANGLES))
