"""Output of the analysis commands: JSON, tables and files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from pliant.analysis.numerics.coordinate_rows import coordinate_rows
from pliant.analysis.numerics.independent_coordinates import PartitionError
from pliant.analysis.numerics.netcdf_files import ResultFileError, partial_path
from pliant.analysis.numerics.result import LabelledResult, kept_at
from pliant.analysis.numerics.state import AssemblyError
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.cli.common import CommandError, console, json_text, say
from pliant.cli.number_tables import NumberColumn, column, fitting_table, hidden_words
from pliant.control.limits import named
from pliant.engine.core import UnknownName
from pliant.engine.libraries import CompileError
from pliant.engine.outputs import output_units
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole
from pliant.language.table_files import heading

if TYPE_CHECKING:
    from pliant.analysis.statics.path import Path as StaticPath
    from pliant.engine.equations import Equations


# More coordinates than this are not printed one by one.
MOST_ROWS = 24
# More coordinates than this are counted, not named, where they are not shown.
FEW_NAMES = 6
# Maximum number of states, inputs or outputs of a linear system that are named.
MOST_NAMES = 16


def answering(function: Any) -> Any:
    """Run an analysis; errors that the user has to fix become a CommandError."""
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
        raise CommandError(reason.message, reason.hint) from reason
    except expected as reason:
        raise CommandError(str(reason)) from reason


def drawing(paint: Any, file: str) -> Any:
    """Draw and write a file; a missing library or folder becomes a CommandError."""
    try:
        return paint()
    except ModuleNotFoundError as reason:
        raise CommandError(f"{reason.name} is not installed", "pip install 'pliant[plot]'") from None
    except ValueError as reason:
        raise CommandError(str(reason)) from reason
    except OSError as reason:
        raise CommandError(f"cannot write {file}: {reason.strerror}") from None


def check_picture(file: str | None) -> None:
    """Reject file names that are not pictures before anything is computed."""
    if file is not None and not file.endswith((".pdf", ".svg", ".png")):
        raise CommandError(f"cannot determine the format of {file!r}", "end it in .pdf, .svg or .png")


def frames_json(frames: Any) -> dict[str, Any]:
    return {name: {"position": f.position, "quaternion": f.quaternion} for name, f in frames.items()}


def equilibrium_json(found: Any) -> dict[str, Any]:
    eqs = found.equations
    names = eqs.constraint_names
    return {
        "q": found.coordinates,
        "inputs": eqs.input_values(found.time),
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
    out.print(found.message, markup=False)
    if found.input_rows:
        table = Table("input", "value", box=None)
        for name, value, unit in found.input_rows[:MOST_ROWS]:
            table.add_row(escape(name), f"{value} {unit}".strip())
        out.print(table)
    units = output_units(found.equations.model)
    if found.outputs:
        table = Table("output", "value", box=None)
        for name, value in found.outputs.items():
            unit = units.get(name, "")
            table.add_row(escape(heading(name, "" if unit == "-" else unit)), number_text(value))
        out.print(table)
    table = Table("coordinate", "value", box=None)
    rows = coordinate_rows(found.equations.model, found.q)
    for row in rows[:MOST_ROWS]:
        table.add_row(escape(heading(row.name, row.unit)), row.value)
    if rows:
        out.print(table)
    if len(found.q) > sum(row.count == 1 for row in rows[:MOST_ROWS]):
        out.print(f"--json has all {len(found.q)} coordinates one by one", markup=False)
    out.print(f"largest unbalanced force {found.residual:.2g}", markup=False)


ROUND_OFF = 1e-14
"""Components of a vector below this fraction of the largest are printed as 0."""


def number_text(value: Any) -> str:
    """A number, or a list of numbers; components that are round-off of the others are 0."""
    if isinstance(value, list):
        return "[" + ", ".join(f"{x:.9g}" for x in _without_round_off(np.array([value]))[0]) + "]"
    return f"{value:.9g}"


def _without_round_off(values: np.ndarray) -> np.ndarray:
    """Vectors (rows), with 0 in place of components that are round-off of the others."""
    size = np.abs(values)
    return np.where(size > ROUND_OFF * size.max(axis=1, initial=0.0, keepdims=True), values, 0.0)


def result_json(model: str, eqs: Equations, result: Any, *, ends_only: bool) -> dict[str, Any]:
    """A motion with all saved states, or with the first and the last only."""
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


def print_result(result: Any, out: str | None, printed: Sequence[str] = ()) -> None:
    """Print a motion as a table, and its warnings except those already printed."""
    printer = console()
    printer.print(f"{result.message} ({result.status})", markup=False)
    printer.print(f"method: {result.method}", markup=False)
    timing = result.timing
    printer.print(
        f"{timing.steps} steps, {timing.evaluations} evaluations; derive {timing.derive_s:.2g} s, compile "
        f"{timing.compile_s:.2g} s, run {timing.run_s:.2g} s",
        markup=False,
    )
    count = len(result.time)
    rows = list(range(count)) if count <= 12 else sorted({*range(0, count, max(1, count // 10)), count - 1})
    first, outputs, coordinates, last = _motion_columns(result, rows)
    room = printer.width - sum(x.width for x in (*first, *outputs, *last))
    # the first few of many coordinates are not informative: show all of them, or some if there is nothing else
    others = [*outputs, *coordinates] if not outputs or sum(x.width for x in coordinates) <= room else outputs
    table, hidden = fitting_table(first, others, last, printer.width)
    left = [x.name for x in coordinates if x not in others]
    many = f"{len(left)} coordinates" if len(left) > FEW_NAMES else ""
    hidden += [] if many else left
    printer.print(table)
    new = [note for note in result.warnings if note not in printed]
    for note in filter(None, (*new, hidden_words(hidden, f"{out or '--json or --out'} has them all", many))):
        say(note)
    say_saved(result, out)


def say_saved(found: LabelledResult, out: str | None) -> None:
    """Print the file of a result: as requested, or the partial file if the run did not finish."""
    if out is None:
        return
    if found.is_partial:
        say(f"saved to {kept_at(found, out)}, because the run did not finish; {out} was not modified")
    else:
        say(f"saved to {out}")


def _motion_columns(result: Any, rows: Sequence[int]) -> tuple[list[NumberColumn], ...]:
    """Columns of a motion: times; outputs; coordinates; energy (unless an output has that name) and constraint error."""
    data = result.recorded
    outputs = []
    # the robot's own before those of attached ones, and single numbers before vectors, which fill the width with one output
    for name in sorted(result.output_names, key=lambda name: ("/" in name, len(result.parts(name)) > 1)):
        values = _without_round_off(data[f"output.{name}"].reshape(len(result.time), -1)[rows])
        unit = data.unit(f"output.{name}")
        outputs += [column(part, unit, x) for part, x in zip(result.parts(name), values.T, strict=True)]
    shown = {one.name for one in outputs}
    names = [name for name in data.names("coordinate") if name not in shown]
    coordinates = [column(name, result[name].unit, result[name].values[rows]) for name in names]
    last = [column("energy", "J", (data["kinetic"] + data["potential"])[rows], ".9g")] if "energy" not in shown else []
    if len(data["constraint"]):
        last.append(NumberColumn("constraint", "error", tuple(f"{x:.1e}" for x in result.constraint_error[rows])))
    return [column("t", "s", result.time[rows], ".4g")], outputs, coordinates, last


def check_json_file(file: str | None) -> None:
    """Reject file names that do not end in .json before anything is computed."""
    if file is not None and not file.endswith(".json"):
        raise CommandError(f"cannot determine the format of '{file}'", "end it in .json")


def write_json(path: str | None, answer: Any, *, failed: bool = False) -> None:
    """Write results to a file atomically; those of a failed analysis to `NAME.partial.json`."""
    if path is None:
        return
    whole, path = path, str(partial_path(path)) if failed else path
    try:
        write_whole(Path(path), json_text(answer).encode())
    except OSError as reason:
        raise CommandError(f"cannot write {path}: {reason.strerror}") from None
    if failed:
        say(f"saved to {path}, because the analysis failed; {whole} was not modified")
        return
    say(f"saved to {path}")
    with contextlib.suppress(OSError):
        partial_path(path).unlink(missing_ok=True)


def say_warnings(controllers: Sequence[object]) -> tuple[str, ...]:
    """Print the warnings about the design of controllers, and return them."""
    texts = tuple(f"{named(c)}: {text}" for c in controllers for text in getattr(c, "warnings", ()))
    for text in texts:
        say(text)
    return texts


def path_json(model: str, found: StaticPath) -> dict[str, Any]:
    """A path as JSON: all points, and the special points separately."""
    data, names = found.recorded, found.output_names
    coordinates = data.names("coordinate")
    rates = data.names("rate")
    stable = {1: True, 0: False, -1: None}
    points = [
        {
            "value": found.value[k],
            "outputs": {name: found[name][k] for name in names},
            "q": dict(zip(coordinates, found.q[k].tolist(), strict=True)),
            "stable": stable[int(data["stable"][k])],
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
    """Print a path: its message, and a table of some of its points, including the ends and all special points."""
    out = console()
    out.print(f"{found.message} ({found.status})", markup=False)
    special = {x.index: x for x in found.special}
    count = len(found)
    regular = {*range(0, count, max(1, count // 8)), count - 1} if count else set()
    rows = sorted({*regular, *special})
    others = [one for name in found.output_names for one in _path_columns(found, name, rows)]
    others = others or [column(x, found.unit(x), found[x][rows]) for x in found.recorded.names("coordinate")]
    stable, notes = zip(*(_at_point(found, k, special.get(k)) for k in rows), strict=True) if rows else ((), ())
    first = [
        NumberColumn("point", "", tuple(map(str, rows))),
        column(found.parameter, found.unit(found.parameter), found.value[rows], ".7g"),
    ]
    table, hidden = fitting_table(
        first, others, [NumberColumn("stable", "", stable), NumberColumn("", "", notes)], out.width
    )
    out.print(table)
    for x in found.special:
        out.print(f"{x.kind} at {found.parameter} = {x.value:.7g}: moves {', '.join(x.moves)}", markup=False)
    for remark in filter(None, (hidden_words(hidden, "--json has them all"), *found.warnings)):
        say(remark)


def _path_columns(found: StaticPath, name: str, rows: Sequence[int]) -> list[NumberColumn]:
    values = _without_round_off(found[name].reshape(len(found), -1)[rows])
    return [column(part, found.unit(name), x) for part, x in zip(found.parts(name), values.T, strict=True)]


def _at_point(found: StaticPath, k: int, special: Any) -> tuple[str, str]:
    """Stability of a point, and its kind if it is special."""
    if special is not None:
        return "-", str(special.kind)
    return {1: "yes", -1: "?"}.get(int(found.recorded["stable"][k]), f"no ({int(found.unstable[k])})"), ""
