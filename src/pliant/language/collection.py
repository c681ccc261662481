"""The collections of a model: its keys that hold parts by name, as the schema declares them.

Reading, checking, flattening and showing all go through this list, so a new collection is one more field of RobotSpec.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from pliant.language.base import ByType, Part, part_classes


@cache
def collections(model: type[BaseModel]) -> tuple[str, ...]:
    """Keys of the model that hold parts by name, in the order of the schema."""
    found = []
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict and any(part_classes(get_args(field.annotation)[1])):
            found.append(name)
    return tuple(found)


@cache
def with_defaults(model: type[BaseModel]) -> tuple[str, ...]:
    """Those collections whose entries can have defaults: of one kind, or of kinds told by one key."""
    return tuple(name for name in collections(model) if name != "attach" and kinds(model, name)[1])


@cache
def kinds(model: type[BaseModel], collection: str) -> tuple[ByType | None, dict[str, type[Part]]]:
    """How the kind of an entry is told in a collection such as `joints`, and the part of each kind.

    A collection of one kind has the kind "", one whose entries are told apart by which key they have has none.
    """
    entry: Any = get_args(model.model_fields[collection].annotation)[1]
    if get_origin(entry) is not Annotated:
        return None, {"": entry}
    union, choice = get_args(entry)[:2]
    return (choice, choice.tags(get_args(union) or (union,))) if isinstance(choice, ByType) else (None, {})
