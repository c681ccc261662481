"""Parts of a model as plain data, as in a file."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pliant.language.base import Part
from pliant.language.traversal import kinds, with_defaults
from pliant.robot.analyses import ListedAnalysis


def to_data(value: Any, model: type[BaseModel]) -> Any:
    """A part of a model as plain data in its shortest form: only values that were given, in short forms where possible."""
    if isinstance(value, ListedAnalysis):
        return value.as_data()
    if isinstance(value, Part):
        return _part_data(value, model)
    if isinstance(value, dict):
        return {key: to_data(child, model) for key, child in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_data(child, model) for child in value]
    return value


def _part_data(part: Part, model: type[BaseModel]) -> Any:
    written: dict[str, Any] = {}
    # The type comes first, because it defines the other keys.
    fields = sorted(type(part).model_fields.items(), key=lambda item: not tells_kind(*item))
    for name, field in fields:
        if name in part.model_fields_set or (tells_kind(name, field) and type(part) not in default_kinds(model)):
            value = getattr(part, name)
            if value is None and field.default is None:
                continue
            if name in ("rotation", "initial") and isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            written[name] = to_data(value, model)
    if part.short_form and set(written) == {part.short_form} and not isinstance(written[part.short_form], dict):
        return written[part.short_form]
    return part.empty_word if part.empty_word and not written else written


def tells_kind(name: str, field: FieldInfo) -> bool:
    """Whether a field selects the type of its part, as `type` does; it is written even if it was not set."""
    return name in ("type", "shape", "kind") and get_origin(field.annotation) is Literal


@cache
def default_kinds(model: type[BaseModel]) -> frozenset[type[Part]]:
    """Classes of the entries for which the type may be omitted."""
    choices = [kinds(model, collection) for collection in with_defaults(model)]
    return frozenset(parts[choice.default] for choice, parts in choices if choice and choice.default)
