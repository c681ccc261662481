"""Arm of two pieces that falls in space, compared with two other simulators."""

from __future__ import annotations

from pathlib import Path

from pliant.validation.case import CaseResult, case
from pliant.validation.rollouts import SOURCE, beside


@case(
    "Recordings",
    compared="Mean distance of the tip from those of soromox and SoRoSim over 3 s, which differ by as much from each "
    "other",
    source=SOURCE,
    tolerance=8.0,
    measure="absolute",
    unit="mm",
    data="rollouts/spatial.csv",
)
def check(file: Path) -> CaseResult:
    """Two pieces of constant strain, as in the other simulators."""
    rod = "damping: [10, 10, 10, 0.02, 0.02, 0.02], model: {kind: pcs, elements: 2}"
    return beside(file, "[-9.81, -9.81, 0]", rod)
