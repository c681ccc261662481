"""`pliant run`: the analyses that a model lists, in order, with their settings."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pliant.analysis.listed import analysis_faults, analysis_of, listed_analyses
from pliant.cli.analysis import print_analysis, say_saved, watched
from pliant.cli.common import FAULT, CommandError, Interrupted, console, print_json, say
from pliant.cli.reporting import report_file, save_report
from pliant.engine.equations import Equations
from pliant.language.faults import SpecError


def run_analyses(model: str, eqs: Equations, out: str | None, json: bool, report: str | None = None) -> int:
    """Run all analyses and return the exit code; results go to the folder `out`, if given, and to the screen or one JSON
    object."""
    analyses = eqs.model.spec.analyses
    if not analyses:
        raise CommandError(f"the model '{model}' lists no analyses", "add `analyses:` to it, or call one by name")
    if faults := analysis_faults(eqs.model.spec, eqs.model):
        raise SpecError(faults, model)
    folder = _folder(out)
    can_draw = find_spec("matplotlib") is not None
    page = report or (str(folder / "report.html") if folder is not None and can_draw else None)
    answers: list[dict[str, Any]] = []
    findings: list[Any] = []
    code, interrupted = 0, False
    for number, analysis in enumerate(analyses, start=1):
        kind = analysis.name
        if not json:
            console().print(f"{number}. {kind}", style="bold")
        target = None if folder is None else folder / f"{number}_{kind}"
        status, answer, finding = _one(model, eqs, analysis, target, json)
        answers.append({"analysis": kind, **answer})
        findings.append(finding)
        if status == "failed":
            code = FAULT
        if interrupted := getattr(finding, "interrupted", False):
            break
    unwritten = save_report(page, eqs, findings)
    if folder is not None and not can_draw:
        say(f"no report in {folder}: it needs matplotlib, which is not installed (pip install 'pliant[plot]')")
    written = None if unwritten or page is None else report_file(page, findings)
    if json:
        status = "stopped" if interrupted else "failed" if code else "ok"
        print_json({"model": model, "status": status, "analyses": answers, "report": written})
    if interrupted:
        raise Interrupted
    return code or unwritten


def span_of_analyses(eqs: Equations) -> tuple[float, float]:
    """The first and the last time [s] of all listed analyses."""
    spec = eqs.model.spec
    given = [one.in_si(eqs).given() for one in listed_analyses(spec.analyses, spec.source)]
    times = [float(x[name]) for x in given for name in ("begin", "until", "time") if name in x]
    return min(times, default=0.0), max(times, default=0.0)


def _folder(out: str | None) -> Path | None:
    if out is None:
        return None
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise CommandError(f"cannot create the folder {out}: {reason.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise CommandError(f"the folder {out} cannot be written to")
    return folder


def _one(model: str, eqs: Equations, analysis: Any, file: Path | None, json: bool) -> tuple[str, dict[str, Any], Any]:
    """Run an analysis: its status, its results as data for JSON, and its result object."""
    one = analysis_of(analysis).in_si(eqs)
    options = one.given()
    target = None if file is None else str(file.with_suffix(".nc"))
    given = {"on_failure": "return", **({} if target is None else {"out": target})}
    result = watched(one.model_copy(update=given), eqs)
    if not json:
        print_analysis(result, every="count" in options)
    if target is not None:
        say_saved(result, target)
    # the complete result is in the file; the JSON object contains what is printed if nothing more is asked for
    return str(result.status), result.brief_json(), result
