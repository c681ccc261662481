"""Remarks on contacts in equilibria, in small motions and in motions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pliant.analysis.numerics.saddle import balancing_multipliers
from pliant.analysis.remark import Words, remark
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts, contacts_at
from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration
from pliant.parts.assembly.contact_shapes import ContactShape
from pliant.parts.contact import LawNumbers

HARMLESS = 1e-6
"""Depths up to this fraction of the robot's size are ignored."""
DEEPER = 2.0
"""Ratio of the depth of surfaces and that of their contacts, from which contacts miss something."""
ALONG = np.linspace(0.0, 1.0, 11)
"""Points of an edge that are examined."""
MOST_POINTS = 2_000
"""Maximum number of points of a surface that are examined; of fine meshes every second, third, ... one."""
PAIRS_SHOWN, MOST_OVERLAPS = 3, 5
"""Number of pairs that the remarks name."""


@dataclass(frozen=True)
class _Placed:
    """A shape in the world: vertices (n x 3) [m], their radii [m], and the box around it (2 x 3)."""

    shape: ContactShape
    vertices: np.ndarray
    radii: np.ndarray
    box: np.ndarray

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices, their centre, and points on edges and in triangles (n x 3), and their radii."""
        both = np.column_stack([self.vertices, self.radii])
        edges = {pair for item in self.shape.items for pair in combinations(sorted(item), 2)}
        faces = [item for item in self.shape.items if len(item) == 3]
        found = [both]
        if edges:
            a, b = np.array(sorted(edges)).T
            found += [(1 - s) * both[a] + s * both[b] for s in ALONG[1:-1]]
        if faces:
            found += [both[np.array(faces)].mean(axis=1), both.mean(axis=0, keepdims=True)]
        rows = np.concatenate(found[::-1])
        rows = rows[:: 1 + len(rows) // MOST_POINTS]
        return rows[:, :3], rows[:, 3]

    @property
    def segments(self) -> np.ndarray:
        """Pairs of vertices of a chain; a single vertex twice."""
        return np.array([(item[0], item[-1]) for item in self.shape.items])

    @property
    def triangles(self) -> np.ndarray:
        """Corners of its triangles, n x 3 x 3."""
        return np.asarray(self.vertices[np.array([item for item in self.shape.items if len(item) == 3], dtype=int)])


@remark("contacts press in the initial state of the model", "parts that are placed inside each other are pushed apart")
def overlapping_start(eqs: Equations, result: Any) -> Words:
    """Parts overlap in the initial state of the model; the deepest first."""
    bound, t, q = result.examined.pose
    if not result.record.start.as_placed or not bound.system.contacts.laws:
        return None
    contacts = contacts_at(bound, t, q, np.zeros(bound.nv))
    deepest: dict[tuple[str, str], float] = {}
    harmless = HARMLESS * bound.sizes(q)[0]
    for pair, gap in zip(contacts.pairs, contacts.gap, strict=True):
        if -gap > max(harmless, deepest.get(pair, 0.0)):
            deepest[pair] = float(-gap)
    if not deepest:
        return None
    order = sorted(deepest, key=lambda pair: -deepest[pair])
    said = [
        f"{a} and {b} by {deepest[a, b]:.3g} m" if a != b else f"{a} with itself by {deepest[a, b]:.3g} m"
        for a, b in order
    ]
    return f"parts overlap at the start and push each other apart: {enumeration(said, MOST_OVERLAPS, 'pairs')}"


@remark(
    f"surfaces overlap by more than {DEEPER:g} times the depth of their contacts",
    "contacts are local minima of the distance: no contact force separates these surfaces",
)
def overlapping_parts(eqs: Equations, result: Any) -> Words:
    """Parts that were placed inside each other, much more deeply than their contacts; the deepest first."""
    bound, t, q = result.examined.pose
    if not bound.system.contacts.laws:
        return None
    contacts = contacts_at(bound, t, q, np.zeros(bound.nv))
    pressed: dict[frozenset[str], float] = {}
    for pair, gap in zip(contacts.pairs, contacts.gap, strict=True):
        pressed[frozenset(pair)] = max(pressed.get(frozenset(pair), 0.0), -float(gap))
    harmless = HARMLESS * bound.sizes(q)[0]
    missed: dict[tuple[str, str], tuple[float, float]] = {}
    for a, b in _close_pairs(bound, q):
        pair = (a.shape.name, b.shape.name)
        deep, known = _depth(a, b), pressed.get(frozenset(pair), 0.0)
        if deep > DEEPER * known + harmless and deep > missed.get(pair, (0.0, 0.0))[0]:
            missed[pair] = deep, known
    if not missed:
        return None
    order = sorted(missed, key=lambda pair: -missed[pair][0])
    said = [f"{a} and {b} by {missed[a, b][0]:.2g} m (contacts: {missed[a, b][1]:.2g} m)" for a, b in order]
    return (
        "parts overlap more deeply than their contacts, so the forces that separate them are missing or too small: "
        f"{enumeration(said, PAIRS_SHOWN, 'pairs')}; move them apart"
    )


def _close_pairs(bound: Binding, q: np.ndarray) -> Iterator[tuple[_Placed, _Placed]]:
    """Pairs of shapes with a law whose boxes overlap; half spaces have contacts at any depth."""
    system = bound.system.contacts
    group, law = system.groups()
    shapes = [k for k, shape in enumerate(system.shapes) if shape.form != "plane" and shape.items]
    rotations, places = bound.node_poses(q)
    placed = {k: _placed(bound, system.shapes[k], rotations, places) for k in shapes}
    low, high = (np.array([placed[k].box[side] for k in shapes]).reshape(-1, 3) for side in (0, 1))
    for i, a in enumerate(shapes):
        near = np.all((low[i] < high[i + 1 :]) & (low[i + 1 :] < high[i]), axis=1)
        for j in np.flatnonzero(near):
            b = shapes[i + 1 + int(j)]
            first, second = system.shapes[a], system.shapes[b]
            if law[group[a]][group[b]] < 0 or (a, b) in system.excluded or first.node == second.node >= 0:
                continue
            yield placed[a], placed[b]


def _placed(bound: Binding, shape: ContactShape, rotations: np.ndarray, places: np.ndarray) -> _Placed:
    nodes = np.array([x.node for x in shape.vertices])
    numbers = bound.constants[np.array([x.constants for x in shape.vertices])[:, None] + np.arange(4)]
    vertices = np.einsum("nij,nj->ni", rotations[nodes], numbers[:, :3]) + places[nodes]
    radii = numbers[:, 3]
    box = np.array([(vertices - radii[:, None]).min(axis=0), (vertices + radii[:, None]).max(axis=0)])
    return _Placed(shape, vertices, radii, box)


def _depth(a: _Placed, b: _Placed) -> float:
    """How deep two shapes are in each other [m]: the deepest point of one in the other; of chains, the overlap of their radii."""
    if a.shape.form != "faces" and b.shape.form != "faces":
        return _depth_of_chains(a, b)
    found = [
        _depth_inside(*(x.points()), y.triangles, float(y.radii.min()), y.box)
        for x, y in ((a, b), (b, a))
        if y.shape.closed and y.shape.form == "faces"
    ]
    return max(found, default=0.0)


def _depth_inside(
    points: np.ndarray, radii: np.ndarray, triangles: np.ndarray, rounding: float, box: np.ndarray
) -> float:
    """The largest depth of points with radii within a solid [m]."""
    near = np.all((points > box[0]) & (points < box[1]), axis=1)
    points, radii = points[near], radii[near]
    inside = np.array([_winding(x, triangles) > 0.5 for x in points], dtype=bool)
    depths = [_distance(x, triangles) + r + rounding for x, r in zip(points[inside], radii[inside], strict=True)]
    return float(max(depths, default=0.0))


def _winding(x: np.ndarray, triangles: np.ndarray) -> float:
    """Number of times that triangles enclose a point: the sum of their solid angles (van Oosterom and Strackee 1983) / 4 pi."""
    r = triangles - x
    size = np.linalg.norm(r, axis=2)
    a, b, c = r[:, 0], r[:, 1], r[:, 2]
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = size.prod(axis=1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        below = below + np.einsum("ij,ij->i", r[:, i], r[:, j]) * size[:, k]
    return float(abs(np.arctan2(above, below).sum()) / (2 * np.pi))


def _distance(x: np.ndarray, triangles: np.ndarray) -> float:
    """Distance of a point from the closest of some triangles [m]."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normals = np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", normals, normals)
    height = np.einsum("ij,ij->i", x - a, normals)
    within = square > 0
    distances = [np.full(len(a), np.inf)]
    for p, r in ((a, b), (b, c), (c, a)):
        edge, to = r - p, x - p
        within &= np.einsum("ij,ij->i", np.cross(edge, to), normals) >= 0
        length = np.einsum("ij,ij->i", edge, edge)
        s = np.clip(np.einsum("ij,ij->i", to, edge) / np.where(length > 0, length, 1.0), 0, 1)
        distances.append(np.linalg.norm(to - s[:, None] * edge, axis=1))
    flat = np.abs(height) / np.sqrt(np.where(square > 0, square, 1.0))
    return float(min(np.min(distances), np.min(np.where(within, flat, np.inf))))


