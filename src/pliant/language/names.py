"""Names of parts and references to them.

A name is a plain word. Flattening adds two forms: `link[3]` (the third instance of a repeated body) and `left/bar` (the body
`bar` of the model attached as `left`). Only flat models, such as those in results, may define such names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from pliant.language.base import ReadBy, fault
from pliant.language.message_text import describe, with_article

MAX_NAME = 64
WORD = r"[A-Za-z][A-Za-z0-9_]*"

FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log10",
    "sqrt", "abs", "sign", "min", "max", "floor", "step", "if",
)  # fmt: skip
"""Functions of the expression language."""

SYMBOLS = frozenset({"t", "i", "pi", "e", *FUNCTIONS}) - {"floor"}
"""Words with a meaning in expressions: time, the number of an instance, constants and functions. No parameter and no output has
such a name, because expressions use those by name; other parts may."""

WORLD = "world"
"""The frame of the environment, which is no part's name."""

_NAME = re.compile(WORD)
_NUMBERED = r"\[[1-9][0-9]*\]"
_FLAT_NAME = re.compile(rf"({WORD}({_NUMBERED})?/)*{WORD}({_NUMBERED})?")
LONGEST_FLAT_NAME = 1000


def instances_of(name: str, known: Iterable[str]) -> list[str]:
    """Instances of a repeated part among known names, in their order: `pull[1]`, `pull[2]` for `pull`; else none."""
    numbered = re.compile(rf"{re.escape(name)}{_NUMBERED}")
    return [other for other in known if numbered.fullmatch(other)]


def with_repeated(known: Iterable[str]) -> list[str]:
    """Known names, and before them those of repeated parts, which denote all instances."""
    listed = list(known)
    return [*dict.fromkeys(x.rpartition("[")[0] for x in listed if re.search(rf"{_NUMBERED}$", x)), *listed]


def read_name(value: Any, *, in_expressions: bool = False) -> str:
    """Check that `value` may be the name of a part, or of one that expressions use, and return it."""
    if not isinstance(value, str):
        raise fault("bad_name", f"expected a name, got {describe(value)}", hint="a name begins with a letter")
    if value == WORLD or (in_expressions and value in SYMBOLS):
        place = "references" if value == WORLD else "expressions"
        message = f"the name '{value}' is reserved (it has a meaning in {place})"
        raise fault("reserved_name", message, hint=f"choose another name, such as '{value}_1'")
    if not _NAME.fullmatch(value) or len(value) > MAX_NAME:
        raise fault(
            "bad_name",
            f"{describe(value)} cannot be a name",
            hint=f"use letters, digits and underscores, a letter first, at most {MAX_NAME} characters",
        )
    return value


def _is_flat_name(value: Any, info: ValidationInfo) -> bool:
    """Whether a value has the form of a name in a flat model, and is in the text of one."""
    if info.context is None or not info.context[0].is_flat or not isinstance(value, str):
        return False
    return len(value) <= LONGEST_FLAT_NAME and _FLAT_NAME.fullmatch(value) is not None


class NameMarker:
    """Annotation of the name of a part, or of one that expressions use by name."""

    def __init__(self, *, in_expressions: bool = False) -> None:
        self.in_expressions = in_expressions

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._read)

    def _read(self, value: Any, info: ValidationInfo) -> str:
        return value if _is_flat_name(value, info) else read_name(value, in_expressions=self.in_expressions)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{WORD}$"}


