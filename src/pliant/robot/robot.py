"""A complete model: a model file as an immutable object, and how it is built from its text, with all faults."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

from pydantic import ConfigDict, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator

from pliant.language.base import read_errors, with_known_keys
from pliant.language.faults import Fault, SpecError, gathered, merged_faults
from pliant.language.message_text import KeyPath, describe
from pliant.language.provided import called
from pliant.language.source import Source, with_includes
from pliant.language.tree import Tree, from_plain
from pliant.parts.rod.base import RodModelBase
from pliant.robot.defaults import apply_defaults
from pliant.robot.fields import Robot, RobotFields
from pliant.robot.flattening import flat_spec, flatten_all
from pliant.robot.remarks import remarks
from pliant.robot.rod_switch import with_rod_model
from pliant.robot.semantic_checks import SemanticChecks, UnreadableEntries, problems_between
from pliant.robot.structure import structure_problems
from pliant.robot.writer import dump

VERSION = 1


def build(cls: type[Robot], data: Any, handler: Callable[[Any], Robot], source: Source, *, whole: bool) -> Robot:
    """The spec of `data` (a tree, or plain data); raises SpecError with all faults.

    whole: whether to check the meaning too; otherwise only the structure is checked.
    """
    tree = data if isinstance(data, Tree) else from_plain(data)
    if not isinstance(tree.value, dict):
        raise SpecError([source.fault((), f"expected a mapping (key: value), got {describe(tree.value)}")])
    source = with_includes(replace(source, tree=tree), [0])
    tree, problems = apply_defaults(cls, source.tree or tree)
    source = replace(source, tree=tree)
    faults = [*_version(source), *(source.fault(*problem) for problem in problems)]
    broken = UnreadableEntries()
    spec: Robot | None
    try:
        spec = handler(tree.plain())
    except ValidationError as error:
        errors = list(read_errors(with_known_keys(error, cls)))
        faults += [source.fault(*problem) for problem in errors]
        spec, broken = _sound_part(handler, tree, [path for path, _, _ in errors])
    if spec is not None:
        spec._source = source
        if whole:
            wrong, remarks = check_meaning(spec, broken)
            faults += wrong
            spec._remarks = tuple(merged_faults(sorted_faults(remarks)))
    if faults or spec is None:
        raise SpecError(sorted_faults(faults), source.file)
    return spec


def check_meaning(spec: RobotFields, broken: UnreadableEntries) -> tuple[list[Fault], list[Fault]]:
    """All semantic faults of a well-formed spec, and the remarks on a valid one.

    Faults that depend on entries omitted because they could not be read (`broken`) are not reported.
    """
    flat = flatten_all(spec)
    checked = SemanticChecks(spec, flat_spec(spec, flat), flat, broken)
    if checked.is_too_large():
        return checked.faults, []
    checked.parameters()
    checked.values()
    checked.defaults()
    for findings in (structure_problems(checked), problems_between(checked.flat, checked.number)):
        for collection, name, rest, message, hint in findings:
            checked.report(collection, name, rest, message, hint)
    if checked.faults or broken.dropped or broken.trimmed or spec.flat:
        return checked.faults, []
    for collection, name, rest, message, hint in list(remarks(checked)):
        checked.report(collection, name, rest, message, hint)
    return [], [*checked.faults, *gathered([*spec.source.notes, *flat.notes])]


def _version(source: Source) -> list[Fault]:
    """Check the version of the language, which is required in model files and optional in Python."""
    given = source.tree.value.get("pliant") if source.tree else None
    if given is None:
        missing = source.fault((), "`pliant` is missing", "begin the file with `pliant: 1`")
        return [missing] if source.file else []
    if isinstance(given.value, int) and not isinstance(given.value, bool) and given.value > VERSION:
        message = f"the model uses version {given.value} of the language, but this is version {VERSION}"
        raise SpecError([source.fault(("pliant",), message, "use a newer version of Pliant")], source.file)
    return []


def _sound_part(
    handler: Callable[[Any], Robot], tree: Tree, paths: list[KeyPath]
) -> tuple[Robot | None, UnreadableEntries]:
    """The model without the keys that cannot be read, or without their entries, so that the rest can be checked."""
    kept = _without(tree, paths)
    dropped = frozenset(path[:2] for path in paths if len(path) <= 2)
    trimmed = frozenset(path[:2] for path in paths)
    for _ in range(2):
        try:
            return handler(kept.plain()), UnreadableEntries(dropped, trimmed, _frames(tree, paths))
        except ValidationError as error:
            entries = [path[:2] for path, _, _ in read_errors(error)]
            dropped |= frozenset(entries)
            kept = _without(kept, entries)
    return None, UnreadableEntries()


OWN_FRAMES = {"bodies": ("",), "rods": ("", "tip")}
"""Frames of every part in these collections."""


def _frames(tree: Tree, paths: list[KeyPath]) -> dict[str, tuple[str, ...]]:
    """Names of the frames of faulty bodies and rods, by part; without repeated parts, and parts with faults in their frames."""
    frames = {}
    for collection, name in {path[:2] for path in paths if len(path) >= 2 and path[0] in OWN_FRAMES}:
        entry = tree.value[collection].value.get(name)
        if entry is None or not isinstance(entry.value, dict) or "count" in entry.value:
            continue
        given = entry.value.get("frames")
        if (collection, name) in paths or any(path[:3] == (collection, name, "frames") for path in paths):
            continue
        if given is None or isinstance(given.value, dict):
            frames[str(name)] = (*OWN_FRAMES[str(collection)], *(given.value if given is not None else ()))
    return frames


def _without(tree: Tree, paths: Iterable[KeyPath]) -> Tree:
    for path in dict.fromkeys(paths):
        tree = _remove(tree, path) or Tree({}, tree.place)
    return tree


def _remove(tree: Tree, path: KeyPath) -> Tree | None:
    """The tree without the key at `path`; None if the key is missing, which is a fault of the tree itself."""
    if not path or not isinstance(tree.value, dict):
        return None
    if path[0] not in tree.value:
        return None if len(path) == 1 else tree  # the mapping with the key was already removed
    child = _remove(tree.value[path[0]], path[1:])
    kept = {key: value for key, value in tree.value.items() if key != path[0] or child is not None}
    return Tree(kept if child is None else {**kept, path[0]: child}, tree.place)


def sorted_faults(faults: Iterable[Fault]) -> list[Fault]:
    """The faults without duplicates, sorted by file and line."""
    return sorted(dict.fromkeys(faults), key=lambda fault: (fault.file or "", fault.line or 0))


class RobotSpec(RobotFields):
    """A robot: the same keys, names and defaults as in a model file."""

    # its validator includes those of all parts, which are built separately only if a part is created on its own
    model_config = ConfigDict(defer_build=False)

    def to_yaml(self) -> str:
        """The model as text that loads to an equal one."""
        return dump(self)

    def with_rod(self, rod: str, model: str | RodModelBase, **options: Any) -> Self:
        """The robot with another model of one of its rods: `with_rod("arm", "finite_element:10", mass="lumped")`.

        `KIND:N` gives the rod model and its number of elements, sections or order. Options that both models share are
        kept; a warning lists the dropped ones. A rod model with its options,
        `pliant.parts.FiniteElement(elements=10)`, is used unchanged.
        """
        return with_rod_model(self, rod, model, options)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, cls):
            return data
        source, whole = info.context or (Source(), True)
        return build(cls, data, handler, source, whole=whole)

    def __str__(self) -> str:
        return str(called("RobotSpec.text", self))

    def _repr_html_(self) -> str:
        return str(called("RobotSpec.html", self))
