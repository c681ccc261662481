"""Reports: one self-contained page about a robot and its results."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pliant._version import __version__
from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.result import versions
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import AnalysisResult, Sheet
from pliant.engine.equations import Equations, need_equations
from pliant.language.files import write_whole
from pliant.language.message_text import INSTANCE
from pliant.show import plot
from pliant.show.page import constraint_error, encoded, figure_html, page, player, prose, sketch_html, table, text
from pliant.show.plot.analyses import figures_of
from pliant.show.plot.motion import profile_names
from pliant.show.scene import Clip, result_clips, run_clip
from pliant.show.tables import overview, tree_lines
from pliant.study.results import Table


@dataclass(frozen=True)
class ReportPart:
    """A section of a report.

    Attributes:
        name: id of its player on the page.
        missing: what could not be drawn in the whole report, with the reason.
    """

    name: str
    missing: list[str] = field(default_factory=list)

    def made(self, make: Callable[[], str], what: str) -> str:
        """The HTML that a function returns, or a remark that it is missing. PLIANT_DEBUG raises the error instead."""
        try:
            return make()
        except Exception as reason:
            if os.environ.get("PLIANT_DEBUG"):
                raise
            self.missing.append(f"{what} ({str(reason) or type(reason).__name__})")
            return f'<p class="warning" role="note">Missing, because of an error: {text(self.missing[-1])}</p>'

    def figure(self, draw: Callable[[], Any], words: str) -> str:
        """A figure with `words` as alternative text."""
        return self.made(lambda: figure_html(draw, words), words)

    def sketch(self, eqs: Equations, pose: Any, words: str) -> str:
        """The drawing of the robot."""
        return self.made(lambda: sketch_html(eqs, pose, words), words)

    def player(self, title: str, make: Callable[[], Sequence[Clip]], all_of: tuple[int, str] | None = None) -> str:
        """The three-dimensional view of the clips that a function makes, nothing if there are none. all_of: the number of frames of
        the clip, or of clips, that there could be, and what they are; a note states how many of them are played."""

        def html() -> str:
            clips = make()
            if not clips:
                return ""
            shown = player(self.name, title, clips)
            count = len(clips[0].times) if len(clips) == 1 and not clips[0].loops else len(clips)
            if all_of is None or count >= all_of[0]:
                return shown
            return f'{shown}<p class="note">{count} of {all_of[0]} {all_of[1]} are played.</p>'

        return self.made(html, title)


@dataclass(frozen=True)
class ReportLimits:
    """How much of a result a report shows."""

    few_rows: int = 12
    most_rows: int = 40
    most_plots: int = 8
    most_played: int = 12
    """Maximum rows of an open table, rows of any table, plots of outputs, played motions; the page states what is omitted."""
    together: int = 6
    most_lines: int = 12
    """Maximum number of inputs in one plot, and of lines of a repeated output."""


LIMITS = ReportLimits()


@dataclass(frozen=True)
class SweepContent:
    """Cases of a sweep: their table, the measure that ranks them, and the best ones, each with its equations and
    result (a motion or an equilibrium)."""

    table: Table
    by: str | None
    largest: bool
    best: tuple[tuple[int, Equations, Result | Equilibrium], ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on cases."""
        return tuple(self.table.remarks())


def write_report(eqs: Equations, path: str | os.PathLike[str], findings: Sequence[Any]) -> list[str]:
    """Write the report about a robot and its results (see `report`) atomically. Returns what could not be drawn, with the
    reason."""
    need_equations(eqs)
    missing: list[str] = []
    write_whole(pathlib.Path(path), encoded(report(eqs, findings, missing)))
    return missing


def report(eqs: Equations, findings: Sequence[Any], missing: list[str] | None = None) -> str:
    """The page about a robot and its equilibria, modes, linear systems, runs, comparisons, fits, sweeps and optima, in the given
    order.

    missing: extended by what could not be drawn, which the page states in its place.
    """
    shown = overview(eqs.model.spec)
    missing = [] if missing is None else missing
    findings = [x for one in findings for x in (one, *(one.further() if isinstance(one, AnalysisResult) else ()))]
    start = ReportPart("model", missing)
    sections = [("Model", start.made(lambda: _model(eqs, start), "the model")), *_sections(eqs, findings, missing)]
    sections += [("Reproduction", _reproduction(eqs))]
    links = "".join(f'<a href="#part{k}">{text(title)}</a>' for k, (title, _) in enumerate(sections))
    body = [f"<h1>{text(shown.title)}</h1>", f"<p>{prose(shown.description)}</p>" if shown.description else ""]
    body += [f'<nav aria-label="Sections">{links}</nav>']
    body += [f'<p class="warning" role="note">{text(note)}</p>' for note in dict.fromkeys(_remarks(findings))]
    body += [
        f'<section id="part{k}"><h2>{text(title)}</h2>{content}</section>'
        for k, (title, content) in enumerate(sections)
    ]
    return page(f"{shown.title} - Pliant report", "\n".join(body))


