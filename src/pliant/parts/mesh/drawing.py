"""Sources of the nodes and edges of a mesh: a file, a list, or a regular grid, one class each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field, StrictBool

from pliant.language.base import ByKey, OneOrList, Part
from pliant.language.limits import limits, most
from pliant.language.placement import Axis
from pliant.language.scalar import Count, Length, LengthVector, Number, Scalar
from pliant.language.source import FileProblem, Source
from pliant.parts.mesh.formats import Wireframe, read_mesh

Evaluate: TypeAlias = Callable[[Scalar], Any]
NodeNumber: TypeAlias = Annotated[int, Field(ge=1, strict=True)]


@dataclass(frozen=True)
class Lattice:
    """Nodes as multiples of a size (n x 3), so that the size may be an expression, and edges (m x 2).

    `wireframe` is the imported data if the mesh comes from a file. `faces` (k x 3) are the triangles of its surface, if it has
    one; those of a `solid` are oriented outward.
    """

    shares: np.ndarray
    edges: np.ndarray
    wireframe: Wireframe | None = None
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))
    solid: bool = False

    @property
    def degree(self) -> np.ndarray:
        """Number of edges at every node."""
        return np.bincount(self.edges.ravel(), minlength=len(self.shares))

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """Indices of nodes by their labels in the file."""
        return {} if self.wireframe is None else self.wireframe.labels


class DrawingBase(Part):
    """Base of the sources of a mesh."""

    @abstractmethod
    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        """Nodes and edges; raises FileProblem with the reason. `value` evaluates a field."""

    def without_files(self, found: Lattice) -> DrawingBase:
        """A drawing without a file, with the same nodes and edges."""
        return self

    @abstractmethod
    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        """Factors of the nodes along x, y and z [m], as numbers or expressions."""


class FileDrawing(DrawingBase):
    """A wireframe from a file: lines of IGES, lines, curves and blocks of DXF, sides of STL, OBJ and PLY faces, edges of
    the formats that meshio reads."""

    above_zero = ("scale",)

    file: str
    """The file, in the folder of the model or below."""
    tolerance: Length | None = None
    """Ends of lines closer than this are merged into one node [m]; default: a millionth of the drawing's size."""
    unit: str | None = None
    """Unit of the file's numbers, if the file does not state it or states it wrongly."""
    split: StrictBool = False
    """Whether lines of the file that cross or touch each other get a node there."""
    scale: Number = 1
    """Factor on all lengths of the file [-]."""

    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        tolerance = None if self.tolerance is None else value(self.tolerance)
        drawing = read_mesh(source.find(self.file), tolerance=tolerance, unit=self.unit, split=self.split)
        if drawing.orphans:
            hint = "remove them from the drawing, or use a larger tolerance"
            raise FileProblem(f"{self.file} has {drawing.orphans} nodes without edges", hint)
        return Lattice(drawing.nodes, drawing.edges, drawing, drawing.faces)

    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        return (value(self.scale),) * 3

    def without_files(self, lattice: Lattice) -> DrawingBase:
        return ListedDrawing.model_construct(
            nodes=tuple(map(tuple, lattice.shares.tolist())),
            edges=tuple(map(tuple, (lattice.edges + 1).tolist())),
            faces=tuple(map(tuple, (lattice.faces + 1).tolist())),
            scale=self.scale,
        )


