"""The catalogue of cases: each theme is a module, whose functions add themselves."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import get_args

from pliant.validation.case import CASES, Case, Theme


class UnknownCase(ValueError):
    """A name of neither a case nor a theme; `hint` suggests similar ones."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def theme_word(theme: str) -> str:
    """A theme as users write it, which is the name of its module: `published_systems`."""
    return theme.lower().replace(" ", "_")


@cache
def catalogue() -> dict[str, Case]:
    """All cases by name, in the order of their themes."""
    themes: tuple[Theme, ...] = get_args(Theme)
    for theme in themes:
        import_module(f"{__package__}.{theme_word(theme)}")
    return dict(sorted(CASES.items(), key=lambda x: (themes.index(x[1].theme), x[0])))


def chosen(wanted: Sequence[str]) -> dict[str, Case]:
    """The cases with these names or themes, in the order of themes; all of them if none is named."""
    every = catalogue()
    themes = {theme_word(theme): theme for theme in get_args(Theme)}
    for word in wanted:
        if word not in every and word not in themes:
            raise UnknownCase(f"there is no case '{word}'", _near(word, [*every, *themes]))
    kept = {themes[word] for word in wanted if word in themes}
    return {name: x for name, x in every.items() if not wanted or name in wanted or x.theme in kept}


def _near(word: str, known: Sequence[str]) -> str:
    """Names that contain the text or are similar to it, as a hint."""
    alike = [name for name in known if word in name or name in word]
    similar = list(dict.fromkeys([*alike, *get_close_matches(word, known, n=3, cutoff=0.6)]))[:5]
    return f"did you mean {' or '.join(similar)}?" if similar else "pliant validate --list names them all"