def _remarks(findings: Sequence[Any]) -> Iterator[str]:
    """Remarks of all analyses, each with the name of its section if there are several."""
    for finding in findings:
        title = f"{_writer(finding)[0]}: " if len(findings) > 1 else ""
        yield from (f"{title}{note}" for note in getattr(finding, "remarks", ()))
        if getattr(finding, "status", "") == "failed":
            yield f"{title}{finding.message}"


def _sections(eqs: Equations, findings: Sequence[Any], missing: list[str]) -> Iterator[tuple[str, str]]:
    for number, finding in enumerate(findings):
        title, write = _writer(finding)
        part = ReportPart(f"stage{number}", missing)
        yield title, part.made(partial(write, eqs, finding, part), title.lower())


def _writer(finding: Any) -> tuple[str, Writer]:
    """Title and function of the section of a finding."""
    if type(finding) in WRITERS:
        return WRITERS[type(finding)]
    return type(finding).analysis.title, _result


# -- parts -----------------------------------------------------------------------------------------------------------


def _model(eqs: Equations, part: ReportPart) -> str:
    shown = overview(eqs.model.spec)
    drawn = part.sketch(eqs, None, "the robot at the start")
    parts = [f'<div class="pictures">{drawn}{table(("", ""), shown.totals)}</div>']
    for sheet in shown.sheets:
        parts.append(
            f"<details><summary>{text(sheet.title)}</summary>{_cut_table(sheet.columns, sheet.rows)}</details>"
        )
    parts.append(f"<details><summary>tree</summary><pre>{text(chr(10).join(tree_lines(shown.tree)))}</pre></details>")
    return "".join(parts)


def _result(eqs: Equations, result: AnalysisResult, part: ReportPart) -> str:
    """The section of any result: its message, plots and tables, and the poses that it plays."""
    parts = [f"<p>{text(result.message)}</p>" if result.message else ""]
    if result.status != Status.FAILED:
        drawn = "".join(part.figure(draw, words) for draw, words in islice(figures_of(result), LIMITS.most_plots))
        parts.append(f'<div class="pictures">{drawn}</div>' if drawn else "")
    parts += map(_sheet, result.sheets())
    poses = sum(1 for _ in result.poses())
    title = type(result).analysis.title.lower()
    parts.append(part.player(title, lambda: result_clips(result, most=LIMITS.most_played), (poses, title)))
    parts.append(f'<p class="note">{text(type(result).played)}</p>' if type(result).played and poses else "")
    return "".join(parts)


def _sheet(sheet: Sheet) -> str:
    """A table; the rest of a long one is folded."""
    title = f"<h3>{text(sheet.title[0].upper() + sheet.title[1:])}</h3>" if sheet.title else ""
    short = table(sheet.columns, sheet.short.rows) if sheet.hidden else ""
    return title + short + _long_table(sheet.columns, sheet.rows, sheet.words)


def _motion(eqs: Equations, run: Result, part: ReportPart) -> str:
    parts = [f"<p>{text(run.message)} ({text(run.status)}). Method: {text(run.method)}.</p>"]
    if len(run.time):
        parts.append(part.player("the motion", lambda: [run_clip(eqs, run)], (len(run.time), "saved times")))
    if len(run.time) > 1:
        parts.append(f'<div class="pictures">{"".join(_motion_figures(run, part))}</div>')
    timing = run.timing
    rows = [(words, f"{getattr(timing, f'{words}_s'):.3g} s") for words in ("derive", "compile", "run")]
    rows += [("steps", str(timing.steps)), ("rejected steps", str(timing.rejected))]
    rows += [("evaluations", str(timing.evaluations))]
    return "".join([*parts, "<h3>Timing</h3>", table(("", ""), rows)])


