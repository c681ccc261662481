"""The catalogue of cases: found by their files, imported on demand."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import getsource
from pkgutil import iter_modules
from typing import get_args

from pliant.validation import cases
from pliant.validation.case import Case, Theme


class UnknownCase(ValueError):
    """A name of neither a case nor a theme; `hint` suggests similar ones."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Entry:
    """A case with its name, which is that of its file, and its title, the first line of the file's docstring."""

    name: str
    title: str
    case: Case


def names() -> list[str]:
    """Names of all cases, in alphabetical order; no case is imported."""
    return sorted(module.name for module in iter_modules(cases.__path__))


@cache
def entry(name: str) -> Entry:
    """A case by its name."""
    module = import_module(f"{cases.__name__}.{name}")
    text = module.__doc__ or ast.get_docstring(ast.parse(getsource(module)))  # without `__doc__`: python -OO
    title = (text or "").strip().partition("\n")[0]
    if not title or not isinstance(getattr(module, "check", None), Case):
        raise TypeError(f"{module.__file__} needs a title, the first line of its text, and a case named `check`")
    return Entry(name, title.rstrip("."), module.check)


def catalogue() -> dict[str, Entry]:
    """All cases by name, in the order of their themes."""
    every = [entry(name) for name in names()]
    order = get_args(Theme)
    return {found.name: found for found in sorted(every, key=lambda x: order.index(x.case.theme))}


def theme_word(theme: str) -> str:
    """A theme as users write it: `published_systems`."""
    return theme.lower().replace(" ", "_")


def chosen(wanted: Sequence[str]) -> dict[str, Entry]:
    """The cases with these names or themes, in the order of themes; all of them if none is named."""
    every: Mapping[str, Entry] = catalogue()
    themes = {theme_word(theme): theme for theme in get_args(Theme)}
    for word in wanted:
        if word not in every and word not in themes:
            raise UnknownCase(f"there is no case '{word}'", _near(word, [*every, *themes]))
    kept = {themes[word] for word in wanted if word in themes}
    return {name: x for name, x in every.items() if not wanted or name in wanted or x.case.theme in kept}


def _near(word: str, known: Sequence[str]) -> str:
    """Names that contain the text or are similar to it, as a hint."""
    alike = [name for name in known if word in name or name in word]
    found = list(dict.fromkeys([*alike, *get_close_matches(word, known, n=3, cutoff=0.6)]))[:5]
    return f"did you mean {' or '.join(found)}?" if found else "pliant validate --list names them all"
