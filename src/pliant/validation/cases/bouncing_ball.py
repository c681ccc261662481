"""Ball that bounces with and without loss."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.contact_models import ball

G = 9.81


@case(
    "Contact",
    compared="Times of the tops of flights after a fall of 0.5 m, with restitution 0.8 and 1",
    source="I. Newton (1687), definition of restitution: flights last e times as long as those before, bounces half "
    "a period.",
    tolerance=4e-3,
    measure="of the largest",
    unit="s",
)
def check() -> CaseResult:
    """With a stiffness of 2 MN/m an impact takes less than a millisecond."""
    value, reference, lines = [], [], []
    for restitution in (0.8, 1.0):
        law = f"restitution: {restitution}, stiffness: 2 MN/m"
        run = simulate(ball(law, height=0.53), 1.6, save_every=1e-3)
        time, speed = np.asarray(run.time), np.asarray(run.v)[:, 2]
        tops = np.flatnonzero((speed[:-1] > 0) & (speed[1:] <= 0))[:2]
        value += list(time[tops] + speed[tops] / G)
        flights = np.sqrt(2 * 0.5 / G) * restitution ** np.arange(3)
        reference += list(np.cumsum(flights[:-1] + flights[1:]) + np.pi * np.sqrt(0.1 / 2e6) * np.arange(1, 3))
        lines.append(Line(f"restitution {restitution:g}", time, run.q[:, 2] - 0.03))
    return CaseResult(value, reference, Plot("time [s]", "height [m]", tuple(lines)))