def _depth_of_chains(a: _Placed, b: _Placed) -> float:
    """The largest overlap of two chains of edges with radii [m], with points of one and edges of the other."""
    deepest = 0.0
    for x, y in ((a, b), (b, a)):
        points, radii = x.points()
        p, r = (y.vertices[y.segments[:, k]] for k in (0, 1))
        rp, rr = (y.radii[y.segments[:, k]] for k in (0, 1))
        edge = r - p
        length = np.einsum("ij,ij->i", edge, edge)
        for point, radius in zip(points, radii, strict=True):
            s = np.clip(np.einsum("ij,ij->i", point - p, edge) / np.where(length > 0, length, 1.0), 0, 1)
            distance = np.linalg.norm(point - p - s[:, None] * edge, axis=1)
            deepest = max(deepest, float(np.max(radius + (1 - s) * rp + s * rr - distance)))
    return deepest


USED = 1e-6
"""Friction below this fraction of the normal forces is treated as zero."""
SHOWN = 3
"""Number of parts that a remark names."""
NEEDED = 1e-3
"""An equilibrium depends on friction if more than this fraction of its forces is unbalanced without it."""


@remark(
    f"more than {NEEDED:g} of its forces is unbalanced without friction", "other poses nearby may be equilibria too"
)
def friction_supports(eqs: Equations, result: Any) -> Words:
    """Friction supports the pose."""
    contacts = result.contacts
    if not result.balanced or contacts is None or not len(contacts):
        return None
    bound, t, q = result.examined.pose
    pressing = float(np.abs(contacts.normal_force).max())
    rubs = np.linalg.norm(contacts.friction_force, axis=1) > USED * pressing
    if not rubs.any() or not _rests_by_friction(bound, t, q):
        return None
    return (
        f"friction supports the pose: {friction_words(bound, contacts, rubs)}; without friction it would not be in equilibrium. "
        "Other poses nearby, with other forces, may be equilibria too: `simulate` or `continuation` (pliant path) finds the one"
        " that slow loading leads to"
    )


