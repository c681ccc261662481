"""A drawing of a robot in a pose: `sketch(eqs)` returns matplotlib axes."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.state import assemble
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations, InputValues, Values, need_equations
from pliant.engine.state import State, state_of
from pliant.language.arguments import ArgumentError, flag, vector
from pliant.language.files import write_whole
from pliant.language.parameter import Environment
from pliant.parts.mesh import MeshBase
from pliant.robot.flattening import flatten
from pliant.robot.robot import RobotSpec
from pliant.show import outlines
from pliant.show.camera import Camera, View, choose_camera, look_from, view_direction
from pliant.show.colours import AXES, PALE, SOFT, darker, group_colours
from pliant.show.marks import Scene, outline, push_scale
from pliant.show.names import NAME_LAYOUT, NameLabel, OccupiedSpace, first_of_each, place_names
from pliant.show.scene import make_scene, parameters_of_run
from pliant.show.symbols import PictureSymbols


@dataclass(frozen=True)
class SketchLayout:
    """Sizes of pictures."""

    labels_up_to: int = 8
    """Pictures with more parts than this have no names."""
    widths: tuple[float, float] = (2.5, 5.0)
    """Smallest and largest width of a new figure [inch]."""
    heights: tuple[float, float] = (1.8, 5.0)
    """Smallest and largest height of a new figure [inch]."""
    resolution: int = 160
    """Dots per inch of a .png file."""
    end_on: float = 0.15
    """Smallest size of the symbols, relative to the extent of the robot in space."""
    least: int = 64
    """Minimum width and height of a picture [pixels]."""
    most: int = 8000
    """Maximum width and height of a picture [pixels]."""


LAYOUT = SketchLayout()


_sized: WeakSet[Any] = WeakSet()
"""Figures whose size in pixels was given."""


def sketch(
    eqs: Equations, q: Any = None, *, inputs: InputValues | None = None, parameters: Values | None = None,
    ax: Any = None, view: View = None, size: tuple[int, int] | None = None, labels: bool = True, frames: bool = True,
) -> Any:  # fmt: skip
    """Draw a robot and return the matplotlib axes.

    q: an Equilibrium, a State, a Result (its end), positions in the order of `eqs.coordinates`, coordinates by name, "initial" or
        "equilibrium"; the model's start, moved onto its constraints, by default. Loads and tendons are those at its time.
    inputs: values of inputs, which determine which tendons are slack; those of an Equilibrium or Result by default.
    parameters: values that replace the model's own (SI units); those of an Equilibrium or Result by default.
    ax: axes to draw on; a new figure by default.
    view: position of the viewer: front, back, left, right, top, bottom or corner, or a direction from the robot (world axes);
        by default face-on for planar robots, else from above.
    size: width and height of a new figure as it is saved [pixels]; by default the shape of the content.
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


def symbol_size(points: np.ndarray, camera: Camera) -> float:
    """Unit of the symbols of a picture of points (n x 3) [m]: their extent on it. A robot seen along its length has symbols of a
    fraction of the length."""
    seen, extent = (float(np.ptp(x, axis=0).max()) for x in (camera.project(points), points))
    return max(seen, LAYOUT.end_on * extent) or 1.0


def front_view(*scenes: Scene) -> Camera:
    """Camera for a robot in one or several poses: planar ones face-on, others from above."""
    first = scenes[0]
    moving = bool(first.turns or first.slides or first.rods or first.meshes)
    points = np.concatenate([scene.plane_points() if moving else scene.outline_points() for scene in scenes])
    return choose_camera(points, first.turns, first.slides, first.gravity)


