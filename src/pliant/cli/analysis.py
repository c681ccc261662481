"""The commands of analyses: one for each class of `pliant.analysis`, whose options are its fields; `run`, which runs those that a
model lists; and `equations`."""

import inspect
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.analysis.base import Analysis, analysis, analysis_faults, analysis_of, listed_analyses
from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.netcdf_files import partial_path
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import AnalysisResult
from pliant.cli.command_output import (
    Report,
    answering,
    check_picture,
    check_report,
    drawing,
    print_analysis,
    report_file,
    save_report,
    write_json,
)
from pliant.cli.common import (
    FAULT,
    CommandError,
    Inputs,
    Interrupted,
    Json,
    Model,
    ModelOptions,
    ProgressLine,
    console,
    print_json,
    say,
)
from pliant.cli.model_argument import load_model, read_inputs, with_inputs
from pliant.cli.options import in_si, with_options
from pliant.engine.equations import Equations
from pliant.language.faults import SpecError
from pliant.language.provided import called

Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Plot to write: .pdf, .svg or .png.")]
Out = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="File to write the results to: .nc (netCDF) or .json.")
]


def command_of(name: str) -> Any:
    """The command of an analysis."""
    kind = analysis(name)

    @with_options(kind)
    def command(
        model: Model, options: dict[str, Any], choices: ModelOptions, inputs: Inputs = None, out: Out = None,
        plot: Plot = None, report: Report = None, json: Json = False,
    ) -> int:  # fmt: skip
        check_out(out, kind)
        check_picture(plot)
        check_report(report)
        eqs = derive(load_model(model, choices))
        given = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs)), "on_failure": "return"}
        given |= result_file(out)
        one = by_flag(kind, lambda: kind.of(given))
        brief = one.brief()
        if brief is not None and json and out is plot is report is None:  # files show everything
            one = brief
        found: AnalysisResult = by_flag(kind, lambda: watched(one, eqs))
        answer = found.as_json() if brief is None else found.brief_json()
        return finish(model, eqs, found, out, report, json, plot=plot, every="count" in options, answer=answer)

    command.__name__, command.__doc__ = name, summary(kind)
    command.__annotations__["out"] = _out(kind)
    if not kind.result.plots:
        every = inspect.signature(command).parameters.values()
        command.__signature__ = inspect.Signature([x for x in every if x.name != "plot"])
    return command


def by_flag(kind: type[Analysis], function: Any) -> Any:
    """Run a function of an analysis; errors that begin with the name of a field name the option of the command instead."""
    try:
        return answering(function)
    except CommandError as error:
        for name in kind.options():
            if re.match(rf"{name}[ .:]", str(error)):
                raise CommandError(
                    f"--{name.replace('_', '-')}{str(error)[len(name) :]}", error.hint
                ) from error.__cause__
        raise


def watched(one: Analysis, eqs: Equations) -> Any:
    """Run an analysis, with a line on its progress if it reports any."""
    if "progress" not in type(one).model_fields:
        return one.analyse(eqs)
    with ProgressLine() as line:
        told = {"progress": lambda *report: line(*one.reported(*report))}
        return one.model_copy(update=told).analyse(eqs)


def finish(
    model: str, eqs: Equations, found: AnalysisResult, out: str | None, report: str | None, json: bool, *,
    plot: str | None = None, every: bool = False, answer: dict[str, Any] | None = None,
) -> int:  # fmt: skip
    """Write, draw and print a result; returns the exit code. answer: its content as JSON, if not all."""
    answer = {"model": model, **(found.as_json() if answer is None else answer)}
    if out is not None and out.endswith(".json"):
        write_json(out, answer, failed=found.is_partial)
    if plot is not None and not found.is_partial:
        drawing(lambda: called("AnalysisResult.picture", found, plot), plot)
        say(f"plot in {plot}")
    failed = save_report(report, found.equations or eqs, [found])
    if json:
        print_json(answer)
    else:
        print_analysis(found, every=every)
    if out is not None and not out.endswith(".json"):
        say_saved(found, out)
    if found.interrupted:
        raise Interrupted
    return FAULT if answer["status"] == Status.FAILED else failed


def result_file(out: str | None) -> dict[str, str]:
    """The option of an analysis that writes the file of `--out` itself, also while it runs; JSON is written by the command."""
    return {} if out is None or out.endswith(".json") else {"out": out}


def say_saved(found: AnalysisResult, out: str) -> None:
    """Print the file of a result: as requested, or the partial file if the run did not finish."""
    if found.is_partial:
        say(f"saved to {partial_path(out)}, because the run did not finish; {out} was not modified")
    else:
        say(f"saved to {out}")


def summary(kind: type[Analysis]) -> str:
    """The help of a command: what the analysis is, as its class says."""
    return re.split(r"\n\n(?:Args|Example):", kind.documentation())[0]


def _out(kind: type[Analysis]) -> Any:
    """The option of the file of results."""
    formats = {".nc": ".nc (netCDF, complete)"}
    words = [formats.get(x, x) for x in kind.result.formats]
    text = f"File to write the results to: {', '.join(words[:-1])} or {words[-1]}."
    return Annotated[str | None, typer.Option("--out", metavar="FILE", help=text)]


def check_out(file: str | None, kind: type[Analysis]) -> None:
    """Reject names of files that cannot be written, before anything is computed."""
    formats = kind.result.formats
    if file is not None and Path(file).suffix not in formats:
        hint = f"end it in {', '.join(formats[:-1])} or {formats[-1]}"
        raise CommandError(f"cannot determine the format of '{file}'", hint)


# -- the analyses that a model lists -----------------------------------------------------------------------------------


def run(
    model: Model, choices: ModelOptions, inputs: Inputs = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder for the results and a report.")] = None,
    report: Report = None, json: Json = False,
) -> int:  # fmt: skip
    """Run the analyses that the model lists, in order."""
    check_report(report)
    eqs = derive(load_model(model, choices))
    begin, end = span_of_analyses(eqs)
    eqs = with_inputs(eqs, inputs, begin=begin, end=end)
    return int(answering(lambda: run_analyses(model, eqs, out, json, report)))


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
    for number, listed in enumerate(analyses, start=1):
        kind = listed.name
        if not json:
            console().print(f"{number}. {kind}", style="bold")
        target = None if folder is None else folder / f"{number}_{kind}"
        status, answer, finding = _one(eqs, listed, target, json)
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


def _one(eqs: Equations, listed: Any, file: Path | None, json: bool) -> tuple[str, dict[str, Any], Any]:
    """Run an analysis: its status, its results as data for JSON, and its result object."""
    one = analysis_of(listed).in_si(eqs)
    options = one.given()
    target = None if file is None else str(file.with_suffix(".nc"))
    result = watched(one.model_copy(update={"on_failure": "return", **result_file(target)}), eqs)
    if not json:
        print_analysis(result, every="count" in options)
    if target is not None:
        say_saved(result, target)
    # the complete result is in the file; the JSON object contains what is printed by default
    return str(result.status), result.brief_json(), result


# -- equations -------------------------------------------------------------------------------------------------------


def equations(
    model: Model,
    choices: ModelOptions,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of plain text.")] = False,
    json: Json = False,
) -> int:
    """Print the equations of motion: in full for small robots, by element for others."""
    eqs = derive(load_model(model, choices))
    text = answering(eqs.latex if latex else eqs.text)
    if json:
        print_json({"model": model, "status": "ok", "format": "latex" if latex else "text", "equations": text})
    else:
        print(text)
    return 0
