"""Repeated parts: written once in a model, with several instances."""

from __future__ import annotations

from pliant.language.base import Part
from pliant.language.scalar import Count


class Repeated(Part):
    """A part that may be repeated: with `count: 3`, `link` becomes `link[1]`, `link[2]` and `link[3]`."""

    count: Count | None = None
    """Number of instances of a repeated part; values and references may then use `i` (1, 2, ...) and `count`, and
    values may be listed with `each`."""
