"""Writing a spec back to text that loads to an equal spec."""

from __future__ import annotations

import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, get_origin

from pydantic.fields import FieldInfo

from pliant.language.base import Part
from pliant.language.collection import kinds, with_defaults
from pliant.language.tree import WHOLE
from pliant.spec.defaults import defaults_for

if TYPE_CHECKING:
    from pliant.spec.robot import RobotSpec

WIDTH = 100


def dump(spec: RobotSpec) -> str:
    """The spec as YAML text."""
    data = {"pliant": spec.pliant, **to_data(spec)}
    for collection in with_defaults(type(spec)):
        for name, entry in data.get(collection, {}).items():
            default = defaults_for(type(spec), collection, data.get("defaults", {}), entry)
            data[collection][name] = _without(default, entry)
    return "\n".join(_block(data, 0)) + "\n"


def save(spec: RobotSpec, path: str | os.PathLike[str]) -> None:
    """Write the spec to a file, whole or not at all: a crash leaves the old file as it was."""
    target = FilePath(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(dump(spec))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(name, target.stat().st_mode)
        else:
            os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        FilePath(name).unlink(missing_ok=True)
        raise


def to_data(value: Any) -> Any:
    """A part as plain data in its shortest form: only what was said, short forms where they suffice."""
    if isinstance(value, Part):
        return _part_data(value)
    if isinstance(value, dict):
        return {key: to_data(child) for key, child in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_data(child) for child in value]
    return value


def _part_data(part: Part) -> Any:
    written: dict[str, Any] = {}
    # The kind comes first: it tells the reader what the other keys mean.
    fields = sorted(type(part).model_fields.items(), key=lambda item: not tells_kind(*item))
    for name, field in fields:
        if name in part.model_fields_set or (tells_kind(name, field) and type(part) not in default_kinds()):
            value = getattr(part, name)
            if name in ("rotation", "initial") and isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            written[name] = to_data(value)
    if part.short_form and set(written) == {part.short_form} and not isinstance(written[part.short_form], dict):
        return written[part.short_form]
    return part.empty_word if part.empty_word and not written else written


def tells_kind(name: str, field: FieldInfo) -> bool:
    """Whether a field tells the kind of its part, as `type` does; it is written even where nobody set it."""
    return name in ("type", "shape", "kind") and get_origin(field.annotation) is Literal


@cache
def default_kinds() -> frozenset[type[Part]]:
    """Parts that an entry without a kind stands for."""
    from pliant.spec.robot import RobotSpec

    choices = [kinds(RobotSpec, collection) for collection in with_defaults(RobotSpec)]
    return frozenset(parts[choice.default] for choice, parts in choices if choice and choice.default)


def _without(default: dict[str, Any], entry: Any) -> Any:
    """An entry without what its defaults say, and with `null` where it lacks what they say."""
    if not isinstance(entry, dict) or not default:
        return entry
    kept = dict(entry)
    for key, value in default.items():
        if key not in kept:
            kept[key] = None
        elif kept[key] == value:
            del kept[key]
        elif isinstance(value, dict) and isinstance(kept[key], dict) and key not in WHOLE:
            kept[key] = _without(value, kept[key])
    return kept


def _block(value: dict[str, Any], indent: int) -> list[str]:
    """Lines of a mapping, each value on one line where it fits."""
    lines: list[str] = []
    margin = " " * indent
    for key, child in value.items():
        head = f"{margin}{_text(key)}:"
        inline = f"{head} {flow(child)}"
        fits = len(inline) <= WIDTH and "\n" not in inline
        if isinstance(child, dict) and child and (indent == 0 or not fits):
            lines += [head, *_block(child, indent + 2)]
        elif isinstance(child, list) and child and (not fits or (indent == 0 and isinstance(child[0], dict))):
            lines += [head, *(line for item in child for line in _item(item, indent + 2))]
        else:
            lines.append(inline)
    return lines


def _item(value: Any, indent: int) -> list[str]:
    inline = f"{' ' * indent}- {flow(value)}"
    if len(inline) <= WIDTH or not isinstance(value, dict) or not value:
        return [inline]
    lines = _block(value, indent + 2)
    return [f"{' ' * indent}- {lines[0].lstrip()}", *lines[1:]]


def flow(value: Any, *, quotes: bool = True) -> str:
    """A value on one line; without `quotes` it is for people and cannot be read back."""
    if isinstance(value, dict):
        pairs = (f"{_text(key)}: {flow(child, quotes=quotes)}" for key, child in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(child, quotes=quotes) for child in value) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value) if quotes else value
    return repr(value)


_WORDS = r"[A-Za-z0-9_./*^+=<>()-]+"
_SAFE = re.compile(rf"[A-Za-z0-9=_/]({_WORDS})?( {_WORDS})*")
_NOT_TEXT = re.compile(r"(?i:null|true|false|~)|[-+.0-9][0-9.eE+-]*")


def _text(value: Any) -> str:
    """Text as it stands where that is safe, otherwise in quotes."""
    text = str(value)
    if _SAFE.fullmatch(text) and not _NOT_TEXT.fullmatch(text):
        return text
    # JSON's quoting is YAML's; characters that YAML does not allow raw are escaped as well.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
