"""Plots of comparisons with recordings, of fits and of optimizations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.gradient.optimize import Optimum
from pliant.identify.compare import Comparison
from pliant.identify.fit import Fit, FittedPath, Profile
from pliant.show.plot.style import COLOURS, DASHES, GREY, SIZE, axes, clock, key, label, prefixed, spaced_ticks, styled


@dataclass(frozen=True)
class Layout:
    """Numbers that decide how comparisons are drawn."""

    letters: int = 20
    """Total number of letters of names that fit side by side below bars."""
    round_off: float = 1e-7
    """Bars below this fraction of the largest are omitted."""
    nothing: float = 1e-3
    """Components that move less than this fraction of the largest are drawn as constant."""
    largest_step: int = 100
    """Ratio of the largest to the smallest bar above which an axis is logarithmic."""
    most_components: int = 12
    """Maximum number of components of measured outputs in one figure."""


LAYOUT = Layout()


FACES, HATCHES = (COLOURS[1], "#BBD7EA"), ("", "////")
SHOWN_PATHS = len(COLOURS)
"""Maximum number of models with paths: more lines than styles could not be distinguished."""


@styled
def compare(rows: Sequence[Comparison], *, reference: str | None = None, axes: Any = None) -> np.ndarray:
    """Three pairs of axes for times to derive and compile, times to solve and mean errors, and one for each component of the paths.
    Rod models with which the robot could not be computed are omitted.

    rows: results of `compare`. reference: description of the reference, by default the recording or the last rod model.
    axes: axes to draw on (in flat order).
    """
    rows = [row for row in rows if row.status != "failed"]
    if not rows:
        raise ValueError("there is nothing to compare")
    reference = reference_of(rows) if reference is None else reference
    components = rows[0].measured.shape[1]
    if axes is None:
        axes = _new_axes(components)
    flat = np.ravel(np.asarray(axes, dtype=object))
    if len(flat) != 3 + components:
        raise ValueError(f"the comparison needs {3 + components} pairs of axes, not {len(flat)}")
    preparation, solution, error, *motion = flat
    names = [row.rod for row in rows]
    _bars(preparation, names, {"derive": [r.derive_s for r in rows], "compile": [r.compile_s for r in rows]})
    preparation.set_ylabel("time [s]")
    # as published: per state at rest, and per second of motion
    span = float(rows[0].time[-1] - rows[0].time[0])
    times = {"1 s of motion": [1e3 * r.run_s / span for r in rows]}
    if len(rows[0].static_times):
        times = {"one equilibrium": [1e3 * r.static_s / len(r.static_times) for r in rows], **times}
    _bars(solution, names, times)
    solution.set_ylabel("wall time [ms]")
    _errors(error, rows, reference)
    for component, ax in enumerate(motion):
        _path(ax, rows, reference, component)
    for ax in motion[:-1]:
        ax.tick_params(labelbottom=False)
    motion[-1].set_xlabel(clock(rows[0].time)[1])
    key(motion[0])
    return flat


def reference_of(rows: Sequence[Comparison]) -> str:
    """What rows are compared with, in words."""
    return "recording" if rows[0].reference == "recording" else f"{rows[0].reference} model"


def _new_axes(components: int) -> list[Any]:
    """Three pairs of axes side by side, and below them one of full width for each component, all with the same times."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.1, 2.4 + 1.15 * components), layout="constrained")
    grid = figure.add_gridspec(1 + components, 3, height_ratios=(2.0, *[1.0] * components))
    motion = [figure.add_subplot(grid[1, :])]
    motion += [figure.add_subplot(grid[1 + k, :], sharex=motion[0]) for k in range(1, components)]
    return [*(figure.add_subplot(grid[0, k]) for k in range(3)), *motion]


def _bars(ax: Any, names: Sequence[str], groups: dict[str, list[float]]) -> None:
    """Bars side by side, distinguished by brightness and hatching."""
    where, width = np.arange(len(names)), 0.8 / len(groups)
    for k, (words, values) in enumerate(groups.items()):
        ax.bar(
            where + (k - (len(groups) - 1) / 2) * width, np.nan_to_num(values), 0.92 * width, label=words,
            facecolor=FACES[k], edgecolor=COLOURS[0], linewidth=0.5, hatch=HATCHES[k],
        )  # fmt: skip
    heights = np.concatenate(list(groups.values()))
    heights = heights[heights > LAYOUT.round_off * np.max(heights, initial=0.0, where=np.isfinite(heights))]
    if heights.size and heights.max() > LAYOUT.largest_step * heights.min():
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.3 * heights.min())
    ax.set_xticks(where, names, rotation=90 if sum(map(len, names)) > LAYOUT.letters else 0)
    key(ax)


