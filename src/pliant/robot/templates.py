"""Templates: commented model files, one for each kind of robot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path as FilePath

from pliant.language.names import WORD

FOLDER = FilePath(__file__).parents[1] / "templates"
NAME = "my_robot"
"""The robot's name in all templates."""


@dataclass(frozen=True)
class Template:
    """A template: its kind of robot, and a one-line description."""

    kind: str
    description: str


def templates() -> list[Template]:
    """All templates."""
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        found.append(Template(file.stem, first.removeprefix("#").strip()))
    return found


def template_text(kind: str, name: str) -> str:
    """The text of a model file of a kind of `templates()`, for a robot with the given name."""
    text = (FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")
    return re.sub(rf"\b{NAME}\b", name, text)


def is_robot_name(name: str) -> bool:
    """Whether a name can be that of a robot and of its file."""
    return re.fullmatch(WORD, name) is not None
