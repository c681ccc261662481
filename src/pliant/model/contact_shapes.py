"""Shapes that can touch one another, and the laws between them, by index: the part of a system that contacts are found with.

A shape is made of vertices, points fixed to nodes with a radius each, and items that join them: single vertices, edges in a
chain, triangles. Shapes that touch the same others by the same laws form a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ShapeForm = Literal["point", "wire", "faces", "plane"]


@dataclass(frozen=True)
class ContactVertex:
    """A point on a node; `constants` is where its place there (3) [m], radius [m] and share of the stiffness [-] stand."""

    node: int
    constants: int


@dataclass(frozen=True)
class ContactShape:
    """A shape: `items` are tuples of numbers of its own vertices.

    Attributes:
        name: what it is the surface of.
        skip: items of a chain that are nearer to each other than this do not touch.
        normal: where the direction out of a half space stands in the constants; its vertex is a point of the plane.
    """

    name: str
    form: ShapeForm
    vertices: tuple[ContactVertex, ...]
    items: tuple[tuple[int, ...], ...]
    skip: int = 0
    normal: int = 0


@dataclass(frozen=True)
class ContactLaw:
    """Between which shapes it holds: any of the first with any of the second. `constants` is where its numbers stand."""

    name: str
    first: frozenset[int]
    second: frozenset[int]
    constants: int


@dataclass(frozen=True)
class ContactSystem:
    """All shapes, laws (the last one that names a pair holds), and pairs of shapes that never touch."""

    shapes: tuple[ContactShape, ...] = ()
    laws: tuple[ContactLaw, ...] = ()
    excluded: frozenset[tuple[int, int]] = frozenset()

    def groups(self) -> tuple[list[int], list[list[int]]]:
        """The group of each shape, and the law between two groups, or -1."""
        signs = [
            tuple((k in law.first, k in law.second) for law in self.laws) for k in range(len(self.shapes))
        ]
        numbers: dict[tuple[tuple[bool, bool], ...], int] = {}
        group = [numbers.setdefault(sign, len(numbers)) for sign in signs]
        return group, [[_law_between(a, b) for b in numbers] for a in numbers]


def _law_between(a: Sequence[tuple[bool, bool]], b: Sequence[tuple[bool, bool]]) -> int:
    """The last law of which one shape is on one side and the other on the other."""
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

    def add(self, shape: ContactShape) -> int:
        """Add a shape; returns its index."""
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def exclude(self, a: int, b: int) -> None:
        """Two shapes that never touch."""
        self.excluded.add((min(a, b), max(a, b)))

    def law(self, name: str, first: Iterable[int], second: Iterable[int], constants: int) -> None:
        """Add a law between shapes."""
        self.laws.append(ContactLaw(name, frozenset(first), frozenset(second), constants))

    def build(self) -> ContactSystem:
        """Freeze. Shapes that no law names are left out of what is searched, but keep their numbers."""
        return ContactSystem(tuple(self.shapes), tuple(self.laws), frozenset(self.excluded))


def contact_tables(contacts: ContactSystem, forms: Sequence[str]) -> tuple[dict[str, int], dict[str, Any]]:
    """Counts and integer tables of the runtime."""
    group, law = contacts.groups()
    tables: dict[str, list[int]] = {
        name: []
        for name in "vertex_node vertex_theta vertex_shape item_vertex item_shape shape_kind shape_group shape_vertex "
        "shape_item shape_skip shape_theta".split()
    }
    for number, shape in enumerate(contacts.shapes):
        first = len(tables["vertex_node"])
        tables["shape_kind"].append(forms.index(shape.form))
        tables["shape_group"].append(group[number])
        tables["shape_vertex"].append(first)
        tables["shape_item"].append(len(tables["item_shape"]))
        tables["shape_skip"].append(shape.skip)
        tables["shape_theta"].append(shape.normal)
        for vertex in shape.vertices:
            tables["vertex_node"].append(vertex.node)
            tables["vertex_theta"].append(vertex.constants)
            tables["vertex_shape"].append(number)
        for item in shape.items:
            tables["item_shape"].append(number)
            tables["item_vertex"].extend([*(first + k for k in item), -1, -1][:3])
    tables["shape_vertex"].append(len(tables["vertex_node"]))
    tables["shape_item"].append(len(tables["item_shape"]))
    count = len(contacts.shapes)
    tables["group_law"] = [number for row in law for number in row]
    tables["law_theta"] = [entry.constants for entry in contacts.laws]
    tables["excluded"] = sorted(a * count + b for a, b in contacts.excluded)
    counts = {
        "n_vertex": len(tables["vertex_node"]),
        "n_item": len(tables["item_shape"]),
        "n_shape": count if contacts.laws else 0,
        "n_group": len(law),
        "n_law": len(contacts.laws),
        "n_excluded": len(tables["excluded"]),
    }
    return counts, tables
