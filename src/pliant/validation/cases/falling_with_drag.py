"""Fall against a drag that grows with the square of the speed."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
bodies: {ball: {mass: 0.5 kg}}
joints: {drop: {type: prismatic, axis: z, child: ball, displacement: {damper: {coefficient: 0.02, power: 2}}}}
"""


@case(
    "Motion",
    compared="Speed at 200 moments of a fall of 5 s",
    source="v_t tanh(g t/v_t) with v_t = sqrt(m g/c): H. Lamb, Dynamics, 2nd ed. (1923).",
    tolerance=1e-4,
    measure="of the largest",
    unit="m/s",
)
def check() -> CaseResult:
    """From rest."""
    run = simulate(derive(load_text(MODEL)), 5.0)
    limit = np.sqrt(0.5 * 9.81 / 0.02)
    time, value = np.asarray(run.time), -np.asarray(run["drop"].rate)
    exact = limit * np.tanh(9.81 * time / limit)
    return CaseResult(
        value,
        exact,
        Plot("time [s]", "speed [m/s]", (Line("fall", time, value), Line("tanh", time, exact, exact=True))),
    )
