"""Motions to display: a simulated run, the vibration of a mode, an equilibrium."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.joint.coordinate import LengthCoordinate
from pliant.solve.state import AssemblyError, assemble
from pliant.view.marks import Scene
from pliant.view.scene import SceneMaker

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, Values
    from pliant.solve.linear.modal import Modes
    from pliant.solve.result import LabelledResult, Result
    from pliant.solve.statics.equilibrium import Equilibrium
    from pliant.solve.statics.path import Path


@dataclass(frozen=True)
class ClipLayout:
    """Size and speed of moving pictures."""

    most_frames: int = 1200
    """Maximum number of frames: longer runs are shown at evenly spaced saved times."""
    most_edges: int = 1_000_000
    """Maximum number of edges of meshes in all frames together: such a page has about 40 MB."""
    mode_frames: int = 24
    """Frames of one period of a drawn mode."""
    mode_seconds: float = 2.0
    """Duration of this period [s]."""
    path_seconds: float = 5.0
    """Duration of a path of equilibria [s]."""
    largest_move: float = 0.15
    """Amplitude of a drawn mode, relative to the robot's size."""
    largest_turn: float = 0.5
    """Amplitude of a drawn mode that is a rotation [rad]."""
    most_slides: int = 12
    """Maximum number of coordinates of slides whose extremes are drawn."""


CLIPS = ClipLayout()


@dataclass(frozen=True)
class Clip:
    """Scenes at increasing times [s].

    Attributes:
        name: description.
        times: of the scenes [s].
        scenes: one for each time.
        loops: whether it starts again at its end.
        words: shown instead of the time, such as a frequency.
        captions: shown instead of the time, one for each scene.
    """

    name: str
    times: np.ndarray
    scenes: tuple[Scene, ...]
    loops: bool = False
    words: str = ""
    captions: tuple[str, ...] = ()


def run_clip(eqs: Equations, run: Result, *, name: str = "motion", most: int = CLIPS.most_frames) -> Clip:
    """A simulated run, at up to `most` times, fewer for large meshes."""
    chosen = spread_indices(run.time, min(most, most_frames(eqs)))
    return Clip(name, run.time[chosen] - run.time[0], tuple(run_scenes(eqs, run, chosen)))


