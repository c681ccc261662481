"""Walking through a spec: every value, name and reference in it, with what the schema says about it.

The annotations of the schema are the one place that says what a field holds; checks, flattening and
evaluation find the leaves through this module, so a new kind of part needs no change in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from pliant.spec.base import Part, Path
from pliant.spec.names import NameMarker, Reference
from pliant.spec.scalar import CountMarker, Each, Quantity

Marker: TypeAlias = Quantity | CountMarker | Reference | NameMarker


@dataclass(frozen=True)
class Leaf:
    """A value in a spec: what it is, where, and the part it belongs to (`field` is its path in that part)."""

    value: Any
    marker: Marker
    path: Path
    owner: Part
    field: Path


def leaves(value: Any, path: Path = ()) -> Iterator[Leaf]:
    """Every leaf of a part, or of a dict or tuple of parts, in order."""
    found: list[Leaf] = []

    def collect(leaf: Leaf) -> Any:
        found.append(leaf)
        return leaf.value

    map_leaves(value, collect, path)
    return iter(found)


def parts(value: Any, path: Path = ()) -> Iterator[tuple[Part, Path]]:
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


def map_leaves(value: Any, function: Callable[[Leaf], Any], path: Path = ()) -> Any:
    """A part (or a dict or tuple of parts) with every leaf replaced by `function(leaf)`."""
    if isinstance(value, Part):
        return _map_part(value, function, path)
    if isinstance(value, dict):
        return {key: map_leaves(child, function, (*path, key)) for key, child in value.items()}
    if isinstance(value, tuple):
        return tuple(map_leaves(child, function, (*path, index)) for index, child in enumerate(value))
    return value


def _map_part(part: Part, function: Callable[[Leaf], Any], path: Path) -> Part:
    changed: dict[str, Any] = {}
    for name, hint in _field_hints(type(part)):
        old = getattr(part, name)
        new = _map(old, hint, function, path, part, (name,))
        if new is not old:
            changed[name] = new
    return part.model_copy(update=changed) if changed else part


def _map(value: Any, hint: Any, function: Callable[[Leaf], Any], path: Path, owner: Part, field: Path) -> Any:
    if value is None:
        return None
    if isinstance(value, Part) and not isinstance(value, Each):
        return _map_part(value, function, path + field)
    if isinstance(value, dict):
        inner = _inner(hint, dict)
        mapped = {
            key: _map(child, inner[1] if inner else Any, function, path, owner, (*field, key))
            for key, child in value.items()
        }
        return mapped if any(mapped[key] is not value[key] for key in value) else value
    if isinstance(value, tuple):
        hints = _element_hints(hint, len(value))
        new = tuple(
            _map(child, hints[index], function, path, owner, (*field, index)) for index, child in enumerate(value)
        )
        return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
    marker = _marker(hint)
    return value if marker is None else function(Leaf(value, marker, path + field, owner, field))


@cache
def _field_hints(part: type[Part]) -> tuple[tuple[str, Any], ...]:
    """Name and annotation of the fields, with the outer annotations that the schema library keeps apart."""
    found: list[tuple[str, Any]] = []
    for name, field in part.model_fields.items():
        hint: Any = field.annotation
        for extra in field.metadata:
            hint = Annotated[hint, extra]
        found.append((name, hint))
    return tuple(found)


@lru_cache(maxsize=4096)
def _alternatives(hint: Any) -> tuple[tuple[Any, Marker | None], ...]:
    """The members of a union behind a hint, each with the marker on it."""
    marker: Marker | None = None
    while get_origin(hint) is Annotated:
        for extra in get_args(hint)[1:]:
            if isinstance(extra, (Quantity, CountMarker, Reference, NameMarker)):
                marker = extra
        hint = get_args(hint)[0]
    if marker is not None:
        return ((hint, marker),)
    if get_origin(hint) not in (tuple, dict, list) and type(None) not in (hint,) and len(get_args(hint)) > 1:
        return tuple(found for member in get_args(hint) for found in _alternatives(member))
    return ((hint, None),)


def _marker(hint: Any) -> Marker | None:
    return next((marker for _, marker in _alternatives(hint) if marker is not None), None)


def _inner(hint: Any, origin: type) -> tuple[Any, ...]:
    found = (member for member, _ in _alternatives(hint) if get_origin(member) is origin)
    return get_args(next(found, None))


def _element_hints(hint: Any, length: int) -> tuple[Any, ...]:
    inner = _inner(hint, tuple)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return (inner[0],) * length
    return inner if len(inner) == length else (Any,) * length
