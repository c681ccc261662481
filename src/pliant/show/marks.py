"""Elements of a scene: solids, soft rods, joints, links, loads and marks, in world coordinates [m]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import casadi as ca
import numpy as np

from pliant.engine.equations import Equations
from pliant.parts.assembly.system import PLACEMENT_SIZE, Element
from pliant.parts.motion import Motion
from pliant.parts.surface.triangles import Triangles
from pliant.show import outlines
from pliant.show.camera import Camera


@dataclass(frozen=True)
class CurveLayout:
    """Numbers of points of a drawn rod."""

    finest: int = 12
    """Maximum number of points between two nodes."""
    coarsest: int = 1
    """Minimum number of points between two nodes."""
    points: int = 60
    """Desired number of points of a rod."""
    arc_places: int = 24
    """Points on a rod of circular arcs, computed from its coordinates: two ends do not determine the bending of an
    arc."""


CURVE = CurveLayout()


CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
"""Corners of a rectangular section, relative to its half sizes."""


@dataclass(frozen=True)
class ChosenPlaces:
    """Places through which the curve of each rod is drawn, the same in all poses of a robot, so that its curves have the same
    number of points.

    Attributes:
        nodes: the nodes of the rod, from base to tip.
        places: indices among base, nodes and tip, of those that differ from the one before.
    """

    nodes: dict[str, list[int]] = field(default_factory=dict)
    places: dict[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RodCurve:
    """A soft rod.

    Attributes:
        name: the rod's name.
        points: along its centre line (n x 3) [m].
        sides: direction of the section's x axis at each point (n x 3).
        half_sizes: half of the section's width and height (along x and y) at each point (n x 2) [m].
        round: whether the section is round.
        bore: radius of the hole along a hollow rod at each point (n) [m]; zero where it is solid.
        curvature: of the centre line at each point (n) [1/m].
        grounded: whether its base is fixed to the world.
        parent: the body or rod that carries its base.
    """

    name: str
    points: np.ndarray
    sides: np.ndarray
    half_sizes: np.ndarray
    round: bool
    bore: np.ndarray
    curvature: np.ndarray
    grounded: bool
    parent: str = ""

    @property
    def tangents(self) -> np.ndarray:
        """Direction of the centre line at each point (n x 3)."""
        along = np.gradient(self.points, axis=0)
        return np.asarray(along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300))

    def section(self, at: int, scale: float = 1.0) -> np.ndarray:
        """Outline of the section at a point (n x 3) [m]; scale: of its size."""
        x = self.sides[at] / max(float(np.linalg.norm(self.sides[at])), 1e-300)
        y = np.cross(self.tangents[at], x)
        turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        corners = np.stack([np.cos(turn), np.sin(turn)], axis=1) if self.round else CORNERS
        return np.asarray(self.points[at] + (scale * corners * self.half_sizes[at]) @ np.stack([x, y]))

    def seen_half_widths(self, project: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Extent of the rod to each side of its centre line on a picture (n) [m]. project: world to picture, linear."""
        along = np.gradient(project(self.points), axis=0)
        length = np.linalg.norm(along, axis=1, keepdims=True)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.maximum(length, 1e-300)
        axes = np.stack([project(self.sides), project(np.cross(self.tangents, self.sides))], axis=1)
        reach = np.abs(np.einsum("ikj,ij->ik", axes, across)) * self.half_sizes
        return np.asarray(np.linalg.norm(reach, axis=1) if self.round else reach.sum(axis=1))


