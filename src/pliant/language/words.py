"""Text of messages: suggestions, descriptions of wrong values, safe printing.

This module has no slow imports, so that the command line can report errors without loading the schema.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Mapping
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


def half_of_diameter(key: int | str, given: object, known: Container[str]) -> str:
    """What to write for a diameter where the language has the radius; empty for other keys."""
    radius = str(key).replace("diameter", "radius")
    if radius == key or radius not in known:
        return ""
    found = re.fullmatch(r"\s*([-+.\deE]+)\s*(.*)", str(given)) if isinstance(given, str | int | float) else None
    try:
        half = f"{float(found[1]) / 2:g} {found[2]}".strip() if found else "..."
    except ValueError:
        half = "..."
    return f"give the radius, which is half of it: `{radius}: {half}`"


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
