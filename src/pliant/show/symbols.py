"""Symbols of the marks of a scene: bodies, rods, joints, links, loads and contact surfaces.

Every mark has two: lines and polygons on a flat picture (`PictureSymbols`), and copies of unit shapes on a stage
(`StageSymbols`, see `stage`), which the live page, reports and glTF files show. The tables at the end list the appearance of
each type.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.show import outlines
from pliant.show.camera import Camera
from pliant.show.colours import (
    AXES,
    FIELD,
    HELD,
    INK,
    PALE,
    PUSH,
    SOFT,
    WATER,
    darker,
    group_colours,
    lighter,
    rgb,
    scale_colours,
)
from pliant.show.marks import (
    SURFACE_LAYOUT,
    JointMark,
    LinkMark,
    LoadMark,
    MagnetMark,
    MeshMark,
    Pose,
    PushMark,
    RodCurve,
    Scene,
    Solid,
    SolidForm,
    SurfaceForm,
    SurfaceMark,
    TendonMark,
    axis_ends,
    edge_lines,
    middle,
    right_triangles,
    sides,
    silhouette,
)
from pliant.show.names import names_once


@dataclass(frozen=True)
class SymbolLayout:
    """Sizes of symbols, and numbers of parts up to which they are drawn one by one."""

    vectors_up_to: int = 2000
    """Number of edges above which nets are drawn as dots instead of lines in .svg and .pdf files, which would be too
    large."""
    held_up_to: int = 1000
    """Number of fixed nodes above which they are not marked individually."""
    thinnest: float = 0.0014
    """Half width of the thinnest rods relative to the picture, about a pixel."""
    thin: float = 0.005
    """Half width of rods relative to the picture above which they have outlines."""
    facing: float = 0.05
    """Cosine of the angle between a direction and the line of sight above which it points at the viewer."""
    clamp: float = 0.035
    """Radius of the plate that a rod on the ground is clamped to, relative to the robot's size; blocks of joints are as large."""
    coils: int = 7
    """Turns of a spring."""
    per_coil: int = 8
    """Pieces of a turn."""
    dashes: int = 9
    """Dashes of a line."""
    labels_up_to: int = 40
    """Robots with more parts than this are shown without names."""
    beads_up_to: int = 1000
    """Nets with more nodes than this are drawn by their edges alone."""
    numbers_up_to: int = 400
    """The nodes of larger nets have no numbers."""


LAYOUT = SymbolLayout()


class DrawingLayers:
    """The content of a drawing; `low` and `high` are its corners [m].

    size: unit of symbols [m]. crowd: factor on it if there are many.
    """

    size: float
    crowd: float
    low: np.ndarray
    high: np.ndarray
    todo: list[tuple[float, Any]]

    def _include(self, points: np.ndarray) -> None:
        self.low = np.minimum(self.low, points.min(axis=0))
        self.high = np.maximum(self.high, points.max(axis=0))

    def _polygon(
        self, points: np.ndarray, colour: str, layer: float, *, see_through: bool = False, edge: float = 0.9
    ) -> None:
        self._include(points)
        alpha = 0.5 if see_through else None

        def paint(ax: Any, zorder: float) -> None:
            ax.fill(
                *points.T, facecolor=colour, edgecolor=darker(colour), linewidth=edge, joinstyle="round", zorder=zorder,
                alpha=alpha,
            )  # fmt: skip

        self.todo.append((layer, paint))

    def _line(self, points: np.ndarray, colour: str, width: float, layer: float, **style: Any) -> None:
        self._include(points)

        def paint(ax: Any, zorder: float) -> None:
            ax.plot(*points.T, color=colour, linewidth=width, zorder=zorder, **{"linestyle": "solid", **style})

        self.todo.append((layer, paint))

    def _marker(self, point: np.ndarray, marker: str, points_wide: float, layer: float, colour: str) -> None:
        self._include(point[None] + 0.02 * self.size * np.array([[-1, -1], [1, 1]]))

        def paint(ax: Any, zorder: float) -> None:
            ax.plot(
                *point, marker=marker, markersize=self.crowd * points_wide, markerfacecolor=colour, markeredgecolor=INK,
                markeredgewidth=0.3 + 0.9 * self.crowd, zorder=zorder,
            )  # fmt: skip

        self.todo.append((layer, paint))

    def _text(self, words: str, place: np.ndarray, colour: str, size: float, width: float = 0.02) -> None:
        """Centred text. width: half of its width, relative to the unit of symbols."""
        reach = self.size * np.array([width, 0.02])
        self._include(place + np.stack([-reach, reach]))

        def paint(ax: Any, zorder: float) -> None:
            from matplotlib.patheffects import withStroke

            # text stays legible in front of a net
            halo = [withStroke(linewidth=2.0, foreground="white")]
            ax.text(
                *place, words, color=colour, fontsize=size, ha="center", va="center", zorder=zorder, path_effects=halo
            )

        self.todo.append((980, paint))


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
    dots = len(depth) > LAYOUT.vectors_up_to
    for behind in np.unique(rank):
        yield int(behind), _edges(points, mesh.edges, order[rank[order] == behind], colours, widths, dots)
    held = mesh.held if len(mesh.held) <= LAYOUT.held_up_to else mesh.held[:0]
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


