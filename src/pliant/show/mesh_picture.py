"""The labelled picture of a robot's meshes: nodes with their numbers, sets of nodes, and supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.language.environment import Environment
from pliant.robot.flattening import flatten
from pliant.show.camera import Camera, choose_camera
from pliant.show.colours import AXES

if TYPE_CHECKING:
    from pliant.parts.mesh import MeshBase
    from pliant.robot.robot import RobotSpec

NUMBERS_UP_TO = 400
"""Nodes of larger meshes are not numbered one by one, but those of their sets are."""
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "so^vD<"
OF_FILES = ("lines", "merged", "repeated", "short", "orphans", "pieces", "ignored", "unit")
"""Columns of the table for a mesh that was read from a file."""


def mesh_rows(spec: RobotSpec) -> list[dict[str, Any]]:
    """The contents, one row per mesh."""
    rows = []
    for name, mesh in flatten(spec).meshes.items():
        lattice, read = mesh.lattice, mesh.lattice.wireframe
        rows.append(
            {
                "mesh": name,
                "type": mesh.type,
                "nodes": len(lattice.shares),
                "edges": len(lattice.edges),
                "held": len(mesh.held_nodes),
                "sets": {key: len(members) for key, members in mesh.members.items()},
                "held_by": dict(mesh.holders),
                **{key: getattr(read, key) if read else None for key in OF_FILES},
                "unit_assumed": read.assumed if read else None,
            }
        )
    return rows


def draw_meshes(spec: RobotSpec) -> Any:
    """A figure with one panel per mesh, in the axes of the drawing."""
    import matplotlib.pyplot as plt

    flat = flatten(spec)
    if not flat.meshes:
        raise ValueError("the robot has no meshes")
    figure, axes = plt.subplots(1, len(flat.meshes), figsize=(7.2 * len(flat.meshes), 7.2), squeeze=False)
    for ax, (name, mesh) in zip(axes[0], flat.meshes.items(), strict=True):
        _panel(ax, name, mesh, _places(flat, mesh))
    figure.tight_layout()
    return figure


def _places(flat: RobotSpec, mesh: MeshBase) -> np.ndarray:
    size = np.array([float(x) for x in mesh.drawing.size(Environment(flat).value)])
    return np.asarray(mesh.lattice.shares * size)


def _panel(ax: Any, name: str, mesh: MeshBase, places: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    camera = choose_camera(places, (), (), np.array([0.0, 0.0, -1.0]))
    points = camera.project(places)
    ax.add_collection(LineCollection(points[mesh.lattice.edges], colors="0.55", linewidths=1.0, zorder=1))
    ax.scatter(*points.T, s=6, color="0.25", zorder=2)
    sets = {key: members for key, members in mesh.members.items() if key != "all" and len(members)}
    for k, (key, members) in enumerate(sets.items()):
        where = f", held by {mesh.holders[key]}" if key in mesh.holders else ""
        ax.scatter(
            *points[members].T, s=90 + 40 * k, facecolors="none", edgecolors=COLOURS[k % len(COLOURS)], linewidths=1.6,
            marker=MARKERS[k % len(MARKERS)], zorder=3, label=f"{key} ({len(members)}{where})",
        )  # fmt: skip
    shown = range(len(points)) if len(points) <= NUMBERS_UP_TO else sorted({int(i) for m in sets.values() for i in m})
    small = 9.0 if len(points) <= 60 else 6.0
    for i in shown:
        ax.annotate(f"{i + 1}", points[i], (3, 3), textcoords="offset points", fontsize=small, zorder=4)
    _compass(ax, camera, points)
    ax.autoscale()
    ax.margins(0.15, 0.05)
    ax.set_aspect("equal")
    ax.set_axis_off()
    span = places.max(axis=0) - places.min(axis=0)
    size = " x ".join(f"{1e3 * x:.4g}" for x in span if x > 0)
    ax.set_title(f"{name}: {len(points)} nodes, {len(mesh.lattice.edges)} edges, {size} mm", fontsize=11)
    if sets:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=min(3, len(sets)), frameon=False, fontsize=9)


def _compass(ax: Any, camera: Camera, points: np.ndarray) -> None:
    """The drawing's axes beside its lower left corner: sets are defined by positions in them."""
    low, high = points.min(axis=0), points.max(axis=0)
    length = 0.08 * float(np.max(high - low))
    arms = length * camera.project(np.eye(3))
    start = low - 1.5 * np.maximum(arms.max(axis=0), 0.3 * length)
    for letter, arm, colour in zip("xyz", arms, AXES, strict=True):
        if np.linalg.norm(arm) > 0.05 * length:
            ax.plot(*np.stack([start, start + arm]).T, color=colour, linewidth=1.5)
            ax.text(*(start + 1.3 * arm), letter, color=colour, fontsize=9, ha="center", va="center")
