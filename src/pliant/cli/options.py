"""Options of the analysis commands, generated from the fields of the analyses."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from pliant.analysis.base import Option
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


def flag(name: str, schema: type[Part] | None = None) -> str:
    """The option of a field."""
    own: Mapping[str, str] = getattr(schema, "flags", {})
    return own.get(name, f"--{name.replace('_', '-')}")


def written(schema: type[Part], name: str) -> Option:
    """How the command writes a field."""
    return next((x for x in schema.model_fields[name].metadata if isinstance(x, Option)), Option())


def _option(schema: type[Part], name: str, hint: Hint, default: Any) -> inspect.Parameter:
    """The option of a field: it has the same name, and the documentation of the field as help."""
    field, named = schema.model_fields[name], inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    words = " ".join(schema.field_texts().get(name, "").replace("`", "").split())
    if field.annotation is bool:  # the flag selects the opposite of the default
        own = f"--no-{name}" if field.default and name not in getattr(schema, "flags", {}) else flag(name, schema)
        words = f"Do not {words[0].lower()}{words[1:]}" if field.default else words
        return named.replace(default=False, annotation=Annotated[bool, typer.Option(own, help=words)])
    kind, least = _kind(schema, name, hint)
    metavar = written(schema, name).metavar or ("NAME=VALUE" if kind == list[str] else None)
    option = typer.Option(flag(name, schema), help=words, min=least, metavar=metavar)
    if default is None and not field.is_required() and kind != list[str]:
        default = field.default
    if default is None and field.is_required():
        return named.replace(annotation=Annotated[kind, option])
    return named.replace(default=default, annotation=Annotated[kind if default is not None else kind | None, option])


def _kind(schema: type[Part], name: str, hint: Hint) -> tuple[Any, int | None]:
    """Type of an option, and its minimum."""
    annotation = schema.model_fields[name].annotation
    if written(schema, name).repeated or dict in (get_origin(annotation), *map(get_origin, get_args(annotation))):
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
    if isinstance(given, list) and written(schema, name).repeated:
        return tuple(given)
    if isinstance(given, list):
        return _by_name(flag(name, schema), given, hint.values or Hint())
    if not isinstance(given, str):
        return given
    if hint.elements:
        return _entries(given)
    if hint.every is not None:
        words = [word.strip() for word in given.split(",") if word.strip()]
        return _times(flag(name, schema), words) if isinstance(hint.every.marker, Quantity) else tuple(words)
    if hint.values is not None and "=" in given:
        return _by_name(flag(name, schema), re.split(",(?=[^,]*=)", given), hint.values)
    return given


def _times(flag: str, words: list[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        raise CommandError(f"cannot read the times '{','.join(words)}'", f"write {flag} 0.5,1,2") from None


class _Texts(dict[str, Any]):
    """Values by name that the analysis reads itself."""


def _by_name(option: str, settings: list[str], hint: Hint) -> dict[str, Any]:
    """Values by name; those with a unit remain text until the robot is loaded (`in_si`), and lists are separated by commas."""
    found: dict[str, Any] = {} if isinstance(hint.marker, Quantity) else _Texts()
    for setting in settings:
        name, equals, value = (word.strip() for word in setting.partition("="))
        if not equals or not name or not value:
            raise CommandError(f"cannot read {option} {setting!r}", f"write {option} NAME=0.5")
        if name in found:
            raise CommandError(f"{option} gives '{name}' twice", "keep one of them")
        if hint.every is not None or hint.elements:
            found[name] = _entries(value) if hint.elements else tuple(word.strip() for word in value.split(","))
        elif isinstance(hint.marker, Quantity) and _is_float(value):
            found[name] = float(value)
        else:
            found[name] = value
    return found


def _entries(words: str) -> tuple[str, ...]:
    """Values separated by commas; the unit of the last also applies to those without one."""
    found = [word.strip() for word in words.split(",")]
    unit = found[-1].partition(" ")[2]
    return tuple(word if " " in word else f"{word} {unit}".strip() for word in found)


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def in_si(eqs: Equations, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with values by name (such as `--start "q1=10 deg"`) converted to SI units."""
    units = {x: c.unit for c in eqs.model.coordinates for x in c.q_names}
    rates = {f"d({x})/dt": f"{c.unit}/s" for c in eqs.model.coordinates for x in c.v_names}
    known = {**units, **rates, **{x: "rad/s" for c in eqs.model.coordinates if c.is_rotation for x in c.v_names}}
    return {
        option: {name: si_number(flag(option), name, x, known if option in STATES else {}) for name, x in given.items()}
        if isinstance(given, dict) and not isinstance(given, _Texts)
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
