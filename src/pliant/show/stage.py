"""A moving robot as copies of five unit shapes, drawn by the live page, the player in reports and glTF files.

The shapes are at the origin: a ball of radius 1; a cylinder and a cone of radius 1 along z from -1/2 to 1/2; a cube
with edges of 1; a right-angled triangle with legs of 1 along x and y.
In each frame, every copy is scaled along its own axes, rotated, moved and coloured. So one table of numbers describes
everything: drawing it requires no other data of the robot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

import numpy as np

from pliant.parts.geometry import arrays
from pliant.show.camera import Camera, look_from
from pliant.show.marks import PushMark, Scene, push_scale, rod_outline
from pliant.show.sketch import front_view
from pliant.show.symbols import Copies, SceneCopies, scene_copies


@dataclass(frozen=True)
class StageLayout:
    """Appearance of stages."""

    contact_opacity: float = 0.3
    """Opacity of contact surfaces."""
    straight: float = 1e-3
    """Rods that bend by less than this over the robot's size are drawn as straight [rad]."""
    sides: int = 16
    """Sides of round shapes."""
    rows: int = 10
    """Rows of a ball."""


STAGE_LAYOUT = StageLayout()

Shape = Literal["ball", "cylinder", "cone", "cube", "triangle"]
Layer = Literal["robot", "loads", "frames", "rods", "contacts"]
"""Groups that are shown and hidden together. Soft rods are drawn late, because they are transparent if something runs inside them,
and contact surfaces last, because they are always transparent."""


@dataclass(frozen=True)
class Batch:
    """Copies of one shape in n frames.

    Attributes:
        shape, layer: the unit shape, and the group that it belongs to.
        positions: n x copies x 3 [m].
        turns: n x copies x 4, unit quaternions [w, x, y, z].
        sizes: n x copies x 3, factors along the shape's own axes [m].
        colours: n x copies x 3, 0 to 255.
    """

    shape: Shape
    layer: Layer
    positions: np.ndarray
    turns: np.ndarray
    sizes: np.ndarray
    colours: np.ndarray


@dataclass(frozen=True)
class Label:
    """A word that stays with a point, n x 3 [m]: the name of a body or rod (`labels`), or the number of a node (`nodes`)."""

    text: str
    positions: np.ndarray
    layer: str = "labels"


@dataclass(frozen=True)
class Stage:
    """Everything that is visible in n frames.

    Attributes:
        batches: copies of shapes.
        labels: names of bodies, rods and nodes.
        low, high: corners of a box around everything in all frames [m].
        camera: the viewpoint.
        up: direction against gravity.
        curvature: largest curvature of soft rods, which has the last colour of the scale [1/m]; 0 without rods.
        size: unit of symbols [m].
        force, push: forces of the longest arrows of loads and of contacts [N].
        pushes: number of arrows of contacts.
        see_through: whether soft rods hide something, such as tendons.
    """

    batches: tuple[Batch, ...]
    labels: tuple[Label, ...]
    low: np.ndarray
    high: np.ndarray
    camera: Camera
    up: np.ndarray
    curvature: float
    size: float
    force: float
    push: float
    pushes: int
    see_through: bool

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.batches[0].positions)


