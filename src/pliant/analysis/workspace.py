"""Workspaces: where a frame of a robot can be brought, and how it moves, yields and pushes there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import count as numbers_from
from threading import Lock
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.spatial import Delaunay, QhullError
from scipy.stats import qmc

from pliant.analysis.base import (
    Analysis,
    Count,
    SignalNames,
    StateGiven,
    ValuesByName,
    function_of,
    named_values,
    state_dimensions,
    unknown_name,
)
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.saddle import PartitionError, partition, saddle_matrix
from pliant.analysis.numerics.state import AssemblyError, assemble
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.result import Along, AnalysisResult, Plot, Points, Poses, Sheet
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.engine.state import SpecifiedValues, State
from pliant.language.arguments import ArgumentError, function
from pliant.language.base import InPython, Problem
from pliant.language.limits import time_is_up
from pliant.language.message_text import enumeration, unit_after_value


@dataclass(frozen=True)
class WorkspaceNumbers:
    """Numbers that decide how a workspace is sampled and measured."""

    beyond: float = 1.15
    """Samples are drawn from this many times the range, and moved to its limits, where the border often is; not of full turns."""
    of_inputs: int = 300
    of_coordinates: int = 1000
    """Default numbers of samples: a minute for a robot of sixty coordinates in equilibrium; an area to one percent."""
    chains: int = 16
    """Parts of the samples, each solved in a row from the equilibrium before: the same on any number of cores."""
    flat: float = 1e-6
    """Points are in a plane or on a line if their extent across it is below this part of the largest."""
    gap: float = 4.0
    """Gaps between points wider than this many times the distance of neighbours are no part of the set: in a random sample of
    a filled area one triangle in ten thousand is wider."""
    singular: float = 1e-12
    """Reciprocal condition number below which a pose has no stiffness in some direction."""
    played: int = 24
    """Poses on the border that are played."""


NUMBERS = WorkspaceNumbers()


@dataclass(frozen=True, repr=False, eq=False)
class Workspace(AnalysisResult):
    """Samples of what a frame can reach; the first is the pose with the values of the model.

    Attributes:
        frame: the frame. varied: names of the inputs or coordinates; values: of each sample (SI units).
        points: positions of the frame [m]. q: the poses.
        border: whether a sample is a corner of the outline. edges: of the outline: pairs of samples.
        manipulability: product of the axes of the velocity ellipsoid (Yoshikawa's measure), as many as the set has dimensions.
        velocity_axes: half axes of the velocity ellipsoid: displacements of the frame per unit of what is varied (SI units).
        isotropy: ratio of the smallest to the largest of these axes: 1 where the frame moves equally well in all directions.
        compliances: displacement of the frame per force on it [m/N], samples x 3 x 3; NaN where coordinates are varied.
        compliance_axes: half axes of the compliance ellipsoid, largest first [m/N].
        force_axes: half axes of the force ellipsoid, largest first: of inputs the forces on a held frame [N] per half of their
            ranges, of coordinates those per unit of their forces and torques.
        size: length, area or volume of the set [m^dimension]; NaN if it is curved. dimension: of the set (1 to 3).
        missed: number of samples without a pose.
    """

    plots = (
        Points("points", "manipulability", "where the frame can be, and its manipulability", outline="edges"),
        Points("points", "stiffest", "where the frame can be, and its largest compliance", outline="edges"),
    )
    played = "The poses on the outline of the set are played."

    points: Annotated[np.ndarray, Along("sample", "axis", unit="m")]
    values: Annotated[np.ndarray, Along("sample", "varied")]
    varied: Annotated[tuple[str, ...], Along("varied", labels=True)]
    q: Annotated[np.ndarray, Along("sample", "coordinate")]
    border: Annotated[np.ndarray, Along("sample")]
    edges: Annotated[np.ndarray, Along("edge", "end")]
    manipulability: Annotated[np.ndarray, Along("sample", text="manipulability (SI units)")]
    velocity_axes: Annotated[np.ndarray, Along("sample", "ellipsoid_axis")]
    isotropy: Annotated[np.ndarray, Along("sample", unit="1")]
    compliances: Annotated[np.ndarray, Along("sample", "axis", "force_axis", unit="m/N")]
    compliance_axes: Annotated[np.ndarray, Along("sample", "ellipsoid_axis", unit="m/N")]
    stiffest: Annotated[np.ndarray, Along("sample", unit="m/N", text="largest compliance")]
    force_axes: Annotated[np.ndarray, Along("sample", "ellipsoid_axis")]
    size: Annotated[float, Along()]
    equations: Equations
    frame: str = ""
    of_inputs: bool = False
    dimension: int = 0
    missed: int = 0
    status: Status = Status.COMPLETED
    message: str = ""

    def __len__(self) -> int:
        return len(self.points)

    def figures(self) -> tuple[Plot, ...]:
        """The set; with compliances if there are any."""
        return () if not len(self) else self.plots if np.isfinite(self.stiffest).any() else self.plots[:1]

    def sheets(self) -> tuple[Sheet, ...]:
        """What is varied, what is reached, and the dexterity."""
        if not len(self):
            return ()
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        units = [_unit(self.equations.model, name) for name in self.varied]
        given = tuple(
            (name, f"{low[k]:.6g}{units[k]}", f"{high[k]:.6g}{units[k]}") for k, name in enumerate(self.varied)
        )
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        reached = tuple((axis, f"{low[k]:.6g}", f"{high[k]:.6g}") for k, axis in enumerate("xyz"))
        rows = [
            (what, f"{np.nanmin(x):.6g}", f"{np.nanmedian(x):.6g}", f"{np.nanmax(x):.6g}")
            for what, x in (
                ("manipulability", self.manipulability), ("isotropy", self.isotropy),
                ("largest compliance [m/N]", self.stiffest), ("largest force", self.force_axes[:, 0]),
            )
            if np.isfinite(x).any()
        ]  # fmt: skip
        return (
            Sheet(("varied", "from", "to"), given, title=f"frame {self.frame}"),
            Sheet(("reached", "lowest [m]", "highest [m]"), reached),
            Sheet(("in the samples", "lowest", "median", "highest"), tuple(rows)),
        )

    def poses(self) -> Iterator[Poses]:
        """Poses on the outline, in the order of their directions from the middle of the set."""
        corners = np.flatnonzero(self.border)
        if not len(corners):
            return
        away = (self.points - self.points.mean(axis=0))[corners]
        _, _, axes = np.linalg.svd(away, full_matrices=True)
        order = corners[np.argsort(np.arctan2(away @ axes[1], away @ axes[0]), kind="stable")]
        chosen = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), NUMBERS.played)).astype(int))]
        words = tuple("  ".join(f"{x:.3g}" for x in self.values[k]) for k in chosen)
        times = np.linspace(0, 0.25 * len(chosen), len(chosen))
        yield Poses("outline", self.q[chosen], times, captions=words, loops=True)


def _unit(model: Model, name: str) -> str:
    """The unit of an input or coordinate, behind a number."""
    if name in model.input_names:
        return unit_after_value(model.environment.dimension(name))
    units = {x: entry.unit for entry in model.coordinates for x in entry.q_names}
    return f" {units[name]}" if units.get(name) else ""


# -- one sample --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """A reached pose: q, the position of the frame [m], the displacement of it per unit of what is varied (3 x varied), and its
    compliance [m/N] (3 x 3)."""

    q: np.ndarray
    point: np.ndarray
    jacobian: np.ndarray
    compliance: np.ndarray


def at_rest(
    eqs: Equations, frame: str, names: tuple[str, ...], values: np.ndarray, start: State
) -> tuple[Sample, State] | None:
    """The equilibrium with these inputs; None if there is none."""
    here = eqs.at(inputs=dict(zip(names, values.tolist(), strict=True)))
    try:
        found = equilibrium(here, start=start, on_failure="return")
    except (AssemblyError, EvaluationError):
        return None
    if found.status != Status.CONVERGED:
        return None
    bound, zero, q = here.binding, np.zeros(len(eqs.rates)), found.q
    if bound.m:
        bound = assemble(here, bound, 0.0, q, zero).bound
    linear = bound.linearized(0.0, q, zero, zero, found.multipliers)
    on, n = bound.active_rows, bound.nv
    matrix = saddle_matrix(linear.stiffness.toarray(), linear.jacobian.toarray()[on])
    by_input = here.motion_derivatives(0.0)[0][:, : len(eqs.inputs)]
    signals = np.array(eqs.model.system.row_signals(), dtype=int)[on]
    rows = np.zeros((len(signals), len(eqs.inputs)))
    rows[signals >= 0] = by_input[signals[signals >= 0]]
    forces = bound.input_tangent(0.0, q, zero) @ by_input if len(by_input) else np.zeros((n, len(eqs.inputs)))
    columns = [eqs.inputs.index(name) for name in names]
    to_frame = here.frame_jacobian(frame, q)[:3]
    right = np.hstack([np.vstack([-forces, rows])[:, columns], np.vstack([to_frame.T, np.zeros((len(signals), 3))])])
    sizes = np.sqrt(np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300))
    scaled = matrix / sizes[:, None] / sizes
    if not len(scaled) or 1 / max(np.linalg.cond(scaled), 1.0) < NUMBERS.singular:
        moves = np.full((3, right.shape[1]), np.nan)
    else:
        moves = to_frame @ (np.linalg.solve(scaled, right / sizes[:, None]) / sizes[:, None])[:n]
    made = Sample(q, np.asarray(found.frames[frame].position), moves[:, :-3], moves[:, -3:])
    return made, found.state


def posed(
    eqs: Equations, frame: str, names: tuple[str, ...], values: np.ndarray, start: State
) -> tuple[Sample, State] | None:
    """The pose with these coordinates; None if loops cannot be closed there."""
    given = dict(zip(names, values.tolist(), strict=True))
    chosen, places = [eqs.rates.index(name) for name in names], [eqs.coordinates.index(name) for name in names]
    if not eqs.binding.m:
        q, to_frame = eqs.state(given).q, np.eye(len(eqs.rates))[:, chosen]
    else:
        q = start.q.copy()
        q[places] = values
        try:
            made = assemble(eqs, eqs.binding, 0.0, q, np.zeros(len(eqs.rates)), SpecifiedValues(asked=given))
            q = made.q
            jacobian = made.bound.constraint_jacobian(0.0, q, made.v)[made.bound.active_rows]
            to_frame = partition(jacobian, chosen, eqs.rates, eqs.binding.sizes(q)[1])[1]
        except (AssemblyError, PartitionError):
            return None
        if not np.allclose(q[places], values, rtol=0, atol=1e-6):
            return None
    point = np.asarray(eqs.frame(frame, q).position)
    made_sample = Sample(q, point, eqs.frame_jacobian(frame, q)[:3] @ to_frame, np.full((3, 3), np.nan))
    return made_sample, State(q, np.zeros(len(eqs.rates)), 0.0)


# -- the set -----------------------------------------------------------------------------------------------------------


def outline(points: np.ndarray, flat: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Size of the set that points sample, and its outline: pairs of points, and whether a point is on it.

    flat: number of directions in which it extends. Delaunay simplices whose edges are longer than `gap` times the usual distance of
    neighbours are left out: holes and bays.
    """
    border, none = np.zeros(len(points), dtype=bool), np.zeros((0, 2), dtype=int)
    middle = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(middle, full_matrices=False)
    x = middle @ axes[:flat].T
    if flat < 2 or len(points) < flat + 2:
        ends = np.array([[int(np.argmin(x[:, 0])), int(np.argmax(x[:, 0]))]]) if flat else none
        border[ends.ravel()] = True
        return float(np.ptp(x[:, 0])) if flat else 0.0, ends, border
    try:
        simplices = Delaunay(x).simplices
    except QhullError:
        return np.nan, none, border
    corners = x[simplices]
    volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / (2.0 if flat == 2 else 6.0)
    longest = np.max(
        [np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(flat + 1) for j in range(i)], axis=0
    )
    spacing = (volumes.sum() / len(points)) ** (1 / flat)
    kept = longest <= NUMBERS.gap * spacing
    sides = np.sort(np.vstack([np.delete(simplices[kept], k, axis=1) for k in range(flat + 1)]), axis=1)
    unique, count = np.unique(sides, axis=0, return_counts=True)
    faces = unique[count == 1]
    edges = faces if flat == 2 else np.unique(np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [0, 2]]]), axis=0)
    border[np.unique(faces)] = True
    return float(volumes[kept].sum()), edges, border


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("a sample has no pose", "samples without an equilibrium, or whose loops cannot be closed, are not shown")
def samples_without_a_pose(eqs: Equations, result: Workspace) -> str | None:
    """Combinations of inputs or coordinates without a pose."""
    if not result.missed or not len(result):
        return None
    why = "no equilibrium was found" if result.of_inputs else "the loops cannot be closed"
    return (
        f"{why} for {result.missed} of {result.missed + len(result)} samples: the set may have more than what is shown"
    )