def most_frames(eqs: Equations) -> int:
    """Number of frames of a robot on one page: fewer for large meshes, whose edges move individually."""
    edges = sum(len(mesh.lattice.edges) for mesh in eqs.model.spec.meshes.values())
    return max(2, min(CLIPS.most_frames, CLIPS.most_edges // max(edges, 1)))


def run_maker(eqs: Equations, run: Result) -> SceneMaker:
    """Creates the scenes of a run, whose rails and mounts are the same at all its times."""
    return SceneMaker(eqs, parameters_of_run(eqs, run), poses=_extremes(eqs, run.q))


def run_scenes(eqs: Equations, run: Result, chosen: Iterable[int], maker: SceneMaker | None = None) -> Iterator[Scene]:
    """Scenes of a run at some of its saved times, with the active parameters and inputs. maker: that of `run_maker`, if there is
    one."""
    spec = eqs.model.spec
    # inputs are visible only in loads and tendons; without these they need not be evaluated
    inputs = run.inputs if spec.loads or spec.tendons else {}
    q, times, touching = run.q, run.time, run.contacts
    maker = run_maker(eqs, run) if maker is None else maker
    for k in chosen:
        maker.inputs = {name: float(values[k]) for name, values in inputs.items() if name in eqs.inputs}
        yield maker.at(q[k], float(times[k]), touching.sample(k) if touching.names else None)


def _extremes(eqs: Equations, q: np.ndarray) -> list[np.ndarray]:
    """Poses among those of a run (times x coordinates): the first, and those at the ends of the travel of each slide."""
    columns = [c.q_at for c in eqs.model.coordinates if isinstance(c.spec, LengthCoordinate)][: CLIPS.most_slides]
    rows = {0, *(int(f(q[:, k])) for k in columns for f in (np.argmin, np.argmax))} if len(q) else set()
    return [q[k] for k in sorted(rows)]


def parameters_of_run(eqs: Equations, run: LabelledResult) -> dict[str, float]:
    """The parameters of a result, as far as these equations accept them."""
    known = set(eqs.parameters) - eqs.model.structural
    return {
        name: float(value) for name, value in json.loads(run.recorded.attributes["parameters"]).items() if name in known
    }


def path_clip(eqs: Equations, path: Path, *, name: str = "path") -> Clip:
    """Successive poses along a path of equilibria; the entire path takes five seconds."""
    chosen = spread_indices(np.arange(len(path), dtype=float), most_frames(eqs))
    scenes, poses = [], _extremes(eqs, path.q)
    parameters, inputs = parameters_of_run(eqs, path), json.loads(path.recorded.attributes["inputs"])
    for k in chosen:
        # the name is unique among both
        (inputs if path.parameter in eqs.inputs else parameters)[path.parameter] = float(path.value[k])
        maker = SceneMaker(eqs, parameters, inputs=inputs, poses=poses)
        scenes.append(maker.at(path.q[k], float(path.recorded.attributes["time"])))
    unit = path.unit(path.parameter)
    captions = tuple(f"{path.parameter} = {path.value[k]:.4g} {unit}".strip() for k in chosen)
    return Clip(name, np.linspace(0, CLIPS.path_seconds, len(chosen)), tuple(scenes), captions=captions)


def spread_indices(times: np.ndarray, most: int) -> np.ndarray:
    """Indices of all times, or of `most` of them at nearly equal distances, including the first and the last."""
    if len(times) <= most:
        return np.arange(len(times))
    wanted = np.linspace(times[0], times[-1], most)
    return np.unique(np.clip(np.searchsorted(times, wanted - 1e-12 * abs(times[-1])), 0, len(times) - 1))


def start_clip(eqs: Equations, *, name: str = "start") -> Clip:
    """The initial pose, moved onto its constraints."""
    start = eqs.initial_state()
    made = assemble(eqs, eqs.binding, 0.0, start.q, start.v, start.given)
    return Clip(name, np.zeros(1), (SceneMaker(eqs).at(made.q),))


def pose_clip(eqs: Equations, pose: Equilibrium, *, name: str = "at rest") -> Clip:
    """An equilibrium."""
    maker = SceneMaker(eqs, pose.parameters, inputs=pose.inputs)
    return Clip(name, np.zeros(1), (maker.at(pose.q, pose.time, pose.state.contacts),))


def mode_clips(
    found: Modes, *, most: int = 12, parameters: Values | None = None, inputs: Values | None = None
) -> list[Clip]:
    """One period of each of the first modes about its state, slowed down or sped up to two seconds.

    At most `most` modes, fewer for large meshes.
    """
    eqs = found.equations
    most = min(most, max(1, most_frames(eqs) // (CLIPS.mode_frames + 1)))
    clips = []
    numbers = range(min(most, found.shapes.shape[1]))
    played = [mode_positions(eqs, found, k, parameters=parameters, inputs=inputs) for k in numbers]
    poses = _extremes(eqs, np.concatenate(played)) if played else []
    maker = SceneMaker(eqs, parameters, inputs=inputs, poses=poses)
    for k, positions in enumerate(played):
        scenes = [maker.at(q, found.state.t) for q in positions]
        words = found.words(k)
        times = np.linspace(0, CLIPS.mode_seconds, CLIPS.mode_frames + 1)
        clips.append(Clip(f"mode {k + 1}: {words}", times, (*scenes, scenes[0]), loops=True, words=words))
    return clips


def mode_positions(
    eqs: Equations, found: Modes, mode: int, *, parameters: Values | None = None, inputs: Values | None = None
) -> list[np.ndarray]:
    """Positions q over one period of a mode, with a visible amplitude; closed loops stay closed."""
    bound = eqs.at(inputs=inputs, parameters=parameters).binding
    rest = found.state.q
    angles = np.arange(CLIPS.mode_frames) * 2 * np.pi / CLIPS.mode_frames
    places = bound.node_poses(rest)[1]
    # a complex mode has no single pose of largest amplitude
    factors = [_amplitude(places, bound.node_twists(rest, found.phase(mode, angle))) for angle in angles]
    amplitude = min((factor for factor in factors if factor > 0), default=0.0)
    positions = []
    for angle in angles:
        q = bound.increment(rest, amplitude * found.phase(mode, angle))
        if bound.m:
            with suppress(AssemblyError):  # where a loop cannot be closed, the linear motion is shown
                q = assemble(eqs, bound, found.state.t, q, np.zeros(bound.nv)).q
        positions.append(q)
    return positions


def _amplitude(places: np.ndarray, twists: np.ndarray) -> float:
    """Factor on a shape so that nodes (at positions n x 3, moving with twists n x 6) move visibly but not too far."""
    moves = np.linalg.norm(twists[:, :3] + np.cross(twists[:, 3:], places), axis=1).max(initial=0.0)
    turns = np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0)
    size = max(float(np.ptp(places, axis=0).max(initial=0.0)), 1e-12)
    limits = [CLIPS.largest_move * size / moves] if moves > 0 else []
    limits += [CLIPS.largest_turn / turns] if turns > 0 else []
    return float(min(limits, default=0.0))


def all_scenes(clips: Sequence[Clip]) -> list[Scene]:
    """The scenes of all clips, concatenated."""
    return [scene for clip in clips for scene in clip.scenes]
