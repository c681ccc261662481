"""Output of the analysis commands: tables, JSON, files and reports."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.markup import escape
from rich.table import Table

from pliant.analysis.numerics.netcdf_files import ResultFileError, partial_path
from pliant.analysis.numerics.saddle import PartitionError
from pliant.analysis.numerics.state import AssemblyError
from pliant.analysis.numerics.status import AnalysisFailed, Status
from pliant.analysis.result import AnalysisResult, Sheet
from pliant.cli.common import FAULT, CommandError, console, json_text, say
from pliant.engine.core import UnknownName
from pliant.engine.equations import Equations
from pliant.engine.libraries import CompileError
from pliant.engine.program import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole
from pliant.language.message_text import enumeration
from pliant.language.provided import called

Report: TypeAlias = Annotated[str | None, typer.Option("--report", metavar="FILE", help="Report to write (.html).")]


def answering(function: Any) -> Any:
    """Run an analysis; errors that the user has to fix become a CommandError."""
    expected = (
        AnalysisFailed,
        AssemblyError,
        CompileError,
        EvaluationError,
        PartitionError,
        ResultFileError,
        UnknownName,
        ValueError,
    )
    try:
        return function()
    except ArgumentError as reason:
        raise CommandError(reason.message, reason.hint) from None
    except expected as reason:
        raise CommandError(str(reason)) from reason


def drawing(paint: Any, file: str) -> Any:
    """Draw and write a file; a missing library or folder becomes a CommandError."""
    try:
        return paint()
    except ModuleNotFoundError as reason:
        raise CommandError(f"{reason.name} is not installed", "pip install 'pliant[plot]'") from None
    except ValueError as reason:
        raise CommandError(str(reason)) from reason
    except OSError as reason:
        raise CommandError(f"cannot write {file}: {reason.strerror}") from None


def check_picture(file: str | None) -> None:
    """Reject file names that are not pictures before anything is computed."""
    if file is not None and not file.endswith((".pdf", ".svg", ".png")):
        raise CommandError(f"cannot determine the format of {file!r}", "end it in .pdf, .svg or .png")


def write_json(path: str | None, answer: Any, *, failed: bool = False) -> None:
    """Write results to a file atomically; those of a failed analysis to `NAME.partial.json`."""
    if path is None:
        return
    whole, path = path, str(partial_path(path)) if failed else path
    try:
        write_whole(Path(path), json_text(answer).encode())
    except OSError as reason:
        raise CommandError(f"cannot write {path}: {reason.strerror}") from None
    if failed:
        say(f"saved to {path}, because the analysis failed; {whole} was not modified")
        return
    say(f"saved to {path}")
    with contextlib.suppress(OSError):
        partial_path(path).unlink(missing_ok=True)


# -- reports ---------------------------------------------------------------------------------------------------------


def check_report(file: str | None) -> None:
    """Check the file name and that matplotlib is installed, before anything is computed."""
    if file is None:
        return
    if not file.endswith(".html"):
        raise CommandError(f"cannot determine the format of {file!r}", "end it in .html")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise CommandError("reports need matplotlib, which is not installed", "pip install 'pliant[plot]'") from None


def report_file(file: str, findings: Sequence[Any]) -> str:
    """File of a report: the requested one, or `NAME.partial.html` if an analysis failed or is incomplete."""
    return str(partial_path(file)) if any(map(_is_partial, findings)) else file


def _is_partial(finding: Any) -> bool:
    partial = getattr(finding, "is_partial", None)
    return bool(getattr(finding, "status", None) == Status.FAILED if partial is None else partial)


def save_report(file: str | None, eqs: Equations, findings: Sequence[Any]) -> int:
    """Write the report, if one was requested, and return the exit code.

    Errors are printed and not raised, because the results still have to be printed.
    """
    if file is None:
        return 0
    whole, file = file, report_file(file, findings)
    try:
        missing = called("Equations.report", eqs, file, findings)
    except OSError as reason:
        say(f"pliant: cannot write {file}: {reason.strerror}")
        return FAULT
    except Exception as reason:
        if os.environ.get("PLIANT_DEBUG"):
            raise
        what = str(reason) or type(reason).__name__
        say(f"pliant: the report was not written: {what} (PLIANT_DEBUG=1 shows where)")
        return FAULT
    if file != whole:
        say(f"report in {file}, because the analysis failed or is incomplete; {whole} was not modified")
    else:
        say(f"report in {file}")
        with contextlib.suppress(OSError):
            partial_path(file).unlink(missing_ok=True)
    for what in missing:
        say(f"pliant: the report lacks {what} (PLIANT_DEBUG=1 shows where)")
    return FAULT if missing else 0


# -- tables ----------------------------------------------------------------------------------------------------------


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
    numbers = all(is_number(row[-1]) for row in rows)  # they are never broken: the names in front of them are
    # the last word of a title is on a second line, to leave room for the last column
    for k, title in enumerate(head[:-1]):
        table.add_column(escape("\n".join(two_lines(title))), no_wrap=k > 0 or not numbers, overflow="fold")
    last = "\n".join(two_lines(head[-1])) if grouped else head[-1]
    table.add_column(escape(last), no_wrap=numbers, overflow="fold")
    widths = (max(len(word) for row in rows for word in (row[k], *head[k].split())) for k in range(len(head) - 1))
    room = out.width - 2 * len(head) - sum(widths) if rows else out.width
    for row in rows:
        table.add_row(*(escape(cell) for cell in row[:-1]), escape(row[-1] if numbers else broken(row[-1], room)))
    out.print(table)
    return omitted


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or stands for none."""
    try:
        float(cell)
    except ValueError:
        return cell in ("", "-")
    return True


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
