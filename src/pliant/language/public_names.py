"""The public names of the package, as `pliant/__init__.pyi` lists them: read without importing anything."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

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
