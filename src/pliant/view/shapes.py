"""The unit shapes of three-dimensional scenes (see `stage`), as triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

SIDES, ROWS = 16, 10


@dataclass(frozen=True)
class Mesh:
    """Corners (n x 3), outward normals there (n x 3), and triangles of corners (m x 3), seen from outside."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray


@cache
def unit_shape(name: str) -> Mesh:
    """The ball, cylinder, cone, cube or triangle."""
    if name == "cube":
        return _cube()
    if name == "triangle":
        return _triangle()
    if name == "ball":
        angles = np.pi * (np.arange(ROWS + 1) / ROWS - 0.5)
        rings = [(np.cos(a), np.sin(a), np.cos(a), np.sin(a)) for a in angles]
        return _revolved([ring for k in range(ROWS) for ring in (rings[k], rings[k + 1])])
    bottom = [(0.0, -0.5, 0.0, -1.0), (1.0, -0.5, 0.0, -1.0)]
    if name == "cylinder":
        return _revolved([*bottom, (1, -0.5, 1, 0), (1, 0.5, 1, 0), (1, 0.5, 0, 1), (0, 0.5, 0, 1)])
    slope = 1 / np.sqrt(2)
    return _revolved([*bottom, (1, -0.5, slope, slope), (0, 0.5, slope, slope)])


def _revolved(profile: Sequence[tuple[float, float, float, float]]) -> Mesh:
    """Pairs of rings (radius, height, and the normal's parts outward and up) joined by strips, from bottom to top."""
    turn = 2 * np.pi * np.arange(SIDES + 1) / SIDES
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = np.array(profile)
    parts = [
        np.concatenate(
            [r[:, None, None] * around, np.broadcast_to(z[:, None, None], (len(rings), SIDES + 1, 1))], axis=2
        )
        for r, z in ((rings[:, 0], rings[:, 1]), (rings[:, 2], rings[:, 3]))
    ]
    k = np.arange(SIDES)
    strip = np.concatenate(
        [np.stack([k, k + 1, k + SIDES + 2], axis=1), np.stack([k, k + SIDES + 2, k + SIDES + 1], axis=1)]
    )
    faces = np.concatenate([strip + first * (SIDES + 1) for first in range(0, len(rings), 2)])
    return Mesh(parts[0].reshape(-1, 3), parts[1].reshape(-1, 3), faces)


def _cube() -> Mesh:
    vertices: list[np.ndarray] = []
    normals: list[np.ndarray] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = sign * np.eye(3)[axis]
            u = np.eye(3)[(axis + 1) % 3]
            w = np.cross(normal, u)
            first = len(vertices)
            vertices += [0.5 * (normal + a * u + b * w) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [normal] * 4
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(np.array(vertices), np.array(normals), np.array(faces))


def _triangle() -> Mesh:
    """Right-angled at the origin, visible from both sides."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    normals = np.repeat([[0.0, 0, 1], [0, 0, -1]], 3, axis=0)
    return Mesh(np.concatenate([corners, corners]), normals, np.array([[0, 1, 2], [3, 5, 4]]))
