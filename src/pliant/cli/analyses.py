"""Commands that compute: equilibrium, modes, linearize, simulate, run, equations."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import FindEquilibrium
from pliant.analysis.numerics.status import Status
from pliant.analysis.simulate import Simulate
from pliant.analysis.statics import equilibrium as solver
from pliant.cli.command_output import (
    answering,
    check_json_file,
    equilibrium_json,
    print_equilibrium,
    print_result,
    result_json,
    write_json,
)
from pliant.cli.common import FAULT, CommandError, Inputs, Interrupted, Json, Model, ModelOptions, print_json
from pliant.cli.holding import read_held
from pliant.cli.listed_analyses import run_analyses, simulated, span_of_analyses
from pliant.cli.model_argument import load_model, read_inputs, with_inputs
from pliant.cli.options import in_si, with_options
from pliant.cli.reporting import Report, check_report, save_report
from pliant.control.static_model import rest_with
from pliant.engine.equations import Equations
from pliant.engine.input_values import inputs_at_time
from pliant.language.table_files import FORMATS, endings

Out = Annotated[
    str | None, typer.Option("--out", help="File to write: .nc (netCDF, complete), .csv, .parquet or .mat.")
]
Answer = Annotated[str | None, typer.Option("--out", help="JSON file to write the results to.")]


@with_options(FindEquilibrium)
def equilibrium(
    model: Model,
    options: dict[str, Any],
    choices: ModelOptions,
    inputs: Inputs = None,
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Search from this many starts, most of them random.")
    ] = 1,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the random starts; default 0.")] = None,
    held: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=VALUE",
            help='Hold a coordinate or position: find its inputs ("hinge=30 deg", tip.x=0.1).',
        ),
    ] = None,
    use: Annotated[
        str | None, typer.Option("--use", help="Inputs that hold it, separated by commas; default: all but loads.")
    ] = None,
    out: Answer = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Find an equilibrium and its stability."""
    check_json_file(out)
    check_report(report)
    if starts == 1 and seed is not None:
        raise CommandError("--seed applies to random starts only", "add --starts 20")
    if use is not None and not held:
        raise CommandError("--use applies to held poses only", 'add --with "hinge=30 deg"')
    eqs = derive(load_model(model, choices))
    options = in_si(eqs, options) | {"inputs": answering(lambda: read_inputs(eqs, inputs))}
    if held:
        best, others = _held(eqs, held, use, options, starts), []
    elif starts > 1:
        found = answering(lambda: solver.equilibria(eqs, starts=starts, seed=seed or 0, **options))
        if not found:
            raise CommandError(f"no equilibrium found from {starts} starts", "try more --starts, or add springs")
        best, others = found[0], found[1:]
    else:
        best, others = answering(lambda: solver.equilibrium(eqs, on_failure="return", **options)), []
    answer = {"model": model, "status": best.status, "message": best.message, **equilibrium_json(best)}
    if others:
        answer["others"] = [equilibrium_json(other) for other in others]
    write_json(out, answer, failed=best.status != Status.CONVERGED)
    failed = save_report(report, eqs, [best, *others])
    if json:
        print_json(answer)
    else:
        for each in (best, *others):
            print_equilibrium(each)
    return failed if best.status == Status.CONVERGED else FAULT


def _held(eqs: Equations, held: list[str], use: str | None, options: dict[str, Any], starts: int) -> solver.Equilibrium:
    """The equilibrium with given values of coordinates or positions, and its inputs."""
    default = {name: field.default for name, field in FindEquilibrium.model_fields.items()}
    other = [name for name in ("time", "tolerance", "stability") if options.get(name, default[name]) != default[name]]
    other += ["starts"] if starts > 1 else []
    if other:
        raise CommandError(f"--{other[0]} does not apply to held poses", "omit it, or omit --with")
    task, value = read_held(eqs, held)
    names = None if use is None else tuple(word.strip() for word in use.split(","))
    given = answering(lambda: inputs_at_time(eqs, options["inputs"], None, 0.0))
    return answering(
        lambda: rest_with(eqs, task, value, start=options.get("start", "initial"), inputs=given, use=names)
    )


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
    ends_only = "save_at" not in options and "save_every" not in options
    if ends_only and json and report is None:  # a report plays the entire motion
        options["save_at"] = [options["begin"], options["until"]]
    result, printed = answering(lambda: simulated(eqs, options, out))
    failed = save_report(report, eqs, [result])
    if json:
        print_json(result_json(model, eqs, result, ends_only=ends_only))
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
