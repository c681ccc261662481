"""Commands that compute: equilibrium, modes, linearize, simulate, run, equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from pliant.cli.answers import (
    answering,
    equilibrium_json,
    print_equilibrium,
    print_result,
    result_json,
    say_warnings,
    write_json,
)
from pliant.cli.common import (
    FAULT,
    CommandError,
    Folder,
    Interrupted,
    Json,
    Model,
    Rod,
    Set,
    Variant,
    console,
    print_json,
    say,
)
from pliant.cli.listed_analyses import run_analyses
from pliant.cli.progress import ProgressLine
from pliant.cli.reporting import Report, check_report, save_report
from pliant.cli.subject import load_model, state_at
from pliant.io.results import write_csv
from pliant.solve.linear import modal
from pliant.solve.linear import state_space as linear
from pliant.solve.motion.integrator import chosen_method
from pliant.solve.motion.plant import model_controllers
from pliant.solve.motion.saving import At, Every
from pliant.solve.motion.simulate import simulate as run_simulation
from pliant.solve.statics import equilibrium as solver
from pliant.spec.derive import derive

if TYPE_CHECKING:
    from pliant.equations.equations import Equations

MethodName = Annotated[
    str | None,
    typer.Option("--method", help="explicit, implicit, generalized_alpha, newmark or semi_implicit; else automatic."),
]
Step = Annotated[float | None, typer.Option("--dt", help="Fixed step [s].")]
Rtol = Annotated[float | None, typer.Option("--rtol", help="Relative tolerance of an adaptive method.")]
Atol = Annotated[float | None, typer.Option("--atol", help="Absolute tolerance; a hundredth of --rtol by default.")]
Out = Annotated[str | None, typer.Option("--out", help="File to write: .nc (netCDF) or .csv.")]
Answer = Annotated[str | None, typer.Option("--out", help="File to write the answer to, as JSON.")]
AtState = Annotated[str, typer.Option("--at-state", help="equilibrium or start.")]


def _equations(model: str, settings: Any, variant: str | None, folder: Any, rods: Any) -> Equations:
    return derive(load_model(model, settings=settings, variant=variant, folders=folder, rods=rods))


def equilibrium(
    model: Model,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Search from this many starts, most of them random.")
    ] = 1,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the random starts; else 0.")] = None,
    time: Annotated[float, typer.Option("--time", help="Time at which inputs are read [s].")] = 0.0,
    out: Answer = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Find a pose at rest, and say whether it is stable."""
    check_report(report)
    if starts == 1 and seed is not None:
        raise CommandError("--seed is that of random starts", "add --starts 20")
    eqs = _equations(model, set, variant, folder, rod)
    if starts > 1:
        found = answering(lambda: solver.equilibria(eqs, starts=starts, seed=seed or 0, t=time))
        if not found:
            raise CommandError(f"no equilibrium found from {starts} starts", "try more --starts, or add springs")
        best, others = found[0], found[1:]
    else:
        best, others = answering(lambda: solver.equilibrium(eqs, t=time)), []
    answer = {
        "model": model,
        "status": best.status,
        "message": best.message,
        **equilibrium_json(best),
    }
    if others:
        answer["others"] = [equilibrium_json(other) for other in others]
    write_json(out, answer)
    save_report(report, eqs, [best, *others])
    if json:
        print_json(answer)
    else:
        for each in (best, *others):
            print_equilibrium(each)
    return 0 if best.status == "converged" else 2


