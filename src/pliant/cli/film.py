"""The command `film`: a saved result as a film."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from pliant.cli.command_output import answering, drawing
from pliant.cli.common import CommandError, Frames, Json, Labels, ModelOptions, Size, View, print_json, read_size
from pliant.cli.model_argument import RESULT_ENDING, open_subject
from pliant.language.arguments import ArgumentError
from pliant.show.film import Film
from pliant.show.film import film as make_film


def film(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="A saved result (.nc).")],
    out: Annotated[str, typer.Argument(metavar="FILE", help="File to write: .mp4 or .gif.")],
    fps: Annotated[float, typer.Option("--fps", min=1, max=100, help="Frames per second.")] = 25.0,
    speed: Annotated[
        float, typer.Option("--speed", min=1e-3, help="Seconds of motion per second of film; below 1 is slow motion.")
    ] = 1.0,
    view: View = None,
    size: Size = None,
    labels: Labels = True,
    frames: Frames = True,
    json: Json = False,
) -> int:
    """Make a film of a saved result, without a display."""
    if not result.endswith(RESULT_ENDING):
        raise CommandError(
            f"'{result}' is not a result", f"save one: pliant simulate {result} --save-every 0.02 --out run.nc"
        )
    subject = open_subject(result, ModelOptions())
    assert subject.run is not None

    def progress(done: int, count: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\rframe {done} of {count}" + ("\n" if done == count else ""))

    eqs, run = subject.equations, subject.run
    look: dict[str, Any] = {"view": view, "size": read_size(size), "labels": labels, "frames": frames}
    shown = None if json else progress

    def paint() -> Film:
        return make_film(eqs, run, out, fps=fps, speed=speed, **look, progress=shown)

    try:
        count = drawing(lambda: answering(paint), out).frames
    except ArgumentError as reason:
        raise CommandError(str(reason)) from None
    if json:
        print_json({"model": result, "status": "ok", "out": out, "frames": count, "fps": fps, "speed": speed})
    else:
        print(f"film of {count} frames in {out}")
    return 0
