"""Arm of two arcs that falls in a plane, compared with two other simulators."""

from __future__ import annotations

from pathlib import Path

from pliant.validation.case import CaseResult, case
from pliant.validation.rollouts import SOURCE, beside


@case(
    "Recordings",
    compared="Mean distance of the tip from those of soromox and SoRoSim over 3 s; the arm is 0.6 m long and falls "
    "by 0.5 m",
    source=SOURCE,
    tolerance=4.0,
    measure="absolute",
    unit="mm",
    data="rollouts/planar.csv",
)
def check(file: Path) -> CaseResult:
    """Two pieces of constant strain, as in the other simulators."""
    rod = "damping: [10, 10, 10, 0.02, 0.02, 0.02], strains: planar, model: {kind: pcs, elements: 2}"
    return beside(file, "[-9.81, 0, 0]", rod)
