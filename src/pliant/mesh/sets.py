"""Sets of nodes of a mesh, selected by position or by number. Positions are in the axes of the drawing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field

from pliant.language.base import ByKey, OneOrList, Part
from pliant.language.placement import Axis
from pliant.language.scalar import Length, LengthVector, Scalar
from pliant.language.source import FileProblem

Value: TypeAlias = Callable[[Scalar], float]
Labels: TypeAlias = Mapping[str, np.ndarray]
UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
SLACK = 1e-9
"""Tolerance of boxes and planes, relative to the size of the mesh."""


class NodeSetBase(Part):
    """Base of sets of nodes."""

    @abstractmethod
    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """Indices of the nodes among `points` (n x 3) [m]; raises FileProblem if the set is invalid.

        `labels`: indices of nodes by their labels in the file of the drawing.
        """


class BoxSet(NodeSetBase):
    """Nodes in a box."""

    box: tuple[LengthVector, LengthVector]
    """Two opposite corners [m]."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """Nodes between the corners."""
        corners = np.array([[value(x) for x in corner] for corner in self.box])
        slack = SLACK * np.ptp(points, axis=0).max()
        inside = (points >= corners.min(axis=0) - slack) & (points <= corners.max(axis=0) + slack)
        return np.flatnonzero(inside.all(axis=1))


class PlaneSet(NodeSetBase):
    """Nodes on a plane."""

    example: ClassVar[str] = """\
pliant: 1
meshes:
  net:
    type: membrane
    drawing: {rectangle: [1 m, 50 cm], cells: [4, 2]}
    sets: {left: {plane: x}, right: {plane: x, through: [1 m, 0, 0]}, middle: {nodes: 8}}
    held: {left: world, right: world}
    mass: 200 g
    stiffness: 50 N
"""

    plane: Axis
    """Normal of the plane: x, y, z, or three numbers."""
    through: LengthVector = (0, 0, 0)
    """A point of the plane [m]."""
    within: Length = 0
    """Largest distance of nodes from the plane [m]."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """Nodes near the plane."""
        normal = np.array(UNIT[self.plane] if isinstance(self.plane, str) else [value(x) for x in self.plane])
        normal = normal / np.linalg.norm(normal)
        distance = np.abs((points - [value(x) for x in self.through]) @ normal)
        return np.flatnonzero(distance <= value(self.within) + SLACK * np.ptp(points, axis=0).max())


class NearestSet(NodeSetBase):
    """The nodes nearest to given points."""

    nearest: Annotated[tuple[LengthVector, ...], Field(min_length=1)]
    """The points [m]."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """One node for each point, in their order."""
        places = np.array([[value(x) for x in place] for place in self.nearest])
        found = [int(np.argmin(np.linalg.norm(points - place, axis=1))) for place in places]
        if len(set(found)) < len(found):
            raise FileProblem("two of the points have the same nearest node", "leave one of them out")
        return np.array(found)


class NumberedSet(NodeSetBase):
    """Nodes by their numbers, as `pliant show MODEL --mesh` labels them."""

    nodes: Annotated[tuple[Annotated[int, Field(ge=1, strict=True)], ...], Field(min_length=1), OneOrList()]
    """The numbers, from 1 on."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """The nodes of these numbers, in their order."""
        if max(self.nodes) > len(points):
            raise FileProblem(f"there is no node {max(self.nodes)}", f"the mesh has nodes 1 to {len(points)}")
        if len(set(self.nodes)) < len(self.nodes):
            raise FileProblem("a node is listed twice", "list each number once")
        return np.array(self.nodes) - 1


class LabelledSet(NodeSetBase):
    """Nodes that have a name in the drawing's file: a DXF layer, an OBJ group, a set or physical group of a volume mesh."""

    label: str
    """The name, as `pliant mesh FILE` lists it."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        """The nodes of that name, in ascending order."""
        if self.label not in labels:
            known = ", ".join(list(labels)[:12])
            raise FileProblem(
                f"no node has the label '{self.label}'", f"known: {known}" if known else "the drawing has none"
            )
        return labels[self.label]


NodeSet: TypeAlias = Annotated[BoxSet | PlaneSet | NearestSet | NumberedSet | LabelledSet, ByKey("set of nodes")]
