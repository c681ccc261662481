"""Viewpoint: planar robots are shown face-on, others from the side and slightly above."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.message_text import nearest

AZIMUTH, ELEVATION = np.radians(-62.0), np.radians(22.0)
FLAT = 1e-6
"""Relative tolerance for points in one plane."""


View: TypeAlias = str | Sequence[float] | np.ndarray | None
"""Position of the viewer: a keyword, a direction, or None for an automatic view."""

VIEWS = {
    "front": (0.0, -1.0, 0.0),
    "back": (0.0, 1.0, 0.0),
    "left": (-1.0, 0.0, 0.0),
    "right": (1.0, 0.0, 0.0),
    "top": (0.0, 0.0, 1.0),
    "bottom": (0.0, 0.0, -1.0),
    "corner": (1.0, -1.4, 0.8),
}
"""Keywords of views: directions from the robot to the viewer in world axes. From the front, x points right and z up."""


@dataclass(frozen=True)
class Camera:
    """A parallel projection: world directions (unit vectors, 3) to the right, up, and towards the viewer."""

    right: np.ndarray
    up: np.ndarray
    toward: np.ndarray

    def project(self, points: np.ndarray) -> np.ndarray:
        """World points (n x 3, or 3) on the picture (n x 2, or 2) [m]."""
        return np.asarray(points) @ np.stack([self.right, self.up], axis=1)

    def depth(self, point: np.ndarray) -> float:
        """Depth of a point [m]; larger is closer."""
        return float(np.asarray(point) @ self.toward)


def view_direction(view: str | Sequence[float] | np.ndarray) -> np.ndarray:
    """The direction from the robot to the viewer (3), from a keyword, three numbers, or their text (`1,-1,0.5`)."""
    known = f"write {', '.join(VIEWS)}, or a direction such as 1,-1,0.5"
    if isinstance(view, str) and view in VIEWS:
        return np.array(VIEWS[view])
    try:
        given = [float(x) for x in (view.split(",") if isinstance(view, str) else view)]
    except (TypeError, ValueError):
        word = nearest(view, VIEWS) if isinstance(view, str) else None
        raise ArgumentError(f"unknown view {view!r}", f"did you mean '{word}'?" if word else known) from None
    if len(given) != 3 or not np.all(np.isfinite(given)) or not np.any(given):
        raise ArgumentError(f"a view is a direction of three numbers, not {view!r}", known)
    return np.array(given)


def look_from(direction: Sequence[float] | np.ndarray, gravity: np.ndarray) -> Camera:
    """The camera in this direction from the robot, with gravity pointing down if possible."""
    toward = _unit(np.asarray(direction, dtype=float))
    up = _upward(toward, gravity)
    return Camera(np.cross(up, toward), up, toward)


def choose_camera(
    points: np.ndarray, turns: Sequence[np.ndarray], slides: Sequence[np.ndarray], gravity: np.ndarray
) -> Camera:
    """A good view of points (n x 3) that move by turns and slides about and along these world directions."""
    normal = _common_normal(points, turns, slides)
    if normal is None:
        # slides are represented by the positions that they reach
        reach = _spread(points) or 1.0
        reached = [points.mean(axis=0) + reach * axis for axis in slides]
        normal = _plane_normal(np.concatenate([points, *(place[None] for place in reached)]), gravity)
    if normal is None:
        up = -_unit(gravity) if np.linalg.norm(gravity) > 0 else np.array([0.0, 0.0, 1.0])
        ahead = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
        ahead = _unit(ahead - up * (up @ ahead))
        level = np.cos(AZIMUTH) * ahead + np.sin(AZIMUTH) * np.cross(up, ahead)
        return look_from(np.cos(ELEVATION) * level + np.sin(ELEVATION) * up, gravity)
    front = look_from(normal, gravity)
    # of the two sides of a plane, the one from which the first axes of the world point right
    return front if front.right @ np.array([1.0, 0.6, 0.3]) > 0 else look_from(-normal, gravity)


def _common_normal(points: np.ndarray, turns: Sequence[np.ndarray], slides: Sequence[np.ndarray]) -> np.ndarray | None:
    """The common axis of all rotations, if everything also stays in one plane normal to it."""
    if not turns:
        return None
    normal = _unit(turns[0])
    parallel = all(np.linalg.norm(np.cross(normal, axis)) < FLAT for axis in turns)
    across = all(abs(normal @ axis) < FLAT for axis in slides)
    heights = points @ normal
    flat = np.ptp(heights) <= FLAT * max(_spread(points), 1e-300)
    return normal if parallel and across and flat else None


def _plane_normal(points: np.ndarray, gravity: np.ndarray) -> np.ndarray | None:
    """Normal of the plane of all points; for points on a line, of the vertical plane through it."""
    spread = _spread(points)
    if spread == 0:
        return None
    # the triangular factor has the same axes and is small however many points there are
    _, sizes, axes = np.linalg.svd(np.linalg.qr(points - points.mean(axis=0), mode="r"), full_matrices=True)
    sizes = np.append(sizes, np.zeros(3))[:3]
    if sizes[2] > FLAT * sizes[0]:
        return None
    if sizes[1] > FLAT * sizes[0]:
        return np.asarray(axes[2])
    along = axes[0]
    if np.linalg.norm(np.cross(along, gravity)) > 1e-3 * np.linalg.norm(gravity):
        return _unit(np.cross(along, gravity))
    return np.array([0.0, -1.0, 0.0]) if abs(along[1]) < 0.9 else np.array([1.0, 0.0, 0.0])


def _upward(toward: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    for wish in (-gravity, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])):
        up = wish - toward * (toward @ wish)
        if np.linalg.norm(up) > 0.2 * np.linalg.norm(wish) > 0:
            return _unit(up)
    raise AssertionError("one of two world axes is always visible")


def _spread(points: np.ndarray) -> float:
    return float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))
