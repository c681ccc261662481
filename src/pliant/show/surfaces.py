"""Contact surfaces: infinite planes and cylinders are shown as far as the robot extends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.parts.surface.triangles import Triangles
from pliant.show import outlines
from pliant.show.camera import Camera


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
