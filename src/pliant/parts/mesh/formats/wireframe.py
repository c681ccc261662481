"""Wireframes: nodes and edges of a file, with coincident ends merged."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy

from pliant.language.limits import limits, most
from pliant.language.source import FileProblem


@dataclass(frozen=True)
class DrawingLimits:
    """Limits and tolerances of drawings."""

    edges: int = 600_000
    """Largest number of lines."""
    tolerance: float = 1e-6
    """Ends closer than this fraction of the drawing's size are one node, unless a tolerance is given."""
    coordinate: float = 1e9
    """Larger coordinates [m] are rejected: their differences would be lost in round-off."""
    crowded: int = 50
    """Maximum mean number of neighbours within the tolerance; a tolerance with more is rejected."""
    pairs: int = 50_000_000
    """Maximum number of neighbouring pairs of lines that are examined before a drawing is rejected."""
    chunk: int = 500_000
    """Pairs that are examined at a time."""
    parallel: float = 1e-12
    """Lines are parallel, and touch with their ends only, if the squared sine of the angle between them is below
    this."""


LIMITS = DrawingLimits()

ASKEW = np.sqrt([1 / 6, 2 / 6, 3 / 6])
"""A direction in which points of a lattice have different coordinates."""


Corner = TypeVar("Corner", int, float)


@dataclass(frozen=True)
class Drawing:
    """The unprocessed content of a file.

    Attributes:
        points: k x 3, in the file's unit.
        lines: m x 2 indices of points.
        loose: j x 3, isolated points.
        unit: the unit stated in the file ("mm", "inch", ...), empty if none.
        ignored: types of other entities, and the number of each.
        labels: indices of points by their labels in the file: layers, groups, sets.
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
    """Nodes and edges in metres, and a record of how they were derived from the drawing.

    Attributes:
        nodes: n x 3 [m], in the order in which the file first uses them.
        edges: m x 2 indices of nodes, each pair once, in the order of the file.
        unit: the unit used for the file's numbers.
        assumed: whether metres were assumed, because no unit was given.
        lines: number of lines (or sides of faces) in the file.
        merged: number of ends of lines that were merged with an existing node.
        repeated: number of duplicate lines, which are omitted.
        short: number of lines whose two ends are one node, which are omitted.
        orphans: number of nodes (last in `nodes`) without edges.
        tolerance: ends closer than this were merged [m].
        ignored: types of other entities in the file, and the number of each.
        labels: indices of nodes by their labels in the file (layers, groups, sets), each ascending.
        faces: k x 3 indices of nodes, the triangles of the file, or those into which its faces are cut; triangles with two
            corners at the same node are omitted.
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
        """Number of connected components; nodes without edges are not counted."""
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
        raise FileProblem(f"{what} has no lines" + (f" (only {kinds})" if kinds else ""), "export it as a wireframe")
    points = np.concatenate([drawing.points, drawing.loose])
    check_coordinates(points, scale, what)
    points = scale * points
    used = np.unique(drawing.lines.ravel())
    loose = np.setdiff1d(np.arange(len(points)), used)
    # nodes are numbered in the order of the lines, followed by points without lines
    order = np.concatenate([_in_order(drawing.lines.ravel()), loose])
    place = np.empty(len(points), dtype=int)
    place[order] = np.arange(len(order))
    points = points[order]
    if not np.ptp(points, axis=0).any():
        raise FileProblem(f"all points of {what} are the same")
    within = merging(points) if tolerance is None else tolerance
    node_of, firsts = _clusters(points, within, what)
    lines = node_of[place[drawing.lines]]
    short = lines[:, 0] == lines[:, 1]
    kept = lines[~short]
    _, first = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    edges = kept[np.sort(first)]
    if not len(edges):
        raise FileProblem(f"with a tolerance of {within:g} m all lines of {what} vanish", "use a smaller tolerance")
    orphans = len(firsts) - len(np.unique(edges))
    return Wireframe(
        nodes=points[firsts], edges=edges, unit=unit, assumed=assumed, lines=len(drawing.lines),
        merged=len(points) - len(firsts), repeated=len(kept) - len(edges), short=int(short.sum()), orphans=orphans,
        tolerance=within, ignored=drawing.ignored,
        labels={name: np.unique(node_of[place[members]]) for name, members in drawing.labels.items() if len(members)},
        faces=_whole(node_of[place[drawing.faces]]),
    )  # fmt: skip


def _whole(faces: np.ndarray) -> np.ndarray:
    """Triangles with three different corners."""
    different = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return np.asarray(faces[different])


