"""The option `--report`: all results on one page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

from pliant.analysis.numerics.netcdf_files import partial_path
from pliant.analysis.numerics.status import Status
from pliant.cli.common import FAULT, CommandError, say
from pliant.engine.equations import Equations
from pliant.language.provided import called

Report: TypeAlias = Annotated[str | None, typer.Option("--report", metavar="FILE", help="Report to write (.html).")]


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