@remark(
    "fewer quantities are varied than the set has dimensions", "the set is then a line or a surface without a volume"
)
def set_is_curved(eqs: Equations, result: Workspace) -> str | None:
    """Sets that have no size."""
    if not len(result) or np.isfinite(result.size):
        return None
    return "the points are on a curved line or surface, which has no area or volume in this sense"


@remark("inputs without limits beside others with limits", "their range is not known")
def inputs_not_varied(eqs: Equations, result: Workspace) -> str | None:
    """Inputs that keep their values because they have no limits."""
    left = [name for name in eqs.model.actuators if name not in result.varied] if result.of_inputs else []
    return f"{enumeration(left, 6)} {'keeps its value' if len(left) == 1 else 'keep their values'}" if left else None


@remark("coordinates are varied in a robot with rods", "rods take other shapes under load")
def rods_as_at_the_start(eqs: Equations, result: Workspace) -> str | None:
    """Rods of robots whose joints are varied keep their shape."""
    if result.of_inputs or not eqs.model.spec.rods:
        return None
    return "rods keep their shape at the start; vary inputs to have them in equilibrium"


# -- the analysis ------------------------------------------------------------------------------------------------------


class FindWorkspace(Analysis):
    """Sample where a frame can be brought by inputs or coordinates within their limits, with its dexterity and compliance there.

    Robots with inputs are in equilibrium at each sample; without, or if coordinates are named, poses are set.
    """

    name: ClassVar[str] = "workspace"
    title: ClassVar[str] = "Workspace"
    result = Workspace
    remarks = (samples_without_a_pose, set_is_curved, inputs_not_varied, rods_as_at_the_start)
    state: ClassVar[str] = "start"
    first: ClassVar[tuple[str, ...]] = ("frame",)

    frame: str | None = None
    """The frame; default: that of the first output with a frame, else the tip of the last rod or body."""
    vary: SignalNames | None = None
    """Inputs, or coordinates of joints, that are varied; default: all inputs but loads; without inputs all of joints."""
    lower: ValuesByName = Field(default_factory=dict)
    """Lower limits by name [SI]; default: the `minimum` of an input, -180 deg of an angle."""
    upper: ValuesByName = Field(default_factory=dict)
    """Upper limits by name [SI]; default: the `maximum` of an input, 180 deg of an angle."""
    samples: Count | None = None
    """Number of samples: a low-discrepancy sequence (Sobol's), the same each time; default: 300 of inputs, 1000 of coordinates."""
    start: StateGiven | None = None
    """State near which equilibria are searched: `initial`, `equilibrium` or coordinates by name; default: the model's."""
    progress: Annotated[Callable[[int, int], None] | None, InPython()] = None
    """Called after each sample with the number of those that are done, and of all."""

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """How many samples are done."""
        done, every = report
        return self.name, f"{done} of {every} samples", done / every

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names and units among the options that the robot does not have."""
        yield from super().faults(model)
        known = {name: model.environment.dimension(name) for name in model.input_names}
        known |= {name: x for name, x in state_dimensions(model).items() if name in model.q_names}
        for name in self.vary or ():
            if name not in known:
                yield ("vary",), *unknown_name("input or coordinate", name, known)
        for key in ("lower", "upper"):
            yield from named_values((key,), getattr(self, key), known, "input or coordinate", model)
        if self.frame is not None and self.frame not in model.frames:
            yield ("frame",), *unknown_name("frame", self.frame, model.frames)

    def run(self, eqs: Equations) -> Workspace:
        """Sample, solve each sample, and measure."""
        function("progress", self.progress)
        eqs = eqs.at(inputs=self.inputs, parameters=self.parameters)
        for path, message, hint in self.faults(eqs.model):
            raise ArgumentError(f"{'.'.join(map(str, path))}: {message}", hint)
        frame = self.frame or _frame(eqs)
        names = self.vary or _varied(eqs, lambda name: self._is_limited(eqs, name))
        of_inputs = names[0] in eqs.inputs
        if any((name in eqs.inputs) != of_inputs for name in names):
            raise ArgumentError(
                "inputs and coordinates cannot be varied together", "name inputs only, or coordinates only"
            )
        low, high = self._limits(eqs, names)
        own = self.start if self.start is not None else eqs.model.spec.start
        start = state_at(eqs, own, 0.0, where="start", unstable=True)
        current = eqs.input_values() if of_inputs else dict(zip(eqs.coordinates, start.q.tolist(), strict=True))
        here = np.clip([current[name] for name in names], low, high)
        count = self.samples or (NUMBERS.of_inputs if of_inputs else NUMBERS.of_coordinates)
        drawn = qmc.Sobol(len(names), rng=0).random(1 << int(np.ceil(np.log2(max(count, 2)))))[: count - 1]
        turns = np.array([name not in eqs.inputs for name in names]) & (high - low >= 2 * np.pi)
        spread = np.where(turns, drawn, np.clip(0.5 + NUMBERS.beyond * (drawn - 0.5), 0, 1))
        values = np.vstack([here, low + (high - low) * spread])
        found, reason = _solved(eqs, frame, names, values, start, of_inputs=of_inputs, progress=self.progress)
        return _result(eqs, frame, names, values, (low, high), found, reason, of_inputs=of_inputs)

    def _is_limited(self, eqs: Equations, name: str) -> bool:
        low, high = eqs.declared_bounds(name)
        return bool(np.isfinite([self.lower.get(name, low), self.upper.get(name, high)]).all())

    def _limits(self, eqs: Equations, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        limits = _coordinate_limits(eqs)
        low, high = [], []
        for name in names:
            known = eqs.declared_bounds(name) if name in eqs.inputs else limits[name]
            low.append(float(self.lower.get(name, known[0])))
            high.append(float(self.upper.get(name, known[1])))
        lacking = [name for name, a, b in zip(names, low, high, strict=True) if not np.isfinite([a, b]).all()]
        if lacking:
            unit = _unit(eqs.model, lacking[0]) or ""
            raise ArgumentError(
                f"{enumeration(lacking, 6)} {'has' if len(lacking) == 1 else 'have'} no limits",
                f'give `minimum` and `maximum` in the model, or lower and upper here: lower {lacking[0]}="0{unit}", upper '
                f'{lacking[0]}="1{unit}"',
            )
        if wrong := [name for name, a, b in zip(names, low, high, strict=True) if a > b]:
            raise ArgumentError(f"the lower limit of {wrong[0]} is above its upper one")
        return np.array(low), np.array(high)


def _frame(eqs: Equations) -> str:
    """The frame of the first output that has one, else the tip of the last rod, else the last frame."""
    for output in eqs.model.spec.outputs.values():
        frame = getattr(output, "frame", None)
        if isinstance(frame, str) and frame in eqs.frame_names and frame != "world":
            return frame
    for name in reversed(list(eqs.model.spec.rods)):
        if f"{name}.tip" in eqs.frame_names:
            return f"{name}.tip"
    if len(eqs.frame_names) < 2:
        raise ArgumentError("the robot has no frame that moves", "give it a body with a frame")
    return eqs.frame_names[-1]


def _varied(eqs: Equations, limited: Callable[[str], bool]) -> tuple[str, ...]:
    """Inputs that actuate, those without limits only if none has them; else independent coordinates of joints."""
    model, bound = eqs.model, eqs.binding
    if model.actuators:
        return tuple(filter(limited, model.actuators)) or tuple(model.actuators)
    found = tuple(_coordinate_limits(eqs))
    if bound.m and found:
        start = eqs.initial_state()
        made = assemble(eqs, bound, 0.0, start.q, start.v)
        jacobian = made.bound.constraint_jacobian(0.0, made.q, made.v)[made.bound.active_rows]
        chosen, _ = partition(jacobian, None, eqs.rates, bound.sizes(made.q)[1])
        found = tuple(eqs.rates[k] for k in chosen if eqs.rates[k] in found)
    if not found:
        raise ArgumentError("the robot has neither inputs nor joints with coordinates to vary", "add an input")
    return found


def _coordinate_limits(eqs: Equations) -> Mapping[str, tuple[float, float]]:
    """Limits of the coordinates of joints, one number each; infinite if there are none, of angles a turn."""
    found: dict[str, tuple[float, float]] = {}
    others = {*eqs.model.spec.rods, *eqs.model.spec.meshes}
    for entry in eqs.model.coordinates:
        if entry.is_rotation or entry.name.partition(".")[0] in others:
            continue
        low, high = (-np.pi, np.pi) if entry.unit == "rad" else (-np.inf, np.inf)
        found[entry.q_names[0]] = (low, high)
    return found


def _solved(
    eqs: Equations, frame: str, names: tuple[str, ...], values: np.ndarray, start: State, *, of_inputs: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Sample | None], str]:  # fmt: skip
    """All samples, on all cores, and why some were left out."""
    solve = at_rest if of_inputs else posed
    first = solve(eqs, frame, names, values[0], start)
    found: list[Sample | None] = [None] * len(values)
    found[0] = None if first is None else first[0]
    begin = start if first is None else first[1]
    reasons = [reason] if (reason := time_is_up()) else []
    span = np.maximum(np.ptp(values, axis=0), 1e-300)
    chains = np.array_split(1 + np.argsort((values[1:, 0] - values[0, 0]) / span[0], kind="stable"), NUMBERS.chains)

    done, turn = numbers_from(2), Lock()

    def chain(members: np.ndarray) -> None:
        state, waiting, at = begin, list(members), values[0]
        while waiting:
            if reason := time_is_up():
                reasons.append(reason)
                return
            k = waiting.pop(int(np.argmin(np.sum(((values[waiting] - at) / span) ** 2, axis=1))))
            made = solve(eqs, frame, names, values[k], state)
            if made is None and of_inputs and not time_is_up():
                made = solve(eqs, frame, names, values[k], begin)
            if made is not None:
                (found[k], state), at = made, values[k]
            if progress is not None:
                with turn:
                    progress(next(done), len(values))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for running in [pool.submit(copy_context().run, chain, members) for members in chains]:
            running.result()
    return found, reasons[0] if reasons else ""


def _result(
    eqs: Equations, frame: str, names: tuple[str, ...], values: np.ndarray, limits: tuple[np.ndarray, np.ndarray],
    found: list[Sample | None], reason: str, *, of_inputs: bool,
) -> Workspace:  # fmt: skip
    """The result of samples."""
    kept = [k for k, sample in enumerate(found) if sample is not None]
    made = [sample for sample in found if sample is not None]
    if not made:
        none = np.zeros(0)
        return Workspace(
            np.zeros((0, 3)), np.zeros((0, len(names))), names, np.zeros((0, len(eqs.coordinates))), none.astype(bool),
            np.zeros((0, 2), dtype=int), none, np.zeros((0, 3)), none, np.zeros((0, 3, 3)), np.zeros((0, 3)), none,
            np.zeros((0, 3)), np.nan, eqs, frame, of_inputs, 0, len(values), Status.FAILED,
            reason or "the robot has no pose in the whole range: narrow it with lower and upper",
        )  # fmt: skip
    points, J = np.array([x.point for x in made]), np.array([x.jacobian for x in made])
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    flat = int(np.sum(extents > NUMBERS.flat * max(float(extents.max(initial=0.0)), 1e-12)))
    size, edges, border = outline(points, flat)
    dimension = min(flat, len(names))
    known = np.isfinite(J).all(axis=(1, 2))
    axes = np.full((len(made), 3), np.nan)
    axes[known] = np.pad(np.linalg.svd(J[known], compute_uv=False), ((0, 0), (0, 3)))[:, :3]
    C = np.array([x.compliance for x in made])
    yields, forces = np.full((len(made), 3), np.nan), np.full((len(made), 3), np.nan)
    if of_inputs:
        yields[known] = np.linalg.svd(C[known], compute_uv=False)
        half = 0.5 * (limits[1] - limits[0])
        for k in np.flatnonzero(known):
            held = np.linalg.pinv(C[k], rcond=1e-9) @ J[k] * half
            forces[k] = np.pad(np.linalg.svd(held, compute_uv=False), (0, 3))[:3]
    else:
        with np.errstate(divide="ignore"):
            forces[:, :dimension] = 1 / axes[:, :dimension][:, ::-1]
    unit = {1: "m", 2: "m^2", 3: "m^3"}.get(flat, "")
    size = size if dimension == flat else np.nan
    about = f"{len(made)} poses of {frame}" + (f", in a set of {size:.5g} {unit}" if np.isfinite(size) and flat else "")
    top = np.prod(axes[:, : max(dimension, 1)], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        isotropy = np.nan_to_num(axes[:, max(dimension, 1) - 1] / axes[:, 0]) * np.where(known, 1.0, np.nan)
    return Workspace(
        points, values[kept], names, np.array([x.q for x in made]), border, edges, top, axes, isotropy, C, yields, yields[:, 0],
        forces, size, eqs, frame, of_inputs, dimension, len(values) - len(made) if not reason else 0,
        Status.STOPPED if reason else Status.COMPLETED, f"{reason}: {about}" if reason else about,
    )  # fmt: skip


workspace = function_of(FindWorkspace)
