"""Display of robots and results, independent of the drawing code.

Tables, pages and plots are implemented in layers above the objects that they show. Each object looks up its display
by name, and `pliant/__init__.py` registers the functions here. Functions are registered by name, so that the drawing
code is imported only when it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

_functions: dict[str, str] = {}


def show_by(functions: Mapping[str, str]) -> None:
    """Register the functions of displays: `module:function` by `Class.display`."""
    _functions.update(functions)


def with_remarks(text: str, remarks: Iterable[str]) -> str:
    """The text of a result in a terminal, with its remarks, one per line."""
    return "\n".join([text, *remarks])


def shown(display: str, thing: object, *arguments: Any, **options: Any) -> Any:
    """A display of an object, as in `shown("Modes.html", found)`."""
    module, _, function = _functions[display].partition(":")
    return getattr(import_module(module), function)(thing, *arguments, **options)
