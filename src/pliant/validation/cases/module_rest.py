"""Pneumatic module compared with nine recorded equilibria."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.identify.compare import compare
from pliant.language.recording import read_recording
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, case

WORDS = ("pcs:3", "cosserat:3", "pseudo_rigid:3")
RESTS = {
    8.70: (0.04, -9.25, 59.57),
    15.15: (7.73, 4.18, 58.75),
    21.70: (-5.12, 3.08, 59.15),
    26.20: (0.55, -23.55, 56.87),
    31.10: (19.12, 10.38, 55.07),
    35.10: (-17.42, 10.00, 56.98),
    39.20: (-0.67, -35.18, 50.00),
    44.60: (29.40, 16.73, 45.79),
    50.90: (-28.03, 17.75, 49.47),
}
"""Times near the ends of the pressure steps [s], at which the tip's position [mm] was read off the recording by hand."""


@case(
    "Recordings",
    compared="Mean distance of the tip from nine recorded places at rest, in three rod models, nothing fitted",
    source="S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a STIFF-FLOP module "
    "(github.com/smhadisadati/TMTDyn). The tolerance is what the published program reached at best in motion.",
    tolerance=2.572,
    measure="absolute",
    unit="mm",
    data="stiff_flop_free.csv",
)
def check(file: Path) -> CaseResult:
    """The bundled module under the recorded pressures."""
    rows = compare(load("stiff_flop"), "arm", WORDS, read_recording(file), window=(7.0, 54.0), rest_at=list(RESTS))
    read = np.array(list(RESTS.values()))
    return CaseResult([np.linalg.norm(1e3 * row.static_path - read, axis=1).mean() for row in rows], 0.0)
