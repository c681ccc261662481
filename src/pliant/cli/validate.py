"""The command `validate`: compute cases with known answers."""

import os
from collections.abc import Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.table import Table
from rich.text import Text

from pliant.cli.command_output import Report, check_report
from pliant.cli.common import INTERNAL, CommandError, Json, Line, console, print_json, say
from pliant.language.arguments import ArgumentError
from pliant.validation.case import (
    Case,
    NotRun,
    Outcome,
    Theme,
    ValidationResults,
    catalogue,
    chosen,
    run_cases,
    theme_word,
)
from pliant.validation.page import numbers, summary, write_page


def _matching(incomplete: str) -> list[str]:
    """Cases and themes that begin with the given text, for shell completion."""
    themes = [theme_word(theme) for theme in get_args(Theme)]
    return [name for name in [*sorted(catalogue()), *themes] if name.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Cases or themes; default: all.", autocompletion=_matching),
]
Data = Annotated[str | None, typer.Option("--data", metavar="DIR", help="Folder of recordings; default: PLIANT_DATA.")]


def validate(
    cases: Names = None,
    data: Data = None,
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases and what each compares.")] = False,
    report: Report = None,
    json: Json = False,
) -> int:
    """Compute cases with known answers and report the error of each.

    The exit code is 1 if a case exceeds its tolerance. Cases whose recordings or packages are missing are skipped and counted.
    """
    check_report(report)
    try:
        wanted = list(chosen(cases or []).values())
    except ArgumentError as reason:
        raise CommandError(reason.message, reason.hint) from None
    if list_cases:
        _list(wanted, json=json)
        return 0
    numbers_of_cases = count(1)
    with Line() as line:
        findings = run_cases(
            wanted, _folder(data), lambda case: line.show(f"[{next(numbers_of_cases)}/{len(wanted)}] {case.title}")
        )
    if report is not None:
        _write(report, findings)
    if json:
        print_json(findings.as_dict())
    else:
        _print(findings)
    return INTERNAL if findings.failed else 0


def _folder(data: str | None) -> Path | None:
    """The folder of recordings, given by `--data` or PLIANT_DATA, if any."""
    given = data or os.environ.get("PLIANT_DATA")
    if data is not None and not Path(data).is_dir():
        raise CommandError(f"there is no folder {data}", "give the folder of the recordings")
    return Path(given) if given else None


def _write(report: str, findings: ValidationResults) -> None:
    try:
        write_page(findings, Path(report))
    except OSError as reason:
        raise CommandError(f"cannot write {report}: {reason.strerror}") from None
    say(f"report in {report}")


def _list(cases: Sequence[Case], *, json: bool) -> None:
    if json:
        rows = [
            {"name": x.name, "theme": x.theme, "title": x.title, "compared": x.compared, "source": x.source}
            for x in cases
        ]
        print_json({"model": None, "status": "ok", "cases": rows})
        return
    width = max(map(len, catalogue()))
    for theme, some in groupby(cases, lambda x: x.theme):
        print(f"{theme} ({theme_word(theme)})")
        for case in some:
            print(f"  {case.name:<{width}}  {case.title}")


def _print(findings: ValidationResults) -> None:
    """Print a table grouped by theme, the failed and skipped cases, and a summary."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("case", no_wrap=True)
    for head in ("value", "reference", "unit", "error", "tolerance", "s"):
        table.add_column(head, justify="left" if head == "unit" else "right", no_wrap=True)
    table.add_column("")
    for theme, some in groupby(findings.outcomes, lambda x: x.case.theme):
        table.add_row(Text(theme, style="bold"))
        for outcome in some:
            table.add_row(*_row(outcome))
    console().print(table, crop=False, soft_wrap=True)
    _print_rest(findings.failed, findings.not_run)
    print(summary(findings))


def _row(outcome: Outcome) -> tuple[Text, ...]:
    verdict = Text("ok", style="green") if outcome.ok else Text("failed", style="bold red")
    value, reference, error, tolerance = numbers(outcome)
    cells = (value, reference, outcome.case.unit, error, tolerance, f"{outcome.seconds:.1f}")
    return (Text("  " + outcome.case.name), *map(Text, cells), verdict)


def _print_rest(failed: Sequence[Outcome], left: Sequence[NotRun]) -> None:
    for outcome in failed:
        if outcome.message:
            print(f"failed: {outcome.case.name}: {outcome.message}")
    for one in left:
        print(f"not run: {one.case.name}: {one.reason}")
