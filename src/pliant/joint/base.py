"""What all joints share: what they connect, where they sit, and how their coordinates are found."""

from __future__ import annotations

from pliant.spec.coordinate import Coordinate, Orientation
from pliant.spec.names import FrameName
from pliant.spec.placement import Placement


class JointBase(Placement):
    """Common part of the joints: holds `child` to `parent`, at a place in the parent frame."""

    parent: FrameName = "world"
    """Frame that the joint sits on."""
    child: FrameName
    """Body that the joint carries, by its own frame (`bar`) or by another one of its frames (`bar.tip`)."""
    first_parent: FrameName | None = None
    """Parent of the first instance, where the child is repeated and the parent is the instance before."""
    description: str = ""
    """What a reader should know about it."""

    def coordinates(self) -> dict[str, Coordinate | Orientation]:
        """The free motions in order, by the field they are given in (`angle`, `x`, ...)."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, (Coordinate, Orientation))}
