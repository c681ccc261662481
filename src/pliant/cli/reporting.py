"""The option `--report`: all results on one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pliant.cli.common import CommandError, say
from pliant.language.display import shown

if TYPE_CHECKING:
    from pliant.equations.equations import Equations

Report: TypeAlias = Annotated[str | None, typer.Option("--report", metavar="FILE", help="Report to write (.html).")]


def check_report(file: str | None) -> None:
    """Check the file name and matplotlib before anything is computed."""
    if file is None:
        return
    if not file.endswith(".html"):
        raise CommandError(f"cannot tell the format of {file!r}", "end it in .html")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise CommandError("reports need matplotlib, which is not installed", "pip install 'pliant[plot]'") from None


def save_report(file: str | None, eqs: Equations, findings: Sequence[Any]) -> None:
    """Write the report, if one was requested."""
    if file is None:
        return
    try:
        shown("Equations.report", eqs, file, findings)
    except OSError as reason:
        raise CommandError(f"cannot write {file}: {reason.strerror}") from None
    say(f"report in {file}")
