"""Wireframes: nodes and edges as a file drew them, brought together where ends meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy

from pliant.language.limits import limits, most
from pliant.language.source import FileProblem

MAX_EDGES = 600_000
DEFAULT_TOLERANCE = 1e-6
"""Ends nearer than this share of the drawing's size are one node, unless a tolerance is given."""
LARGEST = 1e9
"""Larger coordinates [m] are rejected: their differences would be lost in rounding."""
CROWDED = 50
"""Neighbours within the tolerance that the average point may have before the tolerance is rejected."""
ASKEW = np.sqrt([1 / 6, 2 / 6, 3 / 6])
"""A direction in which points of a lattice are at different places."""


Corner = TypeVar("Corner", int, float)


class MeshProblem(FileProblem):
    """A mesh file that cannot be used; `hint` says what to do."""


@dataclass(frozen=True)
class Drawing:
    """What a file holds, as it stands there.

    Attributes:
        points: k x 3, in the file's unit.
        lines: m x 2 indices of points.
        loose: j x 3, points drawn by themselves.
        unit: the file's own unit ("mm", "inch", ...), empty where it has none.
        ignored: kinds of things that are no lines, and how many of each.
        labels: indices of points by the names that the file gives them: layers, groups, sets.
        faces: k x 3 indices of points, triangles.
    """

    points: np.ndarray
    lines: np.ndarray
    loose: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    unit: str = ""
    ignored: dict[str, int] = field(default_factory=dict)
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))


