"""Commands that compute: equilibrium, modes, linearize, simulate, run, equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.common import CommandError, Folder, Json, Model, Set, Variant, console, load_model, print_json, say

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


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("equilibrium")(equilibrium)
    app.command("modes")(modes)
    app.command("linearize")(linearize)
    app.command("simulate")(simulate)
    app.command("run")(run)
    app.command("equations")(equations)


def _equations(model: str, settings: Any, variant: str | None, folder: Any) -> Equations:
    from pliant.equations.equations import derive

    return derive(load_model(model, settings=settings, variant=variant, folders=folder))


def _answer(function: Any) -> Any:
    """Run an analysis; what the user has to change becomes one clear message."""
    from pliant.equations.compiled import EvaluationError
    from pliant.equations.equations import UnknownName
    from pliant.equations.printing import TooLarge
    from pliant.io.results import ResultFileError
    from pliant.solve.independent import PartitionError
    from pliant.solve.state import AssemblyError

    expected = (AssemblyError, EvaluationError, PartitionError, ResultFileError, UnknownName, TooLarge, ValueError)
    try:
        return function()
    except expected as reason:
        raise CommandError(str(reason)) from None


def _frames_json(frames: Any) -> dict[str, Any]:
    return {name: {"position": f.position, "quaternion": f.quaternion} for name, f in frames.items()}


def equilibrium(
    model: Model,
    set: Set = None,
    variant: Variant = None,
    folder: Folder = None,
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Search from this many starts, most of them random.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random starts.")] = 0,
    time: Annotated[float, typer.Option("--time", help="Time at which inputs are read [s].")] = 0.0,
    out: Answer = None,
    json: Json = False,
) -> int:
    """Find a pose at rest, and say whether it is stable."""
    from pliant.solve import equilibrium as solver

    eqs = _equations(model, set, variant, folder)
    if starts > 1:
        found = _answer(lambda: solver.equilibria(eqs, starts=starts, seed=seed))
        if not found:
            raise CommandError(f"no equilibrium found from {starts} starts", "try more --starts, or add springs")
        best, others = found[0], found[1:]
    else:
        best, others = _answer(lambda: solver.equilibrium(eqs, t=time)), []
    answer = {
        "model": model,
        "status": best.status,
        "message": best.message,
        **_equilibrium_json(best),
    }
    if others:
        answer["others"] = [_equilibrium_json(other) for other in others]
    _write_json(out, answer)
    if json:
        print_json(answer)
    else:
        for each in (best, *others):
            _print_equilibrium(each)
    return 0 if best.status == "converged" else 2


def _equilibrium_json(found: Any) -> dict[str, Any]:
    names = found.equations.constraint_names
    return {
        "q": found.coordinates,
        "frames": _frames_json(found.frames),
        "outputs": found.outputs,
        "residual": found.residual,
        "stable": found.stable,
        "multipliers": dict(zip(names, found.multipliers.tolist(), strict=True)),
        "iterations": found.iterations,
    }


def _print_equilibrium(found: Any) -> None:
    from rich.table import Table

    out = console()
    out.print(found.message)
    table = Table("coordinate", "value", title_justify="left", box=None)
    for name, value in found.coordinates.items():
        table.add_row(name, f"{value:.9g}")
    for name, value in found.outputs.items():
        table.add_row(f"output {name}", _number(value))
    out.print(table)
    out.print(f"largest unbalanced force {found.residual:.2g}", markup=False)


def _number(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f"{x:.9g}" for x in value) + "]"
    return f"{value:.9g}"


def _state(eqs: Equations, at: str, warn: bool = True) -> Any:
    """The state that modes and linearize work about."""
    from pliant.solve.equilibrium import equilibrium as find

    if at == "start":
        return None
    if at != "equilibrium":
        raise CommandError(f"unknown state '{at}'", "write --at-state equilibrium or --at-state start")
    found = find(eqs)
    if found.status != "converged":
        raise CommandError(found.message, "use --at-state start to work about the initial pose")
    return found.state


def modes(
    model: Model,
    set: Set = None,
    variant: Variant = None,
    folder: Folder = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="How many modes, lowest first; else all.")] = None,
    at_state: AtState = "equilibrium",
    out: Answer = None,
    json: Json = False,
) -> int:
    """Natural frequencies, damping ratios and mode shapes."""
    from pliant.solve import modal

    eqs = _equations(model, set, variant, folder)
    found = _answer(lambda: modal.modes(eqs, at=_state(eqs, at_state), count=count))
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
    _write_json(out, answer)
    if json:
        print_json(answer)
        return 0
    from rich.table import Table

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
    variant: Variant = None,
    folder: Folder = None,
    independent: Annotated[str | None, typer.Option("--independent", help="Independent coordinates, by comma.")] = None,
    at_state: AtState = "equilibrium",
    out: Answer = None,
    json: Json = False,
) -> int:
    """A, B, C, D about a state, on independent coordinates."""
    from pliant.solve import linear

    eqs = _equations(model, set, variant, folder)
    chosen = tuple(independent.split(",")) if independent else None
    found = _answer(lambda: linear.linearize(eqs, at=_state(eqs, at_state), independent=chosen))
    answer = {
        "model": model,
        "status": "ok",
        "message": "" if found.residual < 1e-6 else f"not an equilibrium: acceleration {found.residual:.3g} there",
        **{name: getattr(found, name) for name in ("A", "B", "C", "D", "states", "inputs", "outputs", "independent")},
        "q": dict(zip(eqs.coordinates, found.state.q.tolist(), strict=True)),
    }
    _write_json(out, answer)
    if json:
        print_json(answer)
        return 0
    out_console = console()
    import numpy as np

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
    set: Set = None,
    variant: Variant = None,
    folder: Folder = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Simulate the motion from the start, and save or print it."""
    from pliant.solve.saving import At, Every

    eqs = _equations(model, set, variant, folder)
    times = _times(at)
    save = Every(save_every) if save_every is not None else At(times or [0.0, until]) if (times or json) else None
    if save_every is not None and times:
        raise CommandError("give --at or --save-every, not both")
    result = _answer(
        lambda: _simulate(eqs, until, save, method, dt, rtol, atol, start, formulation, independent, not json, out)
    )
    answer = _result_json(model, eqs, result)
    if json:
        print_json(answer)
    else:
        _print_result(result, out)
    return 0 if result.status != "failed" else 2


