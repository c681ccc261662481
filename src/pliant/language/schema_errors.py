"""Errors of the schema library, converted to messages of the language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from pliant.language.message_text import KeyPath, describe, suggestion, with_article


def read_errors(error: ValidationError) -> Iterable[tuple[KeyPath, str, str]]:
    """Path, message and hint of each fault that the schema found."""
    items = error.errors(include_url=False)
    for item in items:
        location, context = item["loc"], item.get("ctx", {})
        below = any(len(other["loc"]) > len(location) == _common(other["loc"], location) for other in items)
        if item["type"] == "too_short" and below:
            continue  # entries are missing only because they are faulty
        is_key = item["type"] in UNKNOWN_KEY  # then the last step was written by the user, and is not a tag
        last = len(location) - 1
        path = tuple(step for k, step in enumerate(location) if (is_key and k == last) or not _is_tag(step))
        if key := context.get("key"):
            path = (*path, key)
        message, hint = _words(str(item["type"]), item["input"], path, context, item["msg"])
        if item["type"] == "literal_error" and "<word>" in location:
            hint = hint or "a list of numbers is also allowed"
        yield path, message, hint


def _common(one: tuple[int | str, ...], other: tuple[int | str, ...]) -> int:
    """Number of leading steps that two locations have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (first, second) in pairs if first != second), min(len(one), len(other)))


UNKNOWN_KEY = ("extra_forbidden", "unknown_key")
"""Error types of unknown keys, of the schema library and of `with_known_keys`."""


def _is_tag(step: int | str) -> bool:
    return isinstance(step, str) and (step == "[key]" or (step.startswith("<") and step.endswith(">")))


TRUTHS = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""Words for true and false in other formats."""

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
}


def _words(kind: str, value: Any, path: KeyPath, context: dict[str, Any], fallback: str) -> tuple[str, str]:
    """Message and hint of a fault, in place of the message of the schema library."""
    if "text" in context:
        return context["text"], context["hint"]
    last = path[-1] if path else ""
    if kind == "missing":
        if isinstance(last, int):
            return f"entry {last + 1} of the list is missing", ""
        return f"`{last}` is missing", f"add `{last}: ...`"
    if kind == "literal_error":
        choices = [choice.strip("'") for choice in _choices(context["expected"])]
        expected = ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
        return f"expected {expected}, got {describe(value)}", suggestion(value, choices)
    if kind == "too_short":
        return f"the list is too short: it needs at least {context['min_length']}", ""
    if kind == "too_long":
        return f"the list has {context['actual_length']} entries instead of {context['max_length']}", ""
    if kind == "greater_than_equal":
        return f"expected at least {context['ge']}, got {describe(value)}", ""
    if kind == "greater_than":
        return f"expected more than {context['gt']:g}, got {describe(value)}", ""
    if kind == "is_instance_of":
        return f"expected {with_article(context['class'])}, got {describe(value)}", ""
    if kind == "less_than_equal":
        return f"expected at most {context['le']}, got {describe(value)}", ""
    if kind == "bool_type" and isinstance(value, str) and value in TRUTHS:
        return f"expected true or false, got {describe(value)}", f"write {TRUTHS[value]}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {describe(value)}", ""
    return fallback, ""


def _choices(expected: str) -> list[str]:
    return expected.replace(" or ", ", ").split(", ")
