"""The commands of analyses: one for each class of `pliant.analysis`, whose options are its fields."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from pliant.analysis.base import Analysis, analysis
from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.netcdf_files import partial_path
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import AnalysisResult, Sheet
from pliant.cli.command_output import answering, check_picture, drawing, write_json
from pliant.cli.common import (
    FAULT,
    CommandError,
    Inputs,
    Interrupted,
    Json,
    Model,
    ModelOptions,
    console,
    print_json,
    say,
)
from pliant.cli.model_argument import load_model, read_inputs
from pliant.cli.options import in_si, with_options
from pliant.cli.progress import ProgressLine
from pliant.cli.reporting import Report, check_report, save_report
from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration
from pliant.language.provided import called

Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Plot to write: .pdf, .svg or .png.")]
Out = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="File to write the results to: .nc (netCDF) or .json.")
]


def command_of(name: str) -> Any:
    """The command of an analysis."""
    kind = analysis(name)

    @with_options(kind)
    def command(
        model: Model, options: dict[str, Any], choices: ModelOptions, inputs: Inputs = None, out: Out = None,
        plot: Plot = None, report: Report = None, json: Json = False,
    ) -> int:  # fmt: skip
        check_out(out, kind)
        check_picture(plot)
        check_report(report)
        eqs = derive(load_model(model, choices))
        given = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs)), "on_failure": "return"}
        given |= result_file(out)
        one = by_flag(kind, lambda: kind.of(given))
        brief = one.brief()
        if brief is not None and json and out is plot is report is None:  # files show everything
            one = brief
        found: AnalysisResult = by_flag(kind, lambda: watched(one, eqs))
        answer = found.as_json() if brief is None else found.brief_json()
        return finish(model, eqs, found, out, report, json, plot=plot, every="count" in options, answer=answer)

    command.__name__, command.__doc__ = name, summary(kind)
    command.__annotations__["out"] = _out(kind)
    if not kind.result.plots:
        every = inspect.signature(command).parameters.values()
        command.__signature__ = inspect.Signature([x for x in every if x.name != "plot"])
    return command


def by_flag(kind: type[Analysis], function: Any) -> Any:
    """Run a function of an analysis; errors that begin with the name of a field name the option of the command instead."""
    try:
        return answering(function)
    except CommandError as error:
        for name in kind.options():
            if re.match(rf"{name}[ .:]", str(error)):
                raise CommandError(f"--{name.replace('_', '-')}{str(error)[len(name) :]}", error.hint) from error
        raise


def watched(one: Analysis, eqs: Equations) -> Any:
    """Run an analysis, with a line on its progress if it reports any."""
    if "progress" not in type(one).model_fields:
        return one.analyse(eqs)
    with ProgressLine() as line:
        told = {"progress": lambda *report: line(*one.reported(*report))}
        return one.model_copy(update=told).analyse(eqs)


def finish(
    model: str, eqs: Equations, found: AnalysisResult, out: str | None, report: str | None, json: bool, *,
    plot: str | None = None, every: bool = False, answer: dict[str, Any] | None = None,
) -> int:  # fmt: skip
    """Write, draw and print a result; returns the exit code. answer: its content as JSON, if not all."""
    answer = {"model": model, **(found.as_json() if answer is None else answer)}
    if out is not None and out.endswith(".json"):
        write_json(out, answer, failed=found.is_partial)
    if plot is not None and not found.is_partial:
        drawing(lambda: called("AnalysisResult.picture", found, plot), plot)
        say(f"plot in {plot}")
    failed = save_report(report, found.equations or eqs, [found])
    if json:
        print_json(answer)
    else:
        print_analysis(found, every=every)
    if out is not None and not out.endswith(".json"):
        say_saved(found, out)
    if found.interrupted:
        raise Interrupted
    return FAULT if answer["status"] == Status.FAILED else failed


def result_file(out: str | None) -> dict[str, str]:
    """The option of an analysis that writes the file of `--out` itself, also while it runs; JSON is written by the command."""
    return {} if out is None or out.endswith(".json") else {"out": out}


def say_saved(found: AnalysisResult, out: str) -> None:
    """Print the file of a result: as requested, or the partial file if the run did not finish."""
    if found.is_partial:
        say(f"saved to {partial_path(out)}, because the run did not finish; {out} was not modified")
    else:
        say(f"saved to {out}")


def summary(kind: type[Analysis]) -> str:
    """The help of a command: what the analysis is, as its class says."""
    return re.split(r"\n\n(?:Args|Example):", kind.documentation())[0]


def _out(kind: type[Analysis]) -> Any:
    """The option of the file of results."""
    formats = {".nc": ".nc (netCDF, complete)"}
    words = [formats.get(x, x) for x in kind.result.formats]
    text = f"File to write the results to: {', '.join(words[:-1])} or {words[-1]}."
    return Annotated[str | None, typer.Option("--out", metavar="FILE", help=text)]


def check_out(file: str | None, kind: type[Analysis]) -> None:
    """Reject names of files that cannot be written, before anything is computed."""
    formats = kind.result.formats
    if file is not None and Path(file).suffix not in formats:
        hint = f"end it in {', '.join(formats[:-1])} or {formats[-1]}"
        raise CommandError(f"cannot determine the format of '{file}'", hint)


def print_analysis(found: AnalysisResult, *, every: bool = False) -> None:
    """Print the message, the tables and the remarks of a result. every: all rows of tables."""
    out, large = console(), []
    if found.message:
        out.print(f"{found.message} ({found.status})", markup=False)
    for sheet in (sheet for sheet in found.sheets() if sheet.where != "page"):
        if sheet.where == "command" and not sheet.groups and _width(sheet) > out.width:
            large.append(f"{sheet.columns[0]} ({len(sheet.rows)} x {len(sheet.columns) - 1})")
            continue
        if sheet.title:
            out.print(sheet.title, style="bold", markup=False)
        if omitted := print_sheet(sheet if every else sheet.short):
            say(f"not shown: {omitted}; --json or --out has them all")
        if sheet.hidden and not every:
            out.print(f"{sheet.hidden} more {sheet.words}: --json or --out FILE has all", markup=False)
    if large:
        out.print(f"{', '.join(large)}: --json or --out FILE has the numbers", markup=False)
    for remark in found.remarks:
        say(remark)


def _width(sheet: Sheet) -> int:
    """Width of a table in characters."""
    return sum(2 + max(len(row[k]) for row in (sheet.columns, *sheet.rows)) for k in range(len(sheet.columns)))


def print_sheet(sheet: Sheet) -> str:
    """Print a table; the last column is as wide as there is room, and its texts are broken at spaces and dots. Returns the columns
    that are omitted because they do not fit, in words."""
    out, grouped = console(), bool(sheet.groups)
    sheet, omitted = fitted(sheet, out.width)
    head, rows = sheet.columns, sheet.rows
    table = Table(box=None, show_header=any(head))
    for title in head[:-1]:  # the last word of a title is on a second line, to leave room for the last column
        table.add_column(escape("\n".join(two_lines(title))), no_wrap=True)
    last = "\n".join(two_lines(head[-1])) if grouped else head[-1]
    table.add_column(escape(last), overflow="fold")
    widths = (max(len(word) for row in rows for word in (row[k], *head[k].split())) for k in range(len(head) - 1))
    room = out.width - 2 * len(head) - sum(widths) if rows else out.width
    for row in rows:
        table.add_row(*(escape(cell) for cell in row[:-1]), escape(broken(row[-1], room)))
    out.print(table)
    return omitted


def two_lines(title: str) -> tuple[str, ...]:
    """The heading of a column, its unit or else its last word on a second line."""
    name, bracket, unit = title.partition(" [")
    return (name, f"[{unit}") if bracket else tuple(title.rsplit(" ", 1))


FEW_NAMES = 6
"""More columns than this are counted, not named, where they are not shown."""


def fitted(sheet: Sheet, width: int) -> tuple[Sheet, str]:
    """The table with as many columns of its groups as fit, and the others in words."""
    if not sheet.groups:
        return sheet, ""
    sizes = [
        2 + max(len(word) for row in (two_lines(head), *((row[k],) for row in sheet.rows)) for word in row)
        for k, head in enumerate(sheet.columns)
    ]
    grouped = {k for begin, end, _ in sheet.groups for k in range(begin, end)}
    room = width - sum(size for k, size in enumerate(sizes) if k not in grouped)
    hidden: list[str] = []
    gone: set[int] = set()
    first = True
    for begin, end, what in sheet.groups:
        columns = range(begin, end)
        shown = [k for k in columns if first and (k == begin or sum(sizes[begin : k + 1]) <= room)]
        if not first and sum(sizes[begin:end]) <= room:
            shown = list(columns)
        first = first and not columns
        room -= sum(sizes[k] for k in shown)
        left = [k for k in columns if k not in shown]
        gone |= set(left)
        if left:
            names = [sheet.columns[k].rsplit(" [", 1)[0] for k in left]
            many = len(names) > FEW_NAMES and not shown
            hidden.append(f"{len(names)} {what}" if many else enumeration(names))
    return sheet.without(gone), ", ".join(hidden)


def broken(names: str, room: int) -> str:
    """Names of coordinates with line breaks at spaces and after dots, where they are longer than the room."""
    lines = [""]
    for word in names.replace(".", ".\0").replace(" ", " \0").split("\0"):
        if len(lines[-1]) + len(word.rstrip()) > room and lines[-1]:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)
