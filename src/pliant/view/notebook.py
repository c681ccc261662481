"""Display of robots and results in a notebook: a table, and a three-dimensional view in an iframe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.language.column_headings import heading
from pliant.language.faults import SpecError
from pliant.solve.coordinate_rows import coordinate_rows
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.view import tables
from pliant.view.clips import Clip, mode_clips, pose_clip, run_clip, start_clip
from pliant.view.page import frame, page, table, text
from pliant.view.player import player

if TYPE_CHECKING:
    from pliant.equations.equations import Equations
    from pliant.solve.linear.modal import Modes
    from pliant.solve.result import Result
    from pliant.solve.statics.equilibrium import Equilibrium
    from pliant.spec.robot import RobotSpec

MOST_PARTS = 200
"""Robots with more coordinates are not derived just for display."""
MOST_FRAMES = 300
MOST_ROWS, MOST_NUMBERS = 12, 9


def spec_html(spec: RobotSpec) -> str:
    """The tables of a robot, and the robot at the start."""

    def clips() -> list[Clip]:
        return [_start(derive(spec))]

    return tables.html(spec) + _view(spec.name or "robot", clips)


def equations_html(eqs: Equations) -> str:
    """Equations: a summary, and the robot at the start."""
    return f"<p>{text(repr(eqs))}</p>" + _view(eqs.model.spec.name or "robot", lambda: [_start(eqs)])


def equilibrium_html(found: Equilibrium) -> str:
    """An equilibrium: its inputs, outputs and coordinates, and a view."""
    outputs = [(name, _numbers(value)) for name, value in list(found.outputs.items())[:MOST_ROWS]]
    rows = [(heading(row.name, row.unit), row.value) for row in coordinate_rows(found.equations.model, found.q)]
    words = f"<p>{text(found.message)}</p>"
    inputs = [(name, f"{value} {unit}".strip()) for name, value, unit in found.input_rows]
    if inputs:
        words += table(("input", "value"), inputs[:MOST_ROWS]) + _more(len(inputs), "inputs")
    if outputs:
        words += table(("output", "value (SI)"), outputs) + _more(len(found.outputs), "outputs")
    words += table(("coordinate", "value"), rows[: 2 * MOST_ROWS])
    if len(rows) > 2 * MOST_ROWS or len(rows) < len(found.q):
        words += f"<p>Not all of {len(found.q)} coordinates are listed one by one; <code>coordinates</code> has them all.</p>"
    return words + _view("the robot at rest", lambda: [pose_clip(found.equations, found)])


def _numbers(value: Any) -> str:
    """A number, or a list of numbers, with six digits; long lists are cut."""
    values = np.ravel(value).tolist()
    if np.ndim(value) == 0:
        return f"{values[0]:.6g}"
    return f"[{', '.join(f'{x:.6g}' for x in values[:MOST_NUMBERS])}{', ...' if len(values) > MOST_NUMBERS else ''}]"


def _more(count: int, what: str) -> str:
    return f"<p>{count - MOST_ROWS} more {what} are not shown.</p>" if count > MOST_ROWS else ""


def modes_html(found: Modes) -> str:
    """Modes: their eigenvalues, warnings, and motion."""
    modes = found.shown_first
    head, rows = found.table(modes)
    left = len(found) - len(modes)
    more = f"<p>{left} more modes are not shown; <code>table()</code> lists all.</p>" if left else ""
    notes = "".join(f"<p>{text(note)}</p>" for note in found.warnings[:MOST_ROWS])
    return table(head, rows) + more + notes + _view("modes", lambda: mode_clips(found))


def result_html(run: Result) -> str:
    """A run: a summary, and the motion."""

    def clips() -> list[Clip]:
        eqs = derive(load_text(run.recorded.attributes["model_text"]))
        return [run_clip(eqs, run, most=MOST_FRAMES)] if len(run.time) else []

    return f"<p>{text(repr(run))}</p>" + _view("the motion", clips)


def _start(eqs: Equations) -> Clip:
    if len(eqs.coordinates) > MOST_PARTS:
        raise ValueError(f"more than {MOST_PARTS} coordinates")
    return start_clip(eqs)


def _view(title: str, clips: Callable[[], Sequence[Clip]]) -> str:
    """A player in a frame; a text if there is nothing to show."""
    try:
        shown = clips()
    except (ArithmeticError, RuntimeError, SpecError, ValueError) as reason:
        return f"<p>no three-dimensional view: {text(reason)}</p>"
    return frame(page(title, player("stage", title, shown))) if shown else ""
