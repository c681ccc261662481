"""Rod models side by side: what they cost, how far they are off, and how they follow the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.view.plot.style import COLOURS, DASHES, GREY, key, label, prefixed, styled

if TYPE_CHECKING:
    from pliant.identify.compare import Comparison

FACES, HATCHES = (COLOURS[1], "#BBD7EA"), ("", "////")
SHOWN_PATHS = len(COLOURS)
"""Models whose path is drawn: more lines than styles could not be told apart."""
LARGEST_STEP = 100
"""Ratio of the largest to the smallest bar from which on an axis is logarithmic."""


@styled
def compare(rows: Sequence[Comparison], *, reference: str = "recording", axes: Any = None) -> np.ndarray:
    """Four pairs of axes: times to derive and compile, times to solve, mean errors, and the paths with the reference.

    rows: what `compare` found. reference: what they are compared with, in words. axes: four to draw on (flat order).
    """
    if not rows:
        raise ValueError("there is nothing to compare")
    if axes is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(7.1, 4.6), layout="constrained")
        grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.2))
        axes = [*(figure.add_subplot(grid[0, k]) for k in range(3)), figure.add_subplot(grid[1, :])]
    preparation, solution, error, motion = np.ravel(np.asarray(axes, dtype=object))
    names = [row.rod for row in rows]
    _bars(preparation, names, {"derive": [r.derive_s for r in rows], "compile": [r.compile_s for r in rows]})
    preparation.set_ylabel("time [s]")
    # as published: per state at rest, and per second of motion
    span = float(rows[0].time[-1] - rows[0].time[0])
    rest = [1e3 * r.static_s / max(1, len(r.static_times)) for r in rows]
    _bars(solution, names, {"a rest": rest, "1 s of motion": [1e3 * r.run_s / span for r in rows]})
    solution.set_ylabel("wall time [ms]")
    _errors(error, rows, reference)
    _paths(motion, rows, reference)
    return np.array([preparation, solution, error, motion], dtype=object)


def _bars(ax: Any, names: Sequence[str], groups: dict[str, list[float]]) -> None:
    """Bars side by side, told apart by brightness and hatching."""
    where, width = np.arange(len(names)), 0.8 / len(groups)
    for k, (words, values) in enumerate(groups.items()):
        ax.bar(
            where + (k - (len(groups) - 1) / 2) * width, np.nan_to_num(values), 0.92 * width, label=words,
            facecolor=FACES[k], edgecolor=COLOURS[0], linewidth=0.5, hatch=HATCHES[k],
        )  # fmt: skip
    heights = np.concatenate(list(groups.values()))
    heights = heights[heights > 0]
    if heights.size and heights.max() > LARGEST_STEP * heights.min():
        ax.set_yscale("log")
    ax.set_xticks(where, names, rotation=90 if len(names) > 3 else 0)
    key(ax)


def _errors(ax: Any, rows: Sequence[Comparison], reference: str) -> None:
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


def _paths(ax: Any, rows: Sequence[Comparison], reference: str) -> None:
    is_place = rows[0].unit == "mm" and rows[0].measured.shape[1] == 3
    unit, factor = prefixed("m" if is_place else "", rows[0].measured)
    for component in range(rows[0].measured.shape[1]):
        ax.plot(
            rows[0].time, factor * rows[0].measured[:, component], color=GREY, linewidth=3, linestyle="-", alpha=0.5,
            label=reference if component == 0 else None,
        )  # fmt: skip
        for k, row in enumerate(rows[:SHOWN_PATHS]):
            ax.plot(
                row.time, factor * row.path[:, component], color=COLOURS[k], linewidth=1.0, linestyle=DASHES[k],
                label=row.rod if component == 0 else None,
            )  # fmt: skip
        if rows[0].measured.shape[1] == 3:
            _letter(ax, component, rows[0].time, factor * rows[0].measured)
    ax.set_xlabel("time [s]")
    ax.set_ylabel(label("position", unit) if is_place else "output [SI]")
    ax.margins(x=0.02, y=0.12)
    key(ax)


def _letter(ax: Any, component: int, time: np.ndarray, values: np.ndarray) -> None:
    """The name of a component where it is furthest from the others."""
    others = np.delete(values, component, axis=1)
    at = int(np.argmax(np.min(np.abs(others - values[:, [component]]), axis=1)))
    here = values[at, component]
    beyond = 1 if here >= others[at].mean() else -1
    ax.annotate(
        "xyz"[component], (time[at], here), xytext=(0, 3 * beyond), textcoords="offset points", ha="center",
        va="bottom" if beyond > 0 else "top",
    )  # fmt: skip
