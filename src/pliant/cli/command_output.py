"""Output of the analysis commands: JSON, tables and files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from pliant.analysis.numerics.independent_coordinates import PartitionError
from pliant.analysis.numerics.netcdf_files import ResultFileError, partial_path
from pliant.analysis.numerics.state import AssemblyError
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.cli.common import CommandError, json_text, say
from pliant.engine.core import UnknownName
from pliant.engine.libraries import CompileError
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole


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