class PictureSymbols(DrawingLayers):
    """Adds the symbols of a scene to a drawing, solids and rods from far to near.

    Attributes:
        scene, camera: the marks, and the projection onto the picture.
        frames: whether the axes of frames are drawn.
        center: centre of the picture, in the world [m].
        unit: unit of symbols of which there may be many [m].
        colours: those of solids, by name.
        longest_push, strongest: forces of the longest arrows of contacts and of loads [N].
        depths: those of solids and rods, in ascending order [m].
        layer: that of each solid and rod, by name.
    """

    scene: Scene
    camera: Camera
    frames: bool
    center: np.ndarray
    unit: float
    colours: dict[str, str]
    longest_push: float
    strongest: float
    depths: np.ndarray
    layer: dict[str, float]

    def _all_symbols(self) -> None:
        """Add the symbols of all marks."""
        scene = self.scene
        symbols: tuple[tuple[Iterable[Any], Callable[[Any], None]], ...] = (
            (scene.surfaces, self._surface),
            (scene.frames.values() if self.frames else (), self._frame),
            (scene.links, self._link),
            (scene.meshes, self._mesh),
            (scene.tendons, self._tendon),
            (scene.loads, self._load),
            (scene.pushes, self._push),
            (scene.magnets, self._magnet),
            (scene.solids, self._solid),
            (scene.rods, self._rod),
            (scene.joints, self._joint),
            (scene.constraints, self._constraint),
        )
        for marks, draw in symbols:
            for mark in marks:
                draw(mark)

    def _layers(self) -> None:
        """Sort solids and rods from far to near: `depths` and `layer`."""
        things: list[Solid | RodCurve] = [*self.scene.solids, *self.scene.rods]
        depths = [self.camera.depth(np.mean(thing.points, axis=0)) for thing in things]
        self.depths = np.sort(depths)
        self.layer = {things[k].name: 10.0 + rank for rank, k in enumerate(np.argsort(depths, kind="stable"))}
        # a rod that points away from the viewer begins behind its body, whatever the depth of their centres
        for rod in self.scene.rods:
            if rod.parent in self.layer and rod.tangents[0] @ self.camera.toward < -LAYOUT.facing:
                self.layer[rod.parent] = max(self.layer[rod.parent], self.layer[rod.name] + 0.4)

    def _surface(self, surface: SurfaceMark) -> None:
        # behind its body, or between the bodies behind it and those in front of it; planes are behind everything
        behind = int(np.searchsorted(self.depths, self.camera.depth(surface.place)))
        layer = 2.0 if surface.is_flat else self.layer.get(surface.owner, 10.2 + behind) - 0.6
        flat = silhouette(surface, self.camera, self.center, self.size)
        colour = lighter(WATER, 0.4) if surface.form == "water" else lighter(PALE, 0.55)
        self._polygon(flat, colour, layer, see_through=True)
        if surface.form == "faces":
            for line in edge_lines(surface, self.camera):
                self._line(line, lighter(PALE, 0.2), 0.6, layer + 0.01)

    def _frame(self, frame: Pose) -> None:
        rotation, place = frame
        self._triad(self.camera.project(place), rotation, 0.05 * self.unit, 880)

    def _mesh(self, mesh: MeshMark) -> None:
        self._include(self.camera.project(mesh.nodes))
        # between the bodies behind it and those in front of it
        self.todo += [(9.3 + behind, paint) for behind, paint in net_paints(mesh, self.camera, self.depths)]

    def _constraint(self, ends: np.ndarray) -> None:
        a, b = self.camera.project(ends)
        if np.linalg.norm(a - b) > 1e-6 * self.size:
            self._line(np.stack([a, b]), HELD, 1.2, 920, linestyle=(0, (2, 2)))
        for point in (a, b):
            self._marker(point, "D", 7.5, 921, HELD)

    def _solid(self, solid: Solid) -> None:
        colour, layer = self.colours[solid.name], self.layer[solid.name]
        for a, b in solid.arms:
            self._line(self.camera.project(np.stack([a, b])), colour, 2.2, layer - 0.5)
        if solid.form in SOLIDS:
            SOLIDS[solid.form].picture(self, solid, colour, layer)

    def _slender(self, solid: Solid, colour: str, layer: float) -> None:
        start, end = self.camera.project(solid.points)
        self._polygon(outlines.capsule(start, end, 0.016 * self.unit), colour, layer)

    def _cylinder(self, solid: Solid, colour: str, layer: float) -> None:
        axis = solid.points[1] - solid.points[0]
        axis = axis / np.linalg.norm(axis)
        ends = [self.camera.project(outlines.ring(p, axis, solid.radius)) for p in solid.points]
        self._polygon(outlines.hull(np.concatenate(ends)), colour, layer)
        front = ends[1] if axis @ self.camera.toward > 0 else ends[0]
        if abs(axis @ self.camera.toward) > 1e-6:
            self._polygon(front, lighter(colour, 0.25), layer + 0.1)

    def _box(self, solid: Solid, colour: str, layer: float) -> None:
        for face in outlines.BOX_FACES:
            corners = solid.points[list(face)]
            normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
            facing = normal @ self.camera.toward / np.linalg.norm(normal)
            if facing > 1e-9:
                self._polygon(self.camera.project(corners), lighter(colour, 0.12 + 0.3 * facing), layer)

    def _ball(self, solid: Solid, colour: str, layer: float) -> None:
        ring = outlines.ring(solid.center, self.camera.toward, solid.radius)
        self._polygon(self.camera.project(ring), colour, layer)

    def _ellipsoid(self, solid: Solid, colour: str, layer: float) -> None:
        seen = self.camera.project(solid.points) - self.camera.project(solid.center)
        axes, half, _ = np.linalg.svd(seen.T)  # the outline of an affine image of a ball
        angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * half
        self._polygon(self.camera.project(solid.center) + ring @ axes.T, colour, layer)

    def _dot(self, solid: Solid, colour: str, layer: float) -> None:
        self._marker(self.camera.project(solid.center), "o", 13.0, layer + 0.2, colour)

    def _rod(self, rod: RodCurve) -> None:
        """A band as wide as the visible sections, with the walls of a hollow rod, and ends that face the viewer."""
        points, layer = self.camera.project(rod.points), self.layer[rod.name]
        radii = np.maximum(rod.seen_half_widths(self.camera.project), LAYOUT.thinnest * self.size)
        thin = float(radii.max()) < LAYOUT.thin * self.size
        self._polygon(outlines.tube(points, radii), SOFT, layer, edge=0.3 if thin else 0.9)
        if thin:
            pass  # lines along it would be wider than the rod itself
        elif np.any(rod.bore > 0):
            wall = outlines.tube(points, rod.bore)
            for side in (wall[: len(points)], wall[len(points) :]):
                self._line(side, lighter(SOFT, 0.6), 1.0, layer + 0.1, linestyle=(0, (4, 2)))
        else:
            self._line(points, lighter(SOFT, 0.6), 1.2, layer + 0.1)
        out = self.camera.project(-rod.tangents[0])
        # along the line of sight the ground would cover the whole picture
        on_ground = rod.grounded and np.linalg.norm(out) > LAYOUT.facing
        for end in (-1,) if on_ground else (0, -1):
            self._rod_end(rod, end, layer)
        if on_ground:
            self._ground(points[0], outlines.unit(out), max(0.05 * self.size, 1.3 * float(radii[0])))

    def _rod_end(self, rod: RodCurve, end: int, layer: float) -> None:
        facing = float(rod.tangents[end] @ self.camera.toward) * (1 if end else -1)
        if facing < LAYOUT.facing or rod.half_sizes[end].min() < 0.008 * self.size:
            return
        self._polygon(self.camera.project(rod.section(end)), lighter(SOFT, 0.25), layer + 0.2)
        if rod.bore[end] > 0:
            hole = rod.section(end, float(rod.bore[end] / rod.half_sizes[end, 0]))
            self._polygon(self.camera.project(hole), darker(SOFT), layer + 0.3)

    def _joint(self, joint: JointMark) -> None:
        place, child = self.camera.project(joint.place), self.camera.project(joint.child)
        JOINTS.get(joint.kind, KNOB).picture(self, joint, place, child)

    def _weld(self, joint: JointMark, place: np.ndarray, child: np.ndarray) -> None:
        if joint.grounded:
            self._ground(place, outlines.unit(-self.camera.project(joint.toward)), 0.05 * self.size)

    def _turn(self, joint: JointMark, place: np.ndarray, child: np.ndarray) -> None:
        toward = self.camera.project(joint.toward)
        if np.linalg.norm(place - child) > 1e-9 * self.size:
            self._line(np.stack([place, child]), PALE, 1.0, 899, linestyle=(0, (4, 2)))
        if joint.spring:
            self._line(outlines.spiral(child, 0.022 * self.unit, 0.042 * self.unit), INK, 1.1, 905)
        if joint.grounded and joint.kind != "planar":
            down = np.array([0.0, 1.0 if toward[1] < -0.5 * np.linalg.norm(toward) else -1.0])
            self._pivot(place, down)
        if joint.kind == "revolute" and joint.axis is not None:
            self._hinge(joint, child)
        else:
            marker, colour = JOINTS.get(joint.kind, KNOB).marker
            self._marker(child, marker, 7.5, 910, colour)

    def _hinge(self, joint: JointMark, place: np.ndarray) -> None:
        assert joint.axis is not None
        slope = self.camera.project(joint.axis)
        if np.linalg.norm(slope) > 1e-3:
            # the axis is not along the line of sight, so it is drawn
            half = 0.06 * self.unit * slope
            self._line(np.stack([place - half, place + half]), INK, 1.2, 907, linestyle="dashdot")
        self._marker(place, "o", 7.0, 910, "white")

    def _slide(self, joint: JointMark, place: np.ndarray, child: np.ndarray) -> None:
        assert joint.axis is not None
        along = outlines.unit(self.camera.project(joint.axis), (1.0, 0.0))
        if joint.spring:
            seen = max(float(self.camera.project(joint.axis) @ along), LAYOUT.facing)
            start = self.camera.project(joint.spring_start(self.size, seen))
            end = child - joint.behind * along if (child - start) @ along > joint.behind else child
            self._line(outlines.coil(start, end, 0.02 * self.unit), INK, 1.3, 5)
            if joint.grounded:
                self._ground(start, outlines.unit(start - child), 0.06 * self.size)
            return
        if joint.drive is not None:
            out = outlines.unit(self.camera.project(joint.drive), (1.0, 0.0))
            around = self.scene.swept if joint.grounded else self.scene.outline_points()
            beyond = joint.reach(joint.drive) * float(np.linalg.norm(self.camera.project(joint.drive)))
            mount = place + (max(beyond, self._free_from(place, out, around)) + 0.1 * self.unit) * out
            self._line(np.stack([mount, child]), PALE, 3.0, 4)
            if joint.grounded:
                self._ground(mount, out, 0.05 * self.unit)
            return
        seen = float(self.camera.project(joint.axis) @ along)
        low, high = (x * seen for x in joint.travel)
        reach, room = 0.32 * self.size, 0.1 * self.size
        # the rail extends beyond a body along it, which is assumed to be symmetric about its centre
        body = 2 * float(self.camera.project(joint.toward) @ along)
        low, high = min(min(0.0, low) - reach, low + body - room), max(max(0.0, high) + reach, high + body + room)
        ends = np.stack([place + low * along, place + high * along])
        way = float((child - place) @ along)  # a body that moves further still has a rail
        reached = np.array([min(low, way + min(0.0, body)), max(high, way + max(0.0, body))])
        self._line(place + reached[:, None] * along, PALE, 3.0, 4)
        if joint.grounded:
            side = outlines.across(along)
            side = -side if side[1] > 0 or (side[1] == 0 and side[0] > 0) else side
            for end, sign in zip(ends, (1, -1), strict=True):
                self._ground(end + 0.05 * self.size * sign * along, side, 0.05 * self.size)

    def _free_from(self, place: np.ndarray, out: np.ndarray, points: np.ndarray) -> float:
        """Distance from a place, in a direction on the picture, beyond which there are no points (n x 3) [m]."""
        way = self.camera.project(points) - place
        near = np.abs(way @ outlines.across(out)) < 0.04 * self.size
        return float(max(0.0, (way[near] @ out).max(initial=0.0)))

    def _link(self, link: LinkMark) -> None:
        ends = self.camera.project(link.ends)
        if link.slack:
            self._line(ends, PALE, 1.0, 600, linestyle=(0, (1.5, 2)))
        else:
            LINKS[link.kind].picture(self, ends)
        for end in ends:
            self._marker(end, "o", 3.5, 602, INK)

    def _spring(self, ends: np.ndarray) -> None:
        self._line(outlines.coil(ends[0], ends[1], 0.018 * self.unit), INK, 1.2, 600)

    def _dashes(self, ends: np.ndarray) -> None:
        self._line(ends, INK, 1.2, 600, linestyle=(0, (5, 2)))

    def _beam(self, ends: np.ndarray) -> None:
        self._line(ends, INK, 4.0, 600)
        self._line(ends, "white", 2.0, 601)

    def _tendon(self, tendon: TendonMark) -> None:
        """A line with a dot at each point; a dotted line if it is slack."""
        points = self.camera.project(tendon.points)
        if tendon.slack:
            self._line(points, INK, 0.9, 604, linestyle=(0, (1, 2)))
            return
        self._line(points, INK, 1.2, 604, marker=".", markersize=4.0 * self.crowd)

    def _load(self, load: LoadMark) -> None:
        """An arrow along the force that ends at its point of application; the strongest has a fixed length."""
        arm = self.camera.project(load.force) * (0.16 * self.size / self.strongest if self.strongest > 0 else 0.0)
        if np.linalg.norm(arm) > 0.01 * self.size:
            point = self.camera.project(load.point)
            self._polygon(outlines.arrow(point - arm, point, 0.006 * self.size), HELD, 925)

    def _magnet(self, magnet: MagnetMark) -> None:
        """An arrow along the moment or the field, lines of the field, and the turns of a coil."""
        for line in magnet.lines(self.size):
            self._line(self.camera.project(line), FIELD, 0.6, 603)
        if len(magnet.ring):
            self._line(self.camera.project(magnet.ring), FIELD, 2.0, 604)
        arm = self.camera.project(0.08 * self.size * magnet.direction)
        if np.linalg.norm(arm) > 0.01 * self.size:
            place = self.camera.project(magnet.place)
            self._polygon(outlines.arrow(place - arm, place + arm, 0.006 * self.size), FIELD, 924)

    def _push(self, push: PushMark) -> None:
        """An arrow along a contact force that ends at the contact; those of impacts are shortened."""
        strength = float(np.linalg.norm(push.force))
        length = 0.16 * self.size * min(1.0, strength / self.longest_push) if self.longest_push > 0 else 0.0
        if length > 0.01 * self.size:
            point, arm = self.camera.project(push.point), self.camera.project(push.force * (length / strength))
            self._polygon(outlines.arrow(point - arm, point, 0.005 * self.size), PUSH, 926)

    def _pivot(self, place: np.ndarray, down: np.ndarray) -> None:
        reach = 0.055 * self.unit
        foot, side = place + reach * down, 0.62 * reach * outlines.across(down)
        self._polygon(np.stack([place, foot + side, foot - side]), "#D9D9D9", 895)
        self._ground(foot, down, 0.95 * reach, 896)

    def _ground(self, center: np.ndarray, outward: np.ndarray, width: float, layer: float = 890) -> None:
        for k, stroke in enumerate(outlines.hatching(center, outward, width, 0.022 * self.size)):
            self._line(stroke, INK, 1.5 if k == 0 else 0.9, layer)

    def _triad(self, start: np.ndarray, rotation: np.ndarray, length: float, layer: float) -> list[np.ndarray]:
        """Draw the axes of a frame, except along the line of sight; return their ends."""
        arms = self.camera.project(rotation.T) * length
        for arm, colour in zip(arms, AXES, strict=True):
            if np.linalg.norm(arm) > 0.05 * length:
                self._line(np.stack([start, start + arm]), colour, 1.3, layer)
        return [start + arm for arm in arms]


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
class SceneCopies:
    """Copies by layer and shape, and texts with their positions and types (`labels` or `nodes`)."""

    copies: dict[tuple[str, str], list[Copies]] = field(default_factory=lambda: defaultdict(list))
    labels: list[tuple[str, np.ndarray, str]] = field(default_factory=list)