def friction_words(bound: Binding, contacts: Contacts | None, which: np.ndarray | None = None) -> str:
    """Where contacts (those selected by booleans, or all) stick and slide, and the largest part of friction in use; empty without
    any."""
    if contacts is None or not len(contacts):
        return ""
    used, parts = _used(bound, contacts), []
    for name in dict.fromkeys(contacts.name):
        ours = np.array([x == name for x in contacts.name]) & (True if which is None else which)
        for sticks, verb in ((True, "sticks"), (False, "slides")):
            those = ours & (contacts.sticks == sticks)
            if those.any():
                most = np.max(used[those])
                share = f" with up to {100 * most:.3g} % of its friction" if sticks and np.isfinite(most) else ""
                parts.append(f"'{name}' {verb} {_places(int(those.sum()))}{share}")
    return ", ".join(parts)


def sliding_words(contacts: Contacts | None) -> str:
    """Remark on the contacts that slide in a pose that is not an equilibrium; empty if there are none."""
    if contacts is None or not len(contacts) or np.all(contacts.sticks):
        return ""
    forces = np.linalg.norm(contacts.friction_force, axis=1)
    sums: dict[tuple[str, tuple[str, str]], float] = {}
    for name, pair, sticks, force in zip(contacts.name, contacts.pairs, contacts.sticks, forces, strict=True):
        if not sticks:
            sums[name, pair] = sums.get((name, pair), 0.0) + float(force)
    parts = [f"{first} on {second} ('{name}', {force:.3g} N)" for (name, (first, second)), force in sums.items()]
    return f"friction does not hold it: {enumeration(parts, 3)} keep{'s' if len(parts) == 1 else ''} sliding"


