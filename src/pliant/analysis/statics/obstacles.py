"""Collision checks of static steps: a step may be long, and must not end on the other side of a surface.

The contacts at the end of a step do not show the surfaces that it passed through. The step is therefore sampled, at distances of a
fraction of the thinnest shape, and shortened if it penetrates a surface more deeply than at its ends.

Where two convex shapes overlap deeply, their surfaces are pushed apart along the shortest ways out, which may be on opposite
sides; such forces can hold a pose that no motion leads to. Convex shapes that only touch have no opposite normals, so steps that
end with them are shortened as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts, contacts_at
from pliant.engine.workspace import EvaluationError
from pliant.parts.assembly.contact_shapes import ContactShape


@dataclass(frozen=True)
class ObstacleSettings:
    """Numbers that decide about collisions within a step."""

    spacing: float = 0.25
    """Distance of samples of a step, relative to the thinnest shape, so that four samples see it."""
    tolerated: float = 0.1
    """Additional penetration allowed within a step, relative to the thinnest shape."""
    samples: int = 300
    """Maximum number of samples of a step."""
    thickness: float = 1e-4
    """Minimum thickness that is assumed for shapes, relative to the robot's size; thinner ones would take too many samples."""
    bulge: float = 0.5
    """Maximum deviation of the path of a vertex from a straight line, relative to its length: that of a half circle is 1/2 of its
    chord."""
    opposite: float = -0.5
    """Normals of a pair whose product is below this point to opposite sides: more than 120 degrees apart."""
    vertices: int = 500
    """Shapes with more vertices are not examined for convexity, which takes vertices times faces."""


SETTINGS = ObstacleSettings()


