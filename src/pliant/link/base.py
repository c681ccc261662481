"""What all links share: the two frames they connect."""

from __future__ import annotations

from pliant.language.base import Part
from pliant.language.placement import Attachment
from pliant.language.scalar import Count


class LinkBase(Part):
    """Common part of the links: a force element between two frames."""

    between: tuple[Attachment, Attachment]
    """The two frames, each a reference (`bar.tip`) or a reference with an offset."""
    count: Count | None = None
    """Number of instances, where the link is repeated; its references may use `i` (1, 2, ...) and `count`."""
    description: str = ""
    """What a reader should know about it."""
