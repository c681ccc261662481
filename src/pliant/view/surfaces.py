"""Surfaces of contacts: endless planes and cylinders are shown as far as the robot reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pliant.view import outlines
from pliant.view.camera import Camera

FAR = 10.0
"""Surfaces farther from the robot than this many times its size do not make the picture larger."""
MARGIN = 0.65
"""Half the length of the piece that is shown of an endless surface, as a share of what it is shown with."""

SurfaceForm = Literal["plane", "cylinder", "capsule"]


@dataclass(frozen=True)
class SurfaceMark:
    """The surface of a contact, of which planes and cylinders have no end.

    Attributes:
        name: the contact's name.
        form: what it is.
        place: a point of the plane, or of the axis; the middle of a capsule [m].
        axis: the plane's normal, or the direction of the axis.
        radius: of cylinders and capsules [m]; half_length: of a capsule's axis [m].
        moves: whether it is fixed to something other than the world.
    """

    name: str
    form: SurfaceForm
    place: np.ndarray
    axis: np.ndarray
    radius: float = 0.0
    half_length: float = 0.0
    moves: bool = False


def sides(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across a direction and each other; along the world's axes where that can be."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, helper)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def middle(surface: SurfaceMark, center: np.ndarray) -> np.ndarray:
    """The place of a surface that is shown [m]: its own on what moves, and on the world the one nearest to `center`."""
    if surface.moves or surface.form == "capsule":
        return surface.place
    along = float(surface.axis @ (center - surface.place)) * surface.axis
    return np.asarray(center - along if surface.form == "plane" else surface.place + along)


def axis_ends(surface: SurfaceMark, center: np.ndarray, size: float) -> np.ndarray:
    """Ends of the axis of a cylinder or capsule that is shown, 2 x 3 [m]."""
    half = surface.half_length if surface.form == "capsule" else MARGIN * size
    place = middle(surface, center)
    return np.stack([place - half * surface.axis, place + half * surface.axis])


def reached(surface: SurfaceMark, points: np.ndarray) -> np.ndarray:
    """Points of a surface that belong in the picture beside others (n x 3) [m]."""
    low, high = points.min(axis=0), points.max(axis=0)
    center, size = 0.5 * (low + high), float(np.max(high - low))
    place = middle(surface, center)
    reach = surface.radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    if surface.form == "capsule":
        half = surface.half_length * surface.axis
        return np.concatenate([place - half + reach, place + half + reach])
    near = np.linalg.norm(place - center) < FAR * size
    across = reach - np.outer(reach @ surface.axis, surface.axis)
    return place + across if near else points[:0]


def silhouette(surface: SurfaceMark, camera: Camera, center: np.ndarray, size: float) -> np.ndarray:
    """Outline of what is shown of a surface on a picture, n x 2 [m]."""
    if surface.form == "plane":
        u, w = MARGIN * size * np.stack(sides(surface.axis))
        corners = middle(surface, center) + np.stack([-u - w, u - w, u + w, w - u])
        return camera.project(corners)
    ends = axis_ends(surface, center, size)
    if surface.form == "capsule":
        start, end = camera.project(ends)
        return outlines.capsule(start, end, surface.radius)
    rings = [camera.project(outlines.ring(end, surface.axis, surface.radius)) for end in ends]
    return outlines.hull(np.concatenate(rings))
