"""`pliant run`: the analyses that a model lists, in order, with their settings."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pliant.cli.answers import equilibrium_json, print_equilibrium, print_result, result_json
from pliant.cli.common import FAULT, CommandError, Interrupted, console, print_json, say
from pliant.cli.progress import ProgressLine
from pliant.cli.reporting import save_report
from pliant.cli.subject import state_at
from pliant.equations.equations import Equations
from pliant.solve.linear.modal import modes
from pliant.solve.linear.state_space import linearize
from pliant.solve.motion.integrator import chosen_method
from pliant.solve.motion.saving import Every
from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.analyses import EquilibriumAnalysis, LinearizeAnalysis, ModesAnalysis, SimulateAnalysis


def run_analyses(model: str, eqs: Equations, out: str | None, json: bool, report: str | None = None) -> int:
    """Do all analyses; results go to the folder `out` (if given) and to the screen or one JSON object."""
    analyses = eqs.model.spec.analyses
    if not analyses:
        raise CommandError(f"the model '{model}' lists no analyses", "add `analyses:` to it, or call one by name")
    folder = _folder(out)
    page = report or (None if folder is None or find_spec("matplotlib") is None else str(folder / "report.html"))
    answers: list[dict[str, Any]] = []
    findings: list[Any] = []
    code, interrupted = 0, False
    for number, analysis in enumerate(analyses, start=1):
        kind = next(iter(type(analysis).model_fields))
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
    save_report(page, eqs, findings)
    if json:
        status = "stopped" if interrupted else "failed" if code else "ok"
        print_json(
            {
                "model": model,
                "status": status,
                "analyses": answers,
                "report": page,
            }
        )
    if interrupted:
        raise Interrupted
    return code


def _folder(out: str | None) -> Path | None:
    if out is None:
        return None
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise CommandError(f"cannot make the folder {out}: {reason.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise CommandError(f"the folder {out} cannot be written to")
    return folder


def _one(model: str, eqs: Equations, analysis: Any, file: Path | None, json: bool) -> tuple[str, dict[str, Any], Any]:
    if isinstance(analysis, EquilibriumAnalysis):
        settings = analysis.equilibrium
        value = eqs.model.environment.value
        tolerance = 1e-10 if settings.tolerance is None else float(value(settings.tolerance))
        found = equilibrium(eqs, tolerance=tolerance)
        if not json:
            print_equilibrium(found)
        return found.status, {"status": found.status, "message": found.message, **equilibrium_json(found)}, found
    if isinstance(analysis, ModesAnalysis):
        shapes = modes(eqs, at=state_at(eqs, analysis.modes.at), count=analysis.modes.count)
        if not json:
            console().print(repr(shapes), markup=False)
        answer = {
            "status": "ok",
            "frequencies_hz": shapes.frequencies,
            "damping_ratios": shapes.damping_ratios,
            "stable": shapes.stable,
            "warnings": shapes.warnings,
        }
        return "ok", answer, shapes
    if isinstance(analysis, LinearizeAnalysis):
        linear = linearize(eqs, at=state_at(eqs, analysis.linearize.at))
        linear = linear.select(analysis.linearize.inputs, analysis.linearize.outputs)
        if not json:
            console().print(f"linearized: states {', '.join(linear.states)}", markup=False)
        names = ("A", "B", "C", "D", "states", "inputs", "outputs")
        return "ok", {"status": "ok", **{name: getattr(linear, name) for name in names}}, linear
    assert isinstance(analysis, SimulateAnalysis)
    return _run_simulation(model, eqs, analysis, file, json)


def _run_simulation(
    model: str, eqs: Equations, analysis: SimulateAnalysis, file: Path | None, json: bool
) -> tuple[str, dict[str, Any], Any]:
    settings = analysis.simulate

    def number(x: Any) -> float | None:
        return None if x is None else float(eqs.model.environment.value(x))

    until = number(settings.until)
    assert until is not None
    step, rtol, atol = number(settings.dt), number(settings.rtol), number(settings.atol)
    method = chosen_method(settings.method, step=step, rtol=rtol, atol=atol)
    every = number(settings.save_every)
    target = None if file is None else file.with_suffix(".nc")
    with ProgressLine() as progress:
        result = simulate(
            eqs,
            (0.0, until),
            start=state_at(eqs, "equilibrium") if settings.start == "equilibrium" else None,
            method=method,
            rtol=rtol if method is None else None,
            atol=atol if method is None else None,
            save=None if every is None else Every(every),
            formulation=settings.formulation or "multipliers",
            independent=settings.independent,
            progress=progress,
            out=target,
        )
    if not json:
        print_result(result, None if target is None else str(target))
    elif target is not None:
        say(f"saved to {target}")
    # the whole motion is in the file; the answer carries its ends
    return result.status, result_json(model, eqs, result, ends_only=True), result
