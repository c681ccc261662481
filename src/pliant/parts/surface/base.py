"""Base of surfaces: placement, material, and contribution to contact detection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pliant.language.names import FrameName, MaterialName
from pliant.language.placement import Placement
from pliant.language.scalar import Repeated
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.contact_shapes import ShapeForm


@dataclass(frozen=True)
class Corner:
    """A vertex of a shape: the node it is fixed to, its position there [m], the radius of the ball around it [m], and its share of
    a contact's stiffness [-]."""

    node: int
    place: Sequence[Any]
    radius: Any = 0.0
    share: Any = 1.0


def add_shape(
    build: Build, name: str, form: ShapeForm, corners: Sequence[Corner], items: Sequence[tuple[int, ...]],
    *, skip: int = 0, constants: Sequence[Any] = (), closed: bool = False, smooth: frozenset[tuple[int, int]] = frozenset(),
    section_corners: int = 0,
) -> int:  # fmt: skip
    """Add a shape to the system and return its index. The arguments are described in `ContactShape`."""
    vertices = [(c.node, build.system.constants([*c.place, c.radius, c.share])) for c in corners]
    at = build.system.constants(constants) if constants else 0
    return build.system.contacts.add(
        name, form, vertices, items, skip=skip, constants=at, closed=closed, smooth=smooth, corners=section_corners
    )


class SurfaceBase(Placement, Repeated):
    """Common part of the surfaces: a shape that is fixed to a frame."""

    parent: FrameName = "world"
    """Frame that the surface is fixed to; `position` and `rotation` place it there."""
    material: MaterialName | None = None
    """Material, for the stiffness of contacts without a given stiffness."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str]

    @abstractmethod
    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        """Add the surface at a pose on a node and return the indices of its shapes."""

    @abstractmethod
    def extent(self, build: Build) -> Any:
        """The radius that determines the default stiffness of its contacts [m]; None if it has none."""

    def apply(self, build: Build, name: str) -> None:
        """Add the surface to the system, fixed to its parent."""
        node, pose = build.frame(self.parent)
        build.surfaces[name] = self.shapes(build, name, node, se3.compose(pose, build.placement(self)))