def _errors(ax: Any, rows: Sequence[Comparison], reference: str) -> None:
    rows = [row for row in rows if not row.is_reference] or rows
    groups = {"in motion": [r.mean_error_mm for r in rows]}
    rest = [r.static_mean_error_mm for r in rows]
    if not np.all(np.isnan(rest)):
        groups["at rest"] = rest
    _bars(ax, [r.rod for r in rows], groups)
    ax.set_ylabel(f"mean error against\nthe {reference} [{rows[0].unit}]")
    if rows[0].unit != "mm":
        return
    share = next((r.mean_error_percent_of_rod / r.mean_error_mm for r in rows if r.mean_error_mm > 0), None)
    if share is not None:
        beside = ax.secondary_yaxis("right", functions=(lambda mm: mm * share, lambda percent: percent / share))
        beside.set_ylabel("[% of the rod's length]")


def _path(ax: Any, rows: Sequence[Comparison], reference: str, component: int) -> None:
    """One component of the compared output over time: each has its own scale, so that small motions are visible."""
    is_place = rows[0].unit == "mm" and rows[0].measured.shape[1] == 3
    wanted = rows[0].measured[:, component]
    # all components in one unit, lengths in that of the errors
    unit, factor = prefixed(rows[0].output_unit, [np.nan_to_num(rows[0].measured), *(row.path for row in rows)])
    if rows[0].unit == "mm":
        unit, factor = "mm", 1e3
    wanted = factor * wanted
    ax.plot(clock(rows[0].time)[0], wanted, color=GREY, linewidth=3, linestyle="-", alpha=0.5, label=reference)
    others = [row for row in rows if not row.is_reference]
    for k, row in enumerate(others[:SHOWN_PATHS]):
        path = factor * row.path[:, component]
        ax.plot(clock(row.time)[0], path, color=COLOURS[k], linewidth=1.0, linestyle=DASHES[k], label=row.rod)
    whole = factor * max(float(np.ptp(row.path, axis=0).max()) for row in rows)
    if np.ptp(ax.get_ylim()) < LAYOUT.nothing * whole:  # round-off is not motion
        middle = float(np.nanmean(wanted))
        ax.set_ylim(middle - LAYOUT.nothing * whole, middle + LAYOUT.nothing * whole)
    many = rows[0].measured.shape[1] > 1
    name = "xyz"[component] if is_place else f"{rows[0].output} {component + 1}" if many else rows[0].output
    ax.set_ylabel(label(name, unit))
    ax.margins(x=0.02, y=0.12)


@styled
def fit(result: Fit) -> np.ndarray:
    """Measured outputs, and the model before and after the fit.

    There is a pair of axes for each component of each output: over time, or over the number of the pose for equilibria. Held-out
    samples are hollow."""
    import matplotlib.pyplot as plt

    units = {(error.measurement, error.output): error.unit for error in result.errors}
    shown = [(path, k) for path in result.paths for k in range(path.measured.shape[1])][: LAYOUT.most_components]
    size = (2 * SIZE.width, 0.8 + 1.3 * len(shown))
    flat = plt.subplots(len(shown), 1, figsize=size, layout="constrained", squeeze=False)[1][:, 0]
    several = len({path.measurement for path, _ in shown}) > 1
    for ax, (path, k) in zip(flat, shown, strict=True):
        _component(ax, path, k, units[path.measurement, path.output])
        if several:
            ax.set_title(path.measurement, loc="right")
    key(flat[0])
    return np.asarray(flat)


