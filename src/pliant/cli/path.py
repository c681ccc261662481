"""The command `path`: the analysis of this name, from points of saved paths, and with a plot."""

from typing import Annotated, Any

import typer

from pliant.analysis.derivation.derive import derive
from pliant.analysis.path import Continuation, Path, PathPoint
from pliant.cli.analysis import Out, by_flag, check_out, finish, result_file, summary, watched
from pliant.cli.command_output import Report, answering, check_picture, check_report, drawing
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions, say
from pliant.cli.model_argument import load_model, read_inputs
from pliant.cli.options import in_si, with_options
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_parts
from pliant.io.results import load_result
from pliant.language.message_text import suggestion
from pliant.show.plot import save


@with_options(Continuation)
def path(
    model: Model,
    options: dict[str, Any],
    point: Annotated[
        int | None,
        typer.Option(
            "--point",
            help="Point of a saved path (--start FILE.nc) to continue from; negative: from its end; default: the last.",
        ),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option("--axes", metavar="X,Y", help="Axes of the plot; default: an output and the parameter."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Plot to write: .pdf, .svg or .png.")
    ] = None,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    check_out(out, Continuation)
    check_picture(plot)
    check_report(report)
    saved = str(options["start"]).endswith(".nc")
    if not saved and (point is not None or options["reverse"]):
        raise CommandError("--point and --reverse apply to a saved path only", "give one with --start FILE.nc")
    if plot is None and axes is not None:
        raise CommandError("--axes applies to plots only", "add --plot FILE")
    eqs = derive(load_model(model, choices))
    chosen = _axes(eqs, options["parameter"], axes)
    if saved:
        options["start"] = answering(lambda: _point(options["start"], -1 if point is None else point))
    options = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs)), "on_failure": "return"}
    found: Path = by_flag(Continuation, lambda: watched(Continuation.of(options | result_file(out)), eqs))
    code = finish(model, eqs, found, out, report, json)
    if plot is not None and len(found):
        drawing(lambda: save(found.plot(*chosen), plot), plot)
        say(f"plot in {plot}")
    return code


path.__doc__ = summary(Continuation)


def _point(file: str, point: int) -> PathPoint:
    found = load_result(file)
    if not isinstance(found, Path):
        raise CommandError(f"{file} is not a path of equilibria", "give a file written by `pliant path --out`")
    try:
        return found.point(point)
    except IndexError as reason:
        raise CommandError(str(reason)) from None


def _axes(eqs: Equations, parameter: str, axes: str | None) -> tuple[str, ...]:
    """The quantities of the plot by name; none for the defaults."""
    if axes is None:
        return ()
    parts = {name: output_parts(eqs.model, name) for name in eqs.model.spec.outputs}
    known = [*eqs.coordinates, parameter, *(part for several in parts.values() for part in several)]
    chosen = tuple(name.strip() for name in axes.split(","))
    if len(chosen) != 2:
        raise CommandError(f"cannot read --axes '{axes}'", "write --axes deflection,force")
    for name in (name for name in chosen if name not in known):
        if name in parts:
            raise CommandError(
                f"--axes: '{name}' has {len(parts[name])} components", f"choose one, such as {parts[name][0]}"
            )
        hint = suggestion(name, known, f"there are {', '.join(known[:12])}")
        raise CommandError(f"--axes: unknown output or coordinate '{name}'", hint)
    return chosen
