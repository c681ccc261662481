"""Upright arm bent by two tendons, compared with two other simulators."""

from __future__ import annotations

from pathlib import Path

from pliant.validation.case import CaseResult, case
from pliant.validation.rollouts import SOURCE, beside

TENDONS = """
tendons:
  a: {type: tension, through: [{rod: arm, offset: [-20 mm, 0], eyelets: 41}], tension: 1 N}
  b: {type: tension, through: [{rod: arm, offset: [0, 20 mm], eyelets: 41}], tension: 1 N}
"""


@case(
    "Recordings",
    compared="Mean distance of the tip from those of soromox and SoRoSim over 3 s",
    source=SOURCE,
    tolerance=6.0,
    measure="absolute",
    unit="mm",
    data="rollouts/tendon.csv",
)
def check(file: Path) -> CaseResult:
    """Bending, twist and stretch linear along each of two pieces, as in the other simulators."""
    rod = (
        "damping: [28.27, 28.27, 84.8, 0.01909, 0.01909, 0.01272], strains: unshearable, "
        "model: {kind: gvs, order: 1, elements: 2}"
    )
    return beside(file, "[0, 0, -9.81]", rod, TENDONS)
