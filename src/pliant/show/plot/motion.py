"""Plots of a simulated motion: outputs, frames, coordinates and energies over time, and spectra."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.modes import LARGEST_MOVE, ModesResult
from pliant.analysis.motion.result import Result
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.outputs import output_axes, output_units
from pliant.language.arguments import name_tuple
from pliant.language.names import instances_of
from pliant.show.plot.style import (
    COLOURS,
    DASHES,
    GREY,
    SIZE,
    axes,
    axes_below_each_other,
    key,
    label,
    prefixed,
    spaced_ticks,
    styled,
)
from pliant.show.scene import make_scene
from pliant.show.sketch import pose_of

ENERGIES = ("total", "kinetic", "potential", "dissipated", "supplied", "added")


@styled
def trajectory(
    run: Result, names: str | Sequence[str] | None = None, *, ax: Any = None, plane: str | None = None,
    recording: tuple[np.ndarray, np.ndarray] | None = None,
) -> Any:  # fmt: skip
    """Outputs, frames (their positions) or coordinates over time; all must have the same unit.

    names: one or several; the first output by default, or the first coordinate of a model without outputs.
    plane: two letters such as "xz" draw the path of points in that plane of the world instead.
    recording: times [s] and values (SI, one column per component), drawn as dots.
    """
    chosen = _default(run) if names is None else name_tuple(names) or ()
    if not chosen:
        raise ValueError("trajectory needs the name of an output, a frame or a coordinate")
    for name in chosen:
        if any(part in profile_names(run) for part in (name, *instances_of(name, run.output_names))):
            raise ValueError(f"'{name}' is a profile along a rod: draw it with `plot.profile`")
    units = {name: run[name].unit for name in chosen}
    if len(set(units.values())) > 1:
        listed = ", ".join(f"'{name}' [{unit}]" for name, unit in units.items())
        raise ValueError(
            f"one pair of axes can show one unit only, but these have several: {listed}; plot them separately"
        )
    series = {name: _values(run, name) for name in chosen}
    everything = [x.ravel() for x in series.values()] + ([] if recording is None else [np.ravel(recording[1])])
    unit, factor = prefixed(units[chosen[0]], np.concatenate(everything))
    ax = axes(ax)
    if plane is not None:
        return _in_plane(ax, series, plane, unit, factor, recording)
    if recording is not None:
        measured = np.asarray(recording[1], dtype=float).reshape(len(recording[0]), -1)
        for k, column in enumerate(measured.T):
            words = "recorded" if k == 0 else None
            ax.plot(
                recording[0], factor * column, linestyle="none", marker=".", markersize=2.5, color=GREY, label=words
            )
    for name, values in series.items():
        for words, column in zip(_parts(run, name, values.shape[1]), values.T, strict=True):
            ax.plot(run.time, factor * column, label=words)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(label(chosen[0] if len(chosen) == 1 else _what(unit), unit))
    key(ax)
    return ax


@styled
def inputs(run: Result, names: str | Sequence[str] | None = None, *, ax: Any = None) -> Any:
    """Inputs over time, as the model, the caller or controllers set them; returns the axes, or an array of them if units differ.

    names: one or several; by default those that change, or all if none does. The name of a repeated input stands for all its
    instances. Each unit has a separate pair of axes, one below
    the other. ax: axes to draw on, for inputs of one unit.
    """
    units = {name: run.input(name).unit for name in run.inputs}
    if names is None:
        names = [name for name, values in run.inputs.items() if np.ptp(values)] or list(units)
    listed = [names] if isinstance(names, str) else names
    chosen = [one for name in listed for one in ([name] if name in units else instances_of(name, units) or [name])]
    if not chosen:
        raise ValueError("the robot has no inputs")
    check_names("input", chosen, units)
    groups: dict[str, list[str]] = {}
    for name in chosen:
        groups.setdefault(units[name], []).append(name)
    if ax is not None and len(groups) > 1:
        listed = ", ".join(f"'{name}' [{units[name]}]" for name in chosen)
        raise ValueError(f"one pair of axes can show one unit only, but these have several: {listed}; omit `ax`")
    pairs = [axes(ax)] if len(groups) == 1 else axes_below_each_other(len(groups))
    for one, (unit, group) in zip(pairs, groups.items(), strict=True):
        _inputs_of_a_unit(one, run, unit, group)
    pairs[-1].set_xlabel("time [s]")
    return pairs[0] if len(groups) == 1 else np.array(pairs, dtype=object)


def _inputs_of_a_unit(ax: Any, run: Result, unit: str, names: Sequence[str]) -> None:
    unit, factor = prefixed(unit.replace("*", " "), np.concatenate([run.inputs[name] for name in names]))
    for name in names:
        ax.plot(run.time, factor * run.inputs[name], label=name)
    ax.set_ylabel(label(names[0] if len(names) == 1 else "input", unit))
    key(ax)


def _default(run: Result) -> list[str]:
    along = profile_names(run)
    if names := [name for name in run.output_names if name not in along]:
        return [names[0]]
    return list(run.recorded.names("coordinate")[:1])


def _values(run: Result, name: str) -> np.ndarray:
    """Values over time, times x components, in SI units."""
    return np.asarray(run[name], dtype=float).reshape(len(run.time), -1)


def _parts(run: Result, name: str, count: int) -> list[str]:
    """Names of the components of an output, or of a frame's position."""
    if count == 1:
        return [name]
    return [f"{name}.{letter}" for letter in "xyz"] if run[name].kind == "frame" else run.parts(name)


