"""A drawing of a robot in a pose: `sketch(eqs)` returns matplotlib axes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.files import write_whole
from pliant.view import outlines
from pliant.view.camera import Camera, View, choose_camera, look_from, view_direction
from pliant.view.colours import AXES, HELD, INK, PALE, PUSH, SOFT, darker, group_colours, lighter
from pliant.view.drawing_layers import DrawingLayers
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
    outline,
    push_scale,
)
from pliant.view.mesh_drawing import net_paints
from pliant.view.names import LETTER, NameLabel, OccupiedSpace, first_of_each, place_names
from pliant.view.pose import pose_of
from pliant.view.rod_curve import RodCurve
from pliant.view.scene import make_scene
from pliant.view.settings import settings
from pliant.view.surfaces import SurfaceMark, edge_lines, silhouette

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, InputValues, Values

LABELS_UP_TO = 8
WIDTHS, HEIGHTS = (2.5, 5.0), (1.8, 5.0)
"""Smallest and largest width and height of a new figure [inch]."""

THINNEST, THIN = 0.0014, 0.005
"""Half widths of rods relative to the picture: that of the thinnest, about a pixel, and that above which they have outlines."""

FACING = 0.05
"""Cosine of the angle between a direction and the line of sight above which it points at the viewer."""

RESOLUTION = 160
"""Dots per inch of a .png file."""
_sized: WeakSet[Any] = WeakSet()
"""Figures whose size in pixels was given."""
LEAST, MOST = 64, 8000
"""Minimum and maximum width and height of a picture [pixels]."""


def sketch(
    eqs: Equations,
    q: Any = None,
    *,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    ax: Any = None,
    view: View = None,
    size: tuple[int, int] | None = None,
    labels: bool = True,
    frames: bool = True,
) -> Any:
    """Draw a robot; returns the matplotlib axes.

    q: an Equilibrium, a State, a Result (its end), positions in the order of `eqs.coordinates`, coordinates by name, "initial" or
        "equilibrium"; the model's start, moved onto its constraints, by default. Loads and tendons are those at its time.
    inputs: values of inputs, which decide which tendons are slack; those of an Equilibrium or Result by default.
    parameters: values that replace the model's own (SI units); those of an Equilibrium or Result by default.
    ax: axes to draw on; a new figure by default.
    view: position of the viewer: front, back, left, right, top, bottom or corner, or a direction from the robot (world axes);
        by default face-on for planar robots, else from above.
    size: width and height of a new figure as it is saved [pixels]; by default the shape of what is seen.
    labels: names of bodies and rods. frames: small axes at named frames and at the world's origin.
    """
    here, state = pose_of(eqs, q, inputs=inputs, parameters=parameters)
    scene = make_scene(here, state.q, t=state.t, contacts=state.contacts)
    camera = front_view(scene) if view is None else look_from(view_direction(view), scene.gravity)
    if ax is None and size is not None:
        ax = _sized_axes(*picture_size(size))
    drawing = Drawing(scene, camera, labels=labels, frames=frames)
    write_all_names([drawing])
    return drawing.draw(ax)


def write_all_names(drawings: Sequence[Drawing]) -> None:
    """Write names on pictures of one robot in several poses, on the same side of each part in all of them."""
    rooms, named = zip(*(drawing.names() for drawing in drawings), strict=True)
    for drawing, parts, places in zip(drawings, named, place_names(rooms, named), strict=True):
        drawing.write_names(parts, places)


def front_view(*scenes: Scene) -> Camera:
    """Camera for a robot in one or several poses: planar ones face-on, others from above."""
    first = scenes[0]
    moving = bool(first.turns or first.slides or first.rods or first.meshes)
    points = np.concatenate([scene.plane_points() if moving else scene.outline_points() for scene in scenes])
    return choose_camera(points, first.turns, first.slides, first.gravity)


def save(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write the figure of these axes to a .png, .svg or .pdf file (all or nothing) and close it."""
    import matplotlib.pyplot as plt

    target = Path(path)
    content = io.BytesIO()
    # no date in the file: the same robot gives the same bytes
    dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = target.suffix[1:]
    if kind not in dated:
        raise ValueError(f"cannot determine the format of '{target.name}': end it in .png, .svg or .pdf")
    with settings({"svg.hashsalt": "pliant"}):
        ax.figure.savefig(content, format=kind, dpi=_dots(ax.figure), metadata=dated[kind])
    plt.close(ax.figure)
    write_whole(target, content.getvalue())


