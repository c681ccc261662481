"""The page of `pliant validate --report`: all cases with their sources, numbers and plots, and the system they were computed on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from pliant.analysis.numerics.result import versions
from pliant.language.files import write_whole
from pliant.show.page import encoded, figure_html, page, table, text
from pliant.show.plot.style import COLOURS, DASHES, axes, key
from pliant.validation.case import NotRun, Outcome, Plot, ValidationResults

PACKAGES = ("scipy", "pin", "mujoco")
"""Additional packages whose versions are listed."""
MARKS = "os^vDP"
OWN, EXACT = tuple(COLOURS[k] for k in (0, 1, 4, 6, 5)), COLOURS[2]
"""Colours of Pliant's results, and of references."""
FEW = 10
"""Fewer points than this are drawn as marks."""


def write_page(findings: ValidationResults, file: Path) -> None:
    """Write the page atomically."""
    write_whole(file, encoded(findings_page(findings)))


def findings_page(findings: ValidationResults) -> str:
    """The page with all cases."""
    groups = [(theme, list(some)) for theme, some in groupby(findings.outcomes, lambda x: x.case.theme)]
    sections = [*((theme, _theme(some)) for theme, some in groups)]
    if findings.not_run:
        sections.append(("Not run", _not_run(findings.not_run)))
    sections.append(("Computed with", table(("", ""), _machine())))
    links = "".join(f'<a href="#part{k}">{text(title)}</a>' for k, (title, _) in enumerate(sections))
    body = ["<h1>Validation of Pliant</h1>", f"<p>{text(summary(findings))}</p>"]
    body.append(f'<nav aria-label="Sections">{links}</nav>')
    body += [f'<p class="warning" role="note">{text(_complaint(x))}</p>' for x in findings.failed]
    body += [
        f'<section id="part{k}"><h2>{text(title)}</h2>{content}</section>'
        for k, (title, content) in enumerate(sections)
    ]
    return page("Validation of Pliant", "\n".join(body))


def summary(findings: ValidationResults) -> str:
    """Numbers of cases and their outcomes, in a sentence."""
    count, failed, left = len(findings.outcomes), len(findings.failed), len(findings.not_run)
    seconds = sum(x.seconds for x in findings.outcomes)
    words = f"{count - failed} of {count} cases are within their tolerances, computed in {seconds:.0f} s"
    return words + (f"; {left} {'was' if left == 1 else 'were'} not run." if left else ".")


def numbers(outcome: Outcome) -> tuple[str, str, str, str]:
    """Value, reference, error and tolerance as text; for several values those with the largest error."""
    case, found = outcome.case, outcome.found
    if found is None:
        return "-", "-", "-", f"{case.tolerance:.2g}"
    value, reference = np.broadcast_arrays(np.asarray(found.value, float), np.asarray(found.reference, float))
    cells = [f"{np.ravel(x)[outcome.worst]:.5g}" for x in (value, reference)]
    return cells[0], cells[1], f"{outcome.error:.2g}", f"{case.tolerance:.2g}"


def _complaint(outcome: Outcome) -> str:
    value, reference, error, tolerance = numbers(outcome)
    reason = outcome.message or f"{value} instead of {reference}, an error of {error} where {tolerance} is allowed"
    return f"{outcome.case.name} failed: {reason}"


def _theme(outcomes: Sequence[Outcome]) -> str:
    head = ("case", "", "error", "tolerance", "value", "reference", "unit", "time [s]")
    rows = [_row(x) for x in outcomes]
    return f'<div class="numbers">{table(head, rows)}</div>' + "".join(_case(x) for x in outcomes)


def _row(outcome: Outcome) -> tuple[str, ...]:
    value, reference, error, tolerance = numbers(outcome)
    unit = outcome.case.unit
    verdict = "ok" if outcome.ok else "failed"
    return outcome.case.title, verdict, error, tolerance, value, reference, unit, f"{outcome.seconds:.2f}"


def _case(outcome: Outcome) -> str:
    """Description of the comparison, and the plot if there is one."""
    case, found = outcome.case, outcome.found
    count = 0 if found is None else np.broadcast(np.asarray(found.value), np.asarray(found.reference)).size
    several = f" The table has the worst of {count} values." if count > 1 else ""
    words = f"<p>{text(case.compared)}.{several}</p>"
    source = f'<p class="note">Source: {text(case.source)} Name of the case: {text(case.name)}.</p>'
    drawn = ""
    if found is not None and found.plot is not None:
        drawn = figure_html(partial(_draw, found.plot), f"{case.title}: {found.plot.y} over {found.plot.x}")
    return f'<h3>{text(case.title)}</h3><div class="beside"><div>{words}{source}</div>{drawn}</div>'


def _draw(plot: Plot) -> Any:
    """Curves of Pliant with marks of the reference; the reverse if Pliant has few points."""
    ax = axes(None, width=3.5, height=2.2)
    own = [line for line in plot.lines if not line.exact]
    exact = [line for line in plot.lines if line.exact]
    few = bool(exact) and all(len(np.ravel(line.x)) < FEW for line in own)
    for k, line in enumerate(own):
        look = {"color": OWN[k % len(OWN)], "linestyle": "none" if few else DASHES[k % len(DASHES)]}
        marker = MARKS[k % len(MARKS)] if few or (not exact and len(np.ravel(line.x)) < FEW) else ""
        ax.plot(line.x, line.y, label=line.name, marker=marker, **look)
    for k, line in enumerate(exact):
        x, y = np.ravel(line.x), np.ravel(line.y)
        if few and len(x) >= FEW:
            ax.plot(x, y, label=line.name, color=EXACT, linestyle=DASHES[k % len(DASHES)], zorder=1)
        else:
            every = max(1, len(x) // 25)
            look = {"color": EXACT, "marker": MARKS[(k + 1) % len(MARKS)], "markerfacecolor": "none"}
            ax.plot(x[::every], y[::every], label=line.name, linestyle="none", **look)
    if plot.logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.set_xlabel(plot.x)
    ax.set_ylabel(plot.y)
    key(ax)
    return ax


def _not_run(left: Sequence[NotRun]) -> str:
    return f'<div class="numbers">{table(("case", "reason"), [(x.case.title, x.reason) for x in left])}</div>'


def _machine() -> list[tuple[str, str]]:
    """Versions of packages, and the machine."""
    rows = list(versions().items())
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    rows.append(("system", platform.platform()))
    rows.append(("processor", f"{_processor()}, {os.cpu_count()} cores"))
    return rows


def _processor() -> str:
    """Name of the processor, if known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
