"""The command `path`: poses at rest while a parameter changes, through limit points and bifurcations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from pliant.cli.answers import answering, check_picture, drawing, number_text
from pliant.cli.common import (
    CommandError,
    Folder,
    Json,
    Model,
    Rod,
    Set,
    Variant,
    console,
    print_json,
    say,
)
from pliant.cli.reporting import Report, check_report, save_report
from pliant.cli.subject import load_model, read_settings
from pliant.io.results import load_path
from pliant.language.base import nearest
from pliant.language.environment import Environment
from pliant.language.faults import SpecError
from pliant.solve.statics.continuation import continuation
from pliant.solve.statics.path_following import Branch
from pliant.spec.derive import derive
from pliant.spec.flattening import flatten
from pliant.view.plot import save

if TYPE_CHECKING:
    from pliant.solve.statics.path import Path, PathPoint
    from pliant.spec.robot import RobotSpec

MOST_OUTPUTS = 5


def path(
    model: Model,
    parameter: Annotated[str, typer.Option("--parameter", metavar="NAME", help="Parameter or input to change.")],
    to: Annotated[str, typer.Option("--to", metavar="VALUE", help="Where it goes, with or without a unit.")],
    branch: Annotated[
        int | None, typer.Option("--branch", metavar="SIGN", help="Leave the path at a bifurcation, to side +1 or -1.")
    ] = None,
    mode: Annotated[int, typer.Option("--mode", min=1, help="Which loss of stiffness to branch off at.")] = 1,
    by: Annotated[str | None, typer.Option("--by", metavar="OUTPUT", help="Output whose sign tells the sides.")] = None,
    imperfection: Annotated[
        list[str] | None,
        typer.Option("--imperfection", metavar="RATE=FORCE", help="Small force [N or N m] along the whole path."),
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", metavar="NAME=VALUE", help="End at this value of an output [SI].")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", metavar="FILE", help="Go on from a point of a saved path.")
    ] = None,
    point: Annotated[
        int | None, typer.Option("--point", help="Which point of it; negative ones count from its end; else the last.")
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Follow it backwards.")] = False,
    max_points: Annotated[int, typer.Option("--max-points", min=2, help="The most points.")] = 500,
    max_step: Annotated[
        float, typer.Option("--max-step", min=1e-6, max=1.0, help="Longest step, as a share of size and range.")
    ] = 0.08,
    axes: Annotated[
        str | None, typer.Option("--axes", metavar="X,Y", help="What the plot shows; else an output and the parameter.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Plot to write: .pdf, .svg or .png.")
    ] = None,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="File to write: .nc (netCDF).")] = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Follow poses at rest while a parameter changes; find where they buckle or snap."""
    check_picture(plot)
    check_report(report)
    if out is not None and not out.endswith(".nc"):
        raise CommandError(f"cannot tell the format of '{out}'", "end it in .nc")
    if branch is None and (by is not None or mode != 1):
        raise CommandError("--mode and --by say which branch to take", "add --branch +1 or --branch -1")
    if start is None and (point is not None or reverse):
        raise CommandError("--point and --reverse are about a saved path", "name it with --start FILE")
    if plot is None and axes is not None:
        raise CommandError("--axes are those of a plot", "name its file with --plot FILE")
    spec = load_model(model, settings=set, variant=variant, folders=folder, rods=rod)
    goal = _goal(spec, model, parameter, to, set, variant, folder)
    eqs = derive(spec)
    found: Path = answering(
        lambda: continuation(
            eqs,
            parameter=parameter,
            to=goal,
            start=_start(start, -1 if point is None else point),
            branch=None if branch is None else Branch(mode, branch, by),
            imperfection=_numbers(imperfection, "--imperfection"),
            stop=_numbers(stop, "--stop"),
            reverse=reverse,
            max_points=max_points,
            max_step=max_step,
        )
    )
    if out is not None:
        answering(lambda: found.save(out))
    if plot is not None and len(found):
        _draw(found, axes, plot)
    save_report(report, eqs, [found])
    if json:
        print_json(path_json(model, found))
    else:
        print_path(found)
    for file, word in ((out, "saved to"), (plot, "plot in")):
        if file is not None:
            say(f"{word} {file}")
    return 0 if found.status != "failed" else 2