def scene_copies(
    scene: Scene, size: float, curvature: float, force: float, push: float, center: np.ndarray
) -> SceneCopies:
    """The pieces of a scene; size: of symbols [m], curvature: of the last colour [1/m], force, push: of the longest arrows of loads
    and of contacts [N], center: the centre of the picture [m].

    Scenes of one robot have the same pieces in the same order for any pose.
    """
    maker = StageSymbols(size, curvature, force, push, center, group_colours(solid.name for solid in scene.solids))
    maker.add(scene)
    return maker.out


class StageSymbols:
    """Adds the pieces of each mark. Sizes named `share` are relative to the robot's size."""

    def __init__(
        self, size: float, curvature: float, force: float, push: float, center: np.ndarray, colours: dict[str, str]
    ) -> None:
        self.size, self.curvature, self.force, self.center, self.colours = size, curvature, force, center, colours
        self.longest_push = push
        self.out = SceneCopies()

    def add(self, scene: Scene) -> None:
        """Add the pieces of all marks of a scene, and the labels."""
        looks: tuple[tuple[Iterable[Any], Callable[[Any], None]], ...] = (
            (enumerate(scene.solids), self.solid),
            (scene.rods, self.rod),
            (scene.joints, self.joint),
            (scene.links, self.link),
            (scene.tendons, self.tendon),
            (scene.meshes, self.mesh),
            (scene.constraints, self.constraint),
            (scene.loads, self.load),
            (scene.pushes, self.push),
            (scene.magnets, self.magnet),
            (scene.frames.values(), self.frame),
            (scene.surfaces, self.surface),
        )
        for marks, add in looks:
            for mark in marks:
                add(mark)
        if len(scene.solids) + len(scene.rods) <= LAYOUT.labels_up_to:
            self.labels(scene)

    # -- parts of robots ---------------------------------------------------------------------------------------------

    def solid(self, numbered: tuple[int, Solid]) -> None:
        number, solid = numbered
        colour = _bytes(self.colours[solid.name])
        for arm in solid.arms:
            self.line(np.stack(arm), 0.006, colour)
        if solid.form in SOLIDS:
            SOLIDS[solid.form].stage(self, solid, colour, number)

    def slender(self, solid: Solid, colour: Colour, number: int) -> None:
        share, ends = 0.013 + 0.001 * (number % 3), solid.points  # avoids flickering of collinear neighbours
        self.line(ends, share, colour)
        for end in ends:
            self.ball(end, share, colour)

    def roller(self, solid: Solid, colour: Colour, number: int) -> None:
        self.cylinder(solid.points, solid.radius, colour)

    def block(self, solid: Solid, colour: Colour, number: int) -> None:
        self.box(solid.points, colour)

    def sphere(self, solid: Solid, colour: Colour, number: int) -> None:
        self._at("ball", solid.center, (solid.radius,) * 3, colour)

    def egg(self, solid: Solid, colour: Colour, number: int) -> None:
        axes = (solid.points - solid.center).T
        lengths = np.linalg.norm(axes, axis=0)
        x, y, z = map(float, lengths)
        self._at("ball", solid.center, (x, y, z), colour, axes / lengths)

    def dot(self, solid: Solid, colour: Colour, number: int) -> None:
        self.ball(solid.center, 0.025, colour)

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
        self.rod_ends(rod)

    def rod_ends(self, rod: RodCurve) -> None:
        """What is at the ends of a rod."""
        if rod.bore[-1] > 0:  # a dark disc where the tube ends
            lid = 0.002 * self.size * rod.tangents[-1]
            self.cylinder(np.stack([rod.points[-1] - lid, rod.points[-1] + lid]), float(rod.bore[-1]), _bytes(INK))
        if rod.grounded:
            along = rod.points[1] - rod.points[0]
            along = 0.012 * self.size * along / np.linalg.norm(along)
            thick = 1.5 * max(float(rod.half_sizes[0].max()), 0.004 * self.size)
            plate = max(thick, LAYOUT.clamp * self.size)  # so that base and tip of thin rods differ
            self.cylinder(np.stack([rod.points[0] - along, rod.points[0]]), plate, _bytes(PALE))

    def joint(self, joint: JointMark) -> None:
        """A ball unless the type has a special appearance, on a block if it is fixed to the world."""
        symbol = JOINTS.get(joint.kind, KNOB)
        symbol.stage(self, joint)
        if joint.grounded and symbol.on_block:
            self._at("cube", joint.place, (0.05 * self.size,) * 3, _bytes(PALE))

    def nothing(self, joint: JointMark) -> None:
        """Add no symbol."""

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
        if 0 < len(mesh.held) <= LAYOUT.beads_up_to:
            self._at("cube", mesh.nodes[mesh.held], (4.5 * share * self.size,) * 3, _bytes(PALE))
        if len(mesh.nodes) <= LAYOUT.beads_up_to:
            self._at("ball", mesh.nodes, (1.8 * share * self.size,) * 3, _bytes(INK))
        if len(mesh.nodes) <= LAYOUT.numbers_up_to:
            self.out.labels.extend((f"n{k + 1}", place, "nodes") for k, place in enumerate(mesh.nodes))

    def tendon(self, tendon: TendonMark) -> None:
        """A thread, which leaves the colours of a rod visible; thin and pale if it is slack."""
        pairs = np.stack([tendon.points[:-1], tendon.points[1:]], axis=1)
        self.line(pairs, 0.001 if tendon.slack else 0.002, _bytes(PALE if tendon.slack else INK))

    def link(self, link: LinkMark) -> None:
        """A slack link is thin and pale, with the same number of pieces, so that frames can be stacked."""
        LINKS[link.kind].stage(self, link)
        for end in link.ends:
            self.ball(end, 0.009, _bytes(INK))

    def spring(self, link: LinkMark) -> None:
        self.coil(link.ends, 0.008 if link.slack else 0.018, _bytes(PALE if link.slack else INK))

    def dashes(self, link: LinkMark) -> None:
        a, b = link.ends
        starts = np.arange(LAYOUT.dashes)[:, None, None] / LAYOUT.dashes
        reach = np.array([[0.0], [0.5 if link.slack else 1.0]]) / LAYOUT.dashes
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

    def magnet(self, magnet: MagnetMark) -> None:
        """An arrow along the moment or the field, lines of the field, and the turns of a coil."""
        for line in (*magnet.lines(self.size), *([magnet.ring] if len(magnet.ring) else [])):
            self.line(np.stack([line[:-1], line[1:]], axis=1), 0.006 if line is magnet.ring else 0.001, _bytes(FIELD))
        self._arrow(magnet.place + 0.1 * self.size * magnet.direction, 0.8 * magnet.direction, 1.0, FIELD)

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
        colour = lighter(WATER, 0.2) if surface.form == "water" else lighter(PALE, 0.3)
        SURFACES[surface.form](self, surface, _bytes(colour))

    def slab(self, surface: SurfaceMark, colour: Colour) -> None:
        """A thin slab below a plane."""
        u, w = sides(surface.axis)
        length, thick = 2 * SURFACE_LAYOUT.margin * self.size, 0.004 * self.size
        place = middle(surface, self.center) - 0.5 * thick * surface.axis
        turned = np.stack([u, w, surface.axis], axis=1)
        self._at("cube", place, (length, length, thick), colour, turned, "contacts")

    def ripples(self, surface: SurfaceMark, colour: Colour) -> None:
        """Lines on a plane, between which one sees what is below."""
        half, place = SURFACE_LAYOUT.margin * self.size, middle(surface, self.center)
        shares = np.linspace(-half, half, 9)
        for u, w in (sides(surface.axis), sides(surface.axis)[::-1]):
            for share in shares:
                ends = np.stack([place + share * u - half * w, place + share * u + half * w])
                self._between("cylinder", ends, 0.0012 * self.size, colour, "contacts")

    def tube(self, surface: SurfaceMark, colour: Colour) -> None:
        """A cylinder; its ends are left open."""
        ends = axis_ends(surface, self.center, self.size)
        self._between("cylinder", ends, self._around(surface), colour, "contacts")

    def capsule(self, surface: SurfaceMark, colour: Colour) -> None:
        """A cylinder with balls at its ends."""
        self.tube(surface, colour)
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
        self.out.labels.extend((words, named[k][1], "labels") for k, words in shown.items())

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
        u, w = outlines.normals(along)
        turn = np.linspace(0, 2 * np.pi * LAYOUT.coils, LAYOUT.coils * LAYOUT.per_coil + 1)[:, None]
        places = np.linspace(0.12, 0.88, len(turn))[:, None]
        wound = a + places * (b - a) + share * self.size * (np.cos(turn) * u + np.sin(turn) * w)
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
        self, shape: str, ends: np.ndarray, radius: float | np.ndarray, colour: Colour | np.ndarray,
        layer: str = "robot",
    ) -> None:  # fmt: skip
        ends = ends.reshape(-1, 2, 3)
        count = len(ends)
        sizes = np.repeat(np.broadcast_to(radius, (count,))[:, None], 3, axis=1)
        self.out.copies[layer, shape].append(Copies(sizes, np.broadcast_to(colour, (count, 3)), ends=ends))

    def _at(
        self, shape: str, places: np.ndarray, sizes: tuple[float, float, float] | np.ndarray,
        colours: Colour | np.ndarray, rotations: np.ndarray | None = None, layer: str = "robot",
    ) -> None:  # fmt: skip
        places = places.reshape(-1, 3)
        count = len(places)
        turned = np.broadcast_to(np.eye(3) if rotations is None else rotations, (count, 3, 3))
        size, colour = (np.broadcast_to(x, (count, 3)) for x in (sizes, colours))
        self.out.copies[layer, shape].append(Copies(size, colour, positions=places, rotations=turned))


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


