"""Functions of higher layers that lower ones call by name.

Tables, pages and plots of an object, controllers of a model and readers of other formats are implemented in layers above those that
need them. `pliant/__init__.py` lists these functions; each is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

_functions: dict[str, str] = {}


def provide(functions: Mapping[str, str]) -> None:
    """Register functions: `module:function` by name."""
    _functions.update(functions)


def provided(name: str) -> Callable[..., Any] | None:
    """The function registered by a name; None if there is none."""
    if name not in _functions:
        return None
    module, _, function = _functions[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def called(name: str, /, *arguments: Any, **options: Any) -> Any:
    """The result of a registered function, as in `called("Modes.html", found)`."""
    function = provided(name)
    assert function is not None, name
    return function(*arguments, **options)


def with_remarks(text: str, remarks: Iterable[str]) -> str:
    """The text of a result in a terminal, with its remarks, one per line."""
    return "\n".join([text, *remarks])