class ListedDrawing(DrawingBase):
    """Lists of nodes and edges, for small meshes; results contain drawings from files in this form."""

    above_zero = ("scale",)

    example: ClassVar[str] = """\
pliant: 1
meshes:
  y:
    type: membrane
    drawing: {nodes: [[0, 0, 0], [10 cm, 0, 0], [-5 cm, 8 cm, 0], [-5 cm, -8 cm, 0]], edges: [[1, 2], [1, 3], [1, 4]]}
    mass: 1 g
    stiffness: 1 N
"""

    nodes: tuple[LengthVector, ...]
    """Positions of the nodes [m]."""
    edges: tuple[tuple[NodeNumber, NodeNumber], ...]
    """Numbers of the two nodes of each edge, from 1 on."""
    faces: tuple[tuple[NodeNumber, NodeNumber, NodeNumber], ...] = ()
    """Numbers of the nodes of the triangles of its surface, if it has one."""
    scale: Number = 1
    """Factor on all lengths [-]."""

    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        check_size(len(self.nodes))
        shares = np.array([[float(value(x)) for x in node] for node in self.nodes]).reshape(-1, 3)
        edges = np.array(self.edges, dtype=int).reshape(-1, 2) - 1
        faces = np.array(self.faces, dtype=int).reshape(-1, 3) - 1
        for key, listed in (("edges", edges), ("faces", faces)):
            if listed.size and listed.max() >= len(shares):
                hint = f"the mesh has nodes 1 to {len(shares)}"
                raise FileProblem(f"{key} has a node {listed.max() + 1} that is not listed", hint)
        lonely = np.setdiff1d(np.arange(len(shares)), edges)
        if len(lonely):
            raise FileProblem(f"node {lonely[0] + 1} has no edge", "remove it, or add an edge")
        alike = np.flatnonzero(edges[:, 0] == edges[:, 1])
        if len(alike):
            raise FileProblem(f"an edge goes from node {edges[alike[0], 0] + 1} to itself", "remove it")
        if len(np.unique(np.sort(edges, axis=1), axis=0)) < len(edges):
            raise FileProblem("an edge is listed twice", "list each edge once")
        return Lattice(shares, edges, faces=faces)

    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        return (value(self.scale),) * 3


class RectangleDrawing(DrawingBase):
    """A rectangular net in the plane z = 0, from the origin along x and y."""

    above_zero = ("rectangle",)

    rectangle: tuple[Length, Length]
    """Lengths along x and y [m]."""
    cells: tuple[Count, Count]
    """Number of cells along x and y; there is one more node along each."""
    diagonals: StrictBool = False
    """Whether the two diagonals of every cell are also edges."""

    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        return grid((int(self.cells[0]), int(self.cells[1]), 0), diagonals=self.diagonals)

    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        return value(self.rectangle[0]), value(self.rectangle[1]), 0.0


class BlockDrawing(DrawingBase):
    """A box of cells, from the origin along x, y and z."""

    above_zero = ("block",)

    block: LengthVector
    """Lengths along x, y and z [m]."""
    cells: tuple[Count, Count, Count]
    """Number of cells along x, y and z; there is one more node along each."""
    diagonals: StrictBool = False
    """Whether the two diagonals of every face of a cell are also edges."""

    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        return grid((int(self.cells[0]), int(self.cells[1]), int(self.cells[2])), diagonals=self.diagonals)

    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        return value(self.block[0]), value(self.block[1]), value(self.block[2])


class WebDrawing(DrawingBase):
    """Spokes and rings around the origin in the plane z = 0; the spokes' outer ends have one edge."""

    above_zero = ("web",)

    example: ClassVar[str] = """\
pliant: 1
meshes:
  web: {type: membrane, drawing: {web: 20 cm, spokes: 12, rings: 6}, mass: 0.1 g, stiffness: 0.02 N, tightness: 0.8}
"""

    web: Length
    """Length of the spokes [m]."""
    spokes: Count
    """Number of spokes."""
    rings: Count
    """Number of rings, at equal distances; the outer ends of the spokes lie beyond the last."""

    def lattice(self, source: Source, value: Callable[[Scalar], float]) -> Lattice:
        spokes, rings = int(self.spokes), int(self.rings)
        if spokes < 3:
            raise FileProblem(f"a web needs three spokes or more, not {spokes}")
        check_size(1 + spokes * (rings + 1))
        angle = 2 * np.pi * np.arange(spokes) / spokes
        radius = np.arange(1, rings + 2) / (rings + 1)
        arm = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
        shares = np.concatenate([np.zeros((1, 3)), (arm[:, None, :] * radius[None, :, None]).reshape(-1, 3)])
        index = 1 + np.arange(spokes * (rings + 1)).reshape(spokes, rings + 1)
        inward = np.column_stack([np.zeros(spokes, dtype=int), index[:, :-1]])
        along = np.stack([inward, index], axis=2).reshape(-1, 2)
        around = np.stack([index[:, :-1], np.roll(index, -1, axis=0)[:, :-1]], axis=2).reshape(-1, 2)
        return Lattice(shares, np.concatenate([along, around]))

    def size(self, value: Evaluate) -> tuple[Any, Any, Any]:
        return (value(self.web),) * 3