def rod_curve(
    eqs: Equations, name: str, rod: Any, poses: Mapping[str, Pose], nodes: tuple[np.ndarray, np.ndarray],
    value: Callable[[Any], float], q: np.ndarray, theta: np.ndarray, chosen: ChosenPlaces,
) -> RodCurve:  # fmt: skip
    """The curve of a rod. Its z axis is its tangent, so positions and tangents at the nodes give a smooth curve.

    q, theta: positions and the model's constants that belong to the poses. chosen: those of other poses of the robot, empty for
    the first one.
    """
    if name in eqs.model.arcs:
        between = _along_arcs(eqs, name, poses[name], nodes, q, theta)
    else:
        if name not in chosen.nodes:
            chosen.nodes[name] = _nodes_of(eqs, name, theta)
        between = [(nodes[0][node], nodes[1][node]) for node in chosen.nodes[name]]
    places = [poses[name], *between, poses[f"{name}.tip"]]
    if name not in chosen.places:
        chosen.places[name] = _different(np.stack([position for _, position in places]))
    places = [places[k] for k in chosen.places[name]]
    points, sides, curvature, arcs = _smooth(places)
    sizes, bore, is_round = _sizes(eqs.model.spec.sections, rod, arcs / max(arcs[-1], 1e-300), value)
    grounded = rod.parent == "world" or rod.parent.endswith("/world")
    return RodCurve(name, points, sides, sizes, is_round, bore, curvature, grounded, rod.parent.partition(".")[0])