@dataclass(frozen=True)
class Wireframe:
    """Nodes and edges in metres, and what was done to the drawing to get them.

    Attributes:
        nodes: n x 3 [m], in the order in which the file first uses them.
        edges: m x 2 indices of nodes, each pair once, in the order of the file.
        unit: what one unit of the file was taken for.
        assumed: whether metres were assumed, because neither the file nor its reader said a unit.
        lines: how many lines (or sides of faces) the file has.
        merged: ends of lines that became part of a node already there.
        repeated: lines drawn more than once; only the first counts.
        short: lines whose two ends are one node; they are left out.
        orphans: nodes (last in `nodes`) that no edge uses.
        tolerance: ends nearer than this were merged [m].
        ignored: kinds of things in the file that are no lines, and how many of each.
        labels: indices of nodes by the names that the file gives them (layers, groups, sets), each in rising order.
        faces: k x 3 indices of nodes, the triangles of the file, or into which its faces are cut; those of which two corners are
            one node are left out.
    """

    nodes: np.ndarray
    edges: np.ndarray
    unit: str
    assumed: bool
    lines: int
    merged: int
    repeated: int
    short: int
    orphans: int
    tolerance: float
    ignored: dict[str, int]
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and largest coordinates, 2 x 3 [m]."""
        return np.array([self.nodes.min(axis=0), self.nodes.max(axis=0)])

    @property
    def degree(self) -> np.ndarray:
        """Number of edges at every node."""
        return np.bincount(self.edges.ravel(), minlength=len(self.nodes))

    @property
    def pieces(self) -> int:
        """Number of parts that no edge joins; nodes without edges do not count."""
        ones = np.ones(len(self.edges))
        graph = scipy.sparse.coo_matrix((ones, (self.edges[:, 0], self.edges[:, 1])), shape=(len(self.nodes),) * 2)
        return int(scipy.sparse.csgraph.connected_components(graph, directed=False)[0]) - self.orphans


def join(
    drawing: Drawing, scale: float, unit: str, tolerance: float | None, what: str, *, assumed: bool = False
) -> Wireframe:
    """The wireframe of a drawing whose unit is `scale` metres; `tolerance` [m] by default a millionth of its size."""
    check_counts(len(drawing.points), len(drawing.lines), what)
    if not len(drawing.lines):
        kinds = ", ".join(f"{count} x {kind}" for kind, count in drawing.ignored.items())
        raise MeshProblem(f"{what} has no lines" + (f" (only {kinds})" if kinds else ""), "export it as a wireframe")
    points = np.concatenate([drawing.points, drawing.loose])
    check_coordinates(points, scale, what)
    points = scale * points
    used = np.unique(drawing.lines.ravel())
    loose = np.setdiff1d(np.arange(len(points)), used)
    # nodes are numbered as the lines come, points without lines after them
    order = np.concatenate([_in_order(drawing.lines.ravel()), loose])
    place = np.empty(len(points), dtype=int)
    place[order] = np.arange(len(order))
    points = points[order]
    if not np.ptp(points, axis=0).any():
        raise MeshProblem(f"all points of {what} are the same")
    within = merging(points) if tolerance is None else tolerance
    node_of, firsts = _clusters(points, within, what)
    lines = node_of[place[drawing.lines]]
    short = lines[:, 0] == lines[:, 1]
    kept = lines[~short]
    _, first = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    edges = kept[np.sort(first)]
    if not len(edges):
        raise MeshProblem(f"with a tolerance of {within:g} m all lines of {what} vanish", "use a smaller tolerance")
    orphans = len(firsts) - len(np.unique(edges))
    return Wireframe(
        nodes=points[firsts],
        edges=edges,
        unit=unit,
        assumed=assumed,
        lines=len(drawing.lines),
        merged=len(points) - len(firsts),
        repeated=len(kept) - len(edges),
        short=int(short.sum()),
        orphans=orphans,
        tolerance=within,
        ignored=drawing.ignored,
        labels={name: np.unique(node_of[place[members]]) for name, members in drawing.labels.items() if len(members)},
        faces=_whole(node_of[place[drawing.faces]]),
    )


def _whole(faces: np.ndarray) -> np.ndarray:
    """Triangles with three different corners."""
    different = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return np.asarray(faces[different])


def merging(points: np.ndarray) -> float:
    """Distance within which ends are one node, where no tolerance is given."""
    return DEFAULT_TOLERANCE * float(np.linalg.norm(np.ptp(points, axis=0)))


def check_counts(points: int, lines: int, what: str) -> None:
    """Reject what is larger than anything the engine is made for."""
    if points > 4 * MAX_EDGES or lines > MAX_EDGES:
        raise MeshProblem(f"{what} is too large ({lines} lines)", f"at most {MAX_EDGES} lines; use a coarser mesh")


def check_coordinates(points: np.ndarray, scale: float, what: str) -> None:
    """Reject points (n x 3, in units of `scale` metres) that are not in any drawing that is meant."""
    with np.errstate(invalid="ignore"):  # infinite times zero
        meant = np.all(np.abs(points) * min(scale, 1.0) < LARGEST / max(scale, 1.0))
    if not meant:
        raise MeshProblem(f"{what} has a coordinate that is not finite, or implausibly large")


def _in_order(values: np.ndarray) -> np.ndarray:
    """Different values in the order of their first appearance."""
    unique, first = np.unique(values, return_index=True)
    return np.asarray(unique[np.argsort(first)])


def _clusters(points: np.ndarray, tolerance: float, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of every point, numbered by first appearance, and the first point of every cluster."""
    # exact copies are one node in any case, and must not make the pairs many
    _, representatives, copy_of = np.unique(points, axis=0, return_index=True, return_inverse=True)
    pairs = _near_pairs(points[representatives], tolerance, most=(CROWDED - 1) * len(representatives) // 2)
    if pairs is None:
        message = f"the tolerance of {tolerance:g} m is larger than the mesh width of {what}"
        raise MeshProblem(message, "use a smaller tolerance")
    cluster = _joined(len(representatives), pairs)[copy_of.ravel()]
    unique, first, cluster = np.unique(cluster, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(unique), dtype=int)
    number[order] = np.arange(len(order))
    nodes = len(order)
    if nodes > limits().elements:
        raise MeshProblem(f"{what} is too large ({nodes} nodes)", f"use a coarser mesh; {most('elements')}")
    return number[cluster], first[order]


def fan(corners: list[Corner]) -> list[tuple[Corner, Corner, Corner]]:
    """A face as triangles around its first corner."""
    return [(corners[0], b, c) for b, c in pairwise(corners[1:])]


def _near_pairs(points: np.ndarray, tolerance: float, most: int) -> np.ndarray | None:
    """Pairs of points within a tolerance [m] of each other (k x 2); None if there are more than `most`.

    What is near in space is near along any line: points are sorted along one that no lattice is parallel or normal to, and each is
    held against those that follow it there.
    """
    along = points @ ASKEW
    order = np.argsort(along)
    along, slack = along[order], tolerance * (1 + 1e-9) + 1e-14 * float(np.abs(points).max(initial=0.0))
    found = [np.zeros((0, 2), dtype=int)]
    for shift in range(1, len(points)):
        near = np.flatnonzero(along[shift:] - along[:-shift] <= slack)
        if not len(near):
            break
        pairs = np.column_stack([order[near], order[near + shift]])
        found.append(pairs[np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1) <= tolerance])
        if sum(map(len, found)) > most:
            return None
    return np.concatenate(found)


def _joined(count: int, pairs: np.ndarray) -> np.ndarray:
    """A label for each of `count` points, the same for points that pairs join."""
    above = list(range(count))

    def top(point: int) -> int:
        while above[point] != point:
            above[point] = point = above[above[point]]
        return point

    for a, b in pairs.tolist():
        above[top(b)] = top(a)
    return np.array([top(point) for point in range(count)]) if len(pairs) else np.arange(count)


def sides(faces: np.ndarray) -> np.ndarray:
    """Sides of faces (k x corners) as lines, each face's in turn."""
    return np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