def _times(at: str | None) -> list[float]:
    if at is None:
        return []
    try:
        return [float(x) for x in at.split(",") if x.strip()]
    except ValueError:
        raise CommandError(f"cannot read the times '{at}'", "write --at 0.5,1,2") from None


def _simulate(
    eqs: Equations, until: float, save: Any, method: str | None, dt: float | None, rtol: float | None,
    atol: float | None, start: str, formulation: str, independent: str | None, show: bool, out: str | None,
) -> Any:  # fmt: skip
    from pliant.io.results import write_csv
    from pliant.solve.integrator import method_by_name
    from pliant.solve.simulate import simulate as run_simulation

    if start not in ("initial", "equilibrium"):
        raise CommandError(f"unknown start '{start}'", "write --start initial or --start equilibrium")
    if formulation not in ("multipliers", "reduced"):
        raise CommandError(f"unknown formulation '{formulation}'", "write multipliers or reduced")
    chosen = None
    if method is not None or dt is not None:
        chosen = method_by_name(method or ("generalized_alpha" if dt else "explicit"), step=dt, rtol=rtol, atol=atol)
    suffix = "" if out is None else out.rpartition(".")[2]
    if out is not None and suffix not in ("nc", "csv"):
        raise CommandError(f"cannot tell the format of '{out}'", "end it in .nc or .csv")
    result = run_simulation(
        eqs,
        (0.0, until),
        start=_state(eqs, "equilibrium") if start == "equilibrium" else None,
        method=chosen,
        rtol=rtol or 1e-6,
        atol=atol,
        save=save,
        formulation=formulation,  # type: ignore[arg-type]
        independent=tuple(independent.split(",")) if independent else None,
        progress=_progress(until) if show else None,
        out=out if suffix == "nc" else None,
    )
    if suffix == "csv":
        assert out is not None
        write_csv(result, out)
    return result


def _progress(until: float) -> Any:
    """A bar with the time left, on stderr, for runs that take longer than a moment."""
    import sys
    import time

    begin = time.perf_counter()
    last = [begin]

    def show(t: float, end: float, steps: int) -> None:
        now = time.perf_counter()
        if now - begin < 0.5 or now - last[0] < 0.2 or not sys.stderr.isatty():
            return
        last[0] = now
        share = min(1.0, t / until) if until else 1.0
        left = (now - begin) * (1 - share) / max(share, 1e-9)
        bar = "#" * int(30 * share)
        end_of_line = "\n" if share >= 1.0 else ""
        sys.stderr.write(f"\r[{bar:<30}] t = {t:.4g} of {end:g} s, {steps} steps, {left:.0f} s left {end_of_line}")
        sys.stderr.flush()

    return show


