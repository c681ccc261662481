"""Contact surfaces: their base, and those made of triangles."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import scipy

from pliant.language.names import FrameName, MaterialName
from pliant.language.placement import Placement
from pliant.language.scalar import Repeated
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.contact_shapes import ShapeForm
from pliant.parts.field.hydrodynamics import Hull
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose


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

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        """What a fluid acts on, and its pose on the surface; None if it encloses no volume."""
        return None

    def apply(self, build: Build, name: str) -> None:
        """Add the surface to the system, fixed to its parent."""
        node, pose = build.frame(self.parent)
        build.surfaces[name] = self.shapes(build, name, node, se3.compose(pose, build.placement(self)))


@dataclass(frozen=True)
class TriangleTolerances:
    """Numbers that decide how triangles are used in contacts."""

    smooth: float = 0.02
    """Edges between triangles at less than this angle [rad] are not tested for crossings with other edges."""
    deep: float = 2.0
    """Depth to which vertices in a solid are pushed out, relative to the mean length of its edges; at most half its
    thickness."""
    leaf: int = 4
    """Length of runs that `near_order` does not divide further."""


TRIANGLES = TriangleTolerances()


@dataclass(frozen=True)
class Edges:
    """Ends of edges (e x 2), the smaller index first; the first two triangles at each (e x 2, the same twice if there is only
    one); and the number of triangles at each (e)."""

    ends: np.ndarray
    faces: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Triangles:
    """Points (n x 3) [m] and triangles as indices of points (m x 3), anticlockwise seen from outside."""

    points: np.ndarray
    faces: np.ndarray

    @cached_property
    def normals(self) -> np.ndarray:
        """Unit normals out of the triangles, m x 3."""
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))

    @property
    def areas(self) -> np.ndarray:
        """Areas of the triangles, m [m^2]."""
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2)

    @property
    def volume(self) -> float:
        """Enclosed volume of a closed surface [m^3]; negative if its triangles point inwards."""
        a, b, c = (self.points[self.faces[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)

    @property
    def extents(self) -> np.ndarray:
        """Sizes along the principal axes of the points, the smallest first [m]."""
        centred = self.points - self.points.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2]
        return np.sort(np.ptp(centred @ axes.T, axis=0))

    @cached_property
    def edges(self) -> Edges:
        """All edges of the triangles."""
        sides = np.sort(np.stack([self.faces, np.roll(self.faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        ends, number, counts = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(number.ravel(), kind="stable")
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        faces = order[np.stack([first, np.minimum(first + 1, first + counts - 1)], axis=1)] // 3
        return Edges(ends, faces, counts)

    def smooth_edges(self) -> frozenset[tuple[int, int]]:
        """Edges whose triangles are coplanar or meet at a concave edge."""
        edges, centres = self.edges, self.points[self.faces].mean(axis=1)
        first, second = edges.faces.T
        n, m = self.normals[first], self.normals[second]
        flat = (np.linalg.norm(np.cross(n, m), axis=1) < TRIANGLES.smooth) & (np.einsum("ij,ij->i", n, m) > 0)
        hollow = np.einsum("ij,ij->i", n, centres[second] - centres[first]) > 0
        smooth = edges.ends[(edges.counts == 2) & (flat | hollow)]
        return frozenset((a, b) for a, b in smooth.tolist())

    def depth(self, *, solid: bool = True) -> float:
        """Depth behind the surface up to which vertices are detected [m]; in a solid at most half its thickness."""
        a, b = self.points[self.edges.ends.T]
        deep = TRIANGLES.deep * float(np.linalg.norm(a - b, axis=1).mean())
        return min(deep, float(self.extents[0]) / 2) if solid else deep

    def in_order(self) -> Triangles:
        """Copy with the triangles ordered so that near ones follow each other."""
        return Triangles(self.points, self.faces[near_order(self.points[self.faces].mean(axis=1))])

    def shrunk(self, by: float) -> Triangles:
        """Copy with every point moved inwards so that triangles move by a length [m]; approximate where more than three meet."""
        normals = self.normals
        around: dict[int, list[int]] = defaultdict(list)
        for k, face in enumerate(self.faces.tolist()):
            for point in face:
                around[point].append(k)
        moved = self.points.copy()
        for point, faces in around.items():
            moved[point] += np.linalg.lstsq(normals[faces], np.full(len(faces), -by), rcond=0.05)[0]
        return Triangles(moved, self.faces)


def near_order(places: np.ndarray) -> np.ndarray:
    """Order of positions (n x 3) in which near ones follow each other: halved recursively along the widest axis."""
    done: list[np.ndarray] = []
    waiting = [np.arange(len(places))]
    while waiting:
        run = waiting.pop()
        if len(run) <= TRIANGLES.leaf:
            done.append(run)
            continue
        axis = int(np.argmax(np.ptp(places[run], axis=0)))
        run = run[np.argsort(places[run, axis], kind="stable")]
        # the runtime's trees split runs in the same way
        waiting += [run[len(run) // 2 :], run[: len(run) // 2]]
    return np.concatenate(done) if done else np.zeros(0, dtype=int)


def hull(points: np.ndarray) -> Triangles:
    """The convex hull of points (n x 3); raises scipy.spatial.QhullError if they lie in a plane."""
    found = scipy.spatial.ConvexHull(points)
    faces = found.simplices.copy()
    a, b, c = (points[faces[:, k]] for k in range(3))
    inverted = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    faces[inverted] = faces[inverted][:, ::-1]
    used, numbers = np.unique(faces, return_inverse=True)
    return Triangles(points[used], numbers.reshape(faces.shape))


BOX = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1, 1) for z in (-1, 1)])
"""Corners of a box, relative to half its size."""
BOX_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
"""Its triangles."""


def disc(count: int) -> Triangles:
    """A circle of radius 1 in the plane z = 0 as a polygon, with its centre; it faces along z."""
    angle = 2 * np.pi * np.arange(count) / count
    rim = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    faces = [[count, k, (k + 1) % count] for k in range(count)]
    return Triangles(np.concatenate([rim, np.zeros((1, 3))]), np.array(faces))


@cache
def ball() -> Triangles:
    """A polyhedron near the unit sphere: the corners of an icosahedron, subdivided twice, scaled so that the polyhedron
    deviates equally to the outside and the inside of the sphere."""
    golden = (1 + math.sqrt(5)) / 2
    corners = [(0.0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    points = np.array([np.roll(corner, k) for corner in corners for k in range(3)]) / math.hypot(1, golden)
    for _ in range(2):
        faces = scipy.spatial.ConvexHull(points).simplices
        edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])), axis=0)
        middles = points[edges].sum(axis=1)
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1)[:, None]])
    nearest = -scipy.spatial.ConvexHull(points).equations[:, 3].max()
    return hull(2 / (1 + nearest) * points)


def add_faces(
    build: Build, name: str, node: int, pose: Pose, points: Any, faces: np.ndarray, *, radius: Any = 0.0, closed: bool = True,
    solid: bool = True,
) -> int:  # fmt: skip
    """Add a rigid surface to a node and return the index of its shape.

    points: 3 x n, in the axes of `pose` [m], numbers or expressions. radius: of the ball swept over the triangles [m]. closed:
    whether the back of its triangles is inside. solid: whether it encloses a volume.
    """
    R, p = pose
    placed = R @ points + ca.repmat(p, 1, points.shape[1])
    triangles = Triangles(build.nominals(points).T, faces).in_order()
    corners = [Corner(node, place, radius) for place in matrix_columns(placed)]
    items = [(a, b, c) for a, b, c in triangles.faces.tolist()]
    depth = [triangles.depth(solid=solid)] if closed else []
    return add_shape(
        build, name, "faces", corners, items, constants=depth, closed=closed, smooth=triangles.smooth_edges()
    )


def matrix_columns(matrix: Any) -> list[list[Any]]:
    """Columns of a CasADi matrix as lists of floats or expressions."""
    rows, count = matrix.shape
    if isinstance(matrix, ca.DM):
        return [list(column) for column in np.array(matrix).reshape(rows, count).T.tolist()]
    flat = ca.densify(matrix).elements()
    return [flat[rows * k : rows * (k + 1)] for k in range(count)]


Point = tuple[Any, Any]


def inset(outline: Sequence[Point], by: Any) -> list[Point]:
    """An anticlockwise outline with all its sides moved inwards by a length [m]: numbers or expressions."""
    sides = list(zip(outline, [*outline[1:], outline[0]], strict=True))
    normals = []
    for (ax, ay), (bx, by_) in sides:
        length = ((bx - ax) ** 2 + (by_ - ay) ** 2) ** 0.5
        normals.append(((ay - by_) / length, (bx - ax) / length))
    moved = []
    for (x, y), (nx, ny), (mx, my) in zip(outline, [normals[-1], *normals[:-1]], normals, strict=True):
        factor = by / (1 + nx * mx + ny * my)
        moved.append((x + factor * (nx + mx), y + factor * (ny + my)))
    return moved


def is_clockwise(outline: np.ndarray) -> bool:
    """Whether an outline (n x 2) runs clockwise."""
    x, y = outline.T
    return bool(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0)


def thickness(outline: np.ndarray) -> float:
    """Smallest distance of a corner of an outline (n x 2) from sides that do not end there [m]."""
    count, least = len(outline), np.inf
    for k in range(count):
        for j in range(count):
            a, b = outline[j], outline[(j + 1) % count]
            if k in (j, (j + 1) % count):
                continue
            share = np.clip((outline[k] - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
            least = min(least, float(np.linalg.norm(outline[k] - a - share * (b - a))))
    return least


def filled(outline: np.ndarray) -> list[tuple[int, int, int]]:
    """Triangles of the area in an anticlockwise outline (n x 2), by clipping ears."""
    left, found = list(range(len(outline))), []

    def turn(a: int, b: int, c: int) -> float:
        (px, py), (qx, qy), (rx, ry) = outline[a], outline[b], outline[c]
        return float((qx - px) * (ry - py) - (qy - py) * (rx - px))

    while len(left) > 3:
        ears = []
        for k, b in enumerate(left):
            a, c = left[k - 1], left[(k + 1) % len(left)]
            others = [p for p in left if p not in (a, b, c)]
            inside = any(min(turn(a, b, p), turn(b, c, p), turn(c, a, p)) >= 0 for p in others)
            if not inside:
                ears.append((turn(a, b, c), (a, b, c)))
        _, ear = max(ears)  # the largest: flat ones last
        found.append(ear)
        left.remove(ear[1])
    return [*found, (left[0], left[1], left[2])]


def tube(outline: np.ndarray, sections: int) -> list[tuple[int, int, int]]:
    """Triangles of a closed tube with an anticlockwise outline (n x 2) at each of its sections; the vertices of a section follow
    those of the one before it."""
    count = len(outline)
    ends = filled(outline)
    items = [(a, c, b) for a, b, c in ends]
    for first in range(0, count * (sections - 1), count):
        for j in range(count):
            a, b = first + j, first + (j + 1) % count
            items += [(a, b, b + count), (a, b + count, a + count)]
    last = count * (sections - 1)
    return items + [(a + last, b + last, c + last) for a, b, c in ends]


def tube_smooth_edges(
    outline: np.ndarray, items: Sequence[tuple[int, int, int]], sections: int
) -> frozenset[tuple[int, int]]:
    """Edges of a tube that cannot cross others, however it bends: diagonals, and concave or flat edges along it."""
    count = len(outline)
    heights = np.repeat(np.arange(sections) * np.ptp(outline), count)[:, None]
    straight = Triangles(np.hstack([np.tile(outline, (sections, 1)), heights]), np.array(items))
    inner = range(count, count * (sections - 1))
    return frozenset((a, b) for a, b in straight.smooth_edges() if not (a in inner and a // count == b // count))
