"""A net in a flat picture: far edges pale and near ones dark, behind or in front of the bodies, with few drawing calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.view.camera import Camera
from pliant.view.colours import INK, PALE, SOFT, darker, lighter, rgb
from pliant.view.marks import MeshMark

VECTORS_UP_TO = 2000
"""Number of edges above which nets are drawn as dots instead of lines in .svg and .pdf files, which would be too large."""
HELD_UP_TO = 1000
"""Number of fixed nodes above which they are not marked individually."""

Paint = Callable[[Any, float], None]


def net_paints(mesh: MeshMark, camera: Camera, depths: np.ndarray) -> Iterator[tuple[int, Paint]]:
    """Functions that draw parts of a net on axes, each with the number of bodies behind it.

    depths: of the bodies, in ascending order [m].
    """
    points = camera.project(mesh.nodes)
    near = mesh.nodes @ camera.toward
    depth = near[mesh.edges].mean(axis=1)
    order = np.argsort(depth, kind="stable")
    rank = np.searchsorted(depths, depth)
    width = float(np.clip(12 / np.sqrt(len(points)), 0.4, 1.6))
    colours, widths = _shades(depth, float(np.ptp(mesh.nodes, axis=0).max())), np.full(len(depth), width)
    colours[mesh.slack], widths[mesh.slack] = rgb(PALE), 0.6 * width
    dots = len(depth) > VECTORS_UP_TO
    for behind in np.unique(rank):
        yield int(behind), _edges(points, mesh.edges, order[rank[order] == behind], colours, widths, dots)
    held = mesh.held if len(mesh.held) <= HELD_UP_TO else mesh.held[:0]
    for behind in np.unique(np.searchsorted(depths, near[held])):
        chosen = held[np.searchsorted(depths, near[held]) == behind]
        yield int(behind), _squares(points[chosen], 2.0 + 1.6 * width)


def _shades(depth: np.ndarray, size: float) -> np.ndarray:
    """Colours of edges (m x 3) by depth [m], from pale to dark; a net shown face-on is dark."""
    reach = float(np.ptp(depth))
    share = np.ones(len(depth)) if reach < 1e-3 * size else (depth - depth.min()) / reach
    far, close = np.array(rgb(lighter(SOFT, 0.45))), np.array(rgb(darker(SOFT)))
    return np.asarray(far + share[:, None] * (close - far))


def _edges(
    points: np.ndarray, edges: np.ndarray, chosen: np.ndarray, colours: np.ndarray, widths: np.ndarray, dots: bool
) -> Paint:
    def paint(ax: Any, zorder: float) -> None:
        from matplotlib.collections import LineCollection

        style = {"colors": colours[chosen], "linewidths": widths[chosen], "capstyle": "round"}
        ax.add_collection(LineCollection(points[edges[chosen]], zorder=zorder, rasterized=dots, **style))

    return paint


def _squares(points: np.ndarray, wide: float) -> Paint:
    def paint(ax: Any, zorder: float) -> None:
        ax.plot(*points.T, linestyle="none", marker="s", markersize=wide, color=INK, markeredgewidth=0, zorder=zorder)

    return paint
