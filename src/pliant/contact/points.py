"""The points of a contact: frames of the robot, and nodes of meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import casadi as ca

from pliant.language.base import ByKey, Part
from pliant.language.faults import Fault, SpecError
from pliant.language.names import FrameName, MeshName
from pliant.language.scalar import LengthVector

if TYPE_CHECKING:
    from pliant.model.build import Build


class FrameContactPoint(Part):
    """A point of a frame: `foot`, `{frame: foot, position: [0, 0, -1 cm]}`."""

    short_form: ClassVar[str | None] = "frame"

    frame: FrameName
    """The frame: a body, body.frame, rod.tip, mesh.n3, link[2].tip or left/bar.tip."""
    position: LengthVector = (0, 0, 0)
    """The point in the frame [m]."""

    def found(self, build: Build, surface: int) -> list[tuple[int, Any]]:
        """Node and place on it; it must not be the node `surface`, which the surface is fixed to."""
        node, (R, p) = build.frame(self.frame)
        if node == surface:
            message = f"the frame '{self.frame}' is fixed to the surface and cannot be pressed against it"
            raise SpecError([Fault(message, "name frames that move against `parent`", "contacts")])
        return [(node, p + R @ ca.vertcat(*map(build.value, self.position)))]


class MeshContactPoints(Part):
    """Nodes of a mesh: `{mesh: fabric}`, `{mesh: fabric, set: hem}`."""

    mesh: MeshName
    """The mesh."""
    set: str = "all"
    """One of its sets of nodes. Nodes that are held by what the surface is fixed to are left out."""

    def found(self, build: Build, surface: int) -> list[tuple[int, Any]]:
        """Nodes and places on them, without those that cannot move against the node `surface`."""
        return [(node, pose[1]) for node, pose in build.point_sets[f"{self.mesh}.{self.set}"] if node != surface]


ContactPoint: TypeAlias = Annotated[FrameContactPoint | MeshContactPoints, ByKey("contact point", bare="frame")]
