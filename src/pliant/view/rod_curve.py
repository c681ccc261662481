"""The shape of a soft rod: a smooth curve through the nodes of its model, with its radius along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.model.system import PLACEMENT_SIZE
from pliant.motion.base import Motion

if TYPE_CHECKING:
    from pliant.equations.equations import Equations

Pose = tuple[np.ndarray, np.ndarray]
FINEST, COARSEST, POINTS = 12, 1, 60
"""Maximum and minimum number of points between two nodes, and the desired total number."""
ARC_PLACES = 24
"""Points on a rod of circular arcs, computed from its coordinates: two ends do not determine the bending of an arc."""


CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
"""Corners of a rectangular section, relative to its half sizes."""


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
    eqs: Equations,
    name: str,
    rod: Any,
    poses: Mapping[str, Pose],
    nodes: tuple[np.ndarray, np.ndarray],
    value: Callable[[Any], float],
    q: np.ndarray,
    theta: np.ndarray,
) -> RodCurve:
    """The curve of a rod. Its z axis is its tangent, so positions and tangents at the nodes give a smooth curve.

    q, theta: positions and the model's constants that belong to the poses.
    """
    if name in eqs.model.arcs:
        between = _along_arcs(eqs, name, poses[name], nodes, q, theta)
    else:
        between = _between(eqs, name, poses[name][1], nodes)
    places = [poses[name], *between, poses[f"{name}.tip"]]
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


def _along_arcs(
    eqs: Equations, name: str, base: Pose, nodes: tuple[np.ndarray, np.ndarray], q: np.ndarray, theta: np.ndarray
) -> list[Pose]:
    """Poses at equal distances along the circular arcs of a rod, the end of each included."""
    system, arcs = eqs.model.system, eqs.model.arcs[name]
    count = max(4, ARC_PLACES // len(arcs))
    out: list[Pose] = []
    for arc in arcs:
        node = system.nodes[arc.node]
        assert node is not None, "an arc moves its tip"
        element, at = system.elements[node.element], node.constants + PLACEMENT_SIZE
        constants = np.tile(theta[at : at + node.motion.constants, None], count - 1)
        constants[0] = np.arange(1, count) / count  # fractions of the arc
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


def _between(eqs: Equations, name: str, start: np.ndarray, nodes: tuple[np.ndarray, np.ndarray]) -> list[Pose]:
    """Poses of the rod's nodes in order from base to tip, the order of elements in every rod model."""
    rotations, positions = nodes
    owned = {c.q_at for c in eqs.model.coordinates if c.spec is None and c.name.startswith(f"{name}.")}
    out: list[Pose] = []
    here = start
    for element in eqs.model.system.elements:
        if element.q_at not in owned or not element.q_size:
            continue
        waiting = list(element.nodes)
        while waiting:
            # the nodes of one element are sorted by purpose; along the rod the closest one is next
            distances = [float(np.linalg.norm(positions[node] - here)) for node in waiting]
            node = waiting.pop(int(np.argmin(distances)))
            here = positions[node]
            out.append((rotations[node], here))
    return out


def _smooth(places: list[Pose]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cubic pieces through positions with tangents: points, directions of the x axis, curvature, arc length."""
    kept = [places[0]]
    size = float(np.linalg.norm(np.ptp([position for _, position in places], axis=0)))
    for place in places[1:]:
        if np.linalg.norm(place[1] - kept[-1][1]) > 1e-9 * size:
            kept.append(place)
    if len(kept) == 1:
        kept.append(places[-1])
    R, p = np.stack([rotation for rotation, _ in kept]), np.stack([position for _, position in kept])
    pieces = int(np.clip(np.ceil(POINTS / (len(kept) - 1)), COARSEST, FINEST))
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
