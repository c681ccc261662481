"""Block that slides down a slope with friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, case
from pliant.validation.contact_models import block

METHODS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "implicit"},
    {"method": "explicit"},
    {"method": "generalized_alpha", "step": 1e-3},
)


@case(
    "Contact",
    compared="Acceleration and force of friction on a slope of 0.6 rad with a coefficient of 0.5, by four methods "
    "[m/s^2, N]",
    source="C.-A. de Coulomb (1785): g (sin a - mu cos a) and mu m g cos a.",
    tolerance=1e-3,
)
def check() -> CaseResult:
    """The acceleration is evaluated between half a second and one second."""
    eqs, value = block(0.6), []
    for options in METHODS:
        run = simulate(eqs, 1.0, save_every=0.1, **options)
        speed, time = np.asarray(run.v)[:, 0], np.asarray(run.time)
        value.append([(speed[-1] - speed[5]) / (time[-1] - time[5]), -run["friction"].values[-1]])
    held = 0.5 * 9.81 * np.cos(0.6)
    return CaseResult(np.array(value), (9.81 * np.sin(0.6) - held, held))
