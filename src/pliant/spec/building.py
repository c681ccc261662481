"""Building a spec from data: shape first, then meaning, with all faults reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from pliant.spec.base import Path, describe, with_known_keys
from pliant.spec.defaults import apply_defaults
from pliant.spec.faults import Fault, SpecError, read_errors
from pliant.spec.source import Source, with_includes
from pliant.spec.tree import Tree, from_plain

if TYPE_CHECKING:
    from pliant.spec.robot import RobotSpec

    Spec = TypeVar("Spec", bound=RobotSpec)

VERSION = 1


def build(cls: type[Spec], data: Any, handler: Callable[[Any], Spec], source: Source, *, whole: bool) -> Spec:
    """The spec of `data` (a tree, or plain data); raises SpecError with everything that is wrong."""
    tree = data if isinstance(data, Tree) else from_plain(data)
    if not isinstance(tree.value, dict):
        raise SpecError([source.fault((), f"expected a mapping (key: value), got {describe(tree.value)}")])
    tree = with_includes(replace(source, tree=tree), [0])
    tree, problems = apply_defaults(cls, tree)
    source = replace(source, tree=tree)
    faults = [source.fault(path, message, hint) for path, message, hint in problems]
    faults += _version(source)
    spec: Spec | None
    broken: frozenset[Path] = frozenset()
    try:
        spec = handler(tree.plain())
    except ValidationError as error:
        errors = list(read_errors(with_known_keys(error, cls)))
        faults += [source.fault(path, message, hint) for path, message, hint in errors]
        broken = frozenset(path[:2] for path, _, _ in errors)
        spec = _sound_part(handler, tree, broken)
    if spec is not None:
        spec._source = source
        if whole:
            from pliant.spec.meaning import check_meaning

            faults += check_meaning(spec, broken)
    if faults or spec is None:
        raise SpecError(in_order(faults), source.file)
    return spec


def _version(source: Source) -> list[Fault]:
    """A model file states the version of the language; a model built in Python need not."""
    given = source.tree.value.get("pliant") if source.tree else None
    if given is None:
        missing = source.fault((), "`pliant` is missing", "begin the file with `pliant: 1`")
        return [missing] if source.file else []
    if isinstance(given.value, int) and not isinstance(given.value, bool) and given.value > VERSION:
        message = f"the model is written in version {given.value} of the language, this is version {VERSION}"
        return [source.fault(("pliant",), message, "use a newer pliant")]
    return []


def _sound_part(handler: Callable[[Any], Spec], tree: Tree, broken: frozenset[Path]) -> Spec | None:
    """The model without the entries that cannot be read, so that the rest can be checked too."""
    whole_keys = {path[0] for path in broken if len(path) == 1}
    kept: dict[Any, Tree] = {}
    for key, child in tree.value.items():
        if key in whole_keys:
            continue
        if isinstance(child.value, dict):
            child = Tree({k: v for k, v in child.value.items() if (key, k) not in broken}, child.place)
        elif isinstance(child.value, list):
            child = Tree([v for k, v in enumerate(child.value) if (key, k) not in broken], child.place)
        kept[key] = child
    try:
        return handler(Tree(kept, tree.place).plain())
    except ValidationError:
        return None


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """The faults once each, by file and line."""
    return sorted(dict.fromkeys(faults), key=lambda fault: (fault.file or "", fault.line or 0))
