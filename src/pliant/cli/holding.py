"""The command `hold`: the inputs that hold coordinates, or components of positions of frames, at rest."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from pliant.analysis.base import PoseGiven
from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import FindEquilibrium
from pliant.cli.analysis import Out, check_out, finish, result_file
from pliant.cli.command_output import Report, answering, check_report
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions
from pliant.cli.model_argument import load_model, read_inputs, read_settings
from pliant.cli.options import in_si, si_number, with_options
from pliant.control.static_model import rest_with
from pliant.control.task import Coordinates, FramePosition, Several, Task
from pliant.engine.equations import Equations
from pliant.engine.input_values import inputs_at_time
from pliant.language.base import Part
from pliant.language.message_text import suggestion
from pliant.parts.output.quantities import FrameOutput


class HeldPose(Part):
    """Options of the search."""

    start: PoseGiven = "initial"
    """Pose from which the search starts: `initial`, or coordinates by name."""


@with_options(HeldPose)
def hold(
    model: Model,
    options: dict[str, Any],
    choices: ModelOptions,
    held: Annotated[
        list[str],
        typer.Option("--with", metavar="NAME=VALUE", help='Coordinate or position to hold: "hinge=30 deg", tip.x=0.1.'),
    ],
    use: Annotated[
        str | None, typer.Option("--use", help="Inputs that hold it, separated by commas; default: all but loads.")
    ] = None,
    inputs: Inputs = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Find the equilibrium with given values of coordinates or positions, and the inputs that hold it."""
    check_out(out, FindEquilibrium)
    check_report(report)
    eqs = derive(load_model(model, choices))
    start = in_si(eqs, options)["start"]
    task, value = read_held(eqs, held)
    names = None if use is None else tuple(word.strip() for word in use.split(","))
    given = answering(lambda: inputs_at_time(eqs, read_inputs(eqs, inputs), None, 0.0))
    found = answering(lambda: rest_with(eqs, task, value, start=start, inputs=given, use=names))
    if result_file(out):
        answering(lambda: found.kept_in(out))
    return finish(model, eqs, found, out, report, json)


EXAMPLE = '"hinge=30 deg" or tip.x=0.1'


def read_held(eqs: Equations, settings: Sequence[str]) -> tuple[Task, np.ndarray]:
    """A task and its value [SI] from NAME=VALUE; a name is a coordinate, a component of a frame's position (`hand.tip.x`), or
    one of an output of a frame's position (`tip.x`)."""
    given = read_settings([word for one in settings for word in re.split(",(?=[^,]*=)", one)], "--with", EXAMPLE)
    units = {c.name: c.unit for c in eqs.model.coordinates if not c.is_rotation}
    tasks: list[Task] = []
    values = []
    for name, value in given.items():
        if name in units:
            tasks.append(Coordinates((name,)))
        elif (frame := _frame(eqs, name.rpartition(".")[0])) and name[-1:] in ("x", "y", "z"):
            tasks.append(FramePosition(frame, name[-1]))
        else:
            known = [
                *units,
                *(f"{x}.{c}" for x in (*eqs.model.spec.outputs, *eqs.frame_names) if _frame(eqs, x) for c in "xyz"),
            ]
            hint = suggestion(
                name, known, f"name a coordinate or a component of a position: {', '.join(known[:8])}, ..."
            )
            raise CommandError(f"--with {name}: there is no such coordinate or position", hint)
        values.append(si_number("--with", name, value, {**units, name: units.get(name, "m")}))
    return (tasks[0] if len(tasks) == 1 else Several(tuple(tasks))), np.array(values)


def _frame(eqs: Equations, name: str) -> str:
    """The frame of a name: its own, or that of an output of its position; empty if there is none."""
    output = eqs.model.spec.outputs.get(name)
    if isinstance(output, FrameOutput) and output.quantity == "position" and output.relative_to == "world":
        return output.frame
    return name if name in eqs.frame_names and output is None else ""