@remark("a surface enters another one by more than its thickness", "parts may then pass through each other")
def contacts_that_are_too_soft(eqs: Equations, result: Any) -> Words:
    """Surfaces have entered each other by more than the thickness of one of them."""
    record = result.record
    if record.steps is None:
        return None
    bound, deepest = record.history[-1].bound, record.steps.deepest_contacts
    worst: dict[str, tuple[float, float]] = {}
    for shape, depth in zip(bound.system.contacts.shapes, deepest, strict=True):
        thickness = _thickness(bound, shape)
        if depth > thickness > 0 and depth / thickness > np.divide(*worst.get(shape.name, (0.0, 1.0))):
            worst[shape.name] = (float(depth), thickness)
    parts = [f"'{name}' by {depth:.2g} m (it is {thick:.2g} m thick)" for name, (depth, thick) in worst.items()]
    if not parts:
        return None
    return (
        f"surfaces enter {enumeration(parts, SHOWN)}: the contact is too soft for this motion, and may let parts pass "
        "through each other; use a higher stiffness of the contact, or lower speeds and forces"
    )


def _thickness(bound: Binding, shape: ContactShape) -> float:
    """Smallest extent of a rigid shape [m]: its radius, or the smallest side of the box around a solid. Infinite for half spaces,
    and for rods and fabrics, which yield themselves."""
    if shape.form == "plane" or shape.node < 0:
        return np.inf
    vertices = np.array([bound.constants[x.constants : x.constants + 4] for x in shape.vertices])
    radius = float(vertices[:, 3].min())
    if shape.form != "faces":
        return radius if radius > 0 else np.inf
    if not shape.closed:
        return np.inf
    return float(np.ptp(vertices[:, :3], axis=0).min()) + 2 * radius


@remark("surfaces touch", "contact acts as springs for small motions, and friction has no small motion")
def contacts_linearized(eqs: Equations, result: Any) -> Words:
    """How contacts act on small motions."""
    contacts = result.state.contacts
    if contacts is None:
        return None
    here, sticks = np.array(contacts.name), contacts.sticks
    parts = []
    for name in contacts.names:
        ours = here == name if len(here) else np.zeros(0, dtype=bool)
        held, slid = int(np.sum(ours & sticks)), int(np.sum(ours & ~sticks))
        if held:
            parts.append(f"'{name}' sticks {_places(held)}, as springs along and across the surfaces")
        if slid:
            parts.append(f"'{name}' slides {_places(slid)}, with friction that follows the normal force")
        if not held and not slid:
            parts.append(f"'{name}' is open and has no effect")
    return f"contacts in small motions: {', '.join(parts)}"


def _places(count: int) -> str:
    return "at one place" if count == 1 else f"at {count} places"


def _rests_by_friction(bound: Binding, t: float, q: np.ndarray) -> bool:
    """Whether forces are unbalanced without friction."""
    zero, none = np.zeros(bound.nv), np.zeros(bound.m)
    constants = bound.constants.copy()
    for law in bound.system.contacts.laws:
        for number in ("along", "across"):
            constants[law.constants + LawNumbers.place(number)] = 0.0
    smooth = bound.with_constants(constants)
    with_friction, without = (x.inverse(t, q, zero, zero) for x in (bound, smooth))
    if bound.m:
        at = smooth.linearized(t, q, zero, zero, none)
        without = without - at.jacobian.T @ balancing_multipliers(at, without, bound.active_rows)
    sizes = bound.sizes(q)[1]
    return bool(np.abs(sizes * without).max() > NEEDED * np.abs(sizes * (without - with_friction)).max() > 0)


def _used(bound: Binding, contacts: Contacts) -> np.ndarray:
    """Friction of each contact divided by its maximum [-]; NaN where the maximum depends on the direction."""
    laws = bound.system.contacts.laws
    at = np.array([laws[contacts.names.index(name)].constants for name in contacts.name], dtype=int)
    along, across, still = (bound.constants[at + LawNumbers.place(x)] for x in ("along", "across", "at_rest"))
    most = np.where(along == across, along * still, np.nan) * contacts.normal_force
    forces = np.linalg.norm(contacts.friction_force, axis=1)
    return np.divide(forces, most, out=np.full(len(forces), np.nan), where=most > 0)