def _what(unit: str) -> str:
    bare = (
        unit[1:] if len(unit) > 1 and unit[0] in "mkMGµn" and unit[1:] in ("m", "N", "J", "s", "m/s", "N m") else unit
    )
    return {"m": "position", "rad": "angle", "N": "force", "J": "energy", "m/s": "velocity", "rad/s": "rate"}.get(
        bare, "value"
    )


def _in_plane(
    ax: Any, series: dict[str, np.ndarray], plane: str, unit: str, factor: float,
    recording: tuple[np.ndarray, np.ndarray] | None,
) -> Any:  # fmt: skip
    i, j = _axes_of(plane)
    for name, values in series.items():
        if values.shape[1] != 3:
            raise ValueError(f"'{name}' is not a point in space, so it has no path in a plane")
        ax.plot(factor * values[:, i], factor * values[:, j], label=name)
    if recording is not None:
        x, y = factor * np.asarray(recording[1])[:, i], factor * np.asarray(recording[1])[:, j]
        ax.plot(x, y, linestyle="none", marker=".", markersize=2.5, color=GREY, label="recorded", zorder=1)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(label(plane[0], unit))
    ax.set_ylabel(label(plane[1], unit))
    key(ax)
    spaced_ticks(ax)
    return ax


@styled
def energy(run: Result, *, ax: Any = None) -> Any:
    """Total, kinetic and potential energy over time; dissipated and supplied energy, and energy added by setting states, if
    there is any."""
    parts = {name: np.asarray(run.energy[name].values) for name in ENERGIES if name in run.energy}
    shown = {name: x for name, x in parts.items() if name in ENERGIES[:3] or np.any(x)}
    unit, factor = prefixed("J", np.concatenate(list(shown.values())))
    ax = axes(ax)
    for name, values in shown.items():
        ax.plot(run.time, factor * values, label=name)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(label("energy", unit))
    key(ax)
    return ax


@styled
def spectrum(
    run: Result, name: str | None = None, *, modes: ModesResult | None = None, ax: Any = None,
    highest: float | None = None,
) -> Any:  # fmt: skip
    """Amplitude over frequency of an output, a frame's position or a coordinate, without its mean (Hann window).

    The run must have been saved at equal intervals. modes: those whose frequencies are marked. highest: end of
    the axis [Hz].
    """
    name = _default(run)[0] if name is None else name
    steps = np.diff(run.time)
    if len(steps) < 3 or np.ptp(steps) > 1e-6 * steps.mean():
        raise ValueError("a spectrum needs a run saved at equal intervals: give `simulate` an interval, not times")
    values = _values(run, name)
    window = np.hanning(len(values))[:, None]
    amplitude = 2 * np.abs(np.fft.rfft((values - values.mean(axis=0)) * window, axis=0)) / window.sum()
    frequency = np.fft.rfftfreq(len(values), float(steps.mean()))
    unit, factor = prefixed(run[name].unit, amplitude)
    ax = axes(ax)
    top = frequency[-1] if highest is None else min(highest, frequency[-1])
    for words, column in zip(_parts(run, name, values.shape[1]), amplitude.T, strict=True):
        ax.plot(frequency, factor * column, label=words)
    if modes is not None:
        inside = [f for f, z in zip(modes.frequencies, modes.eigenvalues, strict=True) if z.imag and 0 < f <= top]
        for k, f in enumerate(inside):
            ax.axvline(f, color=GREY, linewidth=0.8, linestyle=":", zorder=0, label="modes" if k == 0 else None)
    ax.set_xlim(0, top)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel(label("amplitude", unit))
    key(ax)
    return ax


LINES = 5
"""Number of lines if no times are given."""


