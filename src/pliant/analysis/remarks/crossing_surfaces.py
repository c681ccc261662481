"""Surfaces that overlap: parts that were placed inside each other, more deeply than their contacts show.

Contacts are local minima of the distance, at vertices and crossing edges (`runtime/contact_search.c`, `contact_faces.c`). A bar
through a box has neither: its ends are outside, and its edges are far from those of the box. Axes that intersect have no direction
in which they separate. Such surfaces have no contact force, or one for a smaller depth, and stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pliant.analysis.remark import Words, remark
from pliant.engine.binding import Binding
from pliant.engine.contacts import contacts_at
from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration
from pliant.parts.assembly.contact_shapes import ContactShape

HARMLESS = 1e-6
"""Depths up to this fraction of the robot's size are ignored."""
DEEPER = 2.0
"""Ratio of the depth of surfaces and that of their contacts, from which contacts miss something."""
ALONG = np.linspace(0.0, 1.0, 11)
"""Points of an edge that are examined."""
MOST_POINTS = 2_000
"""Maximum number of points of a surface that are examined; of fine meshes every second, third, ... one."""
SHOWN, MOST_OVERLAPS = 3, 5
"""Number of pairs that the remarks name."""


@dataclass(frozen=True)
class _Placed:
    """A shape in the world: vertices (n x 3) [m], their radii [m], and the box around it (2 x 3)."""

    shape: ContactShape
    vertices: np.ndarray
    radii: np.ndarray
    box: np.ndarray

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices, their centre, and points on edges and in triangles (n x 3), and their radii."""
        both = np.column_stack([self.vertices, self.radii])
        edges = {pair for item in self.shape.items for pair in combinations(sorted(item), 2)}
        faces = [item for item in self.shape.items if len(item) == 3]
        found = [both]
        if edges:
            a, b = np.array(sorted(edges)).T
            found += [(1 - s) * both[a] + s * both[b] for s in ALONG[1:-1]]
        if faces:
            found += [both[np.array(faces)].mean(axis=1), both.mean(axis=0, keepdims=True)]
        rows = np.concatenate(found[::-1])
        rows = rows[:: 1 + len(rows) // MOST_POINTS]
        return rows[:, :3], rows[:, 3]

    @property
    def segments(self) -> np.ndarray:
        """Pairs of vertices of a chain; a single vertex twice."""
        return np.array([(item[0], item[-1]) for item in self.shape.items])

    @property
    def triangles(self) -> np.ndarray:
        """Corners of its triangles, n x 3 x 3."""
        return np.asarray(self.vertices[np.array([item for item in self.shape.items if len(item) == 3], dtype=int)])


@remark("contacts press in the initial state of the model", "parts that are placed inside each other are pushed apart")
def overlapping_start(eqs: Equations, result: Any) -> Words:
    """Parts overlap in the initial state of the model; the deepest first."""
    bound, t, q = result.examined.pose
    if not result.record.start.as_placed or not bound.system.contacts.laws:
        return None
    contacts = contacts_at(bound, t, q, np.zeros(bound.nv))
    deepest: dict[tuple[str, str], float] = {}
    harmless = HARMLESS * bound.sizes(q)[0]
    for pair, gap in zip(contacts.pairs, contacts.gap, strict=True):
        if -gap > max(harmless, deepest.get(pair, 0.0)):
            deepest[pair] = float(-gap)
    if not deepest:
        return None
    order = sorted(deepest, key=lambda pair: -deepest[pair])
    said = [
        f"{a} and {b} by {deepest[a, b]:.3g} m" if a != b else f"{a} with itself by {deepest[a, b]:.3g} m"
        for a, b in order
    ]
    return f"parts overlap at the start and push each other apart: {enumeration(said, MOST_OVERLAPS, 'pairs')}"


@remark(
    f"surfaces overlap by more than {DEEPER:g} times the depth of their contacts",
    "contacts are local minima of the distance: no contact force separates these surfaces",
)
def overlapping_parts(eqs: Equations, result: Any) -> Words:
    """Parts that were placed inside each other, much more deeply than their contacts; the deepest first."""
    bound, t, q = result.examined.pose
    if not bound.system.contacts.laws:
        return None
    contacts = contacts_at(bound, t, q, np.zeros(bound.nv))
    pressed: dict[frozenset[str], float] = {}
    for pair, gap in zip(contacts.pairs, contacts.gap, strict=True):
        pressed[frozenset(pair)] = max(pressed.get(frozenset(pair), 0.0), -float(gap))
    harmless = HARMLESS * bound.sizes(q)[0]
    missed: dict[tuple[str, str], tuple[float, float]] = {}
    for a, b in _close_pairs(bound, q):
        pair = (a.shape.name, b.shape.name)
        deep, known = _depth(a, b), pressed.get(frozenset(pair), 0.0)
        if deep > DEEPER * known + harmless and deep > missed.get(pair, (0.0, 0.0))[0]:
            missed[pair] = deep, known
    if not missed:
        return None
    order = sorted(missed, key=lambda pair: -missed[pair][0])
    said = [f"{a} and {b} by {missed[a, b][0]:.2g} m (contacts: {missed[a, b][1]:.2g} m)" for a, b in order]
    return (
        "parts overlap more deeply than their contacts, so the forces that separate them are missing or too small: "
        f"{enumeration(said, SHOWN, 'pairs')}; move them apart"
    )


def _close_pairs(bound: Binding, q: np.ndarray) -> Iterator[tuple[_Placed, _Placed]]:
    """Pairs of shapes with a law whose boxes overlap; half spaces have contacts at any depth."""
    system = bound.system.contacts
    group, law = system.groups()
    shapes = [k for k, shape in enumerate(system.shapes) if shape.form != "plane" and shape.items]
    rotations, places = bound.node_poses(q)
    placed = {k: _placed(bound, system.shapes[k], rotations, places) for k in shapes}
    low, high = (np.array([placed[k].box[side] for k in shapes]).reshape(-1, 3) for side in (0, 1))
    for i, a in enumerate(shapes):
        near = np.all((low[i] < high[i + 1 :]) & (low[i + 1 :] < high[i]), axis=1)
        for j in np.flatnonzero(near):
            b = shapes[i + 1 + int(j)]
            first, second = system.shapes[a], system.shapes[b]
            if law[group[a]][group[b]] < 0 or (a, b) in system.excluded or first.node == second.node >= 0:
                continue
            yield placed[a], placed[b]


def _placed(bound: Binding, shape: ContactShape, rotations: np.ndarray, places: np.ndarray) -> _Placed:
    nodes = np.array([x.node for x in shape.vertices])
    numbers = bound.constants[np.array([x.constants for x in shape.vertices])[:, None] + np.arange(4)]
    vertices = np.einsum("nij,nj->ni", rotations[nodes], numbers[:, :3]) + places[nodes]
    radii = numbers[:, 3]
    box = np.array([(vertices - radii[:, None]).min(axis=0), (vertices + radii[:, None]).max(axis=0)])
    return _Placed(shape, vertices, radii, box)


def _depth(a: _Placed, b: _Placed) -> float:
    """How deep two shapes are in each other [m]: the deepest point of one in the other; of chains, the overlap of their radii."""
    if a.shape.form != "faces" and b.shape.form != "faces":
        return _depth_of_chains(a, b)
    found = [
        _depth_inside(*(x.points()), y.triangles, float(y.radii.min()), y.box)
        for x, y in ((a, b), (b, a))
        if y.shape.closed and y.shape.form == "faces"
    ]
    return max(found, default=0.0)


def _depth_inside(
    points: np.ndarray, radii: np.ndarray, triangles: np.ndarray, rounding: float, box: np.ndarray
) -> float:
    """The largest depth of points with radii within a solid [m]."""
    near = np.all((points > box[0]) & (points < box[1]), axis=1)
    points, radii = points[near], radii[near]
    inside = np.array([_winding(x, triangles) > 0.5 for x in points], dtype=bool)
    depths = [_distance(x, triangles) + r + rounding for x, r in zip(points[inside], radii[inside], strict=True)]
    return float(max(depths, default=0.0))


def _winding(x: np.ndarray, triangles: np.ndarray) -> float:
    """Number of times that triangles enclose a point: the sum of their solid angles (van Oosterom and Strackee 1983) / 4 pi."""
    r = triangles - x
    size = np.linalg.norm(r, axis=2)
    a, b, c = r[:, 0], r[:, 1], r[:, 2]
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = size.prod(axis=1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        below = below + np.einsum("ij,ij->i", r[:, i], r[:, j]) * size[:, k]
    return float(abs(np.arctan2(above, below).sum()) / (2 * np.pi))


def _distance(x: np.ndarray, triangles: np.ndarray) -> float:
    """Distance of a point from the closest of some triangles [m]."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normals = np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", normals, normals)
    height = np.einsum("ij,ij->i", x - a, normals)
    within = square > 0
    distances = [np.full(len(a), np.inf)]
    for p, r in ((a, b), (b, c), (c, a)):
        edge, to = r - p, x - p
        within &= np.einsum("ij,ij->i", np.cross(edge, to), normals) >= 0
        length = np.einsum("ij,ij->i", edge, edge)
        s = np.clip(np.einsum("ij,ij->i", to, edge) / np.where(length > 0, length, 1.0), 0, 1)
        distances.append(np.linalg.norm(to - s[:, None] * edge, axis=1))
    flat = np.abs(height) / np.sqrt(np.where(square > 0, square, 1.0))
    return float(min(np.min(distances), np.min(np.where(within, flat, np.inf))))


def _depth_of_chains(a: _Placed, b: _Placed) -> float:
    """The largest overlap of two chains of edges with radii [m], with points of one and edges of the other."""
    deepest = 0.0
    for x, y in ((a, b), (b, a)):
        points, radii = x.points()
        p, r = (y.vertices[y.segments[:, k]] for k in (0, 1))
        rp, rr = (y.radii[y.segments[:, k]] for k in (0, 1))
        edge = r - p
        length = np.einsum("ij,ij->i", edge, edge)
        for point, radius in zip(points, radii, strict=True):
            s = np.clip(np.einsum("ij,ij->i", point - p, edge) / np.where(length > 0, length, 1.0), 0, 1)
            distance = np.linalg.norm(point - p - s[:, None] * edge, axis=1)
            deepest = max(deepest, float(np.max(radius + (1 - s) * rp + s * rr - distance)))
    return deepest
