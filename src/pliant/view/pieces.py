"""A scene as copies of unit shapes (see `stage`): the three-dimensional appearance of each part of a robot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.view.colours import AXES, HELD, INK, PALE, PUSH, SOFT, group_colours, lighter, rgb, scale_colours
from pliant.view.marks import (
    JointMark,
    LinkMark,
    LoadMark,
    MeshMark,
    Pose,
    PushMark,
    Scene,
    Solid,
    SolidForm,
    TendonMark,
)
from pliant.view.names import names_once
from pliant.view.rod_curve import RodCurve
from pliant.view.surfaces import MARGIN, SurfaceForm, SurfaceMark, axis_ends, middle, right_triangles, sides

COILS, PER_COIL = 7, 8
CLAMP = 0.035
"""Radius of the plate that a rod on the ground is clamped to, relative to the robot's size; blocks of joints are as large."""
DASHES = 9
LABELS_UP_TO = 40
"""Robots with more parts than this are shown without names."""

BEADS_UP_TO, NUMBERS_UP_TO = 1000, 400
"""Nets with more nodes than this are drawn by their edges alone, or without numbers."""

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Copies:
    """k copies of a shape: between two ends (k x 2 x 3), or at positions (k x 3) with rotations (k x 3 x 3).

    sizes: k x 3 [m]; colours: k x 3, 0 to 255.
    """

    sizes: np.ndarray
    colours: np.ndarray
    ends: np.ndarray | None = None
    positions: np.ndarray | None = None
    rotations: np.ndarray | None = None


@dataclass(frozen=True)
class Pieces:
    """Copies by layer and shape, and texts with their positions and types (`labels` or `nodes`)."""

    copies: dict[tuple[str, str], list[Copies]] = field(default_factory=lambda: defaultdict(list))
    labels: list[tuple[str, np.ndarray, str]] = field(default_factory=list)


def scene_pieces(scene: Scene, size: float, curvature: float, force: float, push: float, center: np.ndarray) -> Pieces:
    """The pieces of a scene; size: of symbols [m], curvature: of the last colour [1/m], force, push: of the longest arrows of loads
    and of contacts [N], center: the centre of the picture [m].

    Scenes of one robot have the same pieces in the same order for any pose.
    """
    maker = _Maker(size, curvature, force, push, center, group_colours(solid.name for solid in scene.solids))
    looks: tuple[tuple[Iterable[Any], Callable[[Any], None]], ...] = (
        (enumerate(scene.solids), maker.solid),
        (scene.rods, maker.rod),
        (scene.joints, maker.joint),
        (scene.links, maker.link),
        (scene.tendons, maker.tendon),
        (scene.meshes, maker.mesh),
        (scene.constraints, maker.constraint),
        (scene.loads, maker.load),
        (scene.pushes, maker.push),
        (scene.frames.values(), maker.frame),
        (scene.surfaces, maker.surface),
    )
    for marks, add in looks:
        for mark in marks:
            add(mark)
    if len(scene.solids) + len(scene.rods) <= LABELS_UP_TO:
        maker.labels(scene)
    return maker.pieces


