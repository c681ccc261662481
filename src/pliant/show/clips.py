"""Motions to display: a simulated run, and the poses of other results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.state import assemble
from pliant.analysis.result import AnalysisResult, Poses
from pliant.engine.equations import Equations
from pliant.parts.joint.coordinate import LengthCoordinate
from pliant.show.marks import Scene
from pliant.show.scene import SceneMaker


@dataclass(frozen=True)
class ClipLayout:
    """Size and speed of moving pictures."""

    most_frames: int = 1200
    """Maximum number of frames: longer runs are shown at evenly spaced saved times."""
    most_edges: int = 1_000_000
    """Maximum number of edges of meshes in all frames together: such a page has about 40 MB."""
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


def parameters_of_run(eqs: Equations, run: Result) -> dict[str, float]:
    """The parameters of a result, as far as these equations accept them."""
    known = set(eqs.parameters) - eqs.model.structural
    return {
        name: float(value) for name, value in json.loads(run.recorded.attributes["parameters"]).items() if name in known
    }


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


def result_clips(result: AnalysisResult, *, most: int = 12) -> list[Clip]:
    """The poses that a result plays: at most `most` series of them, fewer for large meshes."""
    eqs, left = result.equations, most_frames(result.equations)
    played: list[Poses] = []
    for poses in islice(result.poses(), most):
        left -= len(poses.q)
        if left < 0 and played:
            break
        played.append(poses)
    extremes = _extremes(eqs, np.concatenate([x.q for x in played])) if played else []
    maker = SceneMaker(eqs, poses=extremes)
    clips = []
    for poses in played:
        chosen = spread_indices(poses.times, most_frames(eqs))
        t, scenes = np.broadcast_to(poses.t, len(poses.q)), []
        for k in chosen:
            if poses.varied is not None:
                name, values = poses.varied
                change, is_input = {name: float(values[k])}, name in eqs.inputs
                maker = SceneMaker(
                    eqs, None if is_input else change, inputs=change if is_input else None, poses=extremes
                )
            scenes.append(maker.at(poses.q[k], float(t[k]), poses.contacts[k] if poses.contacts else None))
        captions = tuple(poses.captions[k] for k in chosen) if poses.captions else ()
        clips.append(Clip(poses.name, poses.times[chosen], tuple(scenes), poses.loops, poses.words, captions))
    return clips


def all_scenes(clips: Sequence[Clip]) -> list[Scene]:
    """The scenes of all clips, concatenated."""
    return [scene for clip in clips for scene in clip.scenes]
