"""Options of the analysis commands, generated from the fields of the analyses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from pliant.cli.common import CommandError, in_place_of
from pliant.engine.equations import Equations
from pliant.language.base import Part
from pliant.language.dimension import CURVATURE, LENGTH, NUMBER, RATE, SPEED, TIME, Dimension
from pliant.language.evaluate import UNKNOWN, evaluate
from pliant.language.faults import ExpressionError
from pliant.language.parameter import wrong_dimension
from pliant.language.scalar import Quantity
from pliant.language.syntax import parse
from pliant.language.traversal import Hint, field_hints


def with_options(schema: type[Part], **defaults: Any) -> Callable[[Any], Any]:
    """Decorator that adds the options of an analysis to a command and passes the given ones as `options`.

    The options are created when the command is called, because a module contains several commands and one is called.
    defaults: values for options that the schema requires.
    """

    def complete(command: Any) -> Any:
        hints = {name: hint for name, hint in field_hints(schema) if name in schema.file_keys()}
        made = [_option(schema, name, hint, defaults.get(name)) for name, hint in hints.items()]

        def read(given: dict[str, Any]) -> dict[str, Any]:
            return {name: _read(schema, name, hints[name], x) for name, x in given.items() if x is not None}

        return in_place_of("options", made, read, command)

    def decorate(command: Any) -> Any:
        command.complete = complete
        return command

    return decorate


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(schema: type[Part], name: str, hint: Hint, default: Any) -> inspect.Parameter:
    """The option of a field: it has the same name, and the documentation of the field as help."""
    field, named = schema.model_fields[name], inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    words = " ".join(schema.field_texts().get(name, "").replace("`", "").split())
    if field.annotation is bool:  # the flag selects the opposite of the default
        own: Mapping[str, str] = getattr(schema, "flags", {})
        flag = own.get(name, f"--no-{name}" if field.default else _flag(name))
        words = f"Do not {words[0].lower()}{words[1:]}" if field.default else words
        return named.replace(default=False, annotation=Annotated[bool, typer.Option(flag, help=words)])
    kind, least = _kind(schema, name, hint)
    option = typer.Option(_flag(name), help=words, min=least, metavar="NAME=VALUE" if kind == list[str] else None)
    if default is None and not field.is_required() and kind != list[str]:
        default = field.default
    if default is None and field.is_required():
        return named.replace(annotation=Annotated[kind, option])
    return named.replace(default=default, annotation=Annotated[kind if default is not None else kind | None, option])


def _kind(schema: type[Part], name: str, hint: Hint) -> tuple[Any, int | None]:
    """Type of an option, and its minimum."""
    if get_origin(schema.model_fields[name].annotation) is dict:
        return list[str], None
    if isinstance(hint.marker, Quantity):
        return str if hint.marker.dimension is None else float, None
    return _whole_number(schema.model_fields[name]) or (str, None)


def _whole_number(field: FieldInfo) -> tuple[type[int], int | None] | None:
    """`int` and its minimum, if the type of a field is int or int | None; otherwise None."""
    for annotation in (field.annotation, *get_args(field.annotation)):
        bare, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        words = get_args(bare) if get_origin(bare) is Literal else ()
        if bare is int or (words and all(isinstance(word, int) for word in words)):
            limits = [*field.metadata, *(limit for mark in marks for limit in getattr(mark, "metadata", [mark]))]
            return int, next((limit.ge for limit in limits if hasattr(limit, "ge")), None)
    return None


def _read(schema: type[Part], name: str, hint: Hint, given: Any) -> Any:
    """Convert the value of an option: texts with commas to lists, NAME=VALUE to numbers by name."""
    field = schema.model_fields[name]
    if field.annotation is bool:
        return given != field.default
    if isinstance(given, list):
        return _by_name(_flag(name), given)
    if not isinstance(given, str):
        return given
    if hint.every is not None:
        words = [word.strip() for word in given.split(",") if word.strip()]
        return _times(_flag(name), words) if isinstance(hint.every.marker, Quantity) else tuple(words)
    if hint.values is not None and "=" in given:
        return _by_name(_flag(name), re.split(",(?=[^,]*=)", given))
    return given


def _times(flag: str, words: list[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        raise CommandError(f"cannot read the times '{','.join(words)}'", f"write {flag} 0.5,1,2") from None


def _by_name(flag: str, settings: list[str]) -> dict[str, float | str]:
    """Values by name; those with a unit remain text until the robot is loaded (`in_si`)."""
    found: dict[str, float | str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise CommandError(f"cannot read {flag} {setting!r}", f"write {flag} NAME=0.5")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


def in_si(eqs: Equations, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with values by name (such as `--start "q1=10 deg"`) converted to SI units."""
    units = {x: c.unit for c in eqs.model.coordinates for x in c.q_names}
    rates = {f"d({x})/dt": f"{c.unit}/s" for c in eqs.model.coordinates for x in c.v_names}
    known = {**units, **rates, **{x: "rad/s" for c in eqs.model.coordinates if c.is_rotation for x in c.v_names}}
    return {
        option: {
            name: si_number(_flag(option), name, x, known if option in STATES else {}) for name, x in given.items()
        }
        if isinstance(given, dict)
        else given
        for option, given in options.items()
    }


def si_number(flag: str, name: str, given: float | str, units: Mapping[str, str]) -> float:
    """The value of an option for a name [SI]: a number, or one with a unit, which is checked against those of the names."""
    if isinstance(given, float):
        return given
    try:
        node = parse(given)
        expected = EXPECTED.get(units.get(name, ""), UNKNOWN)
        problem = wrong_dimension(node, expected, {})
        value = float(evaluate(node, {}))
    except ExpressionError as error:
        hint = error.hint or 'give a number in SI units, or one with a unit: "q1=10 deg"'
        raise CommandError(f"{flag} {name}={given} is not a number: {error}", hint) from None
    if problem is not None:
        raise CommandError(f"{flag} {name}={given}: {problem[0]}", problem[1])
    return value


STATES = ("start", "at")
"""Options that contain coordinates and rates; values of other options may be forces on the coordinates of these names."""

EXPECTED: dict[str, Dimension] = {
    "m": LENGTH,
    "rad": NUMBER,
    "-": NUMBER,
    "1/m": CURVATURE,
    "m/s": SPEED,
    "rad/s": RATE,
    "-/s": RATE,
    "1/m/s": CURVATURE / TIME,
}
"""Dimensions of coordinates and rates by their units."""
