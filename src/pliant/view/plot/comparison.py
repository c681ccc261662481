"""Comparison of rod models: cost, errors, and motion relative to the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.view.plot.style import COLOURS, DASHES, GREY, clock, key, label, prefixed, styled

if TYPE_CHECKING:
    from pliant.identify.compare import Comparison

FACES, HATCHES = (COLOURS[1], "#BBD7EA"), ("", "////")
SHOWN_PATHS = len(COLOURS)
"""Maximum number of models with paths: more lines than styles could not be distinguished."""
LETTERS = 20
"""Total number of letters of names that fit side by side below bars."""
ROUND_OFF = 1e-7
"""Bars below this fraction of the largest are omitted."""
NOTHING = 1e-3
"""Components that move less than this fraction of the largest are drawn as constant."""
LARGEST_STEP = 100
"""Ratio of the largest to the smallest bar above which an axis is logarithmic."""


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
    heights = heights[heights > ROUND_OFF * np.max(heights, initial=0.0, where=np.isfinite(heights))]
    if heights.size and heights.max() > LARGEST_STEP * heights.min():
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.3 * heights.min())
    ax.set_xticks(where, names, rotation=90 if sum(map(len, names)) > LETTERS else 0)
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
    if np.ptp(ax.get_ylim()) < NOTHING * whole:  # round-off is not motion
        middle = float(np.nanmean(wanted))
        ax.set_ylim(middle - NOTHING * whole, middle + NOTHING * whole)
    many = rows[0].measured.shape[1] > 1
    name = "xyz"[component] if is_place else f"{rows[0].output} {component + 1}" if many else rows[0].output
    ax.set_ylabel(label(name, unit))
    ax.margins(x=0.02, y=0.12)
