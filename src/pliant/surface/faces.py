"""Collision shapes of triangulated surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.geometry.se3 import Pose
from pliant.surface.base import Corner, add_shape
from pliant.surface.triangles import Triangles

if TYPE_CHECKING:
    from pliant.model.build import Build


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