def _sizes(
    sections: Mapping[str, Any], rod: Any, share: np.ndarray, value: Callable[[Any], float]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Half sizes along the section's x and y at fractions of the length (n x 2) [m], radii of the hole, and whether all sections
    are round."""
    table = sections[rod.section[0]].stations_by_arc_length() if len(rod.section) == 1 else ()
    names = [name for _, name in table] or rod.section
    lengths = [value(at) / value(rod.length) for at, _ in table]
    places = np.array(lengths) if table else np.linspace(0, 1, len(names))
    stations = np.array([(*sections[name].half_sizes(value), sections[name].bore(value)) for name in names])
    width, height, bore = (np.interp(share, places, stations[:, k]) for k in range(3))
    return np.stack([width, height], axis=1), bore, all(sections[name].is_round for name in names)


@dataclass(frozen=True)
class RodPlace:
    """A place that the curve of a rod goes through.

    Attributes:
        node: the node that it moves with.
        placement: index among the model's constants of its place on the node, -1 at the node itself.
        share: of the arc that begins there, None at that place itself.
        arc: the node at the end of the arc.
    """

    node: int
    placement: int = -1
    share: float | None = None
    arc: int = 0


def rod_places(eqs: Equations, name: str, chosen: ChosenPlaces) -> list[RodPlace]:
    """The places of a rod's curve, after `rod_curve` has chosen them."""
    base, tip = (
        RodPlace(frame.node, frame.constants) for frame in (eqs.model.frames[x] for x in (name, f"{name}.tip"))
    )
    between = []
    if name in eqs.model.arcs:
        at, arcs = base, eqs.model.arcs[name]
        for arc in arcs:
            between += [RodPlace(at.node, at.placement, share, arc.node) for share in _arc_shares(len(arcs))]
            at = RodPlace(arc.node)
            between.append(at)
    else:
        between = [RodPlace(node) for node in chosen.nodes[name]]
    every = [base, *between, tip]
    return [every[k] for k in chosen.places[name]]


def arc_pose(eqs: Equations, place: RodPlace, q: ca.SX, theta: ca.SX) -> ca.SX:
    """The pose (twelve numbers, rotation by columns) of a place on an arc relative to the arc's base."""
    node = eqs.model.system.nodes[place.arc]
    assert node is not None, "an arc moves its tip"
    element, at = eqs.model.system.elements[node.element], node.constants + PLACEMENT_SIZE
    constants = theta[at : at + node.motion.constants]
    constants[0] = float(place.share or 0.0)
    return _pose_function(node.motion)(q[element.q_at : element.q_at + element.q_size], constants)


def _arc_shares(arcs: int) -> np.ndarray:
    """Fractions of each arc of a rod at which its curve has points, between the arc's ends."""
    count = max(4, CURVE.arc_places // arcs)
    return np.arange(1, count) / count


def _along_arcs(
    eqs: Equations, name: str, base: Pose, nodes: tuple[np.ndarray, np.ndarray], q: np.ndarray, theta: np.ndarray
) -> list[Pose]:
    """Poses at equal distances along the circular arcs of a rod, the end of each included."""
    system, arcs = eqs.model.system, eqs.model.arcs[name]
    shares = _arc_shares(len(arcs))
    out: list[Pose] = []
    for arc in arcs:
        node = system.nodes[arc.node]
        assert node is not None, "an arc moves its tip"
        element, at = system.elements[node.element], node.constants + PLACEMENT_SIZE
        constants = np.tile(theta[at : at + node.motion.constants, None], len(shares))
        constants[0] = shares
        found = _pose_function(node.motion)(q[element.q_at : element.q_at + element.q_size], constants)
        for numbers in np.array(found).T:
            out.append((base[0] @ numbers[:9].reshape(3, 3).T, base[1] + base[0] @ numbers[9:]))
        base = (nodes[0][arc.node], nodes[1][arc.node])
        out.append(base)
    return out


@cache
def _pose_function(motion: Motion) -> ca.Function:
    """Coordinates and constants to the twelve numbers of a pose, rotation by columns."""
    q, c = ca.SX.sym("q", motion.q_size), ca.SX.sym("c", motion.constants)
    R, p = motion.pose(q, c)
    return ca.Function("pose", [q, c], [ca.vertcat(ca.vec(ca.densify(R)), p)])


def _nodes_of(eqs: Equations, name: str, theta: np.ndarray) -> list[int]:
    """The rod's nodes from base to tip, the order of elements in every rod model."""
    owned = {c.q_at for c in eqs.model.coordinates if c.spec is None and c.name.startswith(f"{name}.")}
    elements = (x for x in eqs.model.system.elements if x.q_at in owned and x.q_size)
    return [node for element in elements for node in _in_order(eqs, element, theta)]


def _in_order(eqs: Equations, element: Element, theta: np.ndarray) -> list[int]:
    """The nodes of an element of a rod from base to tip.

    They are listed by purpose, so their order is that of the undeformed element: a bent one may come closer to a later node.
    """
    if len(element.nodes) == 1:
        return list(element.nodes)
    places, here = {}, np.zeros(3)
    for number in element.nodes:
        node = eqs.model.system.nodes[number]
        assert node is not None, "an element moves its nodes"
        at = node.constants + PLACEMENT_SIZE
        numbers = _pose_function(node.motion)(np.zeros(element.q_size), theta[at : at + node.motion.constants])
        places[number] = np.array(numbers).ravel()[9:]
    out = []
    while places:
        closest = min(places, key=lambda number: float(np.linalg.norm(places[number] - here)))
        out.append(closest)
        here = places.pop(closest)
    return out


def _different(places: np.ndarray) -> tuple[int, ...]:
    """Indices of places (n x 3) that differ from the one before; at least two."""
    size = float(np.linalg.norm(np.ptp(places, axis=0)))
    kept = [0]
    for k in range(1, len(places)):
        if np.linalg.norm(places[k] - places[kept[-1]]) > 1e-9 * size:
            kept.append(k)
    return tuple(kept) if len(kept) > 1 else (0, len(places) - 1)


def rod_pieces(places: int) -> int:
    """Number of pieces of the drawn curve between two of its places."""
    return int(np.clip(np.ceil(CURVE.points / (places - 1)), CURVE.coarsest, CURVE.finest))


def _smooth(places: list[Pose]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cubic pieces through positions with tangents: points, directions of the x axis, curvature, arc length."""
    R, p = np.stack([rotation for rotation, _ in places]), np.stack([position for _, position in places])
    pieces = rod_pieces(len(places))
    s = np.linspace(0, 1, pieces + 1)[1:, None]
    chords = np.linalg.norm(np.diff(p, axis=0), axis=1)
    # angles between the tangents of neighbouring nodes, and slopes for which a cubic piece is closest to an arc of that angle
    turned = np.linalg.norm(np.cross(R[:-1, :, 2], R[1:, :, 2]), axis=1)
    angles = np.arctan2(turned, np.einsum("ij,ij->i", R[:-1, :, 2], R[1:, :, 2]))
    lengths = (chords / np.cos(angles / 4) ** 2)[:, None]
    weights = (2 * s**3 - 3 * s**2 + 1, s**3 - 2 * s**2 + s, -2 * s**3 + 3 * s**2, s**3 - s**2)
    corners = (p[:-1], lengths * R[:-1, :, 2], p[1:], lengths * R[1:, :, 2])
    inner = sum(w * x[:, None] for w, x in zip(weights, corners, strict=True))
    curve = np.concatenate([p[:1], np.reshape(inner, (-1, 3))])
    sides = (1 - s) * R[:-1, None, :, 0] + s * R[1:, None, :, 0]
    sides = np.concatenate([R[:1, :, 0], np.reshape(sides, (-1, 3))])
    arcs = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    # the angle per length is the curvature half-way between nodes
    at_nodes = arcs[::pieces]
    curvature = np.interp(arcs, 0.5 * (at_nodes[:-1] + at_nodes[1:]), angles / np.maximum(np.diff(at_nodes), 1e-300))
    return curve, sides, curvature, arcs


@dataclass(frozen=True)
class SurfaceLayout:
    """Which parts of contact surfaces are drawn."""

    far: float = 10.0
    """Surfaces farther from the robot than this many times its size do not make the picture larger."""
    margin: float = 0.65
    """Half the length of the visible piece of an infinite surface, relative to the scene."""
    shown: int = 600
    """Surfaces with more triangles than this are coarsened."""
    sharp: float = 0.6
    """Edges between triangles at more than this angle [rad] are drawn."""


SURFACE_LAYOUT = SurfaceLayout()


SurfaceForm = Literal["plane", "water", "cylinder", "capsule", "faces"]


@dataclass(frozen=True)
class SurfaceMark:
    """A contact surface, or the surface of a fluid. Planes, water, and cylinders without a length, are infinite.

    Attributes:
        name: the surface's name.
        form: its type.
        place: a point of the plane, or of the axis; the middle of other surfaces [m].
        axis: the plane's normal, or the direction of the axis.
        radius: of cylinders and capsules [m]; half_length: of their axis [m], 0 for an infinite cylinder.
        moves: whether it is fixed to a frame other than the world.
        points, faces: of surfaces made of triangles, n x 3 [m] and m x 3.
        owner: the body that carries it.
    """

    name: str
    form: SurfaceForm
    place: np.ndarray
    axis: np.ndarray
    radius: float = 0.0
    half_length: float = 0.0
    moves: bool = False
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))
    owner: str = ""

    @property
    def is_endless(self) -> bool:
        """Whether it is infinite, so that only a piece of it can be shown."""
        return self.is_flat or (self.form == "cylinder" and self.half_length == 0)

    @property
    def is_flat(self) -> bool:
        """Whether it is a plane."""
        return self.form in ("plane", "water")


def sides(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors perpendicular to a direction and to each other; along the world's axes if possible."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, helper)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def middle(surface: SurfaceMark, center: np.ndarray) -> np.ndarray:
    """The point of a surface that is shown [m]: its own, or for infinite surfaces of the world the one nearest to `center`."""
    if surface.moves or not surface.is_endless:
        return surface.place
    along = float(surface.axis @ (center - surface.place)) * surface.axis
    return np.asarray(center - along if surface.is_flat else surface.place + along)


def axis_ends(surface: SurfaceMark, center: np.ndarray, size: float) -> np.ndarray:
    """Ends of the displayed axis of a cylinder or capsule, 2 x 3 [m]."""
    half = SURFACE_LAYOUT.margin * size if surface.is_endless else surface.half_length
    place = middle(surface, center)
    return np.stack([place - half * surface.axis, place + half * surface.axis])


def reached(surface: SurfaceMark, points: np.ndarray) -> np.ndarray:
    """Points of a surface that must be visible on a picture of other points (n x 3) [m]."""
    low, high = points.min(axis=0), points.max(axis=0)
    center, size = 0.5 * (low + high), float(np.max(high - low))
    place = middle(surface, center)
    reach = surface.radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    if surface.form == "faces":
        return surface.points
    if not surface.is_endless:
        half = surface.half_length * surface.axis
        return np.concatenate([place - half + reach, place + half + reach])
    near = np.linalg.norm(place - center) < SURFACE_LAYOUT.far * size
    across = reach - np.outer(reach @ surface.axis, surface.axis)
    return place + across if near else points[:0]


def silhouette(surface: SurfaceMark, camera: Camera, center: np.ndarray, size: float) -> np.ndarray:
    """Outline of the displayed part of a surface on a picture, n x 2 [m]."""
    if surface.is_flat:
        u, w = SURFACE_LAYOUT.margin * size * np.stack(sides(surface.axis))
        corners = middle(surface, center) + np.stack([-u - w, u - w, u + w, w - u])
        return camera.project(corners)
    if surface.form == "faces":
        return outlines.hull(camera.project(surface.points))
    ends = axis_ends(surface, center, size)
    if surface.form == "capsule":
        start, end = camera.project(ends)
        return outlines.capsule(start, end, surface.radius)
    rings = [camera.project(outlines.ring(end, surface.axis, surface.radius)) for end in ends]
    return outlines.hull(np.concatenate(rings))


def edge_lines(surface: SurfaceMark, camera: Camera) -> np.ndarray:
    """Edges of a surface of triangles that a picture shows, k x 2 x 2 [m]: sharp ones, its border, and its contour."""
    solid = Triangles(surface.points, surface.faces)
    edges, normals = solid.edges, solid.normals
    first, second = edges.faces.T
    sharp = np.einsum("ij,ij->i", normals[first], normals[second]) < np.cos(SURFACE_LAYOUT.sharp)
    turned = (normals[first] @ camera.toward) * (normals[second] @ camera.toward) < 0
    shown = edges.ends[sharp | turned | (edges.counts == 1)]
    return np.asarray(camera.project(surface.points)[shown])


def coarser(solid: Triangles) -> Triangles:
    """A surface of no more than `SHOWN` triangles: points in the same cell of a grid are merged."""
    cells = 64
    while len(solid.faces) > SURFACE_LAYOUT.shown and cells > 1:
        low, size = solid.points.min(axis=0), float(np.ptp(solid.points, axis=0).max())
        where = np.minimum((solid.points - low) / size * cells, cells - 1).astype(int)
        _, number, counts = np.unique(where, axis=0, return_inverse=True, return_counts=True)
        number = number.ravel()
        points = np.zeros((len(counts), 3))
        np.add.at(points, number, solid.points)
        faces = number[solid.faces]
        whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
        _, once = np.unique(np.sort(faces[whole], axis=1), axis=0, return_index=True)
        coarse = Triangles(points / counts[:, None], faces[whole][once])
        cells //= 2
        if len(coarse.faces) <= SURFACE_LAYOUT.shown or cells == 1:
            return Triangles(coarse.points, coarse.faces[coarse.areas > 0])
    return solid


def right_triangles(surface: SurfaceMark) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles as right-angled ones, two for each: their right angles (k x 3), axes (k x 3 x 3) and legs (k x 2) [m]."""
    corners = surface.points[surface.faces]
    lengths = np.linalg.norm(corners[:, [2, 0, 1]] - corners[:, [1, 2, 0]], axis=2)
    order = (np.argmax(lengths, axis=1)[:, None] + np.arange(3)) % 3  # the longest side is opposite to the first corner
    top, a, b = np.take_along_axis(corners, order[:, :, None], axis=1).transpose(1, 0, 2)
    base = (b - a) / np.linalg.norm(b - a, axis=1, keepdims=True)
    foot = a + base * np.einsum("ij,ij->i", top - a, base)[:, None]
    up = top - foot
    height = np.linalg.norm(up, axis=1)
    y = up / height[:, None]
    normal = np.cross(base, y)
    right = np.stack([base, y, normal], axis=2)
    left = np.stack([y, -base, normal], axis=2)
    first, second = (np.linalg.norm(end - foot, axis=1) for end in (b, a))
    legs = np.concatenate([np.stack([first, height], axis=1), np.stack([height, second], axis=1)])
    return np.concatenate([foot, foot]), np.concatenate([right, left]), legs


Pose = tuple[np.ndarray, np.ndarray]
SolidForm = Literal["rod", "cylinder", "box", "ball", "ellipsoid", "dot", "none"]


@dataclass(frozen=True)
class Solid:
    """A body. `form` defines the meaning of `points`: two ends of a rod or cylinder, eight corners of a box, one centre,
    three ends of the axes of an ellipsoid.

    `radius` [m] is that of cylinders and balls; `arms` are pairs of points joined by thin lines, for frames and joints
    that the shape does not reach.
    """

    name: str
    form: SolidForm
    points: np.ndarray
    radius: float = 0.0
    arms: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class JointMark:
    """A joint.

    Attributes:
        kind: its type in the language.
        base, place, child: origins of the parent frame, of the joint in it, and of the child [m].
        axis: its (first) axis, if it has one.
        grounded: whether its parent is the world.
        spring: whether one of its coordinates has a spring.
        toward: from the child's origin to its centre of mass [m].
        behind: extent of the child's shape from its origin against the axis [m].
        drive: direction along the axis to the drive of the child, if its motion is prescribed.
        travel: lowest and highest distance of the child from its place along the axis, in the poses that all scenes of the
            robot have in common [m]. Rails and mounts are placed by it, so that they do not move with the child.
    """

    kind: str
    base: np.ndarray
    place: np.ndarray
    child: np.ndarray
    axis: np.ndarray | None
    grounded: bool
    spring: bool
    toward: np.ndarray
    behind: float = 0.0
    drive: np.ndarray | None = None
    travel: tuple[float, float] = (0.0, 0.0)

    def reach(self, direction: np.ndarray) -> float:
        """Furthest distance of the child's shape from the place, along the axis or against it, over the travel [m]; the shape is
        assumed to be symmetric about its centre."""
        assert self.axis is not None
        sign = float(np.sign(direction @ self.axis))
        shape = self.behind if sign < 0 else self.behind + 2 * float(self.toward @ self.axis)
        return max(0.0, *(sign * x for x in self.travel)) + max(0.0, shape)

    def spring_start(self, size: float, seen: float = 1.0) -> np.ndarray:
        """Start of the spring of a slide: the origin of the parent if it lies on the axis outside the travel, else a point behind
        the travel of the child. Further behind only for a child that moves so far beyond its travel that it would cover it.
        size: of the robot [m]; seen: visible part of lengths along the axis."""
        assert self.axis is not None
        way = self.base - self.place
        before, now, (low, high) = float(way @ self.axis), float((self.child - self.place) @ self.axis), self.travel
        on_axis = np.linalg.norm(way - before * self.axis) < 1e-6 * size
        if on_axis and max(low - before, before - high) > max(1e-3 * size, self.behind):
            return self.base
        room = float(np.clip(2 * self.behind, 0.25 * size, 0.75 * size)) / seen
        return np.asarray(self.place + (min(low - room, now - 0.3 * room) - self.behind) * self.axis)


@dataclass(frozen=True)
class LinkMark:
    """A link between two points (2 x 3); `slack` if it is one-sided and carries no load."""

    name: str
    kind: Literal["spring", "line", "beam"]
    ends: np.ndarray
    slack: bool = False


@dataclass(frozen=True)
class TendonMark:
    """A tendon through points (n x 3); `slack` if it carries no load."""

    name: str
    points: np.ndarray
    slack: bool


@dataclass(frozen=True)
class MeshMark:
    """A mesh.

    Attributes:
        name: the mesh's name.
        nodes: n x 3 [m].
        edges: indices of the two nodes of each edge (m x 2).
        held: indices of the nodes that are fixed to frames.
        slack: indices of the edges that can only pull and carry no load.
    """

    name: str
    nodes: np.ndarray
    edges: np.ndarray
    held: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    slack: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))


@dataclass(frozen=True)
class LoadMark:
    """An external load: its point of application [m], its current force [N] and moment [N m], in world axes."""

    name: str
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True)
class MagnetMark:
    """A magnet, a coil or a uniform field.

    Attributes:
        name: its name.
        place: its centre [m].
        direction: that of its moment or of its field, as a unit vector; zero if it has none.
        ring: corners of a coil (n x 3) [m]; none for others.
        is_dipole: whether lines of its field are drawn.
    """

    name: str
    place: np.ndarray
    direction: np.ndarray
    ring: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    is_dipole: bool = False

    def lines(self, size: float) -> list[np.ndarray]:
        """Lines of the field of a dipole, r = R sin^2(angle from its axis), in two planes (n x 3 each); size: of the robot [m]."""
        if not self.is_dipole or not self.direction.any():
            return []
        across = np.cross(self.direction, np.eye(3)[np.argmin(np.abs(self.direction))])
        across /= np.linalg.norm(across)
        angle = np.linspace(0.35, np.pi - 0.35, 25)[:, None]
        sides = [way * x for x in (across, np.cross(self.direction, across)) for way in (1, -1)]
        return [
            self.place + reach * size * np.sin(angle) ** 2 * (np.cos(angle) * self.direction + np.sin(angle) * side)
            for side in sides
            for reach in (0.2, 0.35)
        ]