def _result_json(model: str, eqs: Equations, result: Any) -> dict[str, Any]:
    data = result.dataset
    samples = []
    for k, t in enumerate(result.time):
        q, v = result.q[k], result.v[k]
        kinetic, potential = float(data["kinetic"][k]), float(data["potential"][k])
        frames = {
            str(name): {
                "position": data["frame_position"].values[k, i],
                "quaternion": data["frame_quaternion"].values[k, i],
            }
            for i, name in enumerate(data["frame"].values)
        }
        samples.append(
            {
                "t": float(t),
                "q": dict(zip(eqs.coordinates, q.tolist(), strict=True)),
                "v": dict(zip(eqs.rates, v.tolist(), strict=True)),
                "frames": frames,
                "energy": {
                    "kinetic": kinetic,
                    "potential": potential,
                    "total": kinetic + potential,
                    "dissipated": float(data["dissipated"][k]),
                    "supplied": float(data["supplied"][k]),
                },
                "constraint_error": float(result.constraint_error[k]),
                "outputs": {name: data[f"output.{name}"].values[k] for name in result.output_names},
                "multipliers": dict(zip(eqs.constraint_names, data["multiplier"].values[k].tolist(), strict=True)),
            }
        )
    timing = {k: getattr(result.timing, k) for k in ("derive_s", "compile_s", "run_s", "steps", "evaluations")}
    return {
        "model": model,
        "status": result.status,
        "message": result.message,
        "method": result.method,
        "warnings": result.warnings,
        "coordinates": eqs.coordinates,
        "samples": samples,
        "timing": timing,
    }


def _print_result(result: Any, out: str | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    printer = console()
    printer.print(f"{result.message} ({result.status})", markup=False)
    printer.print(f"method: {result.method}", markup=False)
    timing = result.timing
    printer.print(
        f"{timing.steps} steps, {timing.evaluations} evaluations; derive {timing.derive_s:.2g} s, compile "
        f"{timing.compile_s:.2g} s, run {timing.run_s:.2g} s",
        markup=False,
    )
    data = result.dataset
    columns: dict[str, Any] = {"t [s]": (result.time, ".4g")}
    constrained = data.sizes["constraint"] > 0
    room = max(3, printer.width // 13 - (3 if constrained else 2))
    shown = [n for n in result.output_names if data[f"output.{n}"].ndim == 1][: room - 1]
    names = [str(x) for x in data["coordinate"].values]
    for i, name in enumerate(names[: room - len(shown)]):
        columns[name] = (data["q"].values[:, i], ".6g")
    for name in shown:
        columns[f"{name} (output)"] = (data[f"output.{name}"].values, ".6g")
    columns["energy [J]"] = (result.energy["total"].values, ".9g")
    if constrained:
        columns["constraint error"] = (result.constraint_error, ".1e")
    table = Table(*map(escape, columns), box=None)  # "[s]" is a unit, not a style
    count = len(result.time)
    for k in range(count) if count <= 12 else sorted({*range(0, count, max(1, count // 10)), count - 1}):
        table.add_row(*(format(values[k], style) for values, style in columns.values()))
    printer.print(table)
    for note in result.warnings:
        say(note)
    hidden = len(names) - sum(name in columns for name in names)
    if hidden:
        say(f"{hidden} more coordinates are not shown; --json or --out has them all")
    if out:
        say(f"saved to {out}")


def run(
    model: Model, set: Set = None, variant: Variant = None, folder: Folder = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder for the results.")] = None, json: Json = False,
) -> int:  # fmt: skip
    """Do the analyses that the model lists, in order."""
    from pliant.cli.run import run_analyses

    eqs = _equations(model, set, variant, folder)
    return int(_answer(lambda: run_analyses(model, eqs, out, json)))


def equations(
    model: Model,
    set: Set = None,
    variant: Variant = None,
    folder: Folder = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of plain text.")] = False,
    json: Json = False,
) -> int:
    """Print the equations of motion of a small robot."""
    eqs = _equations(model, set, variant, folder)
    text = _answer(eqs.latex if latex else eqs.text)
    if json:
        print_json({"model": model, "status": "ok", "format": "latex" if latex else "text", "equations": text})
    else:
        print(text)
    return 0


def _write_json(path: str | None, answer: Any) -> None:
    """Write an answer to a file, all or nothing."""
    if path is None:
        return
    import contextlib
    import io
    import os
    import tempfile

    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        print_json(answer)
    try:
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(buffer.getvalue())
        os.replace(name, path)
    except OSError as reason:
        raise CommandError(f"cannot write {path}: {reason.strerror}") from None
    say(f"saved to {path}")
