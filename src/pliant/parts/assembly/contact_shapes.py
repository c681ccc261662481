"""Shapes that can touch each other, and the laws between them, by index: the part of a system used for contact detection.

A shape consists of vertices, points fixed to nodes with a radius each, and items that connect them: single vertices, edges in a
chain, triangles. Items that are close to each other should have close numbers: the bounding-box trees of the runtime consist of
runs of items. Shapes that touch the same others by the same laws form a group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

ShapeForm = Literal["point", "wire", "side", "faces", "plane"]
"""Single vertices; edges in a chain; edges in a chain whose ends do not touch; triangles, and edges without triangles; a half
space."""


@dataclass(frozen=True)
class ContactVertex:
    """A point on a node; `constants` is the index of its position (3) [m], radius [m] and fraction of the stiffness [-]."""

    node: int
    constants: int


@dataclass(frozen=True)
class ContactShape:
    """A shape: `items` are tuples of numbers of its own vertices.

    Attributes:
        name: the part whose surface it is.
        skip: items of a chain with a smaller difference of their numbers do not touch.
        corners: number of vertices around each section of a rod with triangles, which are listed section by section;
            0 for other shapes.
        constants: index of the outward direction of a half space (its vertex is a point of the plane), or of the
            depth up to which vertices inside of a closed surface are pushed out.
        closed: whether triangles enclose a solid.
        smooth: edges (pairs of vertices, the smaller number first) that cannot cross others, because their triangles lie in one
        plane or form a concave edge.
    """

    name: str
    form: ShapeForm
    vertices: tuple[ContactVertex, ...]
    items: tuple[tuple[int, ...], ...]
    skip: int = 0
    constants: int = 0
    closed: bool = False
    smooth: frozenset[tuple[int, int]] = frozenset()
    corners: int = 0

    @property
    def node(self) -> int:
        """The node of all its vertices, or -1."""
        nodes = {vertex.node for vertex in self.vertices}
        return nodes.pop() if len(nodes) == 1 else -1


@dataclass(frozen=True)
class ContactLaw:
    """The shapes of a law: any of the first with any of the second. `constants` is the index of its numbers."""

    name: str
    first: frozenset[int]
    second: frozenset[int]
    constants: int


@dataclass(frozen=True)
class ContactSystem:
    """All shapes, laws (the last one for a pair applies), and pairs of shapes that never touch."""

    shapes: tuple[ContactShape, ...] = ()
    laws: tuple[ContactLaw, ...] = ()
    excluded: frozenset[tuple[int, int]] = frozenset()

    def groups(self) -> tuple[list[int], list[list[int]]]:
        """The group of each shape, and the law between two groups, or -1."""
        signs = [tuple((k in law.first, k in law.second) for law in self.laws) for k in range(len(self.shapes))]
        numbers: dict[tuple[tuple[bool, bool], ...], int] = {}
        group = [numbers.setdefault(sign, len(numbers)) for sign in signs]
        return group, [[_law_between(a, b) for b in numbers] for a in numbers]


def _law_between(a: Sequence[tuple[bool, bool]], b: Sequence[tuple[bool, bool]]) -> int:
    """The last law with one shape on each side."""
    found = [
        number
        for number, (of_a, of_b) in enumerate(zip(a, b, strict=True))
        if (of_a[0] and of_b[1]) or (of_a[1] and of_b[0])
    ]
    return found[-1] if found else -1


@dataclass
class ContactBuilder:
    """Collects shapes and laws; `build` freezes them."""

    shapes: list[ContactShape] = field(default_factory=list)
    laws: list[ContactLaw] = field(default_factory=list)
    excluded: set[tuple[int, int]] = field(default_factory=set)

    def add(
        self, name: str, form: ShapeForm, vertices: Iterable[tuple[int, int]], items: Iterable[tuple[int, ...]], *,
        skip: int = 0, constants: int = 0, closed: bool = False, smooth: frozenset[tuple[int, int]] = frozenset(),
        corners: int = 0,
    ) -> int:  # fmt: skip
        """Add a shape, whose vertices are given as node and place of their constants; returns its index."""
        points = tuple(ContactVertex(node, at) for node, at in vertices)
        self.shapes.append(ContactShape(name, form, points, tuple(items), skip, constants, closed, smooth, corners))
        return len(self.shapes) - 1

    def exclude(self, a: int, b: int) -> None:
        """Exclude contacts between two shapes."""
        self.excluded.add((min(a, b), max(a, b)))

    def law(self, name: str, first: Iterable[int], second: Iterable[int], constants: int) -> None:
        """Add a law between shapes."""
        self.laws.append(ContactLaw(name, frozenset(first), frozenset(second), constants))

    def build(self) -> ContactSystem:
        """Freeze. Shapes without laws are excluded from the search, but keep their numbers."""
        return ContactSystem(tuple(self.shapes), tuple(self.laws), frozenset(self.excluded))


def contact_tables(contacts: ContactSystem, forms: Sequence[str]) -> tuple[dict[str, int], dict[str, Any]]:
    """Counts and integer tables of the runtime."""
    group, law = contacts.groups()
    tables: dict[str, list[int]] = {
        name: []
        for name in "vertex_node vertex_theta vertex_shape item_vertex item_shape shape_kind shape_group shape_vertex "
        "shape_item shape_skip shape_corners shape_theta shape_node shape_closed "
        "vertex_item around_begin around item_edge edge_vertex edge_face edge_sharp".split()
    }
    for number, shape in enumerate(contacts.shapes):
        tables["shape_kind"].append(forms.index(shape.form))
        tables["shape_group"].append(group[number])
        tables["shape_vertex"].append(len(tables["vertex_node"]))
        tables["shape_item"].append(len(tables["item_shape"]))
        tables["shape_skip"].append(shape.skip)
        tables["shape_corners"].append(shape.corners)
        tables["shape_theta"].append(shape.constants)
        tables["shape_node"].append(shape.node)
        tables["shape_closed"].append(int(shape.closed))
        _add_items(tables, shape, number)
    tables["shape_vertex"].append(len(tables["vertex_node"]))
    tables["shape_item"].append(len(tables["item_shape"]))
    tables["around_begin"].append(len(tables["around"]))
    count = len(contacts.shapes)
    tables["group_law"] = [number for row in law for number in row]
    tables["law_theta"] = [entry.constants for entry in contacts.laws]
    tables["excluded"] = sorted(a * count + b for a, b in contacts.excluded)
    counts = {
        "n_vertex": len(tables["vertex_node"]),
        "n_item": len(tables["item_shape"]),
        "n_edge": len(tables["edge_sharp"]),
        "n_shape": count if contacts.laws else 0,
        "n_group": len(law),
        "n_law": len(contacts.laws),
        "n_excluded": len(tables["excluded"]),
    }
    return counts, tables


def _add_items(tables: dict[str, list[int]], shape: ContactShape, number: int) -> None:
    """Vertices, items and edges of a shape: the items around each vertex, and on both sides of each edge."""
    first, first_item = len(tables["vertex_node"]), len(tables["item_shape"])
    around: list[list[int]] = [[] for _ in shape.vertices]
    for k, item in enumerate(shape.items, start=first_item):
        tables["item_shape"].append(number)
        tables["item_vertex"].extend([*(first + j for j in item), -1, -1][:3])
        for j in item:
            around[j].append(k)
    for vertex, items in zip(shape.vertices, around, strict=True):
        tables["vertex_node"].append(vertex.node)
        tables["vertex_theta"].append(vertex.constants)
        tables["vertex_shape"].append(number)
        tables["vertex_item"].append(items[0] if items else -1)
        tables["around_begin"].append(len(tables["around"]))
        tables["around"].extend(items if shape.form == "faces" else ())
    if shape.form == "faces":
        _add_edges(tables, shape, first, first_item)
    else:
        tables["item_edge"].extend([-1] * 3 * len(shape.items))


def _add_edges(tables: dict[str, list[int]], shape: ContactShape, first: int, first_item: int) -> None:
    """Edges of triangles, each once; of item k those from vertex 0 to 1, 1 to 2 and 2 to 0."""
    known: dict[tuple[int, int], int] = {}
    for k, item in enumerate(shape.items, start=first_item):
        pairs = (
            [(item[0], item[1]), (item[1], item[2]), (item[2], item[0])] if len(item) == 3 else combinations(item, 2)
        )
        own = []
        for a, b in pairs:
            ends = (min(a, b), max(a, b))
            edge = known.get(ends)
            if edge is None:
                edge = known[ends] = len(tables["edge_sharp"])
                tables["edge_vertex"].extend([first + ends[0], first + ends[1]])
                tables["edge_face"].extend([k, -1])
                tables["edge_sharp"].append(int(ends not in shape.smooth))
            else:
                tables["edge_face"][2 * edge + 1] = k
            own.append(edge)
        tables["item_edge"].extend([*own, -1, -1, -1][:3])