class Obstacles:
    """The shapes of a robot that can touch, and the detection of collisions within a step."""

    def __init__(self, bound: Binding, size: float) -> None:
        """`size`: of the robot [m]."""
        system, constants = bound.system.contacts, bound.constants
        self.crossed: list[tuple[str, str]] = []
        names = [shape.name for shape in system.shapes]
        self._convex = {s.name for s in system.shapes if names.count(s.name) == 1 and _is_convex(s, constants)}
        named = [any(k in law.first | law.second for law in system.laws) for k in range(len(system.shapes))]
        shapes = [s for s, is_named in zip(system.shapes, named, strict=True) if is_named]
        vertices = [(v, k) for k, shape in enumerate(shapes) for v in shape.vertices]
        self._node = np.array([v.node for v, _ in vertices], dtype=int)
        at = np.array([v.constants for v, _ in vertices], dtype=int)
        self._local = np.stack([constants[at + i] for i in range(3)], axis=1) if len(at) else np.zeros((0, 3))
        self._begins = np.cumsum([0, *(len(s.vertices) for s in shapes)])[:-1]
        depth = np.array([constants[s.constants] if s.closed else 0.0 for s in shapes])
        is_plane = np.array([s.form == "plane" for s in shapes], dtype=bool)
        shape_of = np.array([k for _, k in vertices], dtype=int)
        radius = constants[at + 3] if len(at) else np.zeros(0)
        thick = np.where(is_plane[shape_of], np.inf, radius + depth[shape_of]) if len(at) else np.zeros(0)
        self._thinnest = max(float(np.min(thick, initial=np.inf)), SETTINGS.thickness * size)
        if math.isinf(self._thinnest):
            self._thinnest = size
        # planes are unbounded, and shapes with self-contact are always close to themselves
        self._around = np.where(is_plane, np.inf, np.maximum.reduceat(thick, self._begins)) if len(at) else np.zeros(0)
        group, law = system.groups()
        of = np.array([g for g, is_named in zip(group, named, strict=True) if is_named], dtype=int)
        self._meet = (
            np.array(law).reshape(len(law), len(law))[np.ix_(of, of)] >= 0 if len(of) else np.zeros((0, 0), bool)
        )

    def places(self, bound: Binding, q: np.ndarray) -> np.ndarray:
        """Positions of all vertices (n x 3) [m]."""
        rotations, positions = bound.node_poses(q)
        return np.einsum("nij,nj->ni", rotations[self._node], self._local) + positions[self._node]

    def _may_meet(self, before: np.ndarray, after: np.ndarray) -> bool:
        """Whether the swept bounding boxes of shapes that can touch overlap."""
        way = np.linalg.norm(after - before, axis=1)[:, None] * SETTINGS.bulge
        low = np.minimum.reduceat(np.minimum(before, after) - way, self._begins) - self._around[:, None]
        high = np.maximum.reduceat(np.maximum(before, after) + way, self._begins) + self._around[:, None]
        near = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
        return bool(np.any(near & self._meet))

    def free_share(
        self, bound: Binding, t: float, on_way: Callable[[float], np.ndarray], ends: Sequence[np.ndarray]
    ) -> float:
        """The fraction of a step up to which it is free of collisions, 1 for all of it; `crossed` contains the colliding parts.

        Args:
            on_way: positions q at a fraction of the step.
            ends: positions at both ends.
        """
        if not len(self._node):
            return 1.0
        before, after = (self.places(bound, q) for q in ends)
        longest = float(np.linalg.norm(after - before, axis=1).max())
        count = (
            min(math.ceil(longest / (SETTINGS.spacing * self._thinnest)), SETTINGS.samples)
            if np.isfinite(longest)
            else 1
        )
        if count <= 1 or not self._may_meet(before, after):
            return 1.0
        still = np.zeros(bound.nv)
        known = [contacts_at(bound, t, q, still) for q in ends]
        if pairs := self.opposed(known[1]) - self.opposed(known[0]):
            self.crossed.append(min(pairs))
            return 0.5
        for k in range(1, count):
            try:
                contacts = contacts_at(bound, t, on_way(k / count), still)
            except EvaluationError:
                continue
            if pair := self._too_deep(contacts, known):
                self.crossed.append(pair)
                return k / count
        return 1.0

    def opposed(self, contacts: Contacts) -> set[tuple[str, str]]:
        """Pairs of convex shapes that overlap so deeply that their contacts push to opposite sides."""
        sides: dict[tuple[str, str], list[np.ndarray]] = {}
        for pair, normal in zip(contacts.pairs, contacts.normal, strict=True):
            if self._convex.issuperset(pair):
                sides.setdefault(pair, []).append(normal)
        return {
            pair for pair, n in sides.items() if len(n) > 1 and np.min(np.array(n) @ np.array(n).T) < SETTINGS.opposite
        }

    def _too_deep(self, contacts: Contacts, known: Sequence[Contacts]) -> tuple[str, str] | None:
        """The first pair with a deeper overlap than at either end, unless it stays in contact on the same side."""
        tolerated = SETTINGS.tolerated * self._thinnest
        for pair, gap, normal in zip(contacts.pairs, contacts.gap, contacts.normal, strict=True):
            if -gap <= tolerated:
                continue
            depths = [
                [
                    -there
                    for other, there, direction in zip(end.pairs, end.gap, end.normal, strict=True)
                    if other == pair and direction @ normal > 0
                ]
                for end in known
            ]
            if not all(depths) and -gap > max(map(max, filter(None, depths)), default=0.0) + tolerated:
                return pair
        return None


def _is_convex(shape: ContactShape, constants: np.ndarray) -> bool:
    """Whether a shape is rigid and convex: a half space, a sphere, a capsule, or a closed surface without hollows."""
    if shape.node < 0 or len(shape.vertices) > SETTINGS.vertices:
        return False
    if shape.form != "faces":
        return shape.form == "plane" or len(shape.vertices) <= 2
    if not shape.closed:
        return False
    at = np.array([vertex.constants for vertex in shape.vertices])
    points = np.stack([constants[at + i] for i in range(3)], axis=1)
    faces = np.array([item for item in shape.items if len(item) == 3], dtype=int)
    if not len(faces):
        return False
    a, b, c = (points[faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    heights = np.einsum("fk,vk->fv", normals, points) - np.sum(normals * a, axis=1)[:, None]
    slack = 1e-9 * np.abs(normals).max() * np.ptp(points, axis=0).max()
    return bool(np.all((heights.max(axis=1) <= slack) | (heights.min(axis=1) >= -slack)))
