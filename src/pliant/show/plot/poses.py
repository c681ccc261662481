"""The shape of a robot in one or several poses, on axes with lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.modes import LARGEST_MOVE, ModesResult
from pliant.analysis.motion.result import Result
from pliant.show.plot.style import COLOURS, DASHES, SIZE, axes, key, label, prefixed, styled
from pliant.show.scene import make_scene
from pliant.show.sketch import pose_of

if TYPE_CHECKING:
    from pliant.engine.equations import Equations, Values


@styled
def shape(
    eqs: Equations,
    poses: Any = None,
    *,
    mode: int = 1,
    plane: str | None = None,
    parameters: Values | None = None,
    ax: Any = None,
) -> Any:
    """Centre lines of rods and bodies in one or several poses, seen along an axis of the world.

    poses: "initial", "equilibrium", positions q, a State, an Equilibrium, a Result (start, end and three times in between), modes
    (rest and both ends of the swing of `mode`, counted from 1), a sequence of these, or a mapping from the words in the legend to
    them; the model's start by default. parameters: those of the pose by default. plane: two letters such as "xz",
    the axes to the right and upwards; by default the two in which the robot is largest.
    """
    drawn = {words: _lines(here, q) for words, (here, q) in _poses(eqs, poses, mode, parameters).items()}
    points = np.concatenate([line for lines in drawn.values() for line in lines])
    i, j = _plane(points, plane)
    unit, factor = prefixed("m", np.ptp(points, axis=0))
    span = np.ptp(points[:, [i, j]], axis=0)
    ax = axes(ax, height=float(np.clip(SIZE.width * span[1] / max(span[0], 1e-12), 1.6, 4.0)))
    for k, (words, lines) in enumerate(drawn.items()):
        colour, dashes = COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]
        for n, line in enumerate(lines):
            alone = len(line) == 1
            ax.plot(
                factor * line[:, i], factor * line[:, j], color=colour, linestyle="none" if alone else dashes,
                marker="o" if alone else None, label=words if n == 0 else None,
            )  # fmt: skip
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(label("xyz"[i], unit))
    ax.set_ylabel(label("xyz"[j], unit))
    key(ax)
    return ax


Posed = tuple["Equations", np.ndarray]
"""Equations with the parameters of a pose, and its positions q."""


def _poses(eqs: Equations, poses: Any, mode: int, parameters: Values | None) -> dict[str, Posed]:
    if isinstance(poses, Mapping):
        return {str(words): _pose(eqs, item, parameters) for words, item in poses.items()}
    if isinstance(poses, ModesResult):
        return _swing(eqs, poses, mode, parameters)
    if isinstance(poses, Result):
        rows = np.unique(np.linspace(0, len(poses.time) - 1, 5).round().astype(int))
        here = pose_of(eqs, poses, parameters=parameters)[0]
        return {f"{poses.time[k]:.3g} s": (here, poses.q[k]) for k in rows}
    if isinstance(poses, Sequence) and not isinstance(poses, str) and poses and not np.isscalar(poses[0]):
        return {f"pose {k + 1}": _pose(eqs, item, parameters) for k, item in enumerate(poses)}
    return {"start" if poses is None else "pose": _pose(eqs, poses, parameters)}


def _pose(eqs: Equations, given: Any, parameters: Values | None) -> Posed:
    here, state = pose_of(eqs, given, parameters=parameters)
    return here, state.q


def _swing(eqs: Equations, found: ModesResult, mode: int, parameters: Values | None) -> dict[str, Posed]:
    if not 1 <= mode <= found.shapes.shape[1]:
        raise ValueError(f"there is no mode {mode}: the modes are counted from 1 to {found.shapes.shape[1]}")
    here = eqs.at(parameters=found.equations.given_parameters if parameters is None else parameters)
    bound, q, direction = here.binding, found.state.q, found.phase(mode - 1, np.pi / 2)
    rest = np.concatenate(_lines(here, q))
    small = 1e-6 / max(float(np.abs(direction).max()), 1e-300)
    moved = np.concatenate(_lines(here, bound.increment(q, small * direction)))
    fastest = float(np.linalg.norm(moved - rest, axis=1).max()) / small
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    amplitude = LARGEST_MOVE * size / fastest if fastest > 0 and size > 0 else 0.0
    return {
        "rest": (here, q),
        f"mode {mode}, {found.words(mode - 1)}": (here, bound.increment(q, amplitude * direction)),
        "opposite": (here, bound.increment(q, -amplitude * direction)),
    }


def _lines(eqs: Equations, q: np.ndarray) -> list[np.ndarray]:
    """Lines (n x 3) [m]: rods first, then arms and axes of bodies, then links; a body without extent is a point."""
    scene = make_scene(eqs, q)
    lines = [rod.points for rod in scene.rods]
    for solid in scene.solids:
        lines += [np.stack(arm) for arm in solid.arms]
        if solid.form in ("rod", "cylinder"):
            lines.append(solid.points)
        elif solid.form != "none" and not solid.arms:
            lines.append(solid.center[None])
    lines += [link.ends for link in scene.links]
    return lines or [np.zeros((1, 3))]


def _plane(points: np.ndarray, plane: str | None) -> tuple[int, int]:
    if plane is not None:
        if len(plane) != 2 or any(letter not in "xyz" for letter in plane) or plane[0] == plane[1]:
            raise ValueError(f"plane must be two of x, y, z, such as 'xz', not {plane!r}")
        return "xyz".index(plane[0]), "xyz".index(plane[1])
    i, j = sorted(np.argsort(-np.ptp(points, axis=0), kind="stable")[:2])
    return int(i), int(j)