def merging(points: np.ndarray) -> float:
    """Default distance within which ends are merged into one node."""
    return LIMITS.tolerance * float(np.linalg.norm(np.ptp(points, axis=0)))


def check_counts(points: int, lines: int, what: str) -> None:
    """Reject drawings that are too large."""
    if points > 4 * LIMITS.edges or lines > LIMITS.edges:
        raise FileProblem(f"{what} is too large ({lines} lines)", f"at most {LIMITS.edges} lines; use a coarser mesh")


def check_coordinates(points: np.ndarray, scale: float, what: str) -> None:
    """Reject points (n x 3, in units of `scale` metres) with implausible coordinates."""
    with np.errstate(invalid="ignore"):  # infinite times zero
        plausible = np.all(np.abs(points) * min(scale, 1.0) < LIMITS.coordinate / max(scale, 1.0))
    if not plausible:
        raise FileProblem(f"{what} has a coordinate that is not finite, or implausibly large")


def _in_order(values: np.ndarray) -> np.ndarray:
    """Unique values in the order of their first appearance."""
    unique, first = np.unique(values, return_index=True)
    return np.asarray(unique[np.argsort(first)])


def _clusters(points: np.ndarray, tolerance: float, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of every point, numbered by first appearance, and the first point of every cluster."""
    # exact duplicates are one node in any case, and must not increase the number of pairs
    _, representatives, copy_of = np.unique(points, axis=0, return_index=True, return_inverse=True)
    pairs = _near_pairs(points[representatives], tolerance, most=(LIMITS.crowded - 1) * len(representatives) // 2)
    if pairs is None:
        message = f"the tolerance of {tolerance:g} m is larger than the mesh width of {what}"
        raise FileProblem(message, "use a smaller tolerance")
    cluster = _joined(len(representatives), pairs)[copy_of.ravel()]
    unique, first, cluster = np.unique(cluster, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(unique), dtype=int)
    number[order] = np.arange(len(order))
    nodes = len(order)
    if nodes > limits().elements:
        raise FileProblem(f"{what} is too large ({nodes} nodes)", f"use a coarser mesh; {most('elements')}")
    return number[cluster], first[order]


def fan(corners: list[Corner]) -> list[tuple[Corner, Corner, Corner]]:
    """A face as triangles around its first corner."""
    return [(corners[0], b, c) for b, c in pairwise(corners[1:])]


def _near_pairs(points: np.ndarray, tolerance: float, most: int) -> np.ndarray | None:
    """Pairs of points within a tolerance [m] of each other (k x 2); None if there are more than `most`.

    Points that are close in space are close along any line: points are sorted along a line that is neither parallel nor normal to
    lattices, and each is compared with the following ones.
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
    """A label for each of `count` points, equal for points connected by pairs."""
    above = list(range(count))

    def top(point: int) -> int:
        while above[point] != point:
            above[point] = point = above[above[point]]
        return point

    for a, b in pairs.tolist():
        above[top(b)] = top(a)
    return np.array([top(point) for point in range(count)]) if len(pairs) else np.arange(count)


def sides(faces: np.ndarray) -> np.ndarray:
    """Sides of faces (k x corners) as lines, face by face."""
    return np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)


