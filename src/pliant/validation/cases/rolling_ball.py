"""Ball that slides and then rolls."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.contact_models import ball

METHODS: tuple[dict[str, Any], ...] = ({}, {"method": "explicit"}, {"method": "generalized_alpha", "step": 1e-3})


@case(
    "Contact",
    compared="Speed of a ball that slid at 1 m/s, and its speed of rotation times its radius, by three methods",
    source="L. Euler (1758); H. Goldstein, Classical Mechanics, 2nd ed. (1980), chapter 5: 5/7 of the speed, "
    "whatever the friction.",
    tolerance=1e-3,
    unit="m/s",
)
def check() -> CaseResult:
    """With a coefficient of 0.3, after two seconds."""
    value, lines = [], []
    for options in METHODS:
        run = simulate(ball("friction: 0.3"), 2.0, save_every=0.01, **options)
        value.append(np.asarray(run.v)[-1, [0, 4]] * (1, 0.03))
        lines.append(Line("centre", run.time, run.v[:, 0]))
    time = np.linspace(0, 2, 40)
    exact = Line("theory", time, np.maximum(5 / 7, 1 - 0.3 * 9.81 * time), exact=True)
    return CaseResult(np.array(value), 5 / 7, Plot("time [s]", "speed [m/s]", (lines[0], exact)))