def new_axes(width: float, height: float) -> Any:
    """Axes of a new figure of this size [inch]. The display of figures is left to the caller: no backend is chosen."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _dots(figure: Any) -> float:
    """Dots per inch of a .png file: those of a figure whose size was given, otherwise the usual ones."""
    return float(figure.dpi) if figure in _sized else RESOLUTION


def _sized_axes(width: int, height: int) -> Any:
    """Axes of a new figure of this size in pixels. Text and lines have the same relative size as on other pictures."""
    dots = max(width, height) / max(WIDTHS[1], HEIGHTS[1])
    ax = new_axes(*((x + 1e-6) / dots for x in (width, height)))
    ax.figure.set_dpi(dots)
    _sized.add(ax.figure)
    return ax


def picture_size(size: Any) -> tuple[int, int]:
    """Width and height of a picture [pixels], checked."""
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        raise ArgumentError(f"`size` is width and height in pixels, not {size!r}", "write size=(800, 600)") from None
    if not all(LEAST <= x <= MOST for x in (width, height)):
        raise ArgumentError(
            f"a picture of {width} x {height} pixels cannot be drawn", f"{LEAST} to {MOST} in each direction"
        )
    return width, height


class Drawing(DrawingLayers):
    """A scene as symbols from far to near: solids and rods by depth, then joints, then names.

    `size` [m] is what symbols are measured by, `center` [m] the middle of what is shown; those of the scene itself by default.
    `low` and `high` are the corners of what is drawn on the picture [m].
    """

    def __init__(
        self, scene: Scene, camera: Camera, *, labels: bool, frames: bool, size: float | None = None,
        center: np.ndarray | None = None, push: float | None = None,
    ) -> None:  # fmt: skip
        self.scene, self.camera, self.labels, self.frames = scene, camera, labels, frames
        points = scene.outline_points()
        self.center = 0.5 * (points.min(axis=0) + points.max(axis=0)) if center is None else center
        flat = camera.project(points)
        low, high = flat.min(axis=0), flat.max(axis=0)
        self.size = float(max(np.max(high - low), 1e-12)) if size is None else size
        # symbols of robots with many parts are smaller, so that they stand side by side
        self.crowd = float(np.clip((12 / max(len(scene.joints), len(scene.solids), 1)) ** 0.7, 0.25, 1.0))
        self.unit = self.crowd * self.size
        self.low, self.high = low - 0.02 * self.size, high + 0.02 * self.size
        self.todo = []
        self.colours = group_colours(solid.name for solid in scene.solids)
        self.longest_push = push_scale([scene]) if push is None else push
        self.strongest = max((float(np.linalg.norm(load.force)) for load in scene.loads), default=0.0)
        self._layers()
        self._all_symbols()

    def draw(self, ax: Any = None, within: tuple[np.ndarray, np.ndarray] | None = None) -> Any:
        """Draw on axes (of a new figure by default), within the given corners (those of this drawing by default)."""
        self.low, self.high = within or (self.low, self.high)
        floor = float(self.low[1]) - 0.03 * self.size
        self.beside_compass = float(self.low[0])
        if self.frames:
            floor = self._compass(floor)
        # the scale stands right of the world's axes, with room for its words
        right = max(self.high[0], self.beside_compass + max(0.3 * (self.high[0] - self.low[0]), 0.12 * self.size))
        scale_at = np.array([right, floor - 0.02 * self.size])
        self._include(scale_at[None])
        margin = 0.03 * self.size
        low, high = self.low - margin, self.high + margin
        extent = high - low
        if ax is None:
            height = float(np.clip(WIDTHS[1] * extent[1] / extent[0], *HEIGHTS))
            ax = new_axes(float(np.clip(height * extent[0] / extent[1], *WIDTHS)), height)
        for layer, paint in sorted(self.todo, key=lambda item: item[0]):
            paint(ax, layer)
        ax.set_aspect("equal")
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_axis_off()
        self._scale_bar(ax, scale_at, float(high[0] - low[0]))
        return ax

    # -- what is drawn where -----------------------------------------------------------------------------------------

    def _all_symbols(self) -> None:
        """Every mark by the method of its kind."""
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
        """Solids and rods from far to near: their depths, and the layer of each by its name."""
        things: list[Solid | RodCurve] = [*self.scene.solids, *self.scene.rods]
        depths = [self.camera.depth(np.mean(thing.points, axis=0)) for thing in things]
        self.depths = np.sort(depths)
        self.layer = {things[k].name: 10.0 + rank for rank, k in enumerate(np.argsort(depths, kind="stable"))}
        # a rod that leaves its body away from the viewer begins behind it, wherever their middles are
        for rod in self.scene.rods:
            if rod.parent in self.layer and rod.tangents[0] @ self.camera.toward < -FACING:
                self.layer[rod.parent] = max(self.layer[rod.parent], self.layer[rod.name] + 0.4)

    def _surface(self, surface: SurfaceMark) -> None:
        # between the bodies behind it and those before it; planes behind everything
        behind = int(np.searchsorted(self.depths, self.camera.depth(surface.place)))
        layer = 2.0 if surface.form == "plane" else 9.6 + behind
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
        # between the bodies behind it and those before it
        self.todo += [(9.3 + behind, paint) for behind, paint in net_paints(mesh, self.camera, self.depths)]

    def _constraint(self, ends: np.ndarray) -> None:
        a, b = self.camera.project(ends)
        if np.linalg.norm(a - b) > 1e-6 * self.size:
            self._line(np.stack([a, b]), HELD, 1.2, 920, linestyle=(0, (2, 2)))
        for point in (a, b):
            self._marker(point, "D", 7.5, 921, HELD)

    def names(self) -> tuple[OccupiedSpace, list[NameLabel]]:
        """What is on the picture, and the parts that have names there. Of repeated parts the first stands for all where there are
        many."""
        solids = [s for s in self.scene.solids if s.form != "none"]
        outlined = [self.camera.project(outline(solid)) for solid in solids]
        parts = [outlines.hull(points) if len(points) > 2 else points for points in outlined]
        parts += [self.camera.project(joint.child)[None] for joint in self.scene.joints]
        named = [
            NameLabel(
                solid.name,
                self.camera.project(solid.points),
                max(solid.radius, 0.016 * self.size),
                self.colours[solid.name],
            )
            for solid in solids
        ]
        for rod in self.scene.rods:
            points, radii = self.camera.project(rod.points), rod.seen_half_widths(self.camera.project)
            parts += [points, outlines.tube(points, radii)]
            named.append(NameLabel(rod.name, points, max(float(radii.max()), 0.008 * self.size), SOFT))
        if len(named) > LABELS_UP_TO:
            named = first_of_each(named)
        return OccupiedSpace(parts, self.size), named if self.labels and len(named) <= LABELS_UP_TO else []

    def write_names(self, named: Sequence[NameLabel], places: Sequence[np.ndarray]) -> None:
        """Write names with their middles at these places."""
        for one, place in zip(named, places, strict=True):
            self._text(one.words, place, darker(one.colour), 9.5, width=0.5 * LETTER * self.size * len(one.words))

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
        """A band as wide as its sections are seen, with the walls of a hollow one, and the end that faces the viewer."""
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
        for end in (-1,) if rod.grounded else (0, -1):
            self._rod_end(rod, end, layer)
        if rod.grounded:
            outward = outlines.unit(points[0] - points[1])
            self._ground(points[0], outward, max(0.05 * self.size, 1.3 * float(radii[0])))

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
        JOINTS.get(joint.kind, Drawing._turn)(self, joint, place, child)

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
            # not seen end-on: the axis itself says how it turns
            half = 0.06 * self.unit * slope
            self._line(np.stack([place - half, place + half]), INK, 1.2, 907, linestyle="dashdot")
        self._marker(place, "o", 7.0, 910, "white")

    def _slide(self, joint: JointMark, place: np.ndarray, child: np.ndarray) -> None:
        assert joint.axis is not None
        along = outlines.unit(self.camera.project(joint.axis), (1.0, 0.0))
        if joint.spring:
            start = self._spring_start(joint, child, along)
            end = child - joint.behind * along if (child - start) @ along > joint.behind else child
            self._line(outlines.coil(start, end, 0.02 * self.unit), INK, 1.3, 5)
            if joint.grounded:
                self._ground(start, outlines.unit(start - child), 0.06 * self.size)
            return
        if joint.drive is not None:
            out = outlines.unit(self.camera.project(joint.drive), (1.0, 0.0))
            mount = place + (self._free_from(place, out) + 0.1 * self.unit) * out
            self._line(np.stack([mount, child]), PALE, 3.0, 4)
            if joint.grounded:
                self._ground(mount, out, 0.05 * self.unit)
            return
        way = (child - place) @ along
        reach = 0.32 * self.size
        # a body that lies along the rail, as far beyond its centre as before it, does not hide the rail's end
        body = way + 2 * float(self.camera.project(joint.toward) @ along)
        room = 0.1 * self.size
        low, high = min(min(0.0, way) - reach, body - room), max(max(0.0, way) + reach, body + room)
        ends = np.stack([place + low * along, place + high * along])
        self._line(ends, PALE, 3.0, 4)
        if joint.grounded:
            side = outlines.across(along)
            side = -side if side[1] > 0 or (side[1] == 0 and side[0] > 0) else side
            for end, sign in zip(ends, (1, -1), strict=True):
                self._ground(end + 0.05 * self.size * sign * along, side, 0.05 * self.size)

    def _free_from(self, place: np.ndarray, out: np.ndarray) -> float:
        """How far from a place in a direction on the picture nothing is drawn any more [m]."""
        way = self.camera.project(self.scene.outline_points()) - place
        near = np.abs(way @ outlines.across(out)) < 0.04 * self.size
        return float(max(0.0, (way[near] @ out).max(initial=0.0)))

    def _spring_start(self, joint: JointMark, child: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Where the spring of a slide begins: at the parent's own place if that lies on the axis, else behind the child."""
        base = self.camera.project(joint.base)
        on_axis = abs((base - child) @ outlines.across(along)) < 1e-6 * self.size
        if on_axis and np.linalg.norm(base - child) > max(1e-3 * self.size, joint.behind):
            return base
        return child - (joint.behind + 0.25 * self.size) * along

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
        """A line with a dot at each point; dotted and without them where it is slack."""
        points = self.camera.project(tendon.points)
        if tendon.slack:
            self._line(points, INK, 0.9, 604, linestyle=(0, (1, 2)))
            return
        self._line(points, INK, 1.2, 604, marker=".", markersize=4.0 * self.crowd)

    def _load(self, load: LoadMark) -> None:
        """An arrow along the force that ends where it acts; the strongest has a fixed length."""
        arm = self.camera.project(load.force) * (0.16 * self.size / self.strongest if self.strongest > 0 else 0.0)
        if np.linalg.norm(arm) > 0.01 * self.size:
            point = self.camera.project(load.point)
            self._polygon(outlines.arrow(point - arm, point, 0.006 * self.size), HELD, 925)

    def _push(self, push: PushMark) -> None:
        """An arrow along the force of a contact that ends where things touch; those of impacts are cut."""
        strength = float(np.linalg.norm(push.force))
        length = 0.16 * self.size * min(1.0, strength / self.longest_push) if self.longest_push > 0 else 0.0
        if length > 0.01 * self.size:
            point, arm = self.camera.project(push.point), self.camera.project(push.force * (length / strength))
            self._polygon(outlines.arrow(point - arm, point, 0.005 * self.size), PUSH, 926)

    # -- symbols -----------------------------------------------------------------------------------------------------

    def _pivot(self, place: np.ndarray, down: np.ndarray) -> None:
        reach = 0.055 * self.unit
        foot, side = place + reach * down, 0.62 * reach * outlines.across(down)
        self._polygon(np.stack([place, foot + side, foot - side]), "#D9D9D9", 895)
        self._ground(foot, down, 0.95 * reach, 896)

    def _ground(self, center: np.ndarray, outward: np.ndarray, width: float, layer: float = 890) -> None:
        for k, stroke in enumerate(outlines.hatching(center, outward, width, 0.022 * self.size)):
            self._line(stroke, INK, 1.5 if k == 0 else 0.9, layer)

    def _triad(self, start: np.ndarray, rotation: np.ndarray, length: float, layer: float) -> list[np.ndarray]:
        """Axes of a frame; returns where they end. An axis along the line of sight is left out."""
        arms = self.camera.project(rotation.T) * length
        for arm, colour in zip(arms, AXES, strict=True):
            if np.linalg.norm(arm) > 0.05 * length:
                self._line(np.stack([start, start + arm]), colour, 1.3, layer)
        return [start + arm for arm in arms]

    def _compass(self, floor: float) -> float:
        """The world's axes in the lower left corner; returns the height of their lowest point."""
        length = 0.09 * self.size
        arms = self.camera.project(np.eye(3)) * length
        reach = 1.35 * np.minimum(arms.min(axis=0), 0.0), 1.35 * np.maximum(arms.max(axis=0), 0.0)
        start = np.array([self.low[0], floor]) - np.array([reach[0][0], reach[1][1]])
        ends = self._triad(start, np.eye(3), length, 900)
        for letter, end, colour in zip("xyz", ends, AXES, strict=True):
            if np.linalg.norm(end - start) > 0.05 * length:
                self._text(letter, start + 1.25 * (end - start), colour, 8)
        self.beside_compass = float(start[0] + reach[1][0]) + 0.04 * self.size
        return float(start[1] + reach[0][1])

    def _scale_bar(self, ax: Any, corner: np.ndarray, width: float) -> None:
        """A bar of a round length that ends in the lower right corner."""
        length = 10 ** np.floor(np.log10(0.3 * width))
        length *= max(k for k in (1, 2, 5) if k * length <= 0.3 * width)
        x, y = corner
        ax.plot([x - length, x], [y, y], color=PALE, linewidth=2.5, solid_capstyle="butt", zorder=990)
        words = (
            f"{length:g} m" if length >= 1 else f"{100 * length:g} cm" if length >= 0.01 else f"{1000 * length:g} mm"
        )
        ax.annotate(
            words, (x - length / 2, y), xytext=(0, 3), textcoords="offset points", ha="center", va="bottom",
            fontsize=8, color=PALE, zorder=990,
        )  # fmt: skip


SOLIDS: dict[SolidForm, Callable[[Drawing, Solid, str, float], None]] = {
    "rod": Drawing._slender,
    "cylinder": Drawing._cylinder,
    "box": Drawing._box,
    "ball": Drawing._ball,
    "dot": Drawing._dot,
}
"""How the forms of solids are drawn, in a colour and on a layer."""

JOINTS: dict[str, Callable[[Drawing, JointMark, np.ndarray, np.ndarray], None]] = {
    "weld": Drawing._weld,
    "prismatic": Drawing._slide,
    "cylindrical": Drawing._slide,
}
"""How kinds of joints are drawn that do not turn about a point, with their places in parent and child on the picture."""

TURNS = {"spherical": ("o", INK), "universal": ("P", "white"), "planar": ("s", "white")}
"""Marker and colour of joints that turn; the others are hexagons."""

LINKS: dict[str, Callable[[Drawing, np.ndarray], None]] = {
    "spring": Drawing._spring,
    "line": Drawing._dashes,
    "beam": Drawing._beam,
}
"""How links are drawn between two points on the picture."""