def _goal(
    spec: RobotSpec, model: str, parameter: str, to: str, settings: Any, variant: str | None, folder: Any
) -> float:
    """The value to go to [SI], read and checked as a setting of that parameter is."""
    if parameter not in Environment(flatten(spec)).names:
        match = nearest(parameter, Environment(flatten(spec)).names)
        raise CommandError(
            f"unknown parameter '{parameter}'", f"did you mean '{match}'?" if match else "see pliant show"
        )
    try:
        there = load_model(model, settings=[*(settings or ()), f"{parameter}={to}"], variant=variant, folders=folder)
    except SpecError as error:
        first = error.faults[0]
        raise CommandError(f"--to {to}: {first.message}", first.hint) from None
    return float(Environment(flatten(there)).values[parameter])


def _numbers(settings: list[str] | None, option: str) -> dict[str, float]:
    given = read_settings(settings, option, "NAME=0.5")
    for name, value in given.items():
        if isinstance(value, str):
            raise CommandError(f"{option} {name}={value} is not a number", "give a plain number in SI units")
    return {name: float(value) for name, value in given.items()}


def _start(file: str | None, point: int) -> PathPoint | None:
    if file is None:
        return None
    try:
        return load_path(file).point(point)
    except IndexError as reason:
        raise CommandError(str(reason)) from None


def _draw(found: Path, axes: str | None, file: str) -> None:
    chosen = [name.strip() for name in axes.split(",")] if axes else [None, None]
    if len(chosen) != 2:
        raise CommandError(f"cannot read --axes '{axes}'", "write --axes deflection,force")

    def paint() -> None:
        try:
            save(found.plot(*chosen), file)
        except KeyError as reason:
            raise CommandError(str(reason.args[0])) from None

    drawing(paint, file)


def path_json(model: str, found: Path) -> dict[str, Any]:
    """A path for programs: all points, with the special ones again by themselves."""
    data, names = found.dataset, found.output_names
    coordinates = [str(x) for x in data["coordinate"].values]
    rates = [str(x) for x in data["rate"].values]
    holds = {1: True, 0: False, -1: None}
    points = [
        {
            "value": found.value[k],
            "outputs": {name: found[name][k] for name in names},
            "q": dict(zip(coordinates, found.q[k].tolist(), strict=True)),
            "stable": holds[int(data["stable"].values[k])],
            "unstable": int(found.unstable[k]),
            "branch": int(data["branch"].values[k]),
            "residual": data["residual"].values[k],
        }
        for k in range(len(found))
    ]
    special = [
        {
            "kind": x.kind,
            "point": x.index,
            "value": x.value,
            "outputs": points[x.index]["outputs"],
            "moves": x.moves,
            "directions": [dict(zip(rates, row.tolist(), strict=True)) for row in x.directions],
        }
        for x in found.special
    ]
    return {
        "model": model,
        "status": found.status,
        "message": found.message,
        "warnings": found.warnings,
        "parameter": found.parameter,
        "points": points,
        "special": special,
        "seconds": found.timing.run_s,
    }


def print_path(found: Path) -> None:
    """A path for people: what happened, and a table of its ends and special points."""
    out = console()
    out.print(f"{found.message} ({found.status})", markup=False)
    names = [n for n in found.output_names if found[n].ndim == 1] or [
        str(x) for x in found.dataset["coordinate"].values
    ]
    shown = names[:MOST_OUTPUTS]

    def titled(name: str) -> str:
        unit = found.unit(name)
        return escape(f"{name} [{unit}]" if unit else name)

    table = Table("point", titled(found.parameter), *map(titled, shown), "stable", "", box=None)
    special = {x.index: x for x in found.special}
    count = len(found)
    regular = sorted({*range(0, count, max(1, count // 8)), count - 1} if count else ())
    words = {1: "yes", -1: "?"}
    for k in sorted({*regular, *special}):
        held = words.get(int(found.dataset["stable"].values[k]), f"no ({int(found.unstable[k])})")
        note = ""
        if k in special:
            note = f"{special[k].kind}; moves {', '.join(special[k].moves)}"
            held = "-"
        cells = [number_text(round_off(found[n][k])) for n in shown]
        table.add_row(str(k), f"{found.value[k]:.7g}", *cells, held, note)
    out.print(table)
    for remark in found.warnings:
        say(remark)


def round_off(value: Any) -> float:
    """A number with the digits that a table has room for."""
    return float(f"{float(value):.6g}")
