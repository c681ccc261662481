"""The shape of a soft rod: a smooth curve through the nodes of its model, with its radius along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.equations import Equations
from pliant.engine.model.system import PLACEMENT_SIZE, Element
from pliant.parts.motion import Motion


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


LAYOUT = CurveLayout()

Pose = tuple[np.ndarray, np.ndarray]


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
    eqs: Equations,
    name: str,
    rod: Any,
    poses: Mapping[str, Pose],
    nodes: tuple[np.ndarray, np.ndarray],
    value: Callable[[Any], float],
    q: np.ndarray,
    theta: np.ndarray,
    chosen: ChosenPlaces,
) -> RodCurve:
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
    constants[0] = place.share
    return _pose_function(node.motion)(q[element.q_at : element.q_at + element.q_size], constants)


def _arc_shares(arcs: int) -> np.ndarray:
    """Fractions of each arc of a rod at which its curve has points, between the arc's ends."""
    count = max(4, LAYOUT.arc_places // arcs)
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
    return int(np.clip(np.ceil(LAYOUT.points / (places - 1)), LAYOUT.coarsest, LAYOUT.finest))


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
