"""Functions of higher layers that lower ones call by name, and the public names of analyses, read without importing anything.

Tables, pages and plots of an object, controllers of a model and readers of other formats are implemented in layers above those that
need them. `pliant/__init__.py` lists these functions; each is imported when it is called.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
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


FOLDER = ".analysis."
"""Folder of the package with most analyses, as in the list of public names."""
MARK = "# an analysis"
"""Comment on the line of an analysis in another folder."""


@cache
def analyses() -> dict[str, str]:
    """Modules of all analyses by name: those of `pliant.analysis` whose functions are public, and those of marked lines."""
    package = Path(__file__).parents[1]
    found: dict[str, str] = {}
    for line in (package / "__init__.pyi").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) < 4 or words[0] != "from":
            continue
        folder, _, name = words[1].rpartition(".")
        if line.endswith(MARK) or (f"{folder}." == FOLDER and (package / "analysis" / f"{name}.py").is_file()):
            found[name] = f"pliant{words[1]}"
    return dict(sorted(found.items()))


def summary(name: str) -> str:
    """What an analysis is: the first paragraph of the documentation of its class."""
    file = Path(__file__).parents[2].joinpath(*analyses()[name].split(".")).with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(
            isinstance(x, ast.AnnAssign) and ast.unparse(x.target) == "name" and ast.unparse(x.value or x) == repr(name)
            for x in node.body
        ):
            return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    raise LookupError(f"{file} has no analysis '{name}'")