def _component(ax: Any, path: FittedPath, k: int, unit: str) -> None:
    unit, factor = prefixed(unit, path.measured[:, k])
    at, below = clock(path.time) if path.in_motion else (np.arange(1, len(path.time) + 1), "pose")
    dots = {"linestyle": "none", "marker": "o", "markersize": 2.5, "color": GREY}
    used, left_out = path.fitted, ~path.fitted
    ax.plot(at[used], factor * path.measured[used, k], **dots, label="measured")
    if left_out.any():
        ax.plot(at[left_out], factor * path.measured[left_out, k], **dots, fillstyle="none", label="not fitted")
    look = {} if path.in_motion else {"marker": "x", "linestyle": "none"}
    for n, (words, values) in enumerate((("after the fit", path.after), ("before", path.before))):
        ax.plot(at, factor * values[:, k], **{"color": COLOURS[n + 1], "linestyle": DASHES[n], **look}, label=words)
    parts = path.measured.shape[1]
    ax.set_ylabel(label(path.output if parts == 1 else f"{path.output} {'xyz'[k] if parts == 3 else k + 1}", unit))
    ax.set_xlabel(below)


@styled
def likelihood(profile: Profile, *, ax: Any = None) -> Any:
    """Profile likelihood: the rise of the sum of squares with one parameter fixed and the others refitted, with its 95 %
    interval. profile: result of `Fit.profile`."""
    ax = axes(ax)
    ax.plot(profile.values, profile.rise, marker="o", markersize=3)
    for end in profile.interval:
        if np.isfinite(end):
            ax.axvline(end, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlabel(f"{profile.name} (SI)")
    ax.set_ylabel("rise of the sum of squares\n[squared deviations]")
    ax.set_ylim(bottom=0)
    spaced_ticks(ax)
    return ax


@styled
def likelihoods(result: Fit) -> list[Any]:
    """Rise of the sum of squares with a parameter held at other values, for each profile of a fit."""
    import matplotlib.pyplot as plt

    count = len(result.profiles)
    flat = plt.subplots(1, count, figsize=(2.6 * count, 2.0), layout="constrained", squeeze=False)[1][0]
    return [likelihood(profile, ax=ax) for profile, ax in zip(result.profiles, flat, strict=True)]


@styled
def search(optimum: Optimum, *, axes: Any = None) -> np.ndarray:
    """Objective, conditions and varied values over the evaluations of an optimization.

    Conditions are drawn by their margins, and varied values as fractions of their ranges. Without conditions, two pairs of axes
    are drawn.
    """
    count = 3 if optimum.spare else 2
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(1, count, figsize=(2.35 * count, 2.0), layout="constrained", squeeze=False)[1]
    flat = np.ravel(np.asarray(axes, dtype=object))
    at = np.arange(1, len(optimum.way) + 1)
    _objective(flat[0], at, optimum)
    if optimum.spare:
        _conditions(flat[1], at, optimum)
    _values(flat[count - 1], at, optimum)
    for ax in flat[:count]:
        ax.set_xlabel("evaluation")
        ax.xaxis.get_major_locator().set_params(integer=True)
    return flat


def _objective(ax: Any, at: np.ndarray, optimum: Optimum) -> None:
    """The objective; points that violate a condition are hollow."""
    values = np.array([visit.objective for visit in optimum.way])
    missed = np.array([visit.missed > 0 for visit in optimum.way])
    ax.plot(at, values, color=GREY, linewidth=0.6)
    ax.plot(at[missed], values[missed], "o", color=GREY, markersize=3, fillstyle="none", label="violates a condition")
    ax.plot(at[~missed], values[~missed], "o", color=COLOURS[1], markersize=3)
    if missed.any():
        key(ax, least=1)
    ax.set_ylabel("objective (SI)")


def _conditions(ax: Any, at: np.ndarray, optimum: Optimum) -> None:
    ax.axhline(0, color=GREY, linewidth=0.6)
    for k, text in enumerate(optimum.spare):
        spare = [100 * visit.spare[text] for visit in optimum.way]
        ax.plot(at, spare, color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], label=text)
    ax.set_ylabel("margin [%]")
    key(ax, least=1)


def _values(ax: Any, at: np.ndarray, optimum: Optimum) -> None:
    for k, name in enumerate(optimum.values):
        low, high = optimum.bounds[name]
        shares = [100 * (visit.values[name] - low) / (high - low) for visit in optimum.way]
        ax.plot(at, shares, color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], label=name)
    ax.set_ylim(-5, 105)
    ax.set_ylabel("fraction of the range [%]")
    key(ax, least=1)
