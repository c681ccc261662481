"""Surfaces that overlap in the model's initial pose: they push each other apart immediately, which is rarely intended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.engine.contacts import contacts_at
from pliant.language.message_text import enumeration

if TYPE_CHECKING:
    from pliant.engine.binding import Binding

HARMLESS = 1e-6
"""Overlaps up to this fraction of the robot's size are ignored."""
SHOWN = 5
"""Number of pairs that the remark names."""


def overlap_notes(bound: Binding, t: float, q: np.ndarray) -> list[str]:
    """A remark on parts that overlap in a configuration, the deepest overlap first."""
    if not bound.system.contacts.laws:
        return []
    contacts = contacts_at(bound, t, q, np.zeros(bound.nv))
    deepest: dict[tuple[str, str], float] = {}
    harmless = HARMLESS * bound.sizes(q)[0]
    for pair, gap in zip(contacts.pairs, contacts.gap, strict=True):
        if -gap > max(harmless, deepest.get(pair, 0.0)):
            deepest[pair] = float(-gap)
    if not deepest:
        return []
    order = sorted(deepest, key=lambda pair: -deepest[pair])
    said = [
        f"{a} and {b} by {deepest[a, b]:.3g} m" if a != b else f"{a} with itself by {deepest[a, b]:.3g} m"
        for a, b in order
    ]
    return [f"parts overlap at the start and push each other apart: {enumeration(said, SHOWN, 'pairs')}"]