MeshDrawing: TypeAlias = Annotated[
    FileDrawing | ListedDrawing | RectangleDrawing | BlockDrawing | WebDrawing, ByKey("drawing of a mesh")
]


def grid(cells: tuple[int, int, int], *, diagonals: bool) -> Lattice:
    """A regular grid of nodes, x fastest, with edges along the axes and, optionally, the diagonals of every face."""
    counts = [c + 1 for c in cells]
    check_size(int(np.prod([float(c) for c in counts])))
    index = np.arange(counts[0] * counts[1] * counts[2]).reshape(counts[2], counts[1], counts[0])
    steps = [np.arange(n) / max(n - 1, 1) for n in counts]
    z, y, x = np.meshgrid(steps[2], steps[1], steps[0], indexing="ij")
    shares = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    ways = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    if diagonals:
        ways += [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    edges = [_pairs(index, way) for way in ways]
    return Lattice(shares, np.concatenate(edges), faces=_outside(index), solid=cells[2] > 0)


def _outside(index: np.ndarray) -> np.ndarray:
    """Triangles of a sheet of nodes, or around a block of them, k x 3; those of a block are oriented outward."""
    if index.shape[0] == 1:
        return _cells(index[0])
    sheets = []
    for axis in range(3):
        first, last = (np.take(index, k, axis=axis) for k in (0, -1))
        sheets += [first.T, last] if axis != 1 else [first, last.T]
    return np.concatenate([_cells(sheet) for sheet in sheets])


def _cells(index: np.ndarray) -> np.ndarray:
    """Two triangles for each cell of a sheet of nodes."""
    a, b, c, d = (x.ravel() for x in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _pairs(index: np.ndarray, way: tuple[int, int, int]) -> np.ndarray:
    """All pairs of nodes at an offset of (x, y, z) steps."""
    first, second = [], []
    for step in reversed(way):
        first.append(slice(0, None) if step == 0 else slice(None, -1) if step > 0 else slice(1, None))
        second.append(slice(0, None) if step == 0 else slice(1, None) if step > 0 else slice(None, -1))
    return np.stack([index[tuple(first)].ravel(), index[tuple(second)].ravel()], axis=1)


def check_size(nodes: int) -> None:
    """Reject drawings that would take too long to build."""
    if nodes > limits().elements:
        raise FileProblem(f"the mesh has {nodes} nodes", f"use fewer cells; {most('elements')}")


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
        normal = np.array(UNIT[self.plane] if isinstance(self.plane, str) else [value(x) for x in self.plane])
        normal = normal / np.linalg.norm(normal)
        distance = np.abs((points - [value(x) for x in self.through]) @ normal)
        return np.flatnonzero(distance <= value(self.within) + SLACK * np.ptp(points, axis=0).max())


class NearestSet(NodeSetBase):
    """The nodes nearest to given points."""

    nearest: Annotated[tuple[LengthVector, ...], Field(min_length=1)]
    """The points [m]."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
        places = np.array([[value(x) for x in place] for place in self.nearest])
        nearest = [int(np.argmin(np.linalg.norm(points - place, axis=1))) for place in places]
        if len(set(nearest)) < len(nearest):
            raise FileProblem("two of the points have the same nearest node", "leave one of them out")
        return np.array(nearest)


class NumberedSet(NodeSetBase):
    """Nodes by their numbers, as `pliant show MODEL --mesh` labels them."""

    nodes: Annotated[tuple[Annotated[int, Field(ge=1, strict=True)], ...], Field(min_length=1), OneOrList()]
    """The numbers, from 1 on."""

    def choose(self, points: np.ndarray, value: Value, labels: Labels) -> np.ndarray:
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
        if self.label not in labels:
            known = ", ".join(list(labels)[:12])
            raise FileProblem(
                f"no node has the label '{self.label}'", f"known: {known}" if known else "the drawing has none"
            )
        return labels[self.label]


NodeSet: TypeAlias = Annotated[BoxSet | PlaneSet | NearestSet | NumberedSet | LabelledSet, ByKey("set of nodes")]