@dataclass(frozen=True)
class PushMark:
    """The force of a contact [N] on one of its two parts, and its point of application [m]; `key` identifies it while it lasts."""

    key: int
    point: np.ndarray
    force: np.ndarray


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn. `turns` and `slides` are the world directions of the joints' axes; `swept` are points (n x 3) of
    the robot in the poses that all its scenes have in common, none if it has no slides."""

    solids: tuple[Solid, ...]
    rods: tuple[RodCurve, ...]
    joints: tuple[JointMark, ...]
    links: tuple[LinkMark, ...]
    tendons: tuple[TendonMark, ...]
    loads: tuple[LoadMark, ...]
    constraints: tuple[np.ndarray, ...]
    frames: dict[str, Pose]
    gravity: np.ndarray
    turns: tuple[np.ndarray, ...]
    slides: tuple[np.ndarray, ...]
    meshes: tuple[MeshMark, ...] = ()
    surfaces: tuple[SurfaceMark, ...] = ()
    pushes: tuple[PushMark, ...] = ()
    magnets: tuple[MagnetMark, ...] = ()
    swept: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def plane_points(self) -> np.ndarray:
        """Points that have to be in one plane for the mechanism to be planar, for any widths of its bodies (n x 3)."""
        points = self._parts()
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return np.concatenate([points] + [middle(surface, center)[None] for surface in self.surfaces])

    def _parts(self) -> np.ndarray:
        """Points of the robot itself (n x 3)."""
        parts = [s.center[None] for s in self.solids]
        parts += [np.stack([j.place, j.child]) for j in self.joints]
        parts += [r.points for r in self.rods] + [m.ends for m in self.links] + list(self.constraints)
        parts += [m.points for m in self.tendons] + [m.nodes for m in self.meshes]
        parts += [p[None] for _, p in self.frames.values()]
        parts += [m.ring for m in self.magnets]
        return np.concatenate(parts) if parts else np.zeros((1, 3))

    def outline_points(self) -> np.ndarray:
        """Points of everything, bodies with their corners, and the visible parts of surfaces (n x 3)."""
        points = np.concatenate([self._parts()] + [outline(s) for s in self.solids])
        return np.concatenate([points] + [reached(surface, points) for surface in self.surfaces])


MANY_PUSHES = 6
"""Arrows of contact forces are shorter if there are more than this at a time."""


def push_scale(scenes: Sequence[Scene]) -> float:
    """Contact force [N] of the longest arrow: 90 % of the scenes have no larger one. With those of impacts, which are larger, the
    arrows of all others would be too short to be visible. It is larger if there are many contacts, whose arrows would cover the
    robot."""
    touching = [scene.pushes for scene in scenes if scene.pushes]
    strongest = [max(float(np.linalg.norm(push.force)) for push in pushes) for pushes in touching]
    if not strongest:
        return 0.0
    crowd = max(1.0, float(np.median([len(pushes) for pushes in touching])) / MANY_PUSHES)
    return float(np.percentile(strongest, 90)) * crowd


def outline(solid: Solid) -> np.ndarray:
    """Extreme points of a solid (n x 3)."""
    if solid.radius == 0:
        return solid.points
    offsets = solid.radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    return (solid.points[:, None] + offsets).reshape(-1, 3)


def rod_outline(rod: RodCurve) -> np.ndarray:
    """Extreme points of the sections of a rod along the world's axes (n x 3); sections are treated as round."""
    along = np.gradient(rod.points, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    # a disc of radius r across a unit vector u reaches r sqrt(1 - u_x^2) along x
    reach = rod.half_sizes.max(axis=1)[:, None] * np.sqrt(np.maximum(1 - along**2, 0.0))
    return np.concatenate([rod.points - reach, rod.points + reach])
