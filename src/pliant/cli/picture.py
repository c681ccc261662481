"""The command `picture`: draw a robot in a pose."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from pliant.analysis.base import StateGiven
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.state import EQUILIBRIUM, INITIAL, assemble, given_state
from pliant.analysis.numerics.status import Status
from pliant.cli.command_output import answering, drawing
from pliant.cli.common import (
    CommandError,
    Frames,
    Inputs,
    Json,
    Labels,
    ModelOptions,
    Size,
    View,
    print_json,
    read_size,
)
from pliant.cli.model_argument import open_subject, with_inputs
from pliant.cli.options import in_si, with_options
from pliant.engine.equations import Equations
from pliant.engine.state import State
from pliant.language.base import Part
from pliant.language.scalar import Time
from pliant.show.clips import parameters_of_run
from pliant.show.sketch import save, sketch


class PoseOptions(Part):
    """The pose to draw."""

    at: StateGiven = "initial"
    """Pose to draw: `initial`, `equilibrium`, or coordinates by name."""
    time: Time | None = None
    """Time at which inputs are evaluated [s], 0 by default; for a result, the time to draw, its end by default."""


@with_options(PoseOptions)
def picture(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RESULT", help="A model file, the name of a bundled robot, or a result (.nc)."),
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="File to write: .png, .svg or .pdf.")],
    options: dict[str, Any],
    view: View = None,
    size: Size = None,
    labels: Labels = True,
    frames: Frames = True,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    json: Json = False,
) -> int:
    """Draw a robot: planar robots face-on, others from above."""
    at, time = options.get("at", INITIAL), options.get("time")
    if isinstance(at, str) and at not in (INITIAL, EQUILIBRIUM):
        hint = 'write --at initial, --at equilibrium or coordinates: --at "q1=10 deg"'
        raise CommandError(f"unknown pose '{at}'", hint)
    subject = open_subject(model, choices)
    pixels = read_size(size)
    look: dict[str, Any] = {"view": view, "size": pixels, "labels": labels, "frames": frames}
    if subject.run is not None:
        if inputs or at != INITIAL:
            raise CommandError(f"{model} is a result with poses of its own", "omit --at and --input, and give a --time")
        run, eqs, at = subject.run, subject.equations, "result"
        if not len(run.time):
            raise CommandError(f"{model} contains no saved states", "simulate again with --save-every 0.02")
        pose = answering(lambda: run.final if time is None else run.state_at(time))
        k = int(np.argmin(np.abs(run.time - pose.t)))
        look["inputs"] = {name: float(x[k]) for name, x in run.inputs.items() if name in eqs.inputs}
        look["parameters"] = parameters_of_run(eqs, run)
    else:
        eqs = with_inputs(subject.equations, inputs, begin=time or 0.0)
        pose = in_si(eqs, {"at": at})["at"]
        if at == EQUILIBRIUM:
            pose = answering(lambda: equilibrium(eqs, time=time or 0.0, on_failure="return"))
            if pose.status != Status.CONVERGED:
                raise CommandError(pose.message, "use --at initial to draw the initial pose")
        else:
            pose = answering(lambda: _pose(eqs, pose, time or 0.0))

    def paint() -> None:
        save(sketch(eqs, pose, **look), out)

    drawing(lambda: answering(paint), out)
    if json:
        print_json({"model": model, "status": "ok", "at": at, "out": out})
    else:
        print(f"picture in {out}")
    return 0


def _pose(eqs: Equations, at: Any, time: float) -> State:
    """The initial state, or the state with the given coordinates, at a time [s], with closed loops."""
    state = given_state(eqs, at, time, where="--at")
    closed = assemble(eqs, eqs.binding, state.t, state.q, state.v, state.given)
    return State(closed.q, closed.v, state.t)
