"""Cases of a sweep: how a measure depends on each varied value, and all of them in parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.show.plot.style import COLOURS, GREY, label, prefixed, styled

if TYPE_CHECKING:
    from pliant.study.results import Table


@dataclass(frozen=True)
class SweepLayout:
    """Numbers of groups and lines of the plots of a sweep."""

    most_levels: int = 12
    """Number of different random values up to which each has a separate mean; more are put into groups of equal
    size."""
    groups: int = 8
    """Number of these groups."""
    most_lines: int = 2000
    """Number of cases drawn in grey, after the best ones."""
    best: int = 5
    """Number of the best cases, which are drawn in colour."""


LAYOUT = SweepLayout()


@styled
def effects(table: Table, by: str | None = None, *, axes: Any = None) -> np.ndarray:
    """Main effects: one pair of axes for each varied value, with all cases, and the mean of the measure at each value, with its
    standard error. Random values have means of groups of neighbouring ones. If only one value is varied, a line through all
    cases."""
    name, values = table.measure(by)
    count = max(1, len(table.varied))
    if axes is None:
        import matplotlib.pyplot as plt

        columns = min(count, 3)
        rows = -(-count // columns)
        size = (2.35 * columns, 1.9 * rows)
        axes = plt.subplots(rows, columns, figsize=size, layout="constrained", sharey=True, squeeze=False)[1]
    flat = np.ravel(np.asarray(axes, dtype=object))
    unit, factor = prefixed(table.units.get(name, ""), values[np.isfinite(values)])
    for k, (ax, (what, given)) in enumerate(zip(flat, table.varied.items(), strict=False)):
        _effect(ax, table, what, given, factor * values)
        if k % 3 == 0:
            ax.set_ylabel(label(name, unit))
    for ax in flat[count:]:
        ax.set_visible(False)
    return flat


def _effect(ax: Any, table: Table, what: str, given: np.ndarray, values: np.ndarray) -> None:
    known = np.isfinite(values)
    if given.dtype.kind != "f":
        levels = sorted(set(given.tolist()))
        at = np.array([levels.index(x) for x in given.tolist()], dtype=float)
        ax.set_xticks(range(len(levels)), levels)
        ax.set_xlabel(what)
    else:
        unit, factor = prefixed(table.units.get(what, ""), given[np.isfinite(given)])
        at = factor * given
        ax.set_xlabel(label(what, unit))
        known &= np.isfinite(given)
    at, values = at[known], values[known]
    ax.plot(at, values, ".", color=GREY, markersize=2, alpha=0.35, rasterized=len(at) > 500)
    if not len(at):
        return
    different, counts = np.unique(at, return_counts=True)
    alone = len(table.varied) == 1
    if np.all(counts == 1) and (alone or _even(different)):
        order = np.argsort(at)
        ax.plot(at[order], values[order], color=COLOURS[1], linestyle="-", marker="o", markersize=3, linewidth=1.2)
        return
    random = len(different) > LAYOUT.most_levels and counts.min() == 1 and not alone
    groups = _groups(at) if random else [at == x for x in different]
    x = [float(at[g].mean()) for g in groups]
    y = [float(values[g].mean()) for g in groups]
    error = [float(values[g].std() / np.sqrt(max(1, g.sum()))) for g in groups]
    ax.errorbar(x, y, error, color=COLOURS[1], linestyle="-", marker="o", markersize=3, linewidth=1.2, capsize=2)


def _even(values: np.ndarray) -> bool:
    """Whether different values in ascending order are those of a grid: at equal distances."""
    steps = np.diff(values)
    return len(steps) > 1 and bool(np.allclose(steps, steps[0], rtol=1e-6))


def _groups(at: np.ndarray) -> list[np.ndarray]:
    """Neighbouring values in groups of equal size, as booleans."""
    places = np.empty(len(at), dtype=int)
    places[np.argsort(at, kind="stable")] = np.arange(len(at)) * LAYOUT.groups // len(at)
    return [places == k for k in range(LAYOUT.groups) if np.any(places == k)]


@styled
def parallel(table: Table, by: str | None = None, *, largest: bool = False, ax: Any = None) -> Any:
    """Parallel coordinates: an axis for each varied value and for the measure, a line for each case, the best ones in colour."""
    name, values = table.measure(by)
    given = [_in_unit(table, what, x) for what, x in (*table.varied.items(), (name, values))]
    columns = [(title, *_positions(x)) for title, x in given]
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(max(3.5, 1.1 * len(columns) + 1.2), 2.8), layout="constrained")
    best = table.ranked(name, largest=largest)
    shown = [k for k in best if all(np.isfinite(at[k]) for _, at, _ in columns)]
    lines = np.array([at for _, at, _ in columns])
    for k in shown[LAYOUT.best : LAYOUT.best + LAYOUT.most_lines]:
        ax.plot(lines[:, k], color=GREY, linewidth=0.5, alpha=max(0.05, min(0.5, 40 / len(shown))), linestyle="-")
    for rank, k in enumerate(shown[: LAYOUT.best]):
        ax.plot(lines[:, k], color=COLOURS[1 + rank % 6], linewidth=1.4, linestyle="-", label=f"case {k}")
    for k, (_, _, ends) in enumerate(columns):
        ax.axvline(k, color="black", linewidth=0.6)
        for place, text in ends:
            ax.annotate(text, (k, place), xytext=(3, 0), textcoords="offset points", fontsize=6, va="center")
    ax.set_xticks(range(len(columns)), [what for what, _, _ in columns])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlim(-0.1, len(columns) - 0.5)
    if shown:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="best")
    return ax


def _in_unit(table: Table, what: str, given: np.ndarray) -> tuple[str, np.ndarray]:
    """Values in a unit in which they are easy to read, and their name with it."""
    if given.dtype.kind != "f":
        return what, given
    unit, factor = prefixed(table.units.get(what, ""), given[np.isfinite(given)])
    return f"{what}\n[{unit}]" if unit else what, factor * given


def _positions(given: np.ndarray) -> tuple[np.ndarray, Sequence[tuple[float, str]]]:
    """Positions of values on an axis from 0 to 1, and the labels along it."""
    if given.dtype.kind != "f":
        levels = sorted(set(given.tolist()))
        at = {x: k / max(1, len(levels) - 1) for k, x in enumerate(levels)}
        return np.array([at[x] for x in given.tolist()]), [(at[x], str(x)) for x in levels[: LAYOUT.most_levels]]
    finite = given[np.isfinite(given)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    span = (high - low) or 1.0
    return (given - low) / span, [(0.0, f"{low:.3g}"), (1.0, f"{high:.3g}")]
