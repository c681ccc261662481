"""Writing a spec back to text that loads to an equal spec."""

import json
import os
import re
from typing import Any

from pliant.language.arguments import file_name
from pliant.language.files import write_whole
from pliant.language.traversal import with_defaults
from pliant.language.tree import WHOLE
from pliant.robot.defaults import defaults_for, to_data
from pliant.robot.fields import RobotFields, need_spec

WIDTH = 100


def dump(spec: RobotFields) -> str:
    """The spec as YAML text."""
    need_spec(spec)
    data = {"pliant": spec.pliant, **to_data(spec, type(spec))}
    for collection in with_defaults(type(spec)):
        for name, entry in data.get(collection, {}).items():
            default = defaults_for(type(spec), collection, data.get("defaults", {}), entry)
            data[collection][name] = _without(default, entry)
    return "\n".join(_block(data, 0)) + "\n"


def save(spec: RobotFields, path: str | os.PathLike[str]) -> None:
    """Write the spec to a file atomically: a crash leaves the old file unchanged."""
    write_whole(file_name("path", path), dump(spec).encode())


def _without(default: dict[str, Any], entry: Any) -> Any:
    """An entry without values equal to its defaults, and with `null` where it lacks a default."""
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
    """Lines of a mapping; each value is on one line if it fits."""
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
    """A value on one line; without `quotes` it is for display and cannot be read back."""
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
_SAFE = re.compile(rf"(-(?=[0-9]))?[A-Za-z0-9=_/]({_WORDS})?( {_WORDS})*")
_NOT_TEXT = re.compile(r"(?i:null|true|false|~)|[-+.0-9][0-9.eE+-]*")


def _text(value: Any) -> str:
    """Text without quotes if that is safe, otherwise in quotes."""
    text = str(value)
    if _SAFE.fullmatch(text) and not _NOT_TEXT.fullmatch(text):
        return text
    # JSON strings are valid YAML; characters that YAML does not allow unescaped are escaped too.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
