"""Stretches of motion to show: a simulated run, the vibration of a mode, a pose at rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.view.marks import Scene
from pliant.view.scene import SceneMaker

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, Values
    from pliant.solve.equilibrium import Equilibrium
    from pliant.solve.modal import Modes
    from pliant.solve.result import Result

MOST_FRAMES = 1200
"""Longer runs are shown with evenly spaced ones of their saved times."""
MODE_FRAMES, MODE_SECONDS = 24, 2.0
LARGEST_MOVE, LARGEST_TURN = 0.15, 0.5
"""How far a mode is drawn out of rest: parts of the robot's size, and radians."""


@dataclass(frozen=True)
class Clip:
    """Scenes at increasing times [s].

    Attributes:
        name: what it is, in words.
        times: of the scenes [s].
        scenes: one for each time.
        loops: whether it starts again at its end.
        words: shown instead of the time, such as a frequency.
    """

    name: str
    times: np.ndarray
    scenes: tuple[Scene, ...]
    loops: bool = False
    words: str = ""


def run_clip(eqs: Equations, run: Result, *, name: str = "motion", most: int = MOST_FRAMES) -> Clip:
    """A simulated run."""
    chosen = spread_indices(run.time, most)
    maker = SceneMaker(eqs, run_values(eqs, run, "parameters"), inputs=run_values(eqs, run, "inputs"))
    scenes = tuple(maker.at(run.q[k], float(run.time[k])) for k in chosen)
    return Clip(name, run.time[chosen] - run.time[0], scenes)


def run_values(eqs: Equations, run: Result, what: str) -> dict[str, float]:
    """The parameters or inputs that a run was made with, as far as these equations can take them."""
    given = json.loads(run.dataset.attrs.get(what, "{}"))
    known = set(eqs.parameters) - eqs.model.structural if what == "parameters" else set(eqs.inputs)
    return {name: float(value) for name, value in given.items() if name in known}


def spread_indices(times: np.ndarray, most: int) -> np.ndarray:
    """Indices of all times, or of `most` of them at nearly equal distances; the first and the last are among them."""
    if len(times) <= most:
        return np.arange(len(times))
    wanted = np.linspace(times[0], times[-1], most)
    return np.unique(np.clip(np.searchsorted(times, wanted - 1e-12 * abs(times[-1])), 0, len(times) - 1))


def pose_clip(eqs: Equations, pose: Equilibrium, *, name: str = "at rest") -> Clip:
    """A pose at rest."""
    maker = SceneMaker(eqs, pose.parameters, inputs=pose.inputs)
    return Clip(name, np.zeros(1), (maker.at(pose.q, pose.time),))


def mode_clips(
    found: Modes, *, most: int = 12, parameters: Values | None = None, inputs: Values | None = None
) -> list[Clip]:
    """One period of each of the first modes about its state, slowed down or sped up to two seconds."""
    eqs = found.equations
    maker = SceneMaker(eqs, parameters, inputs=inputs)
    clips = []
    for k in range(min(most, found.shapes.shape[1])):
        frequency = float(found.frequencies[k])
        positions = mode_positions(eqs, found, k, parameters=parameters, inputs=inputs)
        scenes = [maker.at(q) for q in positions]
        words = f"{frequency:.4g} Hz" if frequency > 0 else "unstable" if frequency < 0 else "free"
        times = np.linspace(0, MODE_SECONDS, MODE_FRAMES + 1)
        clips.append(Clip(f"mode {k + 1}: {words}", times, (*scenes, scenes[0]), loops=True, words=words))
    return clips


def mode_positions(
    eqs: Equations, found: Modes, mode: int, *, parameters: Values | None = None, inputs: Values | None = None
) -> list[np.ndarray]:
    """Positions q over one period of a mode, drawn large enough to be seen; closed loops stay closed."""
    from pliant.solve.state import AssemblyError, assemble

    engine = eqs.bind(inputs, parameters)
    rest, shape = found.state.q, found.shapes[:, mode]
    amplitude = _amplitude(engine.node_poses(rest)[1], engine.node_twists(rest, shape))
    positions = []
    for phase in np.arange(MODE_FRAMES) * 2 * np.pi / MODE_FRAMES:
        q = engine.increment(rest, amplitude * np.sin(phase) * shape)
        if engine.m:
            with suppress(AssemblyError):  # beyond where the loop closes, the straight line towards it is shown
                q = assemble(eqs, engine, found.state.t, q, np.zeros(engine.nv)).q
        positions.append(q)
    return positions


def _amplitude(places: np.ndarray, twists: np.ndarray) -> float:
    """Factor on a shape so that nodes (at places n x 3, moving with twists n x 6) move visibly and not too far."""
    moves = np.linalg.norm(twists[:, :3] + np.cross(twists[:, 3:], places), axis=1).max(initial=0.0)
    turns = np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0)
    size = max(float(np.ptp(places, axis=0).max(initial=0.0)), 1e-6)
    limits = [LARGEST_MOVE * size / moves] if moves > 1e-12 else []
    limits += [LARGEST_TURN / turns] if turns > 1e-12 else []
    return float(min(limits, default=0.0))


def all_scenes(clips: Sequence[Clip]) -> list[Scene]:
    """The scenes of all clips, one after the other."""
    return [scene for clip in clips for scene in clip.scenes]