Cuts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Lines (k), fractions of their lengths at which they are split (k), and the points there (k x 3)."""


def split(drawing: Drawing, tolerance: float, what: str) -> Drawing:
    """The drawing with its lines split wherever two of them come closer than the tolerance [unit of the drawing].

    New points have the labels common to both ends of their line.
    """
    ends = drawing.points[drawing.lines]
    found = [_cuts(ends, pair, tolerance) for pair in _neighbours(ends, tolerance, what)]
    line, share, place = (np.concatenate([cuts[k] for cuts in found]) for k in range(3))
    # duplicates, such as from two lines that end in one point, are split once
    order = np.lexsort((share, line))
    line, share, place = line[order], share[order], place[order]
    apart = np.linalg.norm(np.diff(place, axis=0), axis=1) > tolerance
    kept = np.concatenate([[True], (np.diff(line) != 0) | apart])[: len(line)]
    line, place = line[kept], place[kept]
    new = len(drawing.points) + np.arange(len(line))
    # every line as a chain of points: its first end, its cuts, its second end
    count = len(drawing.lines)
    owner = np.concatenate([np.arange(count), line, np.arange(count)])
    rank = np.concatenate([np.zeros(count, int), np.ones(len(line), int), np.full(count, 2)])
    points = np.concatenate([drawing.lines[:, 0], new, drawing.lines[:, 1]])
    order = np.lexsort((points * (rank == 1), rank, owner))
    owner, points = owner[order], points[order]
    within = owner[:-1] == owner[1:]
    lines = np.column_stack([points[:-1], points[1:]])[within]
    labels = {}
    for name, members in drawing.labels.items():
        has = np.zeros(len(drawing.points), dtype=bool)
        has[members] = True
        both = has[drawing.lines].all(axis=1)
        labels[name] = np.concatenate([members, new[both[line]]])
    return replace(drawing, points=np.concatenate([drawing.points, place]), lines=lines, labels=labels)


def _neighbours(ends: np.ndarray, tolerance: float, what: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of lines with overlapping bounding boxes, a chunk at a time; `ends` is m x 2 x 3."""
    low, high = ends.min(axis=1) - tolerance, ends.max(axis=1)
    axis = int(np.argmax(np.ptp(ends.reshape(-1, 3), axis=0) / np.maximum(np.mean(high - low, axis=0), 1e-300)))
    order = np.argsort(low[:, axis], kind="stable")
    low, high = low[order], high[order]
    # the later lines in the order that begin before this one ends
    last = np.searchsorted(low[:, axis], high[:, axis], side="right")
    counts = np.maximum(last - np.arange(len(order)) - 1, 0)
    if counts.sum() > LIMITS.pairs:
        raise FileProblem(
            f"{what} has too many lines to look for crossings", "cut them in the drawing, without `split`"
        )
    begin = 0
    total = np.concatenate([[0], np.cumsum(counts)])
    while begin < len(order):
        end = max(int(np.searchsorted(total, total[begin] + LIMITS.chunk, side="right")) - 1, begin + 1)
        first = np.repeat(np.arange(begin, end), counts[begin:end])
        second = first + 1 + np.arange(len(first)) - (total[first] - total[begin])
        touch = ((low[first] <= high[second]) & (low[second] <= high[first])).all(axis=1)
        yield order[first[touch]], order[second[touch]]
        begin = end


def _cuts(ends: np.ndarray, pair: tuple[np.ndarray, np.ndarray], tolerance: float) -> Cuts:
    """Points at which lines of these pairs are split by each other."""
    found = [_touching(ends, *way, end, tolerance) for way in (pair, pair[::-1]) for end in (0, 1)]
    lines, shares, points = (
        np.concatenate(parts) for parts in zip(*found, *_crossing(ends, *pair, tolerance), strict=True)
    )
    return lines, shares, points


def _touching(ends: np.ndarray, cut: np.ndarray, other: np.ndarray, end: int, tolerance: float) -> Cuts:
    """Lines that contain an end of another, away from their own ends."""
    base, way = ends[cut, 0], ends[cut, 1] - ends[cut, 0]
    point = ends[other, end]
    square = np.maximum((way**2).sum(axis=1), 1e-300)
    share = ((point - base) * way).sum(axis=1) / square
    distance = np.linalg.norm(point - base - share[:, None] * way, axis=1)
    on = (distance <= tolerance) & _inside(share, np.sqrt(square), tolerance)
    return cut[on], share[on], point[on]


def _crossing(ends: np.ndarray, first: np.ndarray, second: np.ndarray, tolerance: float) -> tuple[Cuts, Cuts]:
    """Lines that pass each other closer than the tolerance, away from the ends of both: split half-way between them."""
    p, q = ends[first, 0], ends[second, 0]
    u, v = ends[first, 1] - p, ends[second, 1] - q
    uu, uv, vv = (u * u).sum(axis=1), (u * v).sum(axis=1), (v * v).sum(axis=1)
    uw, vw = (u * (p - q)).sum(axis=1), (v * (p - q)).sum(axis=1)
    determinant = uu * vv - uv**2
    slanted = determinant > LIMITS.parallel * uu * vv
    safe = np.where(slanted, determinant, 1.0)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    a, b = p + s[:, None] * u, q + t[:, None] * v
    on = slanted & (np.linalg.norm(a - b, axis=1) <= tolerance)
    on &= _inside(s, np.sqrt(uu), tolerance) & _inside(t, np.sqrt(vv), tolerance)
    middle = (a[on] + b[on]) / 2
    return (first[on], s[on], middle), (second[on], t[on], middle)


def _inside(share: np.ndarray, length: np.ndarray, tolerance: float) -> np.ndarray:
    """Whether a point on a line is farther than the tolerance from both of its ends."""
    return np.asarray((share * length > tolerance) & ((1 - share) * length > tolerance))
