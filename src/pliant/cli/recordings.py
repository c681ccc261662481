"""Commands that use recordings: compare and fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pliant.analysis.numerics.status import Status
from pliant.cli.command_output import answering, check_json_file, check_picture, drawing, write_json
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions, console, print_json, say
from pliant.cli.model_argument import load_model, read_inputs
from pliant.cli.reporting import Report, check_report, save_report
from pliant.identify.compare import ARRAYS, Comparison
from pliant.identify.compare import compare as run_comparison
from pliant.language.recording import read_recording
from pliant.robot.derive import derive
from pliant.robot.robot import RobotSpec
from pliant.show import plot as draw
from pliant.show.report import ComparisonContent

Against = Annotated[
    str | None,
    typer.Option(
        "--against", metavar="FILE", help="Recording: .csv, .parquet or .mat with columns t [s], p1 [Pa], ..."
    ),
]
OutputName = Annotated[str, typer.Option("--output", help="Output of the model to compare.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Columns of that output in the recording, separated by commas; default tip.x,tip.y,tip.z or x,y,z.",
    ),
]
Begin = Annotated[float | None, typer.Option("--from", help="Start of the time window [s].")]
End = Annotated[float | None, typer.Option("--to", help="End of the time window [s].")]
RestAt = Annotated[
    str | None, typer.Option("--rest-at", help="Times of the equilibria to compare [s], separated by commas.")
]
Out = Annotated[str | None, typer.Option("--out", help="JSON file to write.")]


def compare(
    model: Model,
    rods: Annotated[
        list[str] | None,
        typer.Option(
            "--rods",
            metavar="NAME=KIND:N,...",
            help="Rod models to compare; once for each rod to change. Default: the model as it is.",
        ),
    ] = None,
    against: Against = None,
    output: OutputName = "tip",
    columns: Columns = None,
    begin: Begin = None,
    end: End = None,
    rest_at: RestAt = None,
    until: Annotated[
        float | None, typer.Option("--until", help="Duration without a recording [s]; default 1 s.")
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
    """Compare a model, or several rod models, with a recording or with each other: accuracy and cost."""
    check_picture(plot)
    check_json_file(out)
    check_report(report)
    if against is None and columns is not None:
        raise CommandError("--columns applies to recordings only", "give one with --against FILE")
    spec = load_model(model, choices)
    models = _rod_models(spec, rods, against)
    found = answering(
        lambda: run_comparison(
            spec,
            models,
            (),
            None if against is None else read_recording(against),
            output=output,
            columns=_names(columns),
            window=_window(begin, end),
            rest_at=_times(rest_at),
            until=until,
            inputs=read_inputs(derive(spec), inputs) if inputs else None,
        )
    )
    for note in (note for row in found for note in row.notes):
        say(f"pliant: {note}")
    broken = 2 if any(row.status == Status.FAILED for row in found) else 0
    failed = save_report(report, derive(spec), [ComparisonContent(tuple(found))])
    if plot is not None:
        drawing(lambda: draw.save(draw.compare(found), plot), plot)
    names = [f.name for f in fields(Comparison) if f.name not in ARRAYS]
    answer = {
        "model": model,
        "status": "failed" if broken else "ok",
        "against": against or _against(models or {}, found[-1]),
        "rest_at": found[0].static_times,
        "rows": [{name: getattr(row, name) for name in names} for row in found],
    }
    write_json(out, answer)
    if json:
        print_json(answer)
    else:
        _print_comparison(found)
    return failed or broken


def _rod_models(spec: RobotSpec, given: Sequence[str] | None, against: str | None) -> dict[str, list[str]] | None:
    """The models of each rod from NAME=KIND:N,KIND:N; None for the model as it is."""
    example = f"--rods {next(iter(spec.rods), 'arm').partition('[')[0]}=pcs:3,cosserat:5"
    if not given:
        if against is None:
            more = f", or rod models to compare with each other with {example}" if spec.rods else ""
            raise CommandError("there is nothing to compare with", f"give a recording with --against FILE{more}")
        return None
    found: dict[str, list[str]] = {}
    for words in given:
        rod, equals, listed = words.partition("=")
        kinds = [kind.strip() for kind in listed.split(",") if kind.strip()]
        if not equals or not rod.strip() or not kinds:
            raise CommandError(f"cannot read --rods {words!r}", f"write {example}")
        if rod.strip() in found:
            raise CommandError(f"--rods {rod.strip()} is given twice", f"list all its models in one option: {example}")
        found[rod.strip()] = kinds
    return found


def _against(models: Mapping[str, Sequence[str]], last: Comparison) -> str:
    return last.rod if len(models) > 1 else f"{next(iter(models))}={last.rod}"


def _print_comparison(found: Sequence[Comparison]) -> None:
    """Print two tables that fit a terminal of 80 columns: accuracy and speed, then the cost of deriving the equations."""
    what = "model" if all(row.rod == "model" for row in found) else "rod"
    heads = f"{what},;states,;static,s;run,s;speed,x real;mean,mm;share,%;max,mm;at rest,mm"
    errors = _table(heads.replace("mm", found[0].unit if found else "mm"))
    costs = _table(f"{what},;states,;derive,s;compile,s;code,kB;memory,kB")
    for row in found:
        if row.status == Status.FAILED:
            errors.add_row(row.rod, "failed")
            continue
        numbers = (row.mean_error_mm, row.mean_error_percent, row.max_error_mm, row.static_mean_error_mm)
        static = f"{row.static_s:.2g}" if len(row.static_times) else "-"
        cells = [
            "as it is" if row.rod == "model" else row.rod,
            str(row.states),
            static,
            f"{row.run_s:.2g}",
            _factor(row.realtime_factor),
        ]
        errors.add_row(*cells, *("-" if x != x else f"{x:.3g}" for x in numbers))
        sizes = (f"{row.code_kb:.0f}", f"{row.memory_kb:.0f}")
        costs.add_row(*cells[:2], f"{row.derive_s:.2g}", f"{row.compile_s:.2g}", *sizes)
    console().print(errors)
    console().print()
    console().print(costs)


def _factor(value: float) -> str:
    """An integer from ten on, and two significant digits below, so that nothing is rounded to zero."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _table(heads: str) -> Table:
    """An empty table. heads: column headings, separated by semicolons; a comma separates the two lines of each."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for head in heads.split(";"):
        table.add_column(Text("\n".join(head.split(","))), no_wrap=True)
    return table


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _window(begin: float | None, end: float | None) -> tuple[float, float] | None:
    if begin is None and end is None:
        return None
    if begin is None or end is None or not begin < end:
        raise CommandError("the window needs --from below --to", "write --from 7 --to 54")
    return begin, end


def _times(words: str | None) -> list[float] | None:
    if words is None:
        return None
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise CommandError(f"cannot read the times {words!r}", "write --rest-at 8.7,15.15,21.7") from None