@dataclass(frozen=True)
class Symbol:
    """Appearance of a type of mark: the functions that draw it on a flat picture and on a stage."""

    picture: Callable[..., None]
    stage: Callable[..., None]


@dataclass(frozen=True)
class JointSymbol(Symbol):
    """Appearance of a type of joint.

    on_block: whether it stands on a block of the stage if it is fixed to the world. marker: its marker and colour on pictures.
    """

    on_block: bool = True
    marker: tuple[str, str] = ("h", "white")


SOLIDS: dict[SolidForm, Symbol] = {
    "rod": Symbol(PictureSymbols._slender, StageSymbols.slender),
    "cylinder": Symbol(PictureSymbols._cylinder, StageSymbols.roller),
    "box": Symbol(PictureSymbols._box, StageSymbols.block),
    "ball": Symbol(PictureSymbols._ball, StageSymbols.sphere),
    "ellipsoid": Symbol(PictureSymbols._ellipsoid, StageSymbols.egg),
    "dot": Symbol(PictureSymbols._dot, StageSymbols.dot),
}
"""Forms of solids, in a colour, and on a layer of pictures or with their number on stages."""

KNOB = JointSymbol(PictureSymbols._turn, StageSymbols.knob)
"""Joints that are not listed in `JOINTS`."""
JOINTS: dict[str, JointSymbol] = {
    "weld": JointSymbol(PictureSymbols._weld, StageSymbols.nothing, on_block=False),
    "revolute": JointSymbol(PictureSymbols._turn, StageSymbols.hinge),
    "universal": JointSymbol(PictureSymbols._turn, StageSymbols.hinge, marker=("P", "white")),
    "spherical": JointSymbol(PictureSymbols._turn, StageSymbols.knob, marker=("o", INK)),
    "planar": JointSymbol(PictureSymbols._turn, StageSymbols.hinge, on_block=False, marker=("s", "white")),
    "prismatic": JointSymbol(PictureSymbols._slide, StageSymbols.slide, on_block=False),
    "cylindrical": JointSymbol(PictureSymbols._slide, StageSymbols.slide, on_block=False),
}
"""Types of joints; on pictures with the positions in parent and child."""

LINKS: dict[str, Symbol] = {
    "spring": Symbol(PictureSymbols._spring, StageSymbols.spring),
    "line": Symbol(PictureSymbols._dashes, StageSymbols.dashes),
    "beam": Symbol(PictureSymbols._beam, StageSymbols.beam),
}
"""Links; on pictures between two points."""

SURFACES: dict[SurfaceForm, Callable[[StageSymbols, SurfaceMark, Colour], None]] = {
    "plane": StageSymbols.slab,
    "water": StageSymbols.ripples,
    "cylinder": StageSymbols.tube,
    "capsule": StageSymbols.capsule,
    "faces": StageSymbols.sheet,
}
"""Contact surfaces on stages, in a colour; pictures show their silhouettes."""
