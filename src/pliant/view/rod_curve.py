"""The shape of a soft rod: a smooth curve through the nodes of its model, with its radius along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pliant.equations.equations import Equations

Pose = tuple[np.ndarray, np.ndarray]
PIECES = 12
"""Points drawn between two nodes."""


@dataclass(frozen=True)
class RodCurve:
    """A rod: points along it (n x 3) and its half-width there (n) [m]; whether its base is fixed to the world."""

    name: str
    points: np.ndarray
    radii: np.ndarray
    grounded: bool


def rod_curve(
    eqs: Equations,
    name: str,
    rod: Any,
    poses: Mapping[str, Pose],
    nodes: tuple[np.ndarray, np.ndarray],
    value: Callable[[Any], float],
) -> RodCurve:
    """The curve of a rod. Its z axis is its tangent, so positions and tangents at the nodes give a smooth curve."""
    places = [poses[name], *_between(eqs, name, poses[name][1], nodes), poses[f"{name}.tip"]]
    points, arcs = _smooth(places)
    stations = [_half_width(eqs.model.spec.sections[section], value) for section in rod.section]
    share = arcs / max(arcs[-1], 1e-12)
    radii = np.interp(share, np.linspace(0, 1, len(stations)), stations) if len(stations) > 1 else None
    grounded = rod.parent == "world" or rod.parent.endswith("/world")
    return RodCurve(name, points, np.full(len(points), stations[0]) if radii is None else radii, grounded)


def _between(eqs: Equations, name: str, start: np.ndarray, nodes: tuple[np.ndarray, np.ndarray]) -> list[Pose]:
    """Poses of the rod's own nodes in order from base to tip; elements stand in that order in every rod model."""
    rotations, positions = nodes
    owned = {c.q_at for c in eqs.model.coordinates if c.spec is None and c.name.startswith(f"{name}.")}
    out: list[Pose] = []
    here = start
    for element in eqs.model.system.elements:
        if element.q_at not in owned:
            continue
        waiting = list(element.nodes)
        while waiting:
            # the nodes of one element come in the order of their purposes; along the rod the nearest one is next
            distances = [float(np.linalg.norm(positions[node] - here)) for node in waiting]
            node = waiting.pop(int(np.argmin(distances)))
            here = positions[node]
            out.append((rotations[node], here))
    return out


def _smooth(places: list[Pose]) -> tuple[np.ndarray, np.ndarray]:
    """Cubic pieces through positions with tangents, and the arc length at each point."""
    kept = [places[0]]
    for place in places[1:]:
        if np.linalg.norm(place[1] - kept[-1][1]) > 1e-9:
            kept.append(place)
    points = [kept[0][1]]
    s = np.linspace(0, 1, PIECES + 1)[1:, None]
    for (R0, p0), (R1, p1) in pairwise(kept):
        chord = float(np.linalg.norm(p1 - p0))
        m0, m1 = chord * R0[:, 2], chord * R1[:, 2]
        h = (2 * s**3 - 3 * s**2 + 1) * p0 + (s**3 - 2 * s**2 + s) * m0
        points.extend(h + (-2 * s**3 + 3 * s**2) * p1 + (s**3 - s**2) * m1)
    curve = np.array(points)
    arcs = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    return curve, arcs


def _half_width(section: Any, value: Callable[[Any], float]) -> float:
    for key, factor in (("radius", 1.0), ("outer_radius", 1.0), ("height", 0.5)):
        if hasattr(section, key):
            return factor * value(getattr(section, key))
    raise ValueError(f"no width is known for a section of kind {type(section).__name__}")