class InputKeyMarker:
    """Annotation of the name of an input parameter, or of one of its instances: `pull[2]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{WORD}({_NUMBERED})?$"}

    def _read(self, value: Any, info: ValidationInfo) -> str:
        if _is_flat_name(value, info):
            return str(value)
        match = re.fullmatch(rf"(.*?)({_NUMBERED})?", value, re.DOTALL) if isinstance(value, str) else None
        return read_name(match[1], in_expressions=True) + (match[2] or "") if match else read_name(value)


class Reference(ReadBy):
    """Annotation of a reference to a part by its name: `rope`, `link[i-1].tip`, `left/bar`."""

    def __init__(self, kind: str, pattern: str, hint: str) -> None:
        self.kind, self.pattern, self.hint = kind, re.compile(pattern), hint

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "description": f"a reference to {with_article(self.kind)}: {self.hint}"}

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not self.pattern.fullmatch(value) or len(value) > 4 * MAX_NAME:
            raise fault(
                "bad_reference", f"{describe(value)} is not a reference to {with_article(self.kind)}", hint=self.hint
            )
        return value


_INDEX = r"(\[[^\[\]]+\])?"
_INSTANCE = rf"({WORD}{_INDEX}/)*{WORD}{_INDEX}"
_DOTTED = rf"{_INSTANCE}(\.{WORD}{_INDEX})?"
_COORDINATE = rf"{_INSTANCE}(\.{WORD}{_INDEX})*"

Name: TypeAlias = Annotated[str, NameMarker()]
"""The name of a part: letters, digits, underscores."""

SymbolName: TypeAlias = Annotated[str, NameMarker(in_expressions=True)]
"""The name of a parameter or an output: not a word with a meaning in expressions."""

FrameName: TypeAlias = Annotated[
    str, Reference("frame", _DOTTED, "write world, body, body.frame, link[2].tip or left/bar.tip")
]
"""A reference to a frame: `world`, `body` (its own frame), `body.frame`, `link[i-1].tip`, `left/bar.tip`."""

CoordinateName: TypeAlias = Annotated[
    str, Reference("coordinate", _COORDINATE, "write its name, such as hinge, base.x, slide[2] or arm.bend_x[3]")
]
"""A reference to a coordinate: `hinge`, `base.x`, `slide[i-1]`, `arm.bend_x[3]` of a rod."""

LinkName: TypeAlias = Annotated[str, Reference("link", _INSTANCE, "write its name, such as rope or rope[2]")]
BodyName: TypeAlias = Annotated[str, Reference("body", _INSTANCE, "write its name, such as hand or left/hand")]
RodName: TypeAlias = Annotated[str, Reference("rod", _INSTANCE, "write its name, such as arm or left/arm")]
TendonName: TypeAlias = Annotated[str, Reference("tendon", _INSTANCE, "write its name, such as pull or pull[2]")]
MeshName: TypeAlias = Annotated[str, Reference("mesh", _INSTANCE, "write its name, such as fabric or left/fabric")]
SurfaceName: TypeAlias = Annotated[str, Reference("surface", _INSTANCE, "write its name, such as hull or left/hull")]
ThingName: TypeAlias = Annotated[
    str, Reference("body, rod, mesh or surface", _INSTANCE, "write its name, such as finger or floor, or all")
]
"""A reference to something that can be touched; `all` for everything."""
ContactName: TypeAlias = Annotated[str, Reference("contact", _INSTANCE, "write its name, such as ground or ground[2]")]
ConstraintName: TypeAlias = Annotated[str, Reference("constraint", _INSTANCE, "write its name, such as pin or pin[2]")]
MaterialName: TypeAlias = Annotated[str, Reference("material", _INSTANCE, "write its name, such as silicone")]
SectionName: TypeAlias = Annotated[str, Reference("section", _INSTANCE, "write its name, such as tube")]
ParameterName: TypeAlias = Annotated[str, Reference("parameter", _INSTANCE, "write length or left/length")]
"""The name of a parameter of an attached model: `length`, or `inner/length` of one attached to that."""
InputName: TypeAlias = Annotated[str, Reference("input", _INSTANCE, "write the name of an input parameter")]
InputKey: TypeAlias = Annotated[str, InputKeyMarker()]
"""The input parameter that a signal drives: `pull`, or `pull[2]` of a repeated one."""
OutputName: TypeAlias = Annotated[str, Reference("output", _INSTANCE, "write the name of an output")]
HeldName: TypeAlias = Annotated[
    str, Reference("joint, rod or constraint", _INSTANCE, "write its name, such as hinge, arm or pin[2]")
]
PartName: TypeAlias = Annotated[
    str,
    Reference(
        "body, joint, rod, mesh, link, tendon or contact", _INSTANCE, "write its name, such as arm, hinge or rope[2]"
    ),
]


ALIASES = {
    "ebr": "pcs",
    "eba": "cosserat",
    "srl": "pseudo_rigid",
    "rom": "polynomial",
    "cc": "pcc",
    "cog": "pcc_cog",
    "fe": "finite_element",
}


def canonical(kind: Any) -> Any:
    """Resolve an alias; other names are returned unchanged."""
    return ALIASES.get(kind, kind) if isinstance(kind, str) else kind


@dataclass(frozen=True)
class OutputColumn:
    """An output, or one of its components."""

    output: str
    component: int | None = None


def outputs_named(name: str, known: Collection[str], parts: Callable[[str], Sequence[str]]) -> tuple[OutputColumn, ...]:
    """The outputs and components that a name stands for; empty if it is unknown. parts: names of the components of an output."""
    if name in known:
        return (OutputColumn(name),)
    base, _, label = name.rpartition(".")
    if base in known and name in parts(base):
        return (OutputColumn(base, [*parts(base)].index(name)),)
    if instances := instances_of(name, known):
        return tuple(map(OutputColumn, instances))
    listed = {x: [*parts(x)] for x in instances_of(base, known)}
    if listed and all(f"{x}.{label}" in names for x, names in listed.items()):
        return tuple(OutputColumn(x, names.index(f"{x}.{label}")) for x, names in listed.items())
    return ()


def stacked(columns: Sequence[OutputColumn], values: Callable[[str], Any], axis: int) -> np.ndarray:
    """Values of columns: those of one, or of several instances along a new axis. values: those of an output, with components
    along that axis."""
    found = [np.asarray(values(x.output)) for x in columns]
    found = [a if x.component is None else a.take(x.component, axis) for x, a in zip(columns, found, strict=True)]
    return found[0] if len(found) == 1 else np.stack(found, axis)
