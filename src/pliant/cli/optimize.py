"""The command `optimize`: find optimal values of parameters and inputs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.status import Status
from pliant.analysis.simulate import simulate
from pliant.cli.command_output import answering, check_json_file, write_json
from pliant.cli.common import CommandError, Inputs, Json, Model, ModelOptions, console, print_json
from pliant.cli.model_argument import load_model, with_inputs
from pliant.cli.progress import SearchLine
from pliant.cli.reporting import Report, check_report, save_report
from pliant.gradient.optimize import Evaluation, Optimum
from pliant.gradient.optimize import optimize as run_search


def optimize(
    model: Model,
    minimize: Annotated[
        str, typer.Option("--minimize", metavar="EXPR", help='Expression to minimize, such as "(tip.x - 20 cm)^2".')
    ],
    vary: Annotated[
        list[str],
        typer.Option("--vary", metavar="NAME=LOW:HIGH", help='A parameter or input and its range, "length=10:20 cm".'),
    ],
    subject_to: Annotated[
        list[str] | None, typer.Option("--subject-to", metavar="COND", help='A condition, such as "tip.z >= 10 cm".')
    ] = None,
    analysis: Annotated[str, typer.Option("--analysis", help="equilibrium or simulate.")] = "equilibrium",
    until: Annotated[float | None, typer.Option("--until", help="End of the motion [s], for simulate.")] = None,
    method: Annotated[
        str, typer.Option("--method", help="slsqp or ipopt (by gradients), or optuna (by samples).")
    ] = "slsqp",
    evaluations: Annotated[
        int, typer.Option("--evaluations", help="Maximum number of search steps, or number of samples.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the samples.")] = 0,
    *,
    choices: ModelOptions,
    inputs: Inputs = None,
    report: Report = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="File to write: .json.")] = None,
    json: Json = False,
) -> int:
    """Find the values of parameters and inputs that minimize an expression of outputs."""
    check_json_file(out)
    check_report(report)
    ranges = dict(_range(text) for text in vary)
    if analysis == "simulate" and until is None:
        raise CommandError("a simulation needs an end time", "add --until 2")
    if analysis != "simulate" and until is not None:
        raise CommandError("--until applies to simulations only", "add --analysis simulate")
    options: dict[str, Any] = {} if until is None else {"until": until}
    eqs = with_inputs(derive(load_model(model, choices)), inputs, end=until, free=ranges)

    def work() -> Optimum:
        with SearchLine() as line, line.stage(f"search by {method}") as update:
            return run_search(
                eqs, minimize, ranges, subject_to=subject_to or (), analysis=analysis,  # type: ignore[arg-type]
                method=method, evaluations=evaluations, seed=seed, on_failure="return",  # type: ignore[arg-type]
                progress=lambda visit: update(_in_words(visit)), **options,
            )  # fmt: skip

    try:
        found: Optimum = answering(work)
    except ModuleNotFoundError as reason:
        raise CommandError(str(reason)) from None
    answer = {"model": model, **_as_data(found)}
    write_json(out, answer, failed=found.status == Status.FAILED)
    failed = 0
    if report is not None:
        analyse: Any = simulate if analysis == "simulate" else equilibrium
        best = answering(lambda: analyse(found.equations, on_failure="return", **options))
        failed = save_report(report, found.equations, [found, best])
    if json:
        print_json(answer)
    else:
        console().print(str(found), markup=False, highlight=False)
    return failed if found.status != Status.FAILED else 2


def _in_words(visit: Evaluation) -> str:
    missed = f", conditions violated by {visit.missed:.2%}" if visit.missed else ""
    return f"objective {visit.objective:.6g} (SI){missed}"


def _range(text: str) -> tuple[str, str]:
    name, equals, given = text.partition("=")
    if not equals or not name.strip() or not given.strip():
        raise CommandError(f"cannot read --vary '{text}'", 'write --vary "length=10:20 cm"')
    return name.strip(), given.strip()


def _as_data(found: Optimum) -> dict[str, Any]:
    return {
        "status": str(found.status), "message": found.message, "minimize": found.minimize, "objective": found.objective,
        "before": found.before, "values": found.values, "start": found.start, "spare": found.spare,
        "at_bounds": list(found.at_bounds), "way": [asdict(visit) for visit in found.way],
    }  # fmt: skip
