"""Plots that results describe (`Lines`, `Points`), and plots by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.result import Lines, Points
from pliant.show import plot
from pliant.show.plot.style import COLOURS, SIZE, axes, key, label, prefixed, styled

if TYPE_CHECKING:
    from pliant.analysis.result import AnalysisResult

MOST_LINES = 12
"""Maximum number of lines of a plot: more could not be distinguished."""


def plot_result(found: AnalysisResult, **options: Any) -> Any:
    """Draw the first plot of a result; returns the axes. Options: those of its function in `pliant.plot`."""
    return next(figures_of(found))[0](**options)


def figures_of(found: AnalysisResult) -> Iterator[tuple[Callable[..., Any], str]]:
    """The plots of a result: functions that draw them, and what they show."""
    for described in found.drawn():
        if isinstance(described, str):
            draw = getattr(plot, described)
            yield partial(draw, found), (draw.__doc__ or described).split("\n")[0].rstrip(".")
        else:
            yield partial(_described, found, described), described.title


def _described(found: AnalysisResult, described: Lines | Points, **options: Any) -> Any:
    return lines(found, described, **options) if isinstance(described, Lines) else points(found, described, **options)


@styled
def lines(found: AnalysisResult, described: Lines, *, ax: Any = None) -> Any:
    """Variables of a result over another one."""
    data = found.recorded
    x = data[described.x] if described.x in data.variables else data[described.x].astype(float)
    x_unit = data.unit(described.x) if described.x in data.variables else ""
    ax = axes(ax)
    drawn = []
    for name in described.y:
        values = data[name]
        columns = values.reshape(len(values), -1).T[:MOST_LINES]
        axis = data.variables[name][0]
        parts = data.names(axis[1]) if len(axis) == 2 and axis[1] in data.labels else ()
        for k, column in enumerate(columns):
            drawn.append((parts[k] if parts else name if len(described.y) > 1 or len(columns) > 1 else "", column))
    unit, factor = prefixed(data.unit(described.y[0]), np.concatenate([y for _, y in drawn]) if drawn else np.zeros(1))
    x_shown, x_factor = prefixed(x_unit, x)
    solid = np.ones(len(x), dtype=bool) if not described.where else data[described.where] == 1
    for number, (words, column) in enumerate(drawn):
        (line,) = ax.plot(
            x_factor * x, factor * column, label=words or None, linestyle="none" if described.marks else None
        )
        if described.marks or described.where:
            for which, face in ((solid, line.get_color()), (~solid, "white")):
                if which.any():
                    ax.plot(
                        x_factor * x[which], factor * column[which], linestyle="none", marker="o", markersize=3,
                        markerfacecolor=face, markeredgecolor=line.get_color(),
                        label="stable" if number == 0 and described.where and face != "white" else
                        "not stable" if number == 0 and described.where else None,
                    )  # fmt: skip
    if "x" in described.log:
        ax.set_xscale("log")
    if "y" in described.log:
        ax.set_yscale("log")
    ax.set_xlabel(label(_words(found, described.x), x_shown))
    ax.set_ylabel(label(_words(found, described.y[0]) if len(described.y) == 1 else described.title, unit))
    key(ax)
    return ax


def _words(found: AnalysisResult, name: str) -> str:
    """What a variable is, in words."""
    about = found.recorded.variables.get(name, ((), None, {}))[2]
    return found.called().get(name) or str(about.get("long_name", name.replace("_", " ")))


@styled
def points(found: AnalysisResult, described: Points, *, ax: Any = None) -> Any:
    """Points in space along the two axes in which they spread most, coloured by a variable."""
    data = found.recorded
    where = data[described.points]
    where = where[np.isfinite(where).all(axis=1)]
    from matplotlib.collections import LineCollection

    spread = np.ptp(where, axis=0) if len(where) else np.zeros(3)
    i, j = sorted(np.argsort(-spread, kind="stable")[:2])
    if j == 1 and i == 0 and spread[2] >= 0.999 * spread[1]:
        j = 2
    unit, factor = prefixed("m", where)
    ax = axes(ax, height=float(np.clip(SIZE.width * spread[j] / max(spread[i], 1e-12), 1.8, 4.0)))
    if described.colour:
        values = data[described.colour][np.isfinite(data[described.points]).all(axis=1)]
        shown = ax.scatter(factor * where[:, i], factor * where[:, j], c=values, s=4, cmap="viridis", linewidths=0)
        ax.figure.colorbar(shown, ax=ax, label=label(_words(found, described.colour), data.unit(described.colour)))
    else:
        ax.plot(
            factor * where[:, i], factor * where[:, j], linestyle="none", marker="o", markersize=2, color=COLOURS[1]
        )
    if described.outline:
        ends = factor * data[described.points][data[described.outline].astype(int)][:, :, [i, j]]
        ax.add_collection(LineCollection(list(ends), colors="0.6", linewidths=0.5, zorder=0))
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(label("xyz"[i], unit))
    ax.set_ylabel(label("xyz"[j], unit))
    return ax
