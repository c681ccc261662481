"""A robot's drawing as numbers that follow the poses of its nodes, for pages that compute the motion themselves.

The pieces of a scene (`symbols.StageSymbols`) are recorded in a few poses. A point whose place relative to a node is the same in
all of them moves with it; so pieces are fixed to a node, or stretched between points of two. Rods are curves through their nodes,
as in `marks.rod_curve`. How the numbers change with parameters is found by changing these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import casadi as ca
import numpy as np

from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.engine.program import EvaluationError
from pliant.parts.assembly.system import PLACEMENT_SIZE
from pliant.parts.geometry import arrays
from pliant.show.colours import AXES, INK, PALE, SCALE, group_colours, rgb
from pliant.show.marks import LinkMark, RodCurve, RodPlace, Scene, arc_pose, rod_pieces, rod_places
from pliant.show.outlines import length_text, round_length
from pliant.show.page import packed, shape_data
from pliant.show.scene import SceneMaker
from pliant.show.stage import Layer, Shape, Stage, make_stage
from pliant.show.symbols import LAYOUT, Colour, StageSymbols

POSES = 4
"""Number of poses in which pieces are recorded."""
AMPLITUDE = 0.15
"""Of the changes of coordinates between them, relative to their sizes."""
CHANGE = 0.01
"""Relative change of a parameter by which its effect on the drawing is measured."""
COIL = LAYOUT.coils * LAYOUT.per_coil + 2
"""Pieces of a spring."""

Key = tuple[str, str]


@dataclass(frozen=True)
class Group:
    """Pieces of one kind that were recorded in one pose, in order.

    Attributes:
        keys: layer and shape of each.
        points: k x points of each x 3 [m].
        sizes: k x 3: factors along the axes of a shape; radius, thickness and 0 of what is stretched [m].
        colours: k x 3, 0 to 255.
        turns: k x 3 x 3, NaN of pieces that do not turn.
        shares: k x 2, between which fractions of its length a stretched piece is drawn.
    """

    keys: tuple[Key, ...]
    points: np.ndarray
    sizes: np.ndarray
    colours: np.ndarray
    turns: np.ndarray
    shares: np.ndarray


class Recorder(StageSymbols):
    """Records the pieces of a scene by how they move, instead of where they are."""

    def __init__(self, size: float, center: np.ndarray, colours: dict[str, str]) -> None:
        super().__init__(size, 0.0, 0.0, 0.0, center, colours)
        self.fixed: list[Group] = []
        self.stretched: list[Group] = []
        self.coils: list[Group] = []
        self.rods: list[tuple[RodCurve, np.ndarray]] = []

    def rod(self, rod: RodCurve) -> None:
        """A rod, with the half sizes of its section along it (n x 2) [m]; its ends are fixed pieces."""
        self.rods.append((rod, np.maximum(rod.half_sizes, 0.004 * self.size)))
        self.rod_ends(rod)

    def coil(self, ends: np.ndarray, share: float, colour: Colour | None = None) -> None:
        thickness = 0.0035 * self.size
        shown = tuple(255 * x for x in rgb(INK)) if colour is None else colour
        self._stretch(self.coils, [("robot", "cylinder")], ends, [share * self.size, thickness, 0.0], shown)

    def dashes(self, link: LinkMark) -> None:
        starts = np.arange(LAYOUT.dashes) / LAYOUT.dashes
        reach = (0.5 if link.slack else 1.0) / LAYOUT.dashes
        shares = np.stack([starts, starts + reach], axis=1)
        keys, sizes = [("robot", "cylinder")] * len(starts), [(0.003 if link.slack else 0.005) * self.size] * 2 + [0.0]
        colour = tuple(255 * x for x in rgb(PALE if link.slack else INK))
        self._stretch(self.stretched, keys, np.broadcast_to(link.ends, (len(starts), 2, 3)), sizes, colour, shares)

    def _between(
        self, shape: str, ends: np.ndarray, radius: float | np.ndarray, colour: Colour | np.ndarray, layer: str = "robot"
    ) -> None:  # fmt: skip
        ends = np.asarray(ends).reshape(-1, 2, 3)
        sizes = np.broadcast_to(np.asarray(radius, dtype=float), (len(ends),))[:, None] * [1.0, 1.0, 0.0]
        self._stretch(self.stretched, [(layer, shape)] * len(ends), ends, sizes, colour)

    def _stretch(
        self, to: list[Group], keys: list[Key], ends: np.ndarray, sizes: Any, colour: Any, shares: Any = (0.0, 1.0)
    ) -> None:
        ends = np.asarray(ends, dtype=float).reshape(-1, 2, 3)
        many = [
            np.broadcast_to(np.asarray(x, dtype=float), (len(ends), n))
            for x, n in ((sizes, 3), (colour, 3), (shares, 2))
        ]
        to.append(Group(tuple(keys), ends, many[0], many[1], np.full((len(ends), 3, 3), np.nan), many[2]))

    def _at(
        self, shape: str, places: np.ndarray, sizes: Any, colours: Any, rotations: np.ndarray | None = None, layer: str = "robot"
    ) -> None:  # fmt: skip
        points = np.asarray(places, dtype=float).reshape(-1, 1, 3)
        count = len(points)
        turns = np.broadcast_to(np.full((3, 3), np.nan) if rotations is None else rotations, (count, 3, 3))
        size, colour = (np.broadcast_to(np.asarray(x, dtype=float), (count, 3)) for x in (sizes, colours))
        self.fixed.append(Group(((layer, shape),) * count, points, size, colour, turns, np.zeros((count, 2))))


def joined(groups: Sequence[Group]) -> Group:
    """Groups one after the other."""
    if not groups:
        return Group((), *(np.zeros(shape) for shape in ((0, 2, 3), (0, 3), (0, 3), (0, 3, 3), (0, 2))))
    parts = [
        np.concatenate([getattr(x, name) for x in groups]) for name in ("points", "sizes", "colours", "turns", "shares")
    ]
    return Group(tuple(key for x in groups for key in x.keys), *parts)


@dataclass(frozen=True)
class Sample:
    """What was recorded in one pose: pieces, labels (k x 3), half sizes of rods, and the poses of the nodes."""

    fixed: Group
    stretched: Group
    coils: Group
    labels: np.ndarray
    words: tuple[tuple[str, str], ...]
    rods: tuple[tuple[RodCurve, np.ndarray], ...]
    nodes: tuple[np.ndarray, np.ndarray]
    theta: np.ndarray


class MovingDrawing:
    """The drawing of a robot, as data for `web/live.js`.

    Attributes:
        stage: of the scenes of a motion, for the view and the scales.
        unclear: parameters that the drawing follows only to first order.
    """

    def __init__(self, eqs: Equations, scenes: Sequence[Scene], maker: SceneMaker, q: np.ndarray) -> None:
        """scenes: of a motion; maker: what made them; q: positions of the start."""
        self.eqs, self.q, self.maker = eqs, q, maker
        self.stage: Stage = make_stage([_without_forces(scene) for scene in scenes])
        self.center = 0.5 * (self.stage.low + self.stage.high)
        samples = [self._sample(maker, pose) for pose in self._poses()]
        self.first, self.second = samples[:2]
        self.nodes = {
            name: _followed(
                [getattr(x, name).points for x in samples], samples, [getattr(x, name).turns for x in samples]
            )
            for name in ("fixed", "stretched", "coils")
        }
        self.label_nodes = _followed([x.labels[:, None] for x in samples], samples)
        self.places = [rod_places(eqs, rod.name, maker.chosen) for rod, _ in self.first.rods]
        self.numbers = self._numbers(self.first)
        self.unclear: list[str] = []

    def _poses(self) -> Iterable[np.ndarray]:
        """The start, and poses nearby; constraints need not hold there."""
        yield self.q
        binding, random = self.eqs.binding, np.random.default_rng(1)
        sizes = binding.sizes(self.q)[1]
        for _ in range(POSES - 1):
            yield binding.increment(self.q, AMPLITUDE * sizes * random.uniform(-1, 1, len(sizes)))

    def _sample(self, maker: SceneMaker, q: np.ndarray) -> Sample:
        scene = _without_forces(maker.at(q, 0.0, Contacts()))
        recorder = Recorder(self.stage.size, self.center, group_colours(solid.name for solid in scene.solids))
        recorder.add(scene)
        labels = recorder.out.labels
        places = np.array([place for _, place, _ in labels]).reshape(-1, 3)
        words = tuple((word, layer) for word, _, layer in labels)
        fixed, stretched, coils = (joined(x) for x in (recorder.fixed, recorder.stretched, recorder.coils))
        return Sample(fixed, stretched, coils, places, words, tuple(recorder.rods), maker.nodes, maker.theta)

    def _numbers(self, sample: Sample) -> np.ndarray:
        """Places relative to nodes, and sizes, of all pieces."""
        R, p = sample.nodes
        parts: list[np.ndarray] = []
        for name in ("fixed", "stretched", "coils"):
            group, nodes = getattr(sample, name), self.nodes[name]
            parts.append(np.einsum("kpji,kpj->kpi", R[nodes], group.points - p[nodes]).ravel())
            if name == "fixed":
                at = R[nodes[:, 0]]
                turns = np.einsum("kji,kjl->kil", at, np.where(np.isnan(group.turns), at, group.turns))
                parts.append(arrays.matrix_quaternion(turns).ravel())
            parts.append(group.sizes.ravel())
        at = self.label_nodes[:, 0]
        parts.append(np.einsum("kji,kj->ki", R[at], sample.labels - p[at]).ravel())
        for places, (_, sizes) in zip(self.places, sample.rods, strict=True):
            parts += [_placement(place, sample.theta) for place in places]
            parts.append(sizes.ravel())
        return np.concatenate([np.zeros(0), *parts])

    def changes(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Derivatives of the numbers with respect to parameters (SI units), for those that change the drawing."""
        out = {}
        for name in names:
            value = self.eqs.parameters[name]
            step = CHANGE * (abs(value) or 1.0)
            try:
                high, low = (self._changed(name, value + x) for x in (step, -step))
            except (EvaluationError, ValueError):
                continue
            slope = (high - low) / (2 * step)
            if np.abs(slope).max(initial=0.0) * step < 1e-7 * self.stage.size:
                continue
            out[name] = slope
            if np.abs(high + low - 2 * self.numbers).max() > 1e-3 * np.abs(high - low).max():
                self.unclear.append(name)
        return out

    def _changed(self, name: str, value: float) -> np.ndarray:
        maker = SceneMaker(self.eqs, {name: value}, poses=self.maker.poses)
        maker.chosen = self.maker.chosen
        return self._numbers(self._sample(maker, self.q))

    def moving(self) -> np.ndarray:
        """Whether each node moves, so that it can be pulled: 1 or 0."""
        (R, p), (turned, moved) = self.first.nodes, self.second.nodes
        size = 1e-9 * self.stage.size
        moves = (np.abs(p - moved).max(axis=1) > size) | (np.abs(R - turned).max(axis=(1, 2)) > 1e-9)
        return np.asarray(moves.astype(int))

    def arcs(self) -> ca.Function:
        """Poses of points along arcs relative to the arcs' bases, twelve numbers each, from positions and constants."""
        q, theta = ca.SX.sym("q", len(self.q)), ca.SX.sym("theta", len(self.first.theta))
        along = [
            arc_pose(self.eqs, place, q, theta) for places in self.places for place in places if place.share is not None
        ]
        return ca.Function("evaluate_arcs", [q, theta], [ca.densify(ca.vertcat(ca.SX(0, 1), *along))], {"cse": True})

    def player(self, title: str) -> dict[str, Any]:
        """The data of the player (`web/player.js`), whose batches are filled while it runs."""
        stage, size = self.stage, float(np.max(self.stage.high - self.stage.low))
        grid = round_length(max(size, 1e-12) / 4)
        batches = self._batches()
        return {
            "title": title, "low": stage.low.tolist(), "high": stage.high.tolist(), "toward": stage.camera.toward.tolist(),
            "up": stage.up.tolist(), "axes": [rgb(x) for x in AXES], "seeThrough": stage.see_through, "grid": grid,
            "gridText": length_text(grid), "quantum": {"low": [-1, -1, -1], "span": [2, 2, 2], "size": 1},
            "shapes": {name: shape_data(name) for name in sorted({"ball", "cylinder", *(shape for _, shape in batches)})},
            "batches": [{"layer": layer, "shape": shape, "count": n} for (layer, shape), n in batches.items()],
            "labels": [{"text": text, "layer": layer, "positions": packed(np.zeros(3, "<f4"))} for text, layer in self.first.words],
            "clips": [{"name": "", "first": 0, "times": [0], "rate": 1, "loops": False, "words": "", "captions": []}],
        }  # fmt: skip

    def _batches(self) -> Mapping[Key, int]:
        """Number of copies by layer and shape."""
        counts: dict[Key, int] = {}
        groups = [(self.first.fixed, 1), (self.first.stretched, 1), (self.first.coils, COIL)]
        for key, each in [(key, each) for group, each in groups for key in group.keys]:
            counts[key] = counts.get(key, 0) + each
        for rod, places in zip(self.first.rods, self.places, strict=True):
            key = _rod_key(rod[0])
            counts[key] = counts.get(key, 0) + rod_pieces(len(places)) * (len(places) - 1)
        ordered = [(layer, shape) for layer in get_args(Layer) for shape in get_args(Shape)]
        return {key: counts[key] for key in ordered if key in counts}

    def data(self, parameters: Sequence[str]) -> dict[str, Any]:
        """The data of `web/live.js`; parameters: those that can be changed."""
        batches = list(self._batches())
        filled = [0] * len(batches)

        def slots(keys: Iterable[Key], each: int = 1) -> list[list[int]]:
            out = []
            for key in keys:
                batch = batches.index(key)
                out.append([batch, filled[batch]])
                filled[batch] += each
            return out

        first, rods, arc = self.first, [], 0
        groups = {
            name: self._group(getattr(first, name), slots(getattr(first, name).keys, each), self.nodes[name])
            for name, each in (("fixed", 1), ("stretched", 1), ("coils", COIL))
        }
        groups["fixed"]["turning"] = (~np.isnan(first.fixed.turns[:, 0, 0])).astype(int).tolist()
        groups["stretched"]["shares"] = packed(first.stretched.shares.astype("<f4"))
        for (rod, _), places in zip(first.rods, self.places, strict=True):
            pieces = rod_pieces(len(places))
            (slot,) = slots([_rod_key(rod)], pieces * (len(places) - 1))
            along = []
            for place in places:
                along.append([place.node, -1 if place.share is None else arc])
                arc += place.share is not None
            rods.append({"slot": slot, "places": along, "pieces": pieces, "round": rod.round})
        slopes = self.changes(parameters)
        return {
            **groups,
            "labels": self.label_nodes[:, 0].tolist(),
            "rods": rods,
            "numbers": packed(self.numbers.astype("<f4")),
            "changes": {
                name: [packed(at.astype("<i4")), packed(slope[at].astype("<f4"))]
                for name, slope in slopes.items()
                for at in (np.flatnonzero(slope),)
            },
            "curvature": self.stage.curvature,
            "scale": (np.array(SCALE) / 255).round(4).tolist(),
            "size": self.stage.size,
            "coil": [LAYOUT.coils, LAYOUT.per_coil],
            "arcs": arc,
        }

    @staticmethod
    def _group(group: Group, slots: list[list[int]], nodes: np.ndarray) -> dict[str, Any]:
        at = np.array(slots, dtype="<i4").reshape(-1, 2)
        colours = (group.colours / 255).astype("<f4")
        return {"count": len(at), "slots": packed(at), "nodes": packed(nodes.astype("<i4")), "colours": packed(colours)}