class _Maker:
    """Adds the pieces of each mark. Sizes named `share` are relative to the robot's size."""

    def __init__(
        self, size: float, curvature: float, force: float, push: float, center: np.ndarray, colours: dict[str, str]
    ) -> None:
        self.size, self.curvature, self.force, self.center, self.colours = size, curvature, force, center, colours
        self.longest_push = push
        self.pieces = Pieces()

    # -- parts of robots ---------------------------------------------------------------------------------------------

    def solid(self, numbered: tuple[int, Solid]) -> None:
        number, solid = numbered
        colour = _bytes(self.colours[solid.name])
        for arm in solid.arms:
            self.line(np.stack(arm), 0.006, colour)
        if solid.form in SOLIDS:
            SOLIDS[solid.form](self, solid, colour, number)

    def slender(self, ends: np.ndarray, colour: Colour, number: int) -> None:
        share = 0.013 + 0.001 * (number % 3)  # avoids flickering of collinear neighbours
        self.line(ends, share, colour)
        for end in ends:
            self.ball(end, share, colour)

    def rod(self, rod: RodCurve) -> None:
        middle = 0.5 * (rod.curvature[1:] + rod.curvature[:-1])
        colours = scale_colours(middle / self.curvature if self.curvature > 1e-9 else np.zeros(len(middle)))
        sizes = np.maximum(rod.half_sizes, 0.004 * self.size)
        pairs = np.stack([rod.points[:-1], rod.points[1:]], axis=1)
        middles = 0.5 * (sizes[:-1] + sizes[1:])
        if rod.round:
            self._between("cylinder", _mitred(pairs, middles[:, 0]), middles[:, 0], colours, "rods")
        else:
            self._bars(pairs, rod.sides[1:] + rod.sides[:-1], middles, colours)
        if rod.bore[-1] > 0:  # a dark disc where the tube ends
            lid = 0.002 * self.size * rod.tangents[-1]
            self.cylinder(np.stack([rod.points[-1] - lid, rod.points[-1] + lid]), float(rod.bore[-1]), _bytes(INK))
        if rod.grounded:
            along = rod.points[1] - rod.points[0]
            along = 0.012 * self.size * along / np.linalg.norm(along)
            plate = max(1.5 * float(sizes[0].max()), CLAMP * self.size)  # so that base and tip of thin rods differ
            self.cylinder(np.stack([rod.points[0] - along, rod.points[0]]), plate, _bytes(PALE))

    def joint(self, joint: JointMark) -> None:
        """A ball unless the type has a special appearance, on a block if it is fixed to the world."""
        look, on_block = JOINTS.get(joint.kind, (_Maker.knob, True))
        look(self, joint)
        if joint.grounded and on_block:
            self._at("cube", joint.place, (0.05 * self.size,) * 3, _bytes(PALE))

    def knob(self, joint: JointMark) -> None:
        self.ball(joint.child, 0.02, _bytes(INK))

    def hinge(self, joint: JointMark) -> None:
        assert joint.axis is not None
        half = 0.032 * self.size * joint.axis
        self.cylinder(np.stack([joint.child - half, joint.child + half]), 0.013 * self.size, _bytes(INK))

    def slide(self, joint: JointMark) -> None:
        assert joint.axis is not None
        if joint.spring:
            self.coil(np.stack([joint.spring_start(self.size), joint.child]), 0.02)
        elif joint.drive is not None:
            mount = joint.place + (joint.reach(joint.drive) + 0.18 * self.size) * joint.drive
            self.line(np.stack([mount, joint.child]), 0.006, _bytes(PALE))
        else:
            way = float((joint.child - joint.place) @ joint.axis)  # a body that moves further still has a rail
            low, high = min(0.0, joint.travel[0]) - 0.32 * self.size, max(0.0, joint.travel[1]) + 0.32 * self.size
            ends = joint.place + np.outer([min(low, way), max(high, way)], joint.axis)
            self.line(ends, 0.006, _bytes(PALE))

    def mesh(self, mesh: MeshMark) -> None:
        """Edges as threads and nodes as beads, thinner for larger numbers; fixed nodes have blocks, and small nets have numbers."""
        share = float(np.clip(0.06 / np.sqrt(len(mesh.nodes)), 0.0012, 0.006))
        thick, colours = np.full(len(mesh.edges), share), np.tile(_bytes(SOFT), (len(mesh.edges), 1))
        thick[mesh.slack], colours[mesh.slack] = 0.5 * share, _bytes(PALE)
        self._between("cylinder", mesh.nodes[mesh.edges], thick * self.size, colours)
        if 0 < len(mesh.held) <= BEADS_UP_TO:
            self._at("cube", mesh.nodes[mesh.held], (4.5 * share * self.size,) * 3, _bytes(PALE))
        if len(mesh.nodes) <= BEADS_UP_TO:
            self._at("ball", mesh.nodes, (1.8 * share * self.size,) * 3, _bytes(INK))
        if len(mesh.nodes) <= NUMBERS_UP_TO:
            self.pieces.labels.extend((f"n{k + 1}", place, "nodes") for k, place in enumerate(mesh.nodes))

    def tendon(self, tendon: TendonMark) -> None:
        """A thread, which leaves the colours of a rod visible; thin and pale if it is slack."""
        pairs = np.stack([tendon.points[:-1], tendon.points[1:]], axis=1)
        self.line(pairs, 0.001 if tendon.slack else 0.002, _bytes(PALE if tendon.slack else INK))

    def link(self, link: LinkMark) -> None:
        """A slack link is thin and pale, with the same number of pieces, so that frames can be stacked."""
        LINKS[link.kind](self, link)
        for end in link.ends:
            self.ball(end, 0.009, _bytes(INK))

    def spring(self, link: LinkMark) -> None:
        self.coil(link.ends, 0.008 if link.slack else 0.018, _bytes(PALE if link.slack else INK))

    def dashes(self, link: LinkMark) -> None:
        a, b = link.ends
        starts = np.arange(DASHES)[:, None, None] / DASHES
        reach = np.array([[0.0], [0.5 if link.slack else 1.0]]) / DASHES
        colour = _bytes(PALE if link.slack else INK)
        self.line(a + (starts + reach) * (b - a), 0.003 if link.slack else 0.005, colour)

    def beam(self, link: LinkMark) -> None:
        self.line(link.ends, 0.012, _bytes(INK))

    def constraint(self, ends: np.ndarray) -> None:
        self.line(ends, 0.003, _bytes(HELD))
        for end in ends:
            self.ball(end, 0.011, _bytes(HELD))

    def load(self, load: LoadMark) -> None:
        """An arrow that ends at the point of application."""
        self._arrow(load.point, load.force, self.force, HELD)

    def push(self, push: PushMark) -> None:
        """An arrow that ends at the contact; those of impacts are shortened."""
        self._arrow(push.point, push.force, self.longest_push, PUSH)

    def _arrow(self, point: np.ndarray, force: np.ndarray, longest: float, colour: str) -> None:
        strength = float(np.linalg.norm(force))
        length = 0.25 * self.size * min(1.0, strength / longest) if longest > 0 else 0.0
        along = force / strength if strength > 0 else np.array([0.0, 0.0, 1.0])
        head = min(0.06 * self.size, 0.5 * length)
        neck = point - head * along
        self._between("cylinder", np.stack([point - length * along, neck]), 0.15 * head, _bytes(colour), "loads")
        self._between("cone", np.stack([neck, point]), 0.4 * head, _bytes(colour), "loads")

    def surface(self, surface: SurfaceMark) -> None:
        SURFACES[surface.form](self, surface, _bytes(lighter(PALE, 0.3)))

    def slab(self, surface: SurfaceMark, colour: Colour) -> None:
        """A thin slab below a plane."""
        u, w = sides(surface.axis)
        length, thick = 2 * MARGIN * self.size, 0.004 * self.size
        place = middle(surface, self.center) - 0.5 * thick * surface.axis
        turned = np.stack([u, w, surface.axis], axis=1)
        self._at("cube", place, (length, length, thick), colour, turned, "contacts")

    def roller(self, surface: SurfaceMark, colour: Colour) -> None:
        """A cylinder; its ends are left open."""
        ends = axis_ends(surface, self.center, self.size)
        self._between("cylinder", ends, self._around(surface), colour, "contacts")

    def capsule(self, surface: SurfaceMark, colour: Colour) -> None:
        """A cylinder with balls at its ends."""
        self.roller(surface, colour)
        for end in axis_ends(surface, self.center, self.size):
            self._at("ball", end, (self._around(surface),) * 3, colour, layer="contacts")

    def sheet(self, surface: SurfaceMark, colour: Colour) -> None:
        """Triangles."""
        places, axes, legs = right_triangles(surface)
        sizes = np.concatenate([legs, np.full((len(legs), 1), 1e-3 * self.size)], axis=1)
        self._at("triangle", places, sizes, colour, axes, "contacts")

    def _around(self, surface: SurfaceMark) -> float:
        return surface.radius + 0.003 * self.size  # a body of the same size does not flicker through

    def frame(self, frame: Pose) -> None:
        rotation, position = frame
        for axis, colour in zip(rotation.T, AXES, strict=True):
            ends = np.stack([position, position + 0.06 * self.size * axis])
            self._between("cylinder", ends, 0.004 * self.size, _bytes(colour), "frames")

    def labels(self, scene: Scene) -> None:
        named = [(solid.name, solid.center) for solid in scene.solids if solid.form != "none"]
        named += [(rod.name, rod.points[len(rod.points) // 2]) for rod in scene.rods]
        shown = names_once([name for name, _ in named])
        self.pieces.labels.extend((words, named[k][1], "labels") for k, words in shown.items())

    # -- shapes ------------------------------------------------------------------------------------------------------

    def line(self, ends: np.ndarray, share: float, colour: Colour) -> None:
        self._between("cylinder", ends, share * self.size, colour)

    def cylinder(self, ends: np.ndarray, radius: float, colour: Colour) -> None:
        self._between("cylinder", ends, radius, colour)

    def ball(self, place: np.ndarray, share: float, colour: Colour) -> None:
        self._at("ball", place, (share * self.size,) * 3, colour)

    def box(self, corners: np.ndarray, colour: Colour) -> None:
        """A box with eight corners, z changing fastest."""
        edges = np.stack([corners[4] - corners[0], corners[2] - corners[0], corners[1] - corners[0]], axis=1)
        lengths = np.linalg.norm(edges, axis=0)
        x, y, z = map(float, lengths)
        self._at("cube", corners.mean(axis=0), (x, y, z), colour, edges / lengths)

    def coil(self, ends: np.ndarray, share: float, colour: Colour | None = None) -> None:
        """A helix between two points, with straight ends."""
        a, b = ends
        length = float(np.linalg.norm(b - a))
        along = (b - a) / length if length > 0 else np.array([0.0, 0.0, 1.0])
        helper = np.array([1.0, 0, 0]) if abs(along[0]) < 0.8 else np.array([0, 1.0, 0])
        u = np.cross(along, helper)
        u /= np.linalg.norm(u)
        turn = np.linspace(0, 2 * np.pi * COILS, COILS * PER_COIL + 1)[:, None]
        places = np.linspace(0.12, 0.88, len(turn))[:, None]
        wound = a + places * (b - a) + share * self.size * (np.cos(turn) * u + np.sin(turn) * np.cross(along, u))
        points = np.concatenate([[a], wound, [b]])
        self.line(np.stack([points[:-1], points[1:]], axis=1), 0.0035, _bytes(INK) if colour is None else colour)

    def _bars(self, ends: np.ndarray, sides: np.ndarray, half_sizes: np.ndarray, colours: np.ndarray) -> None:
        """Pieces of a rod with a rectangular section, whose x axis is along `sides` (k x 3)."""
        ends = _mitred(ends, half_sizes.min(axis=1))
        along = ends[:, 1] - ends[:, 0]
        lengths = np.linalg.norm(along, axis=1, keepdims=True)
        z = along / np.maximum(lengths, 1e-300)
        x = sides - z * np.einsum("ij,ij->i", z, sides)[:, None]
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        rotations = np.stack([x, np.cross(z, x), z], axis=2)
        sizes = np.concatenate([2 * half_sizes, lengths], axis=1)
        self._at("cube", ends.mean(axis=1), sizes, colours, rotations, "rods")

    def _between(
        self,
        shape: str,
        ends: np.ndarray,
        radius: float | np.ndarray,
        colour: Colour | np.ndarray,
        layer: str = "robot",
    ) -> None:
        ends = ends.reshape(-1, 2, 3)
        count = len(ends)
        sizes = np.repeat(np.broadcast_to(radius, (count,))[:, None], 3, axis=1)
        self.pieces.copies[layer, shape].append(Copies(sizes, np.broadcast_to(colour, (count, 3)), ends=ends))

    def _at(
        self,
        shape: str,
        places: np.ndarray,
        sizes: tuple[float, float, float] | np.ndarray,
        colours: Colour | np.ndarray,
        rotations: np.ndarray | None = None,
        layer: str = "robot",
    ) -> None:
        places = places.reshape(-1, 3)
        count = len(places)
        turned = np.broadcast_to(np.eye(3) if rotations is None else rotations, (count, 3, 3))
        size, colour = (np.broadcast_to(x, (count, 3)) for x in (sizes, colours))
        self.pieces.copies[layer, shape].append(Copies(size, colour, positions=places, rotations=turned))


SOLIDS: dict[SolidForm, Callable[[_Maker, Solid, Colour, int], None]] = {
    "rod": lambda maker, solid, colour, number: maker.slender(solid.points, colour, number),
    "cylinder": lambda maker, solid, colour, number: maker.cylinder(solid.points, solid.radius, colour),
    "box": lambda maker, solid, colour, number: maker.box(solid.points, colour),
    "ball": lambda maker, solid, colour, number: maker._at("ball", solid.center, (solid.radius,) * 3, colour),
    "dot": lambda maker, solid, colour, number: maker.ball(solid.center, 0.025, colour),
}
"""Appearance of the forms of solids, in a colour and with their number."""

JOINTS: dict[str, tuple[Callable[[_Maker, JointMark], None], bool]] = {
    "weld": (lambda maker, joint: None, False),
    "revolute": (_Maker.hinge, True),
    "universal": (_Maker.hinge, True),
    "planar": (_Maker.hinge, False),
    "prismatic": (_Maker.slide, False),
    "cylindrical": (_Maker.slide, False),
}
"""Appearance of types of joints other than balls, and whether they have a block if they are fixed to the world."""

LINKS: dict[str, Callable[[_Maker, LinkMark], None]] = {
    "spring": _Maker.spring,
    "line": _Maker.dashes,
    "beam": _Maker.beam,
}
"""Appearance of links."""

SURFACES: dict[SurfaceForm, Callable[[_Maker, SurfaceMark, Colour], None]] = {
    "plane": _Maker.slab,
    "cylinder": _Maker.roller,
    "capsule": _Maker.capsule,
    "faces": _Maker.sheet,
}
"""Appearance of contact surfaces, in a colour."""


def _mitred(pairs: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Pieces of a tube (k x 2 x 3), extended to close the outer side of its bends."""
    along = pairs[:, 1] - pairs[:, 0]
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    bend = np.arccos(np.clip(np.einsum("ij,ij->i", along[:-1], along[1:]), -1, 1))
    reach = np.minimum(np.tan(0.5 * np.minimum(bend, 2.0)), 1.0)
    before, after = np.append(0.0, reach) * radii, np.append(reach, 0.0) * radii
    return np.stack([pairs[:, 0] - before[:, None] * along, pairs[:, 1] + after[:, None] * along], axis=1)


def _bytes(colour: str) -> Colour:
    red, green, blue = (255 * x for x in rgb(colour))
    return red, green, blue
