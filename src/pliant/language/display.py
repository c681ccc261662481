"""How robots and results show themselves, without knowing what draws them.

Tables, pages and plots are made in layers above the things they show. Each thing asks for its display by name, and the top of the
package says here which function gives it (`pliant/__init__.py`). Functions are named, not handed over: what draws is imported
when something is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_functions: dict[str, str] = {}


def show_by(functions: Mapping[str, str]) -> None:
    """Say which functions give displays: `module:function` by `Thing.display`."""
    _functions.update(functions)


def shown(display: str, thing: object, *arguments: Any, **options: Any) -> Any:
    """A display of a thing, as in `shown("Modes.html", found)`."""
    module, _, function = _functions[display].partition(":")
    return getattr(import_module(module), function)(thing, *arguments, **options)
