"""The command `path`: follow equilibria while a parameter changes, through limit points and bifurcations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.result import keep
from pliant.analysis.numerics.status import Status
from pliant.analysis.path import Continuation
from pliant.analysis.statics.continuation import continuation
from pliant.cli.command_output import answering, check_picture, drawing, path_json, print_path, say_saved
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions, print_json, say
from pliant.cli.model_argument import load_model, read_inputs, read_value
from pliant.cli.options import in_si, with_options
from pliant.cli.reporting import Report, check_report, save_report
from pliant.engine.outputs import output_parts
from pliant.io.results import load_path
from pliant.language.message_text import suggestion
from pliant.show.plot import save

if TYPE_CHECKING:
    from pliant.analysis.statics.path import Path, PathPoint
    from pliant.engine.equations import Equations


@with_options(Continuation)
def path(
    model: Model,
    options: dict[str, Any],
    point: Annotated[
        int | None,
        typer.Option(
            "--point",
            help="Point of a saved path to continue from; negative numbers count from its end; default: the last.",
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
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="File to write: .nc (netCDF).")] = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Follow equilibria while a parameter changes; locate buckling and snapping."""
    check_picture(plot)
    check_report(report)
    if out is not None and not out.endswith(".nc"):
        raise CommandError(f"cannot determine the format of '{out}'", "end it in .nc")
    saved = str(options["start"]).endswith(".nc")
    if not saved and (point is not None or options["reverse"]):
        raise CommandError("--point and --reverse apply to a saved path only", "give one with --start FILE.nc")
    if plot is None and axes is not None:
        raise CommandError("--axes applies to plots only", "add --plot FILE")
    eqs = derive(load_model(model, choices))
    options["to"] = _goal(eqs, options["parameter"], options["to"])
    chosen = _axes(eqs, options["parameter"], axes)
    if saved:
        options["start"] = answering(lambda: _point(options["start"], -1 if point is None else point))
    options = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs))}
    found: Path = answering(lambda: continuation(eqs, **options))
    if out is not None:
        answering(lambda: keep(found, out))
    if plot is not None and len(found):
        _draw(found, chosen, plot)
    failed = save_report(report, eqs, [found])
    if json:
        print_json(path_json(model, found))
    else:
        print_path(found)
    say_saved(found, out)
    if plot is not None:
        say(f"plot in {plot}")
    return failed if found.status != Status.FAILED else 2


def _goal(eqs: Equations, parameter: str, to: str) -> float:
    """The final value [SI] of a parameter or input; its limits are checked by the analysis."""
    names = (*eqs.parameters, *eqs.inputs)
    if parameter not in names:
        raise CommandError(f"unknown parameter '{parameter}'", suggestion(parameter, names, "see pliant show"))
    try:
        return read_value(eqs, parameter, to)
    except CommandError as error:
        raise CommandError(f"--to {error}", error.hint) from None


def _point(file: str, point: int) -> PathPoint:
    try:
        return load_path(file).point(point)
    except IndexError as reason:
        raise CommandError(str(reason)) from None


def _axes(eqs: Equations, parameter: str, axes: str | None) -> tuple[str | None, str | None]:
    """The quantities of the plot by name; None for a default."""
    if axes is None:
        return None, None
    parts = {name: output_parts(eqs.model, name) for name in eqs.model.spec.outputs}
    known = [*eqs.coordinates, parameter, *(part for several in parts.values() for part in several)]
    chosen = [name.strip() for name in axes.split(",")]
    if len(chosen) != 2:
        raise CommandError(f"cannot read --axes '{axes}'", "write --axes deflection,force")
    for name in (name for name in chosen if name not in known):
        if name in parts:
            raise CommandError(
                f"--axes: '{name}' has {len(parts[name])} components", f"choose one, such as {parts[name][0]}"
            )
        hint = suggestion(name, known, f"there are {', '.join(known[:12])}")
        raise CommandError(f"--axes: unknown output or coordinate '{name}'", hint)
    return chosen[0], chosen[1]


def _draw(found: Path, axes: tuple[str | None, str | None], file: str) -> None:
    drawing(lambda: save(found.plot(*axes), file), file)
