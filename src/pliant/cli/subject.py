"""What `view` and `film` show: a model, or a saved result, which holds its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.cli.answers import answering
from pliant.cli.common import CommandError, load_model

if TYPE_CHECKING:
    from pliant.equations.equations import Equations
    from pliant.solve.result import Result
    from pliant.spec.robot import RobotSpec

RESULT_ENDING = ".nc"


@dataclass(frozen=True)
class Subject:
    """A robot with its equations, and a run of it where that was given."""

    spec: RobotSpec
    equations: Equations
    run: Result | None = None


def open_subject(
    what: str,
    *,
    settings: Sequence[str] | None = None,
    variant: str | None = None,
    folders: Sequence[str] | None = None,
    rods: Sequence[str] | None = None,
) -> Subject:
    """The model or result of that name; options of models are refused for results, which are what they are."""
    from pliant.spec.derive import derive

    if not what.endswith(RESULT_ENDING):
        spec = load_model(what, settings=settings, variant=variant, folders=folders, rods=rods)
        return Subject(spec, derive(spec))
    from pliant.io.results import load_result
    from pliant.spec.reader import load_text

    if settings or variant or folders or rods:
        raise CommandError(
            f"{what} is a result and holds its own model", "leave out --set, --variant, --folder and --rod"
        )
    run = answering(lambda: load_result(what))
    spec = load_text(run.dataset.attrs["model_text"])
    return Subject(spec, derive(spec), run)