def _motion_figures(run: Result, part: ReportPart) -> Iterator[str]:
    names = sorted(
        run.output_names or run.recorded.names("coordinate"), key=lambda name: "/" in name
    )  # attached models last
    along = profile_names(run)
    groups = _repeated(run, names)
    for group in groups[: LIMITS.most_plots]:
        if group[0] in along:
            yield part.figure(partial(plot.profile, run, group[0]), f"{group[0]} along the rod")
        else:
            yield part.figure(partial(plot.trajectory, run, group), f"{', '.join(group)} over time")
    left = [name for group in groups[LIMITS.most_plots :] for name in group]
    if left:
        yield f'<p class="note">{len(left)} more {"is" if len(left) == 1 else "are"} not drawn: {text(", ".join(left[:40]))}</p>'
    yield from _input_figures(run, part)
    yield part.figure(lambda: plot.energy(run), "energies over time")
    if len(run.recorded["constraint"]) and np.any(run.constraint_error > 0):
        yield part.figure(lambda: constraint_error(run), "constraint error over time")


def _repeated(run: Result, names: Sequence[str]) -> list[list[str]]:
    """Names of one plot each: those of a repeated output or coordinate together, as far as their lines can be distinguished."""
    along = profile_names(run)
    groups: dict[tuple[str, str], list[list[str]]] = {}
    for name in names:
        kind = (name, "") if name in along else (INSTANCE.sub("[i]", name), run[name].unit)
        lines = int(np.prod(np.shape(run[name])[1:]))
        rows = groups.setdefault(kind, [[]])
        if rows[-1] and lines * (len(rows[-1]) + 1) > LIMITS.most_lines:
            rows.append([])
        rows[-1].append(name)
    return [group for rows in groups.values() for group in rows]


def _input_figures(run: Result, part: ReportPart) -> Iterator[str]:
    """Plots of the inputs that change, those of one unit together."""
    moving = [name for name, values in run.inputs.items() if np.ptp(values)]
    for unit in dict.fromkeys(run.input(name).unit for name in moving):
        names = [name for name in moving if run.input(name).unit == unit]
        for few in (names[k : k + LIMITS.together] for k in range(0, len(names), LIMITS.together)):
            yield part.figure(partial(plot.inputs, run, few), f"inputs {', '.join(few)} over time")


def _sweep(eqs: Equations, sweep: SweepContent, part: ReportPart) -> str:
    cases, by = sweep.table, sweep.table.measure(sweep.by)[0]
    counts = ", ".join(f"{n} {text(word)}" for word, n in cases.counted().items())
    drawn = part.figure(partial(plot.effects, cases, by), f"{by} over each varied value, and its means")
    drawn += part.figure(partial(plot.parallel, cases, by, largest=sweep.largest), f"all cases and their {by}")
    failed = cases.failures()[: LIMITS.most_rows]
    return "".join([
        f'<p>{len(cases.status)} cases: {counts}.</p><div class="pictures">{drawn}</div>',
        part.player("the best cases", lambda: [_case_clip(*case) for case in sweep.best]),
        _sheet(cases.best(by, largest=sweep.largest)),
        "<h3>Cases that failed</h3>" + table(("case", "reason"), failed) if failed else "",
    ])  # fmt: skip


def _case_clip(case: int, eqs: Equations, result: Result | Equilibrium) -> Clip:
    name = f"case {case}"
    return (
        run_clip(eqs, result, name=name) if isinstance(result, Result) else replace(result_clips(result)[0], name=name)
    )


def _reproduction(eqs: Equations) -> str:
    rows = [
        *versions().items(),
        ("kernels", "compiled" if eqs.binding.program.kernels.is_native else "in CasADi's virtual machine"),
    ]
    return (
        f"{table(('', ''), rows)}<details><summary>model text</summary><pre>{text(eqs.model.text)}</pre></details>"
        f'<p class="note">Made by Pliant {__version__}. Save the model text as a file and run the same analyses to repeat this.</p>'
    )


def _cut_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The first rows of a table, and how many are not shown."""
    hidden = len(rows) - LIMITS.most_rows
    more = f'<p class="note">{hidden} more rows are not shown.</p>' if hidden > 0 else ""
    return table(head, rows[: LIMITS.most_rows]) + more


def _long_table(head: Sequence[str], rows: Sequence[Sequence[Any]], what: str = "") -> str:
    made = _cut_table(head, rows)
    if len(rows) <= LIMITS.few_rows:
        return made
    return f"<details><summary>{len(rows)} {text(what or f'{head[0]}s')}</summary>{made}</details>"


Writer = Callable[["Equations", Any, ReportPart], str]
WRITERS: dict[type, tuple[str, Writer]] = {Result: ("Motion", _motion), SweepContent: ("Sweep", _sweep)}
"""The title of the section of each type of finding that has its own, and the function that writes its content."""