def modes(
    model: Model,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="How many modes, lowest first; else all.")] = None,
    at_state: AtState = "equilibrium",
    out: Answer = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Natural frequencies, damping ratios and mode shapes."""
    check_report(report)
    eqs = _equations(model, set, variant, folder, rod)
    found = answering(lambda: modal.modes(eqs, at=state_at(eqs, at_state), count=count))
    answer = {
        "model": model,
        "status": "ok",
        "message": "; ".join(found.warnings),
        "frequencies_hz": found.frequencies,
        "damping_ratios": found.damping_ratios,
        "stable": found.stable,
        "eigenvalues": [[z.real, z.imag] for z in found.eigenvalues],
        "rates": eqs.rates,
        "shapes": found.shapes.T,
        "warnings": found.warnings,
    }
    write_json(out, answer)
    save_report(report, eqs, [found])
    if json:
        print_json(answer)
        return 0
    table = Table("mode", "frequency [Hz]", "damping ratio", "moves most", box=None)
    for k, (frequency, ratio) in enumerate(zip(found.frequencies, found.damping_ratios, strict=True)):
        shape = abs(found.shapes[:, k])
        largest = [eqs.rates[i] for i in shape.argsort()[::-1][:3] if shape[i] > 0.05 * shape.max()]
        table.add_row(str(k + 1), f"{frequency:.6g}", f"{ratio:.4g}", ", ".join(largest))
    console().print(table)
    for note in found.warnings:
        say(note)
    return 0


def linearize(
    model: Model,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    independent: Annotated[str | None, typer.Option("--independent", help="Independent coordinates, by comma.")] = None,
    at_state: AtState = "equilibrium",
    out: Answer = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """A, B, C, D about a state, on independent coordinates."""
    check_report(report)
    eqs = _equations(model, set, variant, folder, rod)
    chosen = tuple(independent.split(",")) if independent else None
    found = answering(lambda: linear.linearize(eqs, at=state_at(eqs, at_state), independent=chosen))
    answer = {
        "model": model,
        "status": "ok",
        "message": "" if found.residual < 1e-6 else f"not an equilibrium: acceleration {found.residual:.3g} there",
        **{name: getattr(found, name) for name in ("A", "B", "C", "D", "states", "inputs", "outputs", "independent")},
        "q": dict(zip(eqs.coordinates, found.state.q.tolist(), strict=True)),
    }
    write_json(out, answer)
    save_report(report, eqs, [found])
    if json:
        print_json(answer)
        return 0
    out_console = console()
    for name in "ABCD":
        out_console.print(f"{name} =", markup=False)
        out_console.print(np.array2string(getattr(found, name), precision=6, suppress_small=True), markup=False)
    out_console.print(f"states: {', '.join(found.states)}", markup=False)
    out_console.print(f"inputs: {', '.join(found.inputs) or 'none'}; outputs: {', '.join(found.outputs)}", markup=False)
    return 0


def simulate(
    model: Model,
    until: Annotated[float, typer.Option("--until", help="End of the simulation [s].")] = 1.0,
    at: Annotated[str | None, typer.Option("--at", help="Times to print, by comma [s]; else start and end.")] = None,
    save_every: Annotated[float | None, typer.Option("--save-every", help="Interval of saved states [s].")] = None,
    method: MethodName = None,
    dt: Step = None,
    rtol: Rtol = None,
    atol: Atol = None,
    start: Annotated[str, typer.Option("--start", help="initial or equilibrium.")] = "initial",
    formulation: Annotated[str, typer.Option("--formulation", help="multipliers or reduced.")] = "multipliers",
    independent: Annotated[str | None, typer.Option("--independent", help="Independent coordinates (reduced).")] = None,
    no_control: Annotated[bool, typer.Option("--no-control", help="Leave the model's controllers out.")] = False,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    out: Out = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Simulate the motion from the start, and save or print it."""
    check_report(report)
    eqs = _equations(model, set, variant, folder, rod)
    times = _times(at)
    few = times or (json and report is None)  # a report plays the whole motion
    save = Every(save_every) if save_every is not None else At(times or [0.0, until]) if few else None
    if save_every is not None and times:
        raise CommandError("give --at or --save-every, not both")
    result = answering(
        lambda: _simulate(
            eqs, until, save, method, dt, rtol, atol, start, formulation, independent, out, not no_control
        )
    )
    save_report(report, eqs, [result])
    if json:
        print_json(result_json(model, eqs, result, ends_only=not times and save_every is None))
    else:
        print_result(result, out)
    if result.interrupted:
        raise Interrupted
    return 0 if result.status != "failed" else FAULT


def _times(at: str | None) -> list[float]:
    if at is None:
        return []
    try:
        return [float(x) for x in at.split(",") if x.strip()]
    except ValueError:
        raise CommandError(f"cannot read the times '{at}'", "write --at 0.5,1,2") from None


def _simulate(
    eqs: Equations, until: float, save: Any, method: str | None, dt: float | None, rtol: float | None,
    atol: float | None, start: str, formulation: str, independent: str | None, out: str | None,
    control: bool = True,
) -> Any:  # fmt: skip
    if start not in ("initial", "equilibrium"):
        raise CommandError(f"unknown start '{start}'", "write --start initial or --start equilibrium")
    if formulation not in ("multipliers", "reduced"):
        raise CommandError(f"unknown formulation '{formulation}'", "write multipliers or reduced")
    chosen = chosen_method(method, step=dt, rtol=rtol, atol=atol)
    suffix = "" if out is None else out.rpartition(".")[2]
    if out is not None and suffix not in ("nc", "csv"):
        raise CommandError(f"cannot tell the format of '{out}'", "end it in .nc or .csv")
    with ProgressLine() as progress:
        result = run_simulation(
            eqs,
            (0.0, until),
            start=state_at(eqs, "equilibrium") if start == "equilibrium" else None,
            method=chosen,
            controllers=_controllers(eqs) if control else (),
            rtol=rtol if chosen is None else None,
            atol=atol if chosen is None else None,
            save=save,
            formulation=formulation,  # type: ignore[arg-type]
            independent=None if independent is None else tuple(name.strip() for name in independent.split(",")),
            progress=progress,
            out=out if suffix == "nc" else None,
        )
    if suffix == "csv":
        assert out is not None
        write_csv(result, out)
    return result


def _controllers(eqs: Equations) -> list[Any]:
    """The model's controllers; what is wrong with their designs is said before a run that may take long."""
    found = model_controllers(eqs)
    say_warnings(found)
    return found


def run(
    model: Model, set: Set = None, rod: Rod = None, variant: Variant = None, folder: Folder = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder for the results and a report.")] = None,
    report: Report = None, json: Json = False,
) -> int:  # fmt: skip
    """Do the analyses that the model lists, in order."""
    check_report(report)
    eqs = _equations(model, set, variant, folder, rod)
    return int(answering(lambda: run_analyses(model, eqs, out, json, report)))


def equations(
    model: Model,
    set: Set = None,
    rod: Rod = None,
    variant: Variant = None,
    folder: Folder = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of plain text.")] = False,
    json: Json = False,
) -> int:
    """Print the equations of motion of a small robot."""
    eqs = _equations(model, set, variant, folder, rod)
    text = answering(eqs.latex if latex else eqs.text)
    if json:
        print_json({"model": model, "status": "ok", "format": "latex" if latex else "text", "equations": text})
    else:
        print(text)
    return 0
