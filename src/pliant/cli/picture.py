"""The command `picture`: a robot in a pose as a drawing."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.cli.answers import answering, drawing
from pliant.cli.common import Choices, CommandError, Frames, Json, Labels, Model, Size, View, print_json, read_size
from pliant.cli.subject import load_model
from pliant.language.words import renamed_hint
from pliant.solve.state import EQUILIBRIUM, INITIAL, WORDS
from pliant.solve.statics.equilibrium import equilibrium
from pliant.solve.status import Status
from pliant.spec.derive import derive
from pliant.view.sketch import save, sketch


def picture(
    model: Model,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="File to write: .png, .svg or .pdf.")],
    at: Annotated[str, typer.Option("--at", help="Pose to draw: initial or equilibrium.")] = "initial",
    view: View = None,
    size: Size = None,
    labels: Labels = True,
    frames: Frames = True,
    *,
    choices: Choices,
    json: Json = False,
) -> int:
    """Draw a robot: planar robots face-on, others from above."""
    if at not in (INITIAL, EQUILIBRIUM):
        raise CommandError(f"unknown pose '{at}'", renamed_hint(at, WORDS) or "write --at initial or --at equilibrium")
    eqs = derive(load_model(model, choices))
    found = answering(lambda: equilibrium(eqs, on_failure="return")) if at == EQUILIBRIUM else None
    if found is not None and found.status != Status.CONVERGED:
        raise CommandError(found.message, "use --at initial to draw the initial pose")
    pixels = read_size(size)

    def paint() -> None:
        save(sketch(eqs, found, view=view, size=pixels, labels=labels, frames=frames), out)

    drawing(lambda: answering(paint), out)
    if json:
        print_json({"model": model, "status": "ok", "at": at, "out": out})
    else:
        print(f"picture in {out}")
    return 0
