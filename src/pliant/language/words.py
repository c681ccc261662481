"""Text of messages: suggestions, descriptions of wrong values, safe printing.

This module has no slow imports, so that the command line can report errors without loading the schema.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""A place in a model: keys and list positions from the top, or from a part."""


def nearest(word: object, choices: Iterable[str]) -> str | None:
    """The choice most similar to `word`, or None if nothing is similar."""
    found = difflib.get_close_matches(str(word)[:80], list(choices)[:2000], n=1, cutoff=0.6)
    return found[0] if found else None


def suggestion(word: object, choices: Iterable[str], otherwise: str = "") -> str:
    """A hint with the choice most similar to `word`, or `otherwise` if nothing is similar."""
    match = nearest(word, choices)
    return f"did you mean '{match}'?" if match else otherwise


def renamed_hint(name: object, renamed: Mapping[str, str]) -> str:
    """A hint with the new name of a renamed keyword; empty if it was not renamed."""
    return f"write {renamed[str(name)]}" if str(name) in renamed else ""


def with_article(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def printable(text: str) -> str:
    """The text with control characters escaped, so that a message can neither move the cursor nor hide."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def describe(value: object) -> str:
    """A short description of a wrong value, for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    text = printable(str(value))
    short = text if len(text) <= 40 else text[:37] + "..."
    return f"'{short}'" if isinstance(value, str) else short
