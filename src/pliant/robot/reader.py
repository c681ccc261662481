"""Reading of models from files, bundled robots and text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from pliant.language.arguments import ArgumentError, file_name, folder_list, mapping
from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import describe
from pliant.language.settings import with_parameters
from pliant.language.source import MODEL_FOLDER, Source, bundled, locate, read_source, with_variant
from pliant.language.tree import parse_yaml
from pliant.robot.robot import RobotSpec


def load(
    model: str | os.PathLike[str],
    *,
    variant: str | None = None,
    set: Mapping[str, float | str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> RobotSpec:
    """Load the robot of a model file, or a bundled robot by name; `four_bar@variant` also selects a variant.

    variant: name of a variant of the model. set: values of parameters (`{"length": "30 cm"}`). folders: folders that the
    model may read files from, in addition to its own. Raises SpecError with all faults.
    """
    source, variant = model_source(model, variant, folders)
    return RobotSpec.from_source(with_parameters(with_variant(source, variant), mapping("set", set)))


def load_text(
    text: str,
    *,
    variant: str | None = None,
    set: Mapping[str, float | str] | None = None,
    file: str = "text",
    folder: str | os.PathLike[str] | None = None,
) -> RobotSpec:
    """Load the robot of a model given as text.

    variant, set: as for `load`. file: the name shown in faults. folder: the folder of its other files.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"text must be the text of a model, not {describe(text)}")
    if not isinstance(file, str):
        raise ArgumentError(f"file must be a name that is shown in messages, not {describe(file)}")
    source = Source(file, parse_yaml(text, file), None if folder is None else file_name("folder", folder))
    if source.tree is not None and not isinstance(source.tree.value, dict):
        return RobotSpec.from_source(source)
    return RobotSpec.from_source(with_parameters(with_variant(source, variant), mapping("set", set)))


def model_source(
    model: str | os.PathLike[str], variant: str | None, folders: Iterable[str | os.PathLike[str]]
) -> tuple[Source, str | None]:
    """The source of a model, and the name of its variant; raises SpecError."""
    if not isinstance(model, str | os.PathLike):
        raise SpecError(
            [Fault(f"a model cannot be {describe(model)}", "give the name of a file or of a bundled robot")]
        )
    name = os.fspath(model)
    base, at, suffix = name.rpartition("@")
    if at and variant is None and not FilePath(name).is_file():
        name, variant = base, suffix
    path = locate(name)
    roots = folder_list(folders)
    missing = [Fault(f"there is no folder '{given}'", file=name) for given in roots if not given.is_dir()]
    if missing:
        raise SpecError(missing, name)
    return read_source(path, roots=roots), variant


@dataclass(frozen=True)
class BundledRobot:
    """A bundled robot: its name and description."""

    name: str
    description: str


def bundled_robots() -> list[BundledRobot]:
    """The bundled robots."""
    found = []
    for name in bundled():
        tree = parse_yaml((MODEL_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name)
        description = tree.plain().get("description", "")
        found.append(BundledRobot(name, description.strip().split("\n")[0]))
    return found
