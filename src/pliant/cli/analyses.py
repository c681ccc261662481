"""Commands that compute: simulate, run, equations."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.status import Status
from pliant.analysis.simulate import Simulate
from pliant.cli.command_output import answering, print_result
from pliant.cli.common import FAULT, CommandError, Inputs, Interrupted, Json, Model, ModelOptions, print_json
from pliant.cli.listed_analyses import run_analyses, simulated, span_of_analyses
from pliant.cli.model_argument import load_model, read_inputs, with_inputs
from pliant.cli.options import in_si, with_options
from pliant.cli.reporting import Report, check_report, save_report
from pliant.language.table_files import FORMATS, endings

Out = Annotated[
    str | None, typer.Option("--out", help="File to write: .nc (netCDF, complete), .csv, .parquet or .mat.")
]


@with_options(Simulate)
def simulate(
    model: Model,
    options: dict[str, Any],
    choices: ModelOptions,
    inputs: Inputs = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Simulate the motion, and save or print it.

    --json prints the states of --save-every or --save-at, without these the first and the last only; --out saves 200 intervals.
    """
    check_report(report)
    if out is not None and not out.endswith((".nc", *FORMATS)):
        raise CommandError(f"cannot determine the format of '{out}'", f"end it in .nc, {endings()}")
    eqs = derive(load_model(model, choices))
    options = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs))}
    ends_only = Simulate.saves_by_default(options)
    if ends_only and json and report is None:  # a report plays the entire motion
        options["save_at"] = (options["begin"], options["until"])
    result, printed = answering(lambda: simulated(eqs, options, out))
    failed = save_report(report, eqs, [result])
    if json:
        print_json({"model": model, **result.as_json(ends_only=ends_only)})
    else:
        print_result(result, out, printed)
    if result.interrupted:
        raise Interrupted
    return failed if result.status != Status.FAILED else FAULT


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
