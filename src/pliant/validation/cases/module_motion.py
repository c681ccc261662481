"""Pneumatic module compared with the recorded motion of its tip."""

from __future__ import annotations

from pathlib import Path

from pliant.identify.compare import compare
from pliant.language.recording import read_recording
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, Line, Plot, case

WORDS = ("pcs:3", "cosserat:3", "pseudo_rigid:3", "polynomial:3")


@case(
    "Recordings",
    compared="Mean distance of the tip from the recorded one over 47 s, in four rod models, nothing fitted",
    source="S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a STIFF-FLOP module "
    "(github.com/smhadisadati/TMTDyn). The tolerance is what the published program reached at best on it.",
    tolerance=2.572,
    measure="absolute",
    unit="mm",
    data="stiff_flop_free.csv",
)
def check(file: Path) -> CaseResult:
    """The bundled module, driven by the recorded pressures."""
    rows = compare(load("stiff_flop"), "arm", WORDS, read_recording(file), window=(7.0, 54.0))
    lines = (
        Line(WORDS[0], rows[0].time, 1e3 * rows[0].path[:, 1]),
        Line("recorded", rows[0].time, 1e3 * rows[0].measured[:, 1], exact=True),
    )
    plot = Plot("time [s]", "y of the tip [mm]", lines)
    return CaseResult([row.mean_error_mm for row in rows], 0.0, plot)
