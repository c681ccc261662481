"""The collections of a model: its keys with parts by name, as declared by the schema.

Reading, checking, flattening and display all use this list, so a new collection is one more field of RobotSpec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from pliant.language.base import ByType, Part, WordMappingOrObject, part_classes
from pliant.language.message_text import KeyPath
from pliant.language.names import NameMarker, Reference
from pliant.language.scalar import CountMarker, Each, FormulaMarker, Quantity


@cache
def collections(model: type[BaseModel]) -> tuple[str, ...]:
    """Keys of the model with parts by name, in the order of the schema."""
    names = []
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict and any(part_classes(get_args(field.annotation)[1])):
            names.append(name)
    return tuple(names)


@cache
def with_defaults(model: type[BaseModel]) -> tuple[str, ...]:
    """Collections whose entries can have defaults: of one type, or of types selected by one key."""
    return tuple(name for name in collections(model) if name != "attach" and kinds(model, name)[1])


@cache
def kinds(model: type[BaseModel], collection: str) -> tuple[ByType | None, dict[str, type[Part]]]:
    """The key that selects the type of an entry in a collection such as `joints`, and the part class of each type.

    A collection of one type has the single type ""; one whose entries are distinguished by their keys has no types.
    """
    entry: Any = get_args(model.model_fields[collection].annotation)[1]
    if get_origin(entry) is not Annotated:
        return None, {"": entry}
    union, choice = get_args(entry)[:2]
    return (choice, choice.tags(get_args(union) or (union,))) if isinstance(choice, ByType) else (None, {})


Marker: TypeAlias = Quantity | CountMarker | FormulaMarker | Reference | NameMarker


@dataclass(frozen=True)
class Leaf:
    """A value in a spec, with its marker, its path, the part that contains it, and its path in that part (`field`).

    in_list: whether it is an entry of a list of any length, or a field of such an entry; `SplicedValues` may replace it.
    """

    value: Any
    marker: Marker
    path: KeyPath
    owner: Part
    field: KeyPath
    in_list: bool = False


@dataclass(frozen=True)
class SplicedValues:
    """Values that replace one value in a list; in a field of an entry, the entry is repeated with each of them."""

    values: tuple[Any, ...]


def leaves(value: Any, path: KeyPath = ()) -> Iterator[Leaf]:
    """Every leaf of a part, or of a dict or tuple of parts, in order."""
    leaves_here: list[Leaf] = []

    def collect(leaf: Leaf) -> Any:
        leaves_here.append(leaf)
        return leaf.value

    map_leaves(value, collect, path)
    return iter(leaves_here)


def parts(value: Any, path: KeyPath = ()) -> Iterator[tuple[Part, KeyPath]]:
    """Every part in a part, dict or tuple, itself included, with its path."""
    if isinstance(value, Part) and not isinstance(value, Each):
        yield value, path
        for name in type(value).model_fields:
            yield from parts(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from parts(child, (*path, key))
    elif isinstance(value, tuple):
        for index, child in enumerate(value):
            yield from parts(child, (*path, index))


def map_leaves(value: Any, function: Callable[[Leaf], Any], path: KeyPath = ()) -> Any:
    """A part (or a dict or tuple of parts) with every leaf replaced by `function(leaf)`."""
    if isinstance(value, Part):
        return _map_part(value, function, path)
    if isinstance(value, dict):
        return {key: map_leaves(child, function, (*path, key)) for key, child in value.items()}
    if isinstance(value, tuple):
        return tuple(map_leaves(child, function, (*path, index)) for index, child in enumerate(value))
    return value


def _map_part(part: Part, function: Callable[[Leaf], Any], path: KeyPath, in_list: bool = False) -> Any:
    changed: dict[str, Any] = {}
    values = part.__dict__
    for name, hint in field_hints(type(part)):
        old = values[name]
        if old is None:
            continue
        new = _map(old, hint, function, path, part, (name,), in_list)
        if new is not old:
            changed[name] = new
    for name, new in changed.items():
        if isinstance(new, SplicedValues):
            return SplicedValues(tuple(part.model_copy(update={**changed, name: value}) for value in new.values))
    return part.model_copy(update=changed) if changed else part


def _map(
    value: Any, hint: Hint, function: Callable[[Leaf], Any], path: KeyPath, owner: Part, field: KeyPath,
    in_list: bool = False,
) -> Any:  # fmt: skip
    if value is None:
        return None
    if type(value) in _SCALARS:
        return value if hint.marker is None else function(Leaf(value, hint.marker, path + field, owner, field, in_list))
    if isinstance(value, Part) and not isinstance(value, Each):
        return _map_part(value, function, path + field, in_list and isinstance(field[-1], int))
    if isinstance(value, dict):
        inner = hint.values or _NOTHING
        mapped = {key: _map(child, inner, function, path, owner, (*field, key)) for key, child in value.items()}
        return mapped if any(mapped[key] is not value[key] for key in value) else value
    if isinstance(value, tuple):
        fixed = len(hint.elements) == len(value)
        hints = hint.elements if fixed else (hint.every or _NOTHING,) * len(value)
        new = tuple(
            _map(child, hints[index], function, path, owner, (*field, index), not fixed)
            for index, child in enumerate(value)
        )
        if all(a is b for a, b in zip(new, value, strict=True)):
            return value
        return tuple(entry for one in new for entry in (one.values if isinstance(one, SplicedValues) else (one,)))
    return value if hint.marker is None else function(Leaf(value, hint.marker, path + field, owner, field))


@dataclass(frozen=True)
class Hint:
    """Content of an annotation: the marker of a leaf, or the hints of what it contains.

    elements: hints of the entries of a list of fixed length. every: hint of all entries of another list. values: hint of the
    values of a mapping.
    """

    marker: Marker | None = None
    elements: tuple[Hint, ...] = ()
    every: Hint | None = None
    values: Hint | None = None


_NOTHING = Hint()
_SCALARS = frozenset({str, int, float, bool})
"""Types of nearly all values, which contain no others."""


@cache
def field_hints(part: type[Part]) -> tuple[tuple[str, Hint], ...]:
    """Names and hints of the fields, including outer annotations, which the schema library stores separately."""
    hints: list[tuple[str, Hint]] = []
    for name, field in part.model_fields.items():
        annotation: Any = field.annotation
        for extra in field.metadata:
            annotation = Annotated[annotation, extra]
        hints.append((name, _read(annotation)))
    return tuple(hints)


def _read(annotation: Any) -> Hint:
    """The hint of an annotation; those of the members of a union are combined, because members differ in form."""
    while get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, WordMappingOrObject):
                return _read(extra.values)
            if isinstance(extra, (Quantity, CountMarker, FormulaMarker, Reference, NameMarker)):
                return Hint(extra)
        annotation = get_args(annotation)[0]
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return Hint(values=_read(arguments[1]))
    if get_origin(annotation) is tuple:
        if arguments[1:] == (Ellipsis,):
            return Hint(every=_read(arguments[0]))
        return Hint(elements=tuple(map(_read, arguments)))
    hint = _NOTHING
    for member in arguments if get_origin(annotation) is not Literal else ():
        other = _read(member)
        hint = Hint(
            hint.marker or other.marker,
            hint.elements or other.elements,
            hint.every or other.every,
            hint.values or other.values,
        )
    return hint
