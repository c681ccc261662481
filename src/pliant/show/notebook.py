"""Display of robots and results in a notebook: a table, and a three-dimensional view in an iframe."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.result import Result
from pliant.analysis.result import AnalysisResult
from pliant.engine.equations import Equations
from pliant.language.faults import SpecError
from pliant.robot.reader import load_text
from pliant.robot.robot import RobotSpec
from pliant.show import tables
from pliant.show.film import Film
from pliant.show.page import frame, page, player, table, text
from pliant.show.scene import Clip, result_clips, run_clip, start_clip


@dataclass(frozen=True)
class NotebookLimits:
    """How much of a robot or result a notebook shows."""

    most_parts: int = 200
    """Robots with more coordinates are not derived just for display."""
    most_frames: int = 300
    most_rows: int = 12
    largest_film: int = 20_000_000
    """Films with more bytes are not embedded."""


LIMITS = NotebookLimits()


def spec_html(spec: RobotSpec) -> str:
    """The tables of a robot, and the robot at the start."""

    def clips() -> list[Clip]:
        return [_start(derive(spec))]

    return tables.html(spec, _view(spec.name or "robot", clips))


def equations_html(eqs: Equations) -> str:
    """Equations: a summary, and the robot at the start."""
    return f"<p>{text(repr(eqs))}</p>" + _view(eqs.model.spec.name or "robot", lambda: [_start(eqs)])


def _remarks(remarks: Sequence[str]) -> str:
    """The remarks of a result, a paragraph each."""
    return "".join(f"<p>{text(x)}</p>" for x in remarks[: LIMITS.most_rows])


def result_of_analysis_html(result: AnalysisResult) -> str:
    """Any result: its message, short tables, remarks and poses."""
    parts = [f"<p>{text(result.message)}</p>" if result.message else ""]
    for sheet in (sheet for sheet in result.sheets() if sheet.where == "text"):
        parts.append(table(sheet.columns, sheet.short.rows))
        parts.append(f"<p>{sheet.hidden} more {text(sheet.words)} are not shown.</p>" if sheet.hidden else "")
    title = type(result).analysis.title.lower()
    return "".join(parts) + _remarks(result.remarks) + _view(title, lambda: result_clips(result))


def film_html(film: Film) -> str:
    """A film that plays in the notebook; a text if its file is large or gone."""
    words = f"<p>{text(repr(film))}</p>"
    try:
        content = film.path.read_bytes()
    except OSError:
        return words
    if len(content) > LIMITS.largest_film:
        return f"{words}<p>It is too large to be shown here: {len(content) / 1e6:.0f} MB.</p>"
    data = base64.b64encode(content).decode()
    if film.path.suffix == ".gif":
        return f'<img alt="film" src="data:image/gif;base64,{data}" style="max-width:100%">{words}'
    return f'<video controls loop src="data:video/mp4;base64,{data}" style="max-width:100%"></video>{words}'


def result_html(run: Result) -> str:
    """A run: a summary, and the motion."""

    def clips() -> list[Clip]:
        eqs = derive(load_text(run.recorded.attributes["model_text"]))
        return [run_clip(eqs, run, most=LIMITS.most_frames)] if len(run.time) else []

    first, *_ = repr(run).split("\n", 1)
    return f"<p>{text(first)}</p>" + _remarks(run.remarks) + _view("the motion", clips)


def _start(eqs: Equations) -> Clip:
    if len(eqs.coordinates) > LIMITS.most_parts:
        raise ValueError(f"more than {LIMITS.most_parts} coordinates")
    return start_clip(eqs)


def _view(title: str, clips: Callable[[], Sequence[Clip]]) -> str:
    """A player in a frame; a text if there is nothing to show."""
    try:
        shown = clips()
    except (ArithmeticError, RuntimeError, SpecError, ValueError) as reason:
        return f"<p>no three-dimensional view: {text(reason)}</p>"
    return frame(page(title, player("stage", title, shown), fill=True)) if shown else ""
