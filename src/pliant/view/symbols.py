"""Symbols of the marks of a scene on a flat picture: bodies, rods, joints, links, loads and contact surfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pliant.view import outlines
from pliant.view.camera import Camera
from pliant.view.colours import AXES, HELD, INK, PALE, PUSH, SOFT, darker, lighter, rgb
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
from pliant.view.rod_curve import RodCurve
from pliant.view.surfaces import SurfaceMark, edge_lines, silhouette


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


THINNEST, THIN = 0.0014, 0.005
"""Half widths of rods relative to the picture: that of the thinnest, about a pixel, and that above which they have outlines."""

FACING = 0.05
"""Cosine of the angle between a direction and the line of sight above which it points at the viewer."""


class Symbols(DrawingLayers):
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
            if rod.parent in self.layer and rod.tangents[0] @ self.camera.toward < -FACING:
                self.layer[rod.parent] = max(self.layer[rod.parent], self.layer[rod.name] + 0.4)

    def _surface(self, surface: SurfaceMark) -> None:
        # behind its body, or between the bodies behind it and those in front of it; planes are behind everything
        behind = int(np.searchsorted(self.depths, self.camera.depth(surface.place)))
        layer = 2.0 if surface.form == "plane" else self.layer.get(surface.owner, 10.2 + behind) - 0.6
        flat = silhouette(surface, self.camera, self.center, self.size)
        self._polygon(flat, lighter(PALE, 0.55), layer, see_through=True)
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
            SOLIDS[solid.form](self, solid, colour, layer)

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

    def _dot(self, solid: Solid, colour: str, layer: float) -> None:
        self._marker(self.camera.project(solid.center), "o", 13.0, layer + 0.2, colour)

    def _rod(self, rod: RodCurve) -> None:
        """A band as wide as the visible sections, with the walls of a hollow rod, and ends that face the viewer."""
        points, layer = self.camera.project(rod.points), self.layer[rod.name]
        radii = np.maximum(rod.seen_half_widths(self.camera.project), THINNEST * self.size)
        thin = float(radii.max()) < THIN * self.size
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
        on_ground = rod.grounded and np.linalg.norm(out) > FACING
        for end in (-1,) if on_ground else (0, -1):
            self._rod_end(rod, end, layer)
        if on_ground:
            self._ground(points[0], outlines.unit(out), max(0.05 * self.size, 1.3 * float(radii[0])))

    def _rod_end(self, rod: RodCurve, end: int, layer: float) -> None:
        facing = float(rod.tangents[end] @ self.camera.toward) * (1 if end else -1)
        if facing < FACING or rod.half_sizes[end].min() < 0.008 * self.size:
            return
        self._polygon(self.camera.project(rod.section(end)), lighter(SOFT, 0.25), layer + 0.2)
        if rod.bore[end] > 0:
            hole = rod.section(end, float(rod.bore[end] / rod.half_sizes[end, 0]))
            self._polygon(self.camera.project(hole), darker(SOFT), layer + 0.3)

    def _joint(self, joint: JointMark) -> None:
        place, child = self.camera.project(joint.place), self.camera.project(joint.child)
        JOINTS.get(joint.kind, Symbols._turn)(self, joint, place, child)

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
            marker, colour = TURNS.get(joint.kind, ("h", "white"))
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
            seen = max(float(self.camera.project(joint.axis) @ along), FACING)
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
            LINKS[link.kind](self, ends)
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


SOLIDS: dict[SolidForm, Callable[[Symbols, Solid, str, float], None]] = {
    "rod": Symbols._slender,
    "cylinder": Symbols._cylinder,
    "box": Symbols._box,
    "ball": Symbols._ball,
    "dot": Symbols._dot,
}
"""Functions that draw the forms of solids, in a colour and on a layer."""

JOINTS: dict[str, Callable[[Symbols, JointMark, np.ndarray, np.ndarray], None]] = {
    "weld": Symbols._weld,
    "prismatic": Symbols._slide,
    "cylindrical": Symbols._slide,
}
"""Functions that draw joints that do not turn about a point, with their positions in parent and child on the picture."""

TURNS = {"spherical": ("o", INK), "universal": ("P", "white"), "planar": ("s", "white")}
"""Marker and colour of joints that turn; the others are hexagons."""

LINKS: dict[str, Callable[[Symbols, np.ndarray], None]] = {
    "spring": Symbols._spring,
    "line": Symbols._dashes,
    "beam": Symbols._beam,
}
"""Functions that draw links between two points on the picture."""
