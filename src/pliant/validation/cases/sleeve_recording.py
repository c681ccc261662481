"""Fabric sleeve on a swinging arm compared with its recording."""

from __future__ import annotations

from pathlib import Path

from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.sleeve import driven_sleeve, error, follow, read_sleeve


@case(
    "Recordings",
    compared="Mean distance of a node of the fabric from the recorded one, in the first half, by which the model was "
    "chosen, and in the second",
    source="S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a fabric sleeve "
    "(github.com/smhadisadati/TMTDyn). The authors report about 100 mm; the tolerance is a quarter of that.",
    tolerance=25.0,
    measure="absolute",
    unit="mm",
    data="sleeve_recording.csv",
)
def check(file: Path) -> CaseResult:
    """The bundled sleeve, with its arm driven as recorded."""
    measured = read_sleeve(file)
    moved = follow(driven_sleeve(measured), measured, {})
    if moved is None:
        raise RuntimeError("the motion of the sleeve was not completed")
    halves = [1e3 * error(moved[half], measured, half) for half in (measured.first, ~measured.first)]
    lines = (
        Line("model", measured.time, 1e3 * moved[:, 0]),
        Line("recorded", measured.time, 1e3 * measured.moved[:, 0], exact=True),
    )
    return CaseResult(halves, 0.0, Plot("time [s]", "moved across [mm]", lines))
