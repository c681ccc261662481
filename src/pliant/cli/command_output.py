"""Output of the analysis commands: JSON, tables and files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.independent_coordinates import PartitionError
from pliant.analysis.numerics.netcdf_files import ResultFileError, partial_path
from pliant.analysis.numerics.state import AssemblyError
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.cli.common import CommandError, console, json_text, say
from pliant.cli.number_tables import NumberColumn, column, fitting_table, hidden_words
from pliant.control.limits import named
from pliant.engine.core import UnknownName
from pliant.engine.libraries import CompileError
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole

# More coordinates than this are counted, not named, where they are not shown.
FEW_NAMES = 6


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
        raise CommandError(reason.message, reason.hint) from reason
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


ROUND_OFF = 1e-14
"""Components of a vector below this fraction of the largest are printed as 0."""


def _without_round_off(values: np.ndarray) -> np.ndarray:
    """Vectors (rows), with 0 in place of components that are round-off of the others."""
    size = np.abs(values)
    return np.where(size > ROUND_OFF * size.max(axis=1, initial=0.0, keepdims=True), values, 0.0)


def print_result(result: Result, out: str | None, printed: Sequence[str] = ()) -> None:
    """Print a motion as a table, and its remarks except those already printed."""
    printer = console()
    printer.print(f"{result.message} ({result.status})", markup=False)
    printer.print(f"method: {result.method}", markup=False)
    timing = result.timing
    printer.print(
        f"{timing.steps} steps, {timing.evaluations} evaluations; derive {timing.derive_s:.2g} s, compile "
        f"{timing.compile_s:.2g} s, run {timing.run_s:.2g} s",
        markup=False,
    )
    count = len(result.time)
    rows = list(range(count)) if count <= 12 else sorted({*range(0, count, max(1, count // 10)), count - 1})
    first, outputs, coordinates, last = _motion_columns(result, rows)
    room = printer.width - sum(x.width for x in (*first, *outputs, *last))
    # the first few of many coordinates are not informative: show all of them, or some if there is nothing else
    others = [*outputs, *coordinates] if not outputs or sum(x.width for x in coordinates) <= room else outputs
    table, hidden = fitting_table(first, others, last, printer.width)
    left = [x.name for x in coordinates if x not in others]
    many = f"{len(left)} coordinates" if len(left) > FEW_NAMES else ""
    hidden += [] if many else left
    printer.print(table)
    new = []
    for remark in map(str, result.remarks):
        for text in printed:
            remark = remark.replace(text, "").strip("; ")
        new.append(remark)
    for note in filter(None, (*new, hidden_words(hidden, f"{out or '--json or --out'} has them all", many))):
        say(note)
    say_saved(result, out)


def say_saved(found: Result, out: str | None) -> None:
    """Print the file of a result: as requested, or the partial file if the run did not finish."""
    if out is None:
        return
    if found.is_partial:
        say(f"saved to {partial_path(out)}, because the run did not finish; {out} was not modified")
    else:
        say(f"saved to {out}")


def _motion_columns(result: Result, rows: Sequence[int]) -> tuple[list[NumberColumn], ...]:
    """Columns of a motion: times; outputs; coordinates; energy (unless an output has that name) and constraint error."""
    data = result.recorded
    outputs = []
    # the robot's own before those of attached ones, and single numbers before vectors, which fill the width with one output
    for name in sorted(result.output_names, key=lambda name: ("/" in name, len(result.parts(name)) > 1)):
        values = _without_round_off(data[f"output.{name}"].reshape(len(result.time), -1)[rows])
        unit = data.unit(f"output.{name}")
        outputs += [column(part, unit, x) for part, x in zip(result.parts(name), values.T, strict=True)]
    shown = {one.name for one in outputs}
    names = [name for name in data.names("coordinate") if name not in shown]
    coordinates = [column(name, result[name].unit, result[name].values[rows]) for name in names]
    last = [column("energy", "J", (data["kinetic"] + data["potential"])[rows], ".9g")] if "energy" not in shown else []
    if len(data["constraint"]):
        last.append(NumberColumn("constraint", "error", tuple(f"{x:.1e}" for x in result.constraint_error[rows])))
    return [column("t", "s", result.time[rows], ".4g")], outputs, coordinates, last


def check_json_file(file: str | None) -> None:
    """Reject file names that do not end in .json before anything is computed."""
    if file is not None and not file.endswith(".json"):
        raise CommandError(f"cannot determine the format of '{file}'", "end it in .json")


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


def say_warnings(controllers: Sequence[object]) -> tuple[str, ...]:
    """Print the warnings about the design of controllers, and return them."""
    texts = tuple(f"{named(c)}: {text}" for c in controllers for text in getattr(c, "warnings", ()))
    for text in texts:
        say(text)
    return texts
