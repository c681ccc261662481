"""Base of all links: the two frames they connect."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pliant.language.placement import Attachment
from pliant.language.repeated import Repeated

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class LinkBase(Repeated):
    """Common part of the links: a force element between two frames."""

    quantities: ClassVar[dict[str, str]]
    """Quantities available as outputs, with their units; empty if the components differ in unit."""

    between: tuple[Attachment, Attachment]
    """The two frames, each a reference (`bar.tip`) or a reference with an offset."""
    description: str = ""
    """Description for readers."""

    @abstractmethod
    def deformation(self, poses: Any, constants: Any) -> Any:
        """Deformation of the link, on which its force does work, for the poses of its two nodes."""

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the link's force to the system."""
