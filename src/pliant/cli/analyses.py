"""Commands that compute: simulate, run, equations."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.analysis.derivation.derive import derive
from pliant.cli.command_output import answering
from pliant.cli.common import Inputs, Json, Model, ModelOptions, print_json
from pliant.cli.listed_analyses import run_analyses, span_of_analyses
from pliant.cli.model_argument import load_model, with_inputs
from pliant.cli.reporting import Report, check_report

Out = Annotated[
    str | None, typer.Option("--out", help="File to write: .nc (netCDF, complete), .csv, .parquet or .mat.")
]


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
