"""Names of things and references to them.

A name is a plain word. Flattening adds two forms that no file may define itself: `link[3]` (the third
instance of a repeated body) and `left/bar` (the body `bar` of the model attached as `left`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, WithJsonSchema

from pliant.spec.base import describe, fault

MAX_NAME = 64
WORD = r"[A-Za-z][A-Za-z0-9_]*"

FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log10",
    "sqrt", "abs", "sign", "min", "max", "floor", "step", "if",
)  # fmt: skip
"""Functions of the expression language."""

RESERVED = frozenset({"world", "t", "i", "count", "pi", "e", "free", *FUNCTIONS})
"""Words with a meaning of their own, which cannot be names."""

_NAME = re.compile(WORD)
_FLAT_NAME = re.compile(rf"({WORD}/)*{WORD}(\[[0-9]+\])?(/{WORD}(\[[0-9]+\])?)*")
_REFERENCE = re.compile(rf"({WORD}/)*{WORD}(\[[^\[\]]+\])?(\.{WORD})?")
_COORDINATE = re.compile(rf"({WORD}/)*{WORD}(\[[^\[\]]+\])?(\.{WORD})?")


def read_name(value: Any) -> str:
    """Check that `value` may be the name of a thing."""
    if not isinstance(value, str):
        raise fault("bad_name", f"expected a name, got {describe(value)}", hint="write the name in quotes")
    if value in RESERVED:
        message = f"the name '{value}' is reserved (it has a meaning in expressions or references)"
        raise fault("reserved_name", message, hint=f"choose another name, such as '{value}_1'")
    if not _NAME.fullmatch(value) or len(value) > MAX_NAME:
        raise fault(
            "bad_name",
            f"{describe(value)} cannot be a name",
            hint=f"use letters, digits and underscores, a letter first, at most {MAX_NAME} characters",
        )
    return value


def _read_flat_name(value: Any) -> str:
    # A flattened spec is made from a checked one, so only the shape of the name matters here.
    if isinstance(value, str) and ("[" in value or "/" in value) and _FLAT_NAME.fullmatch(value):
        return value
    return read_name(value)


def _reference(what: str, pattern: re.Pattern[str], hint: str) -> BeforeValidator:
    def read(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value) or len(value) > 4 * MAX_NAME:
            raise fault("bad_reference", f"{describe(value)} is not a {what}", hint=hint)
        return value

    return BeforeValidator(read)


_FRAME_HINT = "write world, body, body.frame, link[2].tip or left/bar.tip"
_COORDINATE_HINT = "write its name, such as hinge, base.x or slide[2]"

Name: TypeAlias = Annotated[str, BeforeValidator(read_name), WithJsonSchema({"type": "string"})]
"""The name of a thing: letters, digits, underscores."""

FrameName: TypeAlias = Annotated[
    str, _reference("reference to a frame", _REFERENCE, _FRAME_HINT), WithJsonSchema({"type": "string"})
]
"""A reference to a frame: `world`, `body` (its own frame), `body.frame`, `link[i-1].tip`, `left/bar.tip`."""

CoordinateName: TypeAlias = Annotated[
    str,
    _reference("reference to a coordinate", _COORDINATE, _COORDINATE_HINT),
    WithJsonSchema({"type": "string"}),
]
"""A reference to a coordinate: `hinge`, `base.x`, `slide[i-1]`."""

ThingName: TypeAlias = Annotated[
    str,
    _reference("reference to a named thing", _REFERENCE, "write its name, such as rope or rope[2]"),
    WithJsonSchema({"type": "string"}),
]
"""A reference to a link, constraint, material or section by name."""

ParameterName: TypeAlias = Annotated[
    str,
    _reference("name of a parameter", re.compile(rf"({WORD}/)*{WORD}"), "write length or left/length"),
    WithJsonSchema({"type": "string"}),
]
"""The name of a parameter of an attached model: `length`, or `inner/length` of one attached to that."""
