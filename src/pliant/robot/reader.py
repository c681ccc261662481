"""Reading of models from files, bundled robots and text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from pliant.language.arguments import ArgumentError, file_name, folder_list, mapping
from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import describe
from pliant.language.settings import with_parameters
from pliant.language.source import MODEL_FOLDER, Source, bundled, locate, read_source, with_variant
from pliant.language.tree import parse_yaml
from pliant.robot.attached_models import source_within, unattached
from pliant.robot.building import sorted_faults
from pliant.robot.robot import RobotSpec
from pliant.robot.trial_build import building_faults


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
    source, variant = _source(model, variant, folders)
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


def check(
    model: str | os.PathLike[str],
    *,
    variant: str | None = None,
    set: Mapping[str, float | str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> list[Fault]:
    """All faults of a model, in all its variants unless one is named."""
    try:
        source, chosen = _source(model, variant, folders)
        return check_source(source if chosen is None else with_variant(source, chosen), set=set)
    except SpecError as error:
        return list(error.faults)


def check_source(source: Source, *, set: Mapping[str, float | str] | None = None) -> list[Fault]:
    """All faults of a model, of each of its variants, and of those of its `models` that nothing attaches."""
    faults: dict[Fault, Fault] = {}
    values = mapping("set", set)

    def note(found: list[Fault], where: str) -> None:
        for fault in found:
            faults.setdefault(fault, replace(fault, message=where + fault.message))

    for name in (None, *_variants(source)):
        found = _faults(lambda: with_parameters(with_variant(source, name), values))  # noqa: B023
        note(found, f"in variant '{name}': " if name is not None else "")
    for model, variant in unattached(source):
        found = _faults(lambda: with_variant(source_within(source, model), variant))  # noqa: B023
        in_variant = f", variant '{variant}'" if variant is not None else ""
        note(found, f"in model '{model}'{in_variant}, which is not attached: ")
    return sorted_faults([*faults.values()])


def _faults(make: Callable[[], Source]) -> list[Fault]:
    """All faults of the robot of a source."""
    try:
        return building_faults(RobotSpec.from_source(make()))
    except SpecError as error:
        return list(error.faults)


def _source(
    model: str | os.PathLike[str], variant: str | None, folders: Iterable[str | os.PathLike[str]]
) -> tuple[Source, str | None]:
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


def _variants(source: Source) -> list[str]:
    given = source.tree.value.get("variants") if source.tree else None
    return [name for name in given.value if isinstance(name, str)] if given and isinstance(given.value, dict) else []


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