def save(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write the figure of these axes to a .png, .svg or .pdf file atomically, and close it."""
    import matplotlib.pyplot as plt

    target = Path(path)
    content = io.BytesIO()
    # without a date in the file, the same robot gives the same bytes
    dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = target.suffix[1:]
    if kind not in dated:
        raise ValueError(f"cannot determine the format of '{target.name}': end it in .png, .svg or .pdf")
    with settings({"svg.hashsalt": "pliant"}):
        ax.figure.savefig(content, format=kind, dpi=_dots(ax.figure), metadata=dated[kind])
    plt.close(ax.figure)
    write_whole(target, content.getvalue())


def new_axes(width: float, height: float) -> Any:
    """Axes of a new figure of this size [inch]. The caller chooses the backend that displays it."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _dots(figure: Any) -> float:
    """Dots per inch of a .png file: those of a figure whose size was given, otherwise `LAYOUT.resolution`."""
    return float(figure.dpi) if figure in _sized else LAYOUT.resolution


def _sized_axes(width: int, height: int) -> Any:
    """Axes of a new figure of this size in pixels. Text and lines have the same relative size as on other pictures."""
    dots = max(width, height) / max(LAYOUT.widths[1], LAYOUT.heights[1])
    ax = new_axes(*((x + 1e-6) / dots for x in (width, height)))
    ax.figure.set_dpi(dots)
    _sized.add(ax.figure)
    return ax


def picture_size(size: Any) -> tuple[int, int]:
    """Width and height of a picture [pixels]; raises ArgumentError if they are invalid."""
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        raise ArgumentError(f"`size` is width and height in pixels, not {size!r}", "write size=(800, 600)") from None
    if not all(LAYOUT.least <= x <= LAYOUT.most for x in (width, height)):
        raise ArgumentError(
            f"a picture of {width} x {height} pixels cannot be drawn",
            f"{LAYOUT.least} to {LAYOUT.most} in each direction",
        )
    return width, height


class Drawing(PictureSymbols):
    """A picture of a scene: symbols from far to near, names, the world's axes and a scale bar.

    `size` is the unit of symbols [m], `center` the centre of the picture in the world [m], `push` the contact force of the longest
    arrow [N]; by default they follow from the scene. `low` and `high` are the corners of the content on the picture [m].
    """

    def __init__(
        self, scene: Scene, camera: Camera, *, labels: bool, frames: bool, size: float | None = None,
        center: np.ndarray | None = None, push: float | None = None,
    ) -> None:  # fmt: skip
        self.scene, self.camera = scene, camera
        self.labels, self.frames = flag("labels", labels), flag("frames", frames)
        points = scene.outline_points()
        self.center = 0.5 * (points.min(axis=0) + points.max(axis=0)) if center is None else center
        flat = camera.project(points)
        low, high = flat.min(axis=0), flat.max(axis=0)
        self.size = symbol_size(points, camera) if size is None else size
        # symbols of robots with many parts are smaller, so that they do not overlap
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
        # the scale bar is to the right of the world's axes, with room for its text
        right = max(self.high[0], self.beside_compass + max(0.3 * (self.high[0] - self.low[0]), 0.12 * self.size))
        scale_at = np.array([right, floor - 0.02 * self.size])
        self._include(scale_at[None])
        margin = 0.03 * self.size
        low, high = self.low - margin, self.high + margin
        extent = high - low
        if ax is None:
            height = float(np.clip(LAYOUT.widths[1] * extent[1] / extent[0], *LAYOUT.heights))
            ax = new_axes(float(np.clip(height * extent[0] / extent[1], *LAYOUT.widths)), height)
        for layer, paint in sorted(self.todo, key=lambda item: item[0]):
            paint(ax, layer)
        ax.set_aspect("equal")
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set_axis_off()
        self._scale_bar(ax, scale_at, float(high[0] - low[0]))
        return ax

    def names(self) -> tuple[OccupiedSpace, list[NameLabel]]:
        """The occupied space of the picture, and the parts with names. If there are many, the first of repeated parts represents
        all of them."""
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
        if len(named) > LAYOUT.labels_up_to:
            named = first_of_each(named)
        return OccupiedSpace(parts, self.size), named if self.labels and len(named) <= LAYOUT.labels_up_to else []

    def write_names(self, named: Sequence[NameLabel], places: Sequence[np.ndarray]) -> None:
        """Write names, centred at these positions."""
        for one, place in zip(named, places, strict=True):
            self._text(one.words, place, darker(one.colour), 9.5, width=0.5 * NAME_LAYOUT.letter * len(one.words))

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
        length = outlines.round_length(0.3 * width)
        x, y = corner
        ax.plot([x - length, x], [y, y], color=PALE, linewidth=2.5, solid_capstyle="butt", zorder=990)
        ax.annotate(
            outlines.length_text(length), (x - length / 2, y), xytext=(0, 3), textcoords="offset points", ha="center", va="bottom",
            fontsize=8, color=PALE, zorder=990,
        )  # fmt: skip


@contextmanager
def settings(options: Mapping[str, Any]) -> Iterator[None]:
    """Set values of `matplotlib.rcParams` within the context; afterwards the previous values are restored.

    Unlike `rc_context`, it does not restore others: the first figure loads the backend, and that of notebooks switches on
    interactive mode, without which no further figure would be shown.
    """
    import matplotlib as mpl

    current: Any = mpl.rcParams  # names are plain texts here
    before = {name: current[name] for name in options}
    current.update(options)
    within = {name: current[name] for name in options}
    try:
        yield
    finally:  # values set by the backend when it was loaded are kept too
        current.update({name: value for name, value in before.items() if current[name] == within[name]})


def pose_of(
    eqs: Equations, given: Any, *, inputs: InputValues | None = None, parameters: Values | None = None
) -> tuple[Equations, State]:
    """Equations with the inputs and parameters of a pose, and the pose.

    given: None or "initial" (the model's start, moved onto its constraints), "equilibrium", coordinates by name, positions, a State
    or an object that has one; a Result gives its final state. inputs, parameters: those of the Equilibrium or Result by default.
    """
    need_equations(eqs)
    if inputs is None:
        inputs = _inputs(given)
    if parameters is None:
        parameters = _parameters(eqs, given)
    here = eqs.at(inputs=inputs, parameters=parameters, within_limits=False)
    pose = state_of(given)
    if isinstance(pose, State):
        return here, pose  # unchanged: failed poses should be displayed
    if np.iterable(pose) and not isinstance(pose, str | Mapping):
        return here, State(vector("q", pose, len(eqs.coordinates)), np.zeros(len(eqs.rates)))
    state = state_at(here, pose, 0.0, where="pose", unstable=True)
    closed = assemble(here, here.binding, state.t, state.q, state.v, state.given)
    return here, State(closed.q, closed.v, state.t, contacts=state.contacts)


def _inputs(given: Any) -> InputValues | None:
    if isinstance(given, Result):
        return {name: float(values[-1]) for name, values in given.inputs.items()}
    return given.inputs if isinstance(given, Equilibrium) else None


def _parameters(eqs: Equations, given: Any) -> Values | None:
    if isinstance(given, Result):
        return parameters_of_run(eqs, given)
    return given.parameters if isinstance(given, Equilibrium) else None


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
    size = np.array([float(x) for x in mesh.drawing.size(Environment(flat.parameters).value)])
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
