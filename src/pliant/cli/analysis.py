"""The commands of analyses: one for each class of `pliant.analysis`, whose options are its fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from pliant.analysis.base import Analysis, analysis
from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import AnalysisResult, Sheet
from pliant.cli.command_output import answering, write_json
from pliant.cli.common import FAULT, CommandError, Inputs, Json, Model, ModelOptions, console, print_json, say
from pliant.cli.model_argument import load_model, read_inputs
from pliant.cli.options import in_si, with_options
from pliant.cli.reporting import Report, check_report, save_report
from pliant.engine.equations import Equations

Out = Annotated[str | None, typer.Option("--out", help="File to write the results to: .nc (netCDF) or .json.")]


def command_of(name: str) -> Any:
    """The command of an analysis."""
    kind = analysis(name)

    @with_options(kind)
    def command(
        model: Model, options: dict[str, Any], choices: ModelOptions, inputs: Inputs = None, out: Out = None,
        report: Report = None, json: Json = False,
    ) -> int:  # fmt: skip
        check_out(out)
        check_report(report)
        eqs = derive(load_model(model, choices))
        given = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs)), "on_failure": "return"}
        found: AnalysisResult = answering(lambda: kind.of(given).analyse(eqs))
        return finish(model, eqs, found, out, report, json, every="count" in options)

    command.__name__, command.__doc__ = name, summary(kind)
    return command


def finish(
    model: str, eqs: Equations, found: AnalysisResult, out: str | None, report: str | None, json: bool, *,
    every: bool = False,
) -> int:  # fmt: skip
    """Write and print a result; returns the exit code."""
    answer = {"model": model, **found.as_json()}
    write_result(out, found, answer)
    failed = save_report(report, eqs, [found])
    if json:
        print_json(answer)
    else:
        print_analysis(found, every=every)
    return FAULT if found.status == Status.FAILED else failed


def summary(kind: type[Analysis]) -> str:
    """The help of a command: what the analysis is, as its class says."""
    return kind.documentation().split("\n\nArgs:")[0]


def check_out(file: str | None) -> None:
    """Reject names of files that cannot be written, before anything is computed."""
    if file is not None and Path(file).suffix not in (".nc", ".json"):
        raise CommandError(f"cannot determine the format of '{file}'", "end it in .nc or .json")


def write_result(out: str | None, found: AnalysisResult, answer: Any) -> None:
    """Write a result to the file of `--out`, if any."""
    if out is None or out.endswith(".json"):
        write_json(out, answer, failed=found.is_partial)
        return
    file = answering(lambda: found.keep(out))
    say(f"saved to {file}" + (f", because the analysis failed; {out} was not modified" if found.is_partial else ""))


def print_analysis(found: AnalysisResult, *, every: bool = False) -> None:
    """Print the message, the tables and the remarks of a result. every: all rows of tables."""
    out, large = console(), []
    if found.message:
        out.print(f"{found.message} ({found.status})", markup=False)
    for sheet in (sheet for sheet in found.sheets() if sheet.where != "page"):
        if sheet.where == "command" and _width(sheet) > out.width:
            large.append(f"{sheet.columns[0]} ({len(sheet.rows)} x {len(sheet.columns) - 1})")
            continue
        if sheet.title:
            out.print(sheet.title, style="bold", markup=False)
        print_sheet(sheet if every else sheet.short)
        if sheet.hidden and not every:
            out.print(f"{sheet.hidden} more {sheet.words}: --json or --out FILE has all", markup=False)
    if large:
        out.print(f"{', '.join(large)}: --json or --out FILE has the numbers", markup=False)
    for remark in found.remarks:
        say(remark)


def _width(sheet: Sheet) -> int:
    """Width of a table in characters."""
    return sum(2 + max(len(row[k]) for row in (sheet.columns, *sheet.rows)) for k in range(len(sheet.columns)))


def print_sheet(sheet: Sheet) -> None:
    """Print a table; the last column is as wide as there is room, and its texts are broken at spaces and dots."""
    out, head, rows = console(), sheet.columns, sheet.rows
    table = Table(box=None, show_header=any(head))
    for title in head[:-1]:  # the last word of a title is on a second line, to leave room for the last column
        table.add_column(escape("\n".join(title.rsplit(" ", 1))), no_wrap=True)
    table.add_column(escape(head[-1]), overflow="fold")
    widths = (max(len(word) for row in rows for word in (row[k], *head[k].split())) for k in range(len(head) - 1))
    room = out.width - 2 * len(head) - sum(widths) if rows else out.width
    for row in rows:
        table.add_row(*(escape(cell) for cell in row[:-1]), escape(broken(row[-1], room)))
    out.print(table)


def broken(names: str, room: int) -> str:
    """Names of coordinates with line breaks at spaces and after dots, where they are longer than the room."""
    lines = [""]
    for word in names.replace(".", ".\0").replace(" ", " \0").split("\0"):
        if len(lines[-1]) + len(word.rstrip()) > room and lines[-1]:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)
