"""How the analysis commands answer: as JSON, as tables, and with progress while they work."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from pliant.cli.common import CommandError, console, print_json, say
from pliant.control.limits import named
from pliant.equations.core import UnknownName
from pliant.equations.libraries import CompileError
from pliant.equations.workspace import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole
from pliant.solve.independent_coordinates import PartitionError
from pliant.solve.netcdf_files import ResultFileError
from pliant.solve.state import AssemblyError
from pliant.solve.status import AnalysisFailed

if TYPE_CHECKING:
    from pliant.equations.equations import Equations
    from pliant.solve.statics.path import Path as StaticPath


# More coordinates than this are not printed one by one.
MOST_ROWS = 24
MOST_OUTPUTS = 5


def answering(function: Any) -> Any:
    """Run an analysis; what the user has to change becomes one clear message."""
    expected = (
        AnalysisFailed,
        AssemblyError,
        CompileError,
        EvaluationError,
        PartitionError,
        ResultFileError,
        UnknownName,
        ValueError,
    )
    try:
        return function()
    except ArgumentError as reason:
        raise CommandError(reason.message, reason.hint) from None
    except expected as reason:
        raise CommandError(str(reason)) from None


def drawing(paint: Any, file: str) -> Any:
    """Draw and write a file; a missing library or folder becomes one clear message."""
    try:
        return paint()
    except ModuleNotFoundError as reason:
        raise CommandError(f"{reason.name} is not installed", "pip install 'pliant[plot]'") from None
    except ValueError as reason:
        raise CommandError(str(reason)) from None
    except OSError as reason:
        raise CommandError(f"cannot write {file}: {reason.strerror}") from None


def check_picture(file: str | None) -> None:
    """Refuse a name that no picture can have before anything is computed."""
    if file is not None and not file.endswith((".pdf", ".svg", ".png")):
        raise CommandError(f"cannot tell the format of {file!r}", "end it in .pdf, .svg or .png")


def frames_json(frames: Any) -> dict[str, Any]:
    return {name: {"position": f.position, "quaternion": f.quaternion} for name, f in frames.items()}


def equilibrium_json(found: Any) -> dict[str, Any]:
    names = found.equations.constraint_names
    return {
        "q": found.coordinates,
        "frames": frames_json(found.frames),
        "outputs": found.outputs,
        "residual": found.residual,
        "stable": found.stable,
        "multipliers": dict(zip(names, found.multipliers.tolist(), strict=True)),
        "iterations": found.iterations,
        "warnings": found.warnings,
    }


def print_equilibrium(found: Any) -> None:
    out = console()
    out.print(found.message)
    table = Table("coordinate", "value", title_justify="left", box=None)
    for name, value in list(found.coordinates.items())[:MOST_ROWS]:
        table.add_row(name, f"{value:.9g}")
    if len(found.coordinates) > MOST_ROWS:
        table.add_row(f"... and {len(found.coordinates) - MOST_ROWS} more", "(--json has them all)")
    for name, value in found.outputs.items():
        table.add_row(f"output {name}", number_text(value))
    out.print(table)
    out.print(f"largest unbalanced force {found.residual:.2g}", markup=False)


def modes_json(found: Any) -> dict[str, Any]:
    """Modes; the shapes of one mode are pairs of real and imaginary part where they are complex."""
    shapes = found.shapes.T
    if np.iscomplexobj(shapes):
        shapes = np.stack([shapes.real, shapes.imag], axis=-1)
    return {
        "frequencies_hz": found.frequencies,
        "damping_ratios": found.damping_ratios,
        "stable": found.stable,
        "eigenvalues": [[z.real, z.imag] for z in found.eigenvalues],
        "kinds": found.kinds,
        "rates": found.equations.rates,
        "shapes": shapes,
        "warnings": found.warnings,
    }


def print_modes(found: Any) -> None:
    head, rows = found.table()
    table = Table(box=None)
    for title in head[:-1]:  # narrow, so that the last has room: a title's last word stands below the others
        table.add_column("\n".join(title.rsplit(" ", 1)), no_wrap=True)
    table.add_column(head[-1], overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console().print(table)
    for note in found.warnings:
        say(note)


def number_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f"{x:.9g}" for x in value) + "]"
    return f"{value:.9g}"


def result_json(model: str, eqs: Equations, result: Any, *, ends_only: bool) -> dict[str, Any]:
    """A motion with all saved states, or with the first and the last alone."""
    data = result.recorded
    samples = []
    inputs = result.inputs
    last = len(result.time) - 1
    for k in sorted({0, last}) if ends_only and last >= 0 else range(last + 1):
        t, q, v = result.time[k], result.q[k], result.v[k]
        kinetic, potential = float(data["kinetic"][k]), float(data["potential"][k])
        frames = {
            name: {"position": data["frame_position"][k, i], "quaternion": data["frame_quaternion"][k, i]}
            for i, name in enumerate(data.names("frame"))
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
                    **{name: float(data[name][k]) for name in result.energy_names[2:]},
                },
                "constraint_error": float(result.constraint_error[k]),
                "inputs": {name: float(values[k]) for name, values in inputs.items()},
                "outputs": {name: data[f"output.{name}"][k] for name in result.output_names},
                "multipliers": dict(zip(eqs.constraint_names, data["multiplier"][k].tolist(), strict=True)),
            }
        )
    timing = {k: getattr(result.timing, k) for k in ("derive_s", "compile_s", "run_s", "steps", "evaluations")}
    return {
        "model": model,
        **{k: getattr(result, k) for k in ("status", "message", "method", "warnings")},
        "coordinates": eqs.coordinates,
        "samples": samples,
        "timing": timing,
    }


def print_result(result: Any, out: str | None) -> None:
    printer = console()
    printer.print(f"{result.message} ({result.status})", markup=False)
    printer.print(f"method: {result.method}", markup=False)
    timing = result.timing
    printer.print(
        f"{timing.steps} steps, {timing.evaluations} evaluations; derive {timing.derive_s:.2g} s, compile "
        f"{timing.compile_s:.2g} s, run {timing.run_s:.2g} s",
        markup=False,
    )
    data = result.recorded
    columns: dict[str, Any] = {"t [s]": (result.time, ".4g")}
    constrained = len(data["constraint"]) > 0
    room = max(3, printer.width // 13 - (3 if constrained else 2))
    shown = [n for n in result.output_names if data[f"output.{n}"].ndim == 1][: room - 1]
    names = data.names("coordinate")
    for i, name in enumerate(names[: room - len(shown)]):
        columns[name] = (data["q"][:, i], ".6g")
    for name in shown:
        columns[f"{name} (output)"] = (data[f"output.{name}"], ".6g")
    columns["energy [J]"] = (data["kinetic"] + data["potential"], ".9g")
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


def write_json(path: str | None, answer: Any) -> None:
    """Write an answer to a file, all or nothing."""
    if path is None:
        return
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        print_json(answer)
    try:
        write_whole(Path(path), buffer.getvalue().encode())
    except OSError as reason:
        raise CommandError(f"cannot write {path}: {reason.strerror}") from None
    say(f"saved to {path}")


def say_warnings(controllers: Sequence[object]) -> None:
    """What is wrong with the designs of controllers, for people."""
    for controller in controllers:
        for text in getattr(controller, "warnings", ()):
            console(stderr=True).print(f"{named(controller)}: {text}", markup=False)


def path_json(model: str, found: StaticPath) -> dict[str, Any]:
    """A path for programs: all points, with the special ones again by themselves."""
    data, names = found.recorded, found.output_names
    coordinates = data.names("coordinate")
    rates = data.names("rate")
    holds = {1: True, 0: False, -1: None}
    points = [
        {
            "value": found.value[k],
            "outputs": {name: found[name][k] for name in names},
            "q": dict(zip(coordinates, found.q[k].tolist(), strict=True)),
            "stable": holds[int(data["stable"][k])],
            "unstable": int(found.unstable[k]),
            "branch": int(data["branch"][k]),
            "residual": data["residual"][k],
        }
        for k in range(len(found))
    ]
    special = [
        {
            "kind": x.kind,
            "point": x.index,
            "value": x.value,
            "outputs": points[x.index]["outputs"],
            "moves": x.moves,
            "directions": [dict(zip(rates, row.tolist(), strict=True)) for row in x.directions],
        }
        for x in found.special
    ]
    return {
        "model": model,
        **{k: getattr(found, k) for k in ("status", "message", "warnings", "parameter")},
        "points": points,
        "special": special,
        "seconds": found.timing.run_s,
    }


def print_path(found: StaticPath) -> None:
    """A path for people: what happened, and a table of its ends and special points."""
    out = console()
    out.print(f"{found.message} ({found.status})", markup=False)
    names = [n for n in found.output_names if found[n].ndim == 1] or found.recorded.names("coordinate")
    shown = names[:MOST_OUTPUTS]

    def titled(name: str) -> str:
        unit = found.unit(name)
        return escape(f"{name} [{unit}]" if unit else name)

    table = Table("point", titled(found.parameter), *map(titled, shown), "stable", "", box=None)
    special = {x.index: x for x in found.special}
    count = len(found)
    regular = sorted({*range(0, count, max(1, count // 8)), count - 1} if count else ())
    words = {1: "yes", -1: "?"}
    for k in sorted({*regular, *special}):
        held = words.get(int(found.recorded["stable"][k]), f"no ({int(found.unstable[k])})")
        note = ""
        if k in special:
            note = f"{special[k].kind}; moves {', '.join(special[k].moves)}"
            held = "-"
        cells = [number_text(round_off(found[n][k])) for n in shown]
        table.add_row(str(k), f"{found.value[k]:.7g}", *cells, held, note)
    out.print(table)
    for remark in found.warnings:
        say(remark)


def round_off(value: Any) -> float:
    """A number with the digits that a table has room for."""
    return float(f"{float(value):.6g}")