def make_stage(
    scenes: Sequence[Scene], *, curvature: float = 0.0, size: float = 0.0, force: float = 0.0, push: float = 0.0,
    pushes: int = 0,
) -> Stage:  # fmt: skip
    """The stage of one robot in several poses.

    curvature, size, force, push: lower bounds of the scales of colour [1/m], symbols [m] and arrows of loads and contacts [N];
    pushes: lower bound of the number of arrows of contacts. Pass those of an earlier stage to draw further poses on the same
    scales.
    """
    points = np.concatenate(
        [part for scene in scenes for part in (scene.outline_points(), *map(rod_outline, scene.rods))]
    )
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(size, float(np.max(high - low)), 1e-12)
    bent = max((float(rod.curvature.max()) for scene in scenes for rod in scene.rods), default=0.0)
    curvature = max(curvature, bent if bent * size > STAGE_LAYOUT.straight else 0.0)
    force = max([force, *(float(np.linalg.norm(load.force)) for scene in scenes for load in scene.loads)])
    push, scenes = max(push, push_scale(scenes)), with_equal_pushes(scenes, pushes)
    pieces = [scene_copies(scene, size, curvature, force, push, 0.5 * (low + high)) for scene in scenes]
    batches = [batch for layer in get_args(Layer) for batch in _batches(pieces, layer)]
    labels = [
        Label(text, np.stack([frame.labels[k][1] for frame in pieces]), layer)
        for k, (text, _, layer) in enumerate(pieces[0].labels)
    ]
    gravity = scenes[0].gravity
    flat = front_view(*scenes[:: max(1, len(scenes) // 20)])
    # a planar robot, which would be seen face-on, is turned slightly to show its depth
    camera = look_from(flat.toward + 0.3 * flat.right + 0.25 * flat.up, gravity)
    down = float(np.linalg.norm(gravity))
    # without gravity, the axis of the world that is upright in the drawing
    nearest = int(np.argmax(np.abs(flat.up)))
    up = -gravity / down if down > 0 else np.sign(flat.up[nearest]) * np.eye(3)[nearest]
    see_through = any(scene.tendons for scene in scenes)
    pushes = len(scenes[0].pushes)
    return Stage(
        tuple(batches), tuple(labels), low, high, camera, up, curvature, size, force, push, pushes, see_through
    )


def with_equal_pushes(scenes: Sequence[Scene], fewest: int = 0) -> list[Scene]:
    """The scenes with the same number of contact forces, at least `fewest`; one that lasts keeps its index. Missing ones are zero,
    at their last or next position."""
    slots: list[int | None] = [None] * fewest
    rows: list[dict[int, PushMark]] = []
    for scene in scenes:
        there = {push.key: push for push in scene.pushes}
        slots = [key if key in there else None for key in slots]
        waiting = [key for key in there if key not in slots]
        for k, key in enumerate(slots):
            if key is None and waiting:
                slots[k] = waiting.pop(0)
        slots += waiting
        rows.append({k: there[key] for k, key in enumerate(slots) if key is not None})
    places = [next((row[k].point for row in rows if k in row), np.zeros(3)) for k in range(len(slots))]
    out = []
    for scene, row in zip(scenes, rows, strict=True):
        places = [row[k].point if k in row else place for k, place in enumerate(places)]
        pushes = (row.get(k, PushMark(-1, place, np.zeros(3))) for k, place in enumerate(places))
        out.append(replace(scene, pushes=tuple(pushes)))
    return out


def _batches(pieces: Sequence[SceneCopies], layer: Layer) -> list[Batch]:
    out = []
    for shape in get_args(Shape):
        frames = [frame.copies[layer, shape] for frame in pieces]
        if not frames[0]:
            continue
        colours, sizes = _stacked(frames, "colours"), _stacked(frames, "sizes")
        if frames[0][0].ends is not None:
            ends = _stacked(frames, "ends")
            positions = ends.mean(axis=2)
            along = ends[:, :, 1] - ends[:, :, 0]
            sizes[:, :, 2] = np.maximum(np.linalg.norm(along, axis=2), 1e-15)
            turns = carried_turns(along / sizes[:, :, 2:])
        else:
            positions = _stacked(frames, "positions")
            turns = arrays.matrix_quaternion(_stacked(frames, "rotations"))
        out.append(Batch(shape, layer, positions, _without_jumps(turns), sizes, colours))
    return out


def _stacked(frames: Sequence[Sequence[Copies]], name: str) -> np.ndarray:
    return np.array([np.concatenate([getattr(copies, name) for copies in frame]) for frame in frames])


def carried_turns(directions: np.ndarray) -> np.ndarray:
    """Quaternions (n x copies x 4) that turn z into directions (n x copies x 3), with the least possible roll between frames."""
    turns = np.empty((*directions.shape[:2], 4))
    before = np.broadcast_to([0.0, 0.0, 1.0], directions[0].shape)
    turn = np.broadcast_to([1.0, 0.0, 0.0, 0.0], turns[0].shape)
    for k, now in enumerate(directions):
        turn = turns[k] = arrays.quaternion_product(arrays.quaternion_between(before, now), turn)
        before = now
    return turns


def _without_jumps(turns: np.ndarray) -> np.ndarray:
    """The same rotations with signs such that neighbouring frames can be interpolated."""
    agree = np.sign(np.einsum("tij,tij->ti", turns[1:], turns[:-1]))
    signs = np.cumprod(np.where(agree == 0, 1.0, agree), axis=0)
    return np.concatenate([turns[:1], turns[1:] * signs[..., None]])


@dataclass(frozen=True)
class Mesh:
    """Corners (n x 3), outward normals there (n x 3), and triangles of corners (m x 3), seen from outside."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray


@cache
def unit_shape(name: str) -> Mesh:
    """The ball, cylinder, cone, cube or triangle."""
    if name == "cube":
        return _cube()
    if name == "triangle":
        return _triangle()
    if name == "ball":
        angles = np.pi * (np.arange(STAGE_LAYOUT.rows + 1) / STAGE_LAYOUT.rows - 0.5)
        rings = [(np.cos(a), np.sin(a), np.cos(a), np.sin(a)) for a in angles]
        return _revolved([ring for k in range(STAGE_LAYOUT.rows) for ring in (rings[k], rings[k + 1])])
    bottom = [(0.0, -0.5, 0.0, -1.0), (1.0, -0.5, 0.0, -1.0)]
    if name == "cylinder":
        return _revolved([*bottom, (1, -0.5, 1, 0), (1, 0.5, 1, 0), (1, 0.5, 0, 1), (0, 0.5, 0, 1)])
    slope = 1 / np.sqrt(2)
    return _revolved([*bottom, (1, -0.5, slope, slope), (0, 0.5, slope, slope)])


def _revolved(profile: Sequence[tuple[float, float, float, float]]) -> Mesh:
    """Pairs of rings (radius, height, and the normal's parts outward and up) joined by strips, from bottom to top."""
    turn = 2 * np.pi * np.arange(STAGE_LAYOUT.sides + 1) / STAGE_LAYOUT.sides
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = np.array(profile)
    parts = [
        np.concatenate(
            [r[:, None, None] * around, np.broadcast_to(z[:, None, None], (len(rings), STAGE_LAYOUT.sides + 1, 1))],
            axis=2,
        )
        for r, z in ((rings[:, 0], rings[:, 1]), (rings[:, 2], rings[:, 3]))
    ]
    k = np.arange(STAGE_LAYOUT.sides)
    strip = np.concatenate(
        [
            np.stack([k, k + 1, k + STAGE_LAYOUT.sides + 2], axis=1),
            np.stack([k, k + STAGE_LAYOUT.sides + 2, k + STAGE_LAYOUT.sides + 1], axis=1),
        ]
    )
    faces = np.concatenate([strip + first * (STAGE_LAYOUT.sides + 1) for first in range(0, len(rings), 2)])
    return Mesh(parts[0].reshape(-1, 3), parts[1].reshape(-1, 3), faces)


def _cube() -> Mesh:
    vertices: list[np.ndarray] = []
    normals: list[np.ndarray] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = sign * np.eye(3)[axis]
            u = np.eye(3)[(axis + 1) % 3]
            w = np.cross(normal, u)
            first = len(vertices)
            vertices += [0.5 * (normal + a * u + b * w) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [normal] * 4
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(np.array(vertices), np.array(normals), np.array(faces))


def _triangle() -> Mesh:
    """Right-angled at the origin, visible from both sides."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    normals = np.repeat([[0.0, 0, 1], [0, 0, -1]], 3, axis=0)
    return Mesh(np.concatenate([corners, corners]), normals, np.array([[0, 1, 2], [3, 5, 4]]))