@styled
def profile(
    result: Result | Equilibrium, name: str | None = None, *, times: Sequence[float] | None = None, ax: Any = None
) -> Any:
    """An output with `stations` along its rod, of a motion or of an equilibrium.

    name: the output; the first profile by default. times: those of a motion to draw [s], each replaced by the nearest saved
    one; five from its start to its end by default.
    """
    known = profile_names(result)
    if name is None and not known:
        raise ValueError("there is no profile to plot: give an output of a rod a number of `stations`")
    name = known[0] if name is None else name
    if name not in known:
        raise ValueError(f"'{name}' is not a profile along a rod; profiles: {', '.join(known) or 'none'}")
    arc_length, unit, lines = _lines(result, name, times)
    unit, factor = prefixed(unit, np.concatenate([values for _, values in lines]))
    length_unit, length_factor = prefixed("m", arc_length)
    ax = axes(ax)
    for words, values in lines:
        ax.plot(length_factor * arc_length, factor * values, label=words)
    ax.set_xlabel(label("arc length", length_unit))
    ax.set_ylabel(label(name, unit))
    key(ax)
    return ax


def profile_names(result: Result | Equilibrium) -> list[str]:
    """Outputs of a motion or an equilibrium that are profiles along a rod."""
    if isinstance(result, Equilibrium):
        return list(output_axes(result.equations.model, result.equations.binding))
    names = [f"output.{name}.arc_length" in result.recorded.labels for name in result.output_names]
    return [name for name, is_profile in zip(result.output_names, names, strict=True) if is_profile]


def _lines(
    result: Result | Equilibrium, name: str, times: Sequence[float] | None
) -> tuple[np.ndarray, str, list[tuple[str | None, np.ndarray]]]:
    """Arc lengths [m], unit, and the lines with their labels."""
    if isinstance(result, Equilibrium):
        if times is not None:
            raise ValueError("an equilibrium has no times: omit `times`")
        model = result.equations.model
        at = output_axes(model, result.equations.binding)[name]
        return at, output_units(model)[name], [(None, np.asarray(result.outputs[name], dtype=float))]
    track = result[name]
    if times is None:
        rows = np.unique(np.linspace(0, len(result.time) - 1, min(LINES, len(result.time))).astype(int))
    else:
        rows = np.array([int(np.argmin(np.abs(result.time - t))) for t in times])
    return track.arc_length, track.unit, [(f"{result.time[k]:.4g} s", track.values[k]) for k in rows]


@styled
def shape(
    eqs: Equations, poses: Any = None, *, mode: int = 1, plane: str | None = None, parameters: Values | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Centre lines of rods and bodies in one or several poses, seen along an axis of the world.

    poses: "initial", "equilibrium", positions q, a State, an Equilibrium, a Result (start, end and three times in between), modes
    (rest and both ends of the swing of `mode`, counted from 1), a sequence of these, or a mapping from the words in the legend to
    them; the model's start by default. parameters: those of the pose by default. plane: two letters such as "xz",
    the axes to the right and upwards; by default the two in which the robot is largest.
    """
    drawn = {words: _drawn_lines(here, q) for words, (here, q) in _poses(eqs, poses, mode, parameters).items()}
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


def _swing(eqs: Equations, modes: ModesResult, mode: int, parameters: Values | None) -> dict[str, Posed]:
    if not 1 <= mode <= modes.shapes.shape[1]:
        raise ValueError(f"there is no mode {mode}: the modes are counted from 1 to {modes.shapes.shape[1]}")
    here = eqs.at(parameters=modes.equations.given_parameters if parameters is None else parameters)
    bound, q, direction = here.binding, modes.state.q, modes.phase(mode - 1, np.pi / 2)
    rest = np.concatenate(_drawn_lines(here, q))
    small = 1e-6 / max(float(np.abs(direction).max()), 1e-300)
    moved = np.concatenate(_drawn_lines(here, bound.increment(q, small * direction)))
    fastest = float(np.linalg.norm(moved - rest, axis=1).max()) / small
    size = float(np.linalg.norm(np.ptp(rest, axis=0)))
    amplitude = LARGEST_MOVE * size / fastest if fastest > 0 and size > 0 else 0.0
    return {
        "rest": (here, q),
        f"mode {mode}, {modes.words(mode - 1)}": (here, bound.increment(q, amplitude * direction)),
        "opposite": (here, bound.increment(q, -amplitude * direction)),
    }


def _drawn_lines(eqs: Equations, q: np.ndarray) -> list[np.ndarray]:
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
        return _axes_of(plane)
    i, j = sorted(np.argsort(-np.ptp(points, axis=0), kind="stable")[:2])
    return int(i), int(j)


def _axes_of(plane: str) -> tuple[int, int]:
    """The two axes of a plane of the world."""
    if len(plane) != 2 or any(letter not in "xyz" for letter in plane) or plane[0] == plane[1]:
        raise ValueError(f"plane must be two of x, y, z, such as 'xz', not {plane!r}")
    return "xyz".index(plane[0]), "xyz".index(plane[1])