def _rod_key(rod: RodCurve) -> Key:
    return "rods", "cylinder" if rod.round else "cube"


def _placement(place: RodPlace, theta: np.ndarray) -> np.ndarray:
    """Twelve numbers of a place on its node, rotation by columns."""
    if place.placement < 0:
        return np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    return np.asarray(theta[place.placement : place.placement + PLACEMENT_SIZE])


def _without_forces(scene: Scene) -> Scene:
    return replace(scene, loads=(), pushes=())


def _followed(
    points: Sequence[np.ndarray], samples: Sequence[Sample], turns: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """The node that each point (k x points of each x 3, in each pose) moves with, k x points of each: the one relative to which it
    moves least, and turns if it does."""
    shape = points[0].shape[:2]
    best, least = np.zeros(shape, dtype=int), np.full(shape, np.inf)
    size = max(float(np.abs(points[0]).max(initial=0.0)), 1e-300)
    for node in range(len(samples[0].nodes[1])):
        moved = np.zeros(shape)
        for k, sample in enumerate(samples):
            R, p = sample.nodes[0][node], sample.nodes[1][node]
            local = (points[k] - p) @ R
            turned = (
                np.zeros((shape[0], 3, 3)) if turns is None else np.nan_to_num(np.einsum("ji,kjl->kil", R, turns[k]))
            )
            if k == 0:
                first, heading = local, turned
            moved = np.maximum(moved, np.abs(local - first).max(axis=2, initial=0.0))
            moved = np.maximum(moved, size * np.abs(turned - heading).max(axis=(1, 2), initial=0.0)[:, None])
        nearer = moved < least - 1e-9 * size
        best[nearer], least[nearer] = node, moved[nearer]
    return best
