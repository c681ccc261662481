"""Elements of a scene: solids, soft rods, joints, links, loads and marks, in world coordinates [m]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.parts.surface.triangles import Triangles
from pliant.show import outlines
from pliant.show.camera import Camera
from pliant.show.rod_curve import RodCurve


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


SurfaceForm = Literal["plane", "cylinder", "capsule", "faces"]


@dataclass(frozen=True)
class SurfaceMark:
    """A contact surface. Planes, and cylinders without a length, are infinite.

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
        return self.form == "plane" or (self.form == "cylinder" and self.half_length == 0)


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
    return np.asarray(center - along if surface.form == "plane" else surface.place + along)


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
    if surface.form == "plane":
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
SolidForm = Literal["rod", "cylinder", "box", "ball", "dot", "none"]


@dataclass(frozen=True)
class Solid:
    """A body. `form` defines the meaning of `points`: two ends of a rod or cylinder, eight corners of a box, one centre.

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
