"""Values shared by all parts of a collection, moved to its defaults."""

from __future__ import annotations

from collections import Counter
from typing import Any

FEWEST = 3
"""Smallest number of parts for which a shared value becomes a default."""
KINDS = ("joints", "surfaces")
"""Collections whose parts have a `type`, with defaults for each."""
COLLECTIONS = ("parameters", *KINDS)
OWN = (
    "parent",
    "child",
    "description",
    "file",
    "position",
    "rotation",
    "transforms",
    "value",
    "name",
    "points",
    "size",
    "type",
)
"""Keys that are specific to a part, and remain in it."""


def pull_defaults(parts: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Defaults of the collections; their values are removed from the parts."""
    found: dict[str, Any] = {}
    for collection in COLLECTIONS:
        entries = [*parts.get(collection, {}).values()]
        defaults = _of_kinds(entries) if collection in KINDS else _taken(entries)
        if defaults:
            found[collection] = defaults
    return found


def _of_kinds(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Defaults for the parts of each type, and the most frequent type; both are removed from the parts."""
    found: dict[str, Any] = {}
    types = Counter(entry["type"] for entry in entries)
    for kind in types:
        shared = _taken([entry for entry in entries if entry["type"] == kind])
        if shared:
            found[kind] = shared
    kind, count = types.most_common(1)[0] if types else ("", 0)
    if count >= FEWEST:
        for entry in entries:
            if entry["type"] == kind:
                del entry["type"]
        found = {"type": kind, **found}
    return found


def _taken(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Values that are equal in all entries, key by key in mappings; they are removed from the entries."""
    if len(entries) < FEWEST:
        return {}
    found: dict[str, Any] = {}
    for key in [key for key in entries[0] if key not in OWN and all(key in entry for entry in entries)]:
        values = [entry[key] for entry in entries]
        if all(isinstance(value, dict) for value in values):
            inner = _taken(values)
            if inner:
                found[key] = inner
        elif all(value == values[0] for value in values):
            found[key] = values[0]
            for entry in entries:
                del entry[key]
    for entry in entries:
        for key in [key for key, value in entry.items() if value == {}]:
            del entry[key]
    return found
