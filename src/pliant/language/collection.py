"""The collections of a model: its keys with parts by name, as declared by the schema.

Reading, checking, flattening and display all use this list, so a new collection is one more field of RobotSpec.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from pliant.language.base import ByType, Part, part_classes


@cache
def collections(model: type[BaseModel]) -> tuple[str, ...]:
    """Keys of the model with parts by name, in the order of the schema."""
    found = []
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict and any(part_classes(get_args(field.annotation)[1])):
            found.append(name)
    return tuple(found)


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
