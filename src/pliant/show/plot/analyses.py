"""Plots of paths, vibrations, sweeps and of described results."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.analysis.modes import ModesResult
from pliant.analysis.path import Path
from pliant.analysis.result import AnalysisResult, Lines, Picture, Points, Profile
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe
from pliant.show import plot
from pliant.show.plot.style import COLOURS, GREY, PREFIXES, SIZE, axes, key, label, prefixed, styled
from pliant.show.sketch import sketch
from pliant.study.results import Table

MARKERS = {"limit": "^", "bifurcation": "D"}


@styled
def path(result: Path, x: str | None = None, y: str | None = None, *, name: str = "", ax: Any = None) -> Any:
    """Equilibria along a path: one quantity over another, with stability (unstable parts are dashed) and special points.

    x: name of an output, component, coordinate or the parameter; by default the first output with one component (or the first
    coordinate). y: by default the parameter. name: of this path in the legend. Call it again with `ax` to add a path.
    """
    lines = [n for n in result.output_names if result[n].ndim == 1]
    x = x or (lines[0] if lines else result.equations.coordinates[0])
    y = y or result.parameter
    columns: list[np.ndarray] = []
    labels: list[str] = []
    for quantity in (x, y):
        values = result[quantity]
        if values.ndim != 1:
            hint = f"choose one, such as {next(iter(result.parts(quantity)), 'a coordinate')}"
            raise ArgumentError(f"'{quantity}' has {values.shape[1]} components", hint)
        unit, factor = prefixed(result.unit(quantity), values)
        if ax is not None:  # in the unit that the axis already has
            shown = (ax.get_xlabel, ax.get_ylabel)[len(columns)]()
            unit, factor = next(
                ((f"{word}{result.unit(quantity)}", 1.0 / size) for size, word in PREFIXES
                 if shown.endswith(f"[{word}{result.unit(quantity)}]")), (result.unit(quantity), 1.0)
            )  # fmt: skip
        columns.append(values * factor)
        labels.append(label(quantity.replace("_", " "), unit))
    judged = [{1: True, 0: False}.get(int(k)) for k in result.stability]
    marks: dict[str, list[int]] = {}
    for special in result.special:
        marks.setdefault(special.kind, []).append(special.index)
        # a special point ends a piece of known stability; drawn as a separate piece it would be invisible
        judged[special.index] = judged[special.index - 1] if special.index else judged[1]
    first = ax is None
    ax = axes(ax)
    colour = COLOURS[len({line.get_color() for line in ax.lines}) % len(COLOURS)]
    labelled = {text.get_text() for text in (ax.get_legend().get_texts() if ax.get_legend() else ())}
    # a change of stability lies between two points: that piece has the style of its second point
    starts = [0, *(k for k in range(1, len(judged)) if judged[k] is not judged[k - 1]), len(judged)]
    for begin, end in pairwise(starts):
        flag = judged[begin]
        words = {True: "stable", False: "unstable", None: "not judged"}[flag]
        words = f"{name}, {words}" if name else words
        piece = slice(max(0, begin - 1), end)
        dashes = {True: "-", False: (0, (4, 2)), None: ":"}[flag]
        ax.plot(
            columns[0][piece], columns[1][piece], color=colour, linestyle=dashes,
            label=None if words in labelled else words,
        )  # fmt: skip
        labelled.add(words)
    for kind, at in marks.items():
        ax.plot(
            columns[0][at], columns[1][at], linestyle="none", marker=MARKERS[kind], markersize=5, markerfacecolor="white",
            markeredgecolor=colour, zorder=5, label=None if kind in labelled else kind,
        )  # fmt: skip
        labelled.add(kind)
    if first or not ax.get_xlabel():
        ax.set_xlabel(labels[0])
        ax.set_ylabel(labels[1])
    key(ax)
    return ax


@dataclass(frozen=True)
class VibrationLayout:
    """Numbers that decide how modes are drawn."""

    wide: float = 1e3
    """Ratio of the largest to the smallest part of eigenvalues above which an axis is logarithmic."""
    ratios_up_to: int = 12
    """Maximum number of modes labelled with damping ratios; more would overlap."""


VIBRATION_LAYOUT = VibrationLayout()


@styled
def modes(result: ModesResult, *, ax: Any = None, count: int | None = None) -> Any:
    """Natural frequency of each mode, with its damping ratio; directions that grow are hollow and below zero."""
    frequencies = np.asarray(result.frequencies)[:count]
    ratios = np.asarray(result.damping_ratios)[:count]
    number = np.arange(1, len(frequencies) + 1)
    grows = (frequencies < 0) | (ratios < 0)
    ax = axes(ax)
    ax.vlines(number, 0, frequencies, color=COLOURS[1], linewidth=1.0)
    for which, face, words in ((~grows, COLOURS[1], "stable"), (grows, "white", "grows")):
        if which.any():
            ax.plot(
                number[which], frequencies[which], linestyle="none", marker="o", markerfacecolor=face,
                markeredgecolor=COLOURS[1], label=words,
            )  # fmt: skip
    if len(frequencies) <= VIBRATION_LAYOUT.ratios_up_to:
        for k, f, ratio in zip(number, frequencies, ratios, strict=True):
            if ratio != 0:
                ax.annotate(
                    f"{100 * ratio:.3g} %", (k, f), xytext=(0, 5 if f >= 0 else -5), textcoords="offset points", ha="center",
                    va="bottom" if f >= 0 else "top", fontsize=6,
                )  # fmt: skip
    ax.axhline(0, color="black", linewidth=0.6)
    ax.margins(y=0.15)
    if not grows.any():
        ax.set_ylim(bottom=0)
    ax.set_xlim(0.4, len(frequencies) + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)  # also for a single mode
    ax.set_xlabel("mode")
    ax.set_ylabel("natural frequency [Hz]")
    key(ax)
    return ax


@styled
def eigenvalues(result: Any, *, ax: Any = None) -> Any:
    """Eigenvalues on the complex plane, on axes that show both slow and fast ones; those that grow are hollow.

    found: modes (also a list of them, as those of a regulator), a linear system, of which the eigenvalues of A are drawn, or a
    design with poles: a regulator, an observer or a closed loop. Eigenvalues per sample are drawn with the unit circle.
    """
    values, sampled = _eigenvalues_of(result)
    size = np.abs(values)
    values = np.where(
        np.abs(values.imag) > 1e-12 * size, values, values.real
    )  # remove imaginary parts that are round-off
    ax = axes(ax)
    grows = size > 1 + 1e-9 if sampled else values.real > 1e-9 * size
    for which, face, words in ((~grows, COLOURS[1], "does not grow"), (grows, "white", "grows")):
        if which.any():
            ax.plot(
                values.real[which], values.imag[which], linestyle="none", marker="o", markersize=3.5, markerfacecolor=face,
                markeredgecolor=COLOURS[1], label=words,
            )  # fmt: skip
    ax.axhline(0, color="black", linewidth=0.6, zorder=0)
    ax.axvline(0, color="black", linewidth=0.6, zorder=0)
    ax.margins(0.08)
    if sampled:
        turn = np.linspace(0, 2 * np.pi, 361)
        ax.plot(np.cos(turn), np.sin(turn), color="black", linewidth=0.6, zorder=0)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel("re z")
        ax.set_ylabel("im z")
        key(ax)
        return ax
    _wide_scale(ax.set_xscale, values.real)
    _wide_scale(ax.set_yscale, values.imag)
    if not np.any(values.imag):
        ax.set_ylim(-1, 1)
    if not np.any(values.real):
        ax.set_xlim(-1, 1)
    ax.set_xlabel("real part [1/s]")
    ax.set_ylabel("imaginary part [1/s]")
    key(ax)
    return ax


def _eigenvalues_of(result: Any) -> tuple[np.ndarray, bool]:
    """Eigenvalues with their conjugates, and whether they are per sample instead of [1/s]."""
    sampled = any(hasattr(x, "sample_time") for x in (result, getattr(result, "linear", None)))
    if hasattr(result, "A"):
        return np.linalg.eigvals(result.A), sampled
    if hasattr(result, "poles"):
        return np.asarray(result.poles, dtype=complex), sampled
    if hasattr(result, "eigenvalues"):
        return _with_conjugates(np.asarray(result.eigenvalues)), False
    if isinstance(result, list | tuple) and result and all(hasattr(x, "eigenvalue") for x in result):
        return _with_conjugates(np.array([x.eigenvalue for x in result], dtype=complex)), False
    raise ArgumentError(
        f"eigenvalues cannot be drawn of {describe(result)}",
        "give modes, a linear system (of `linearize` or `discretize`), a regulator, an observer, or a closed loop",
    )


def _with_conjugates(values: np.ndarray) -> np.ndarray:
    """Eigenvalues with their conjugates; modes contain one of each pair."""
    pairs = values[values.imag != 0]
    return np.concatenate([values, pairs.conj()])


def _wide_scale(set_scale: Callable[..., None], values: np.ndarray) -> None:
    """Set a scale that is logarithmic on both sides of zero if values differ by more than a factor of a thousand."""
    size = np.abs(values)
    size = size[size > 1e-9 * np.max(size, initial=0.0)]
    if size.size and size.max() > VIBRATION_LAYOUT.wide * size.min():
        set_scale("symlog", linthresh=float(size.min()))


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


SWEEP_LAYOUT = SweepLayout()


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
    random = len(different) > SWEEP_LAYOUT.most_levels and counts.min() == 1 and not alone
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
    places[np.argsort(at, kind="stable")] = np.arange(len(at)) * SWEEP_LAYOUT.groups // len(at)
    return [places == k for k in range(SWEEP_LAYOUT.groups) if np.any(places == k)]


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
    for k in shown[SWEEP_LAYOUT.best : SWEEP_LAYOUT.best + SWEEP_LAYOUT.most_lines]:
        ax.plot(lines[:, k], color=GREY, linewidth=0.5, alpha=max(0.05, min(0.5, 40 / len(shown))), linestyle="-")
    for rank, k in enumerate(shown[: SWEEP_LAYOUT.best]):
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
        return np.array([at[x] for x in given.tolist()]), [(at[x], str(x)) for x in levels[: SWEEP_LAYOUT.most_levels]]
    finite = given[np.isfinite(given)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    span = (high - low) or 1.0
    return (given - low) / span, [(0.0, f"{low:.3g}"), (1.0, f"{high:.3g}")]


MOST_LINES = 12
"""Maximum number of lines of a plot: more could not be distinguished."""
LETTERS_OF_LABEL = 30
"""A longer label of the vertical axis has several lines."""


def plot_result(result: AnalysisResult, *arguments: Any, **options: Any) -> Any:
    """Draw the first plot of a result; returns the axes. Arguments: those of its function in `pliant.plot`."""
    return next(figures_of(result))[0](*arguments, **options)


def save_plot(result: AnalysisResult, path: str) -> None:
    """Draw the first plot of a result into a file."""
    plot.save(result.plot(), path)


def figures_of(result: AnalysisResult) -> Iterator[tuple[Callable[..., Any], str]]:
    """The plots of a result: functions that draw them, and what they show."""
    for described in result.figures():
        if isinstance(described, str):
            draw = getattr(plot, described)
            yield partial(draw, result), (draw.__doc__ or described).split("\n")[0].rstrip(".")
        elif isinstance(described, Picture):
            yield partial(sketch, result.equations, result), described.title
        elif isinstance(described, Profile):
            profile: Callable[..., Any] = plot.profile
            yield partial(profile, result, described.output), f"{described.output} along the rod"
        elif isinstance(described, Lines):
            yield partial(lines, result, described), described.title
        else:
            yield partial(points, result, described), described.title


@styled
def lines(result: AnalysisResult, described: Lines, *, ax: Any = None) -> Any:
    """Variables of a result over another one."""
    data = result.recorded
    x = data[described.x] if described.x in data.variables else data[described.x].astype(float)
    x_unit = data.unit(described.x) if described.x in data.variables else ""
    ax = axes(ax)
    drawn = []
    for name in described.y:
        values = data[name]
        every = values.reshape(len(values), -1).T
        shown = np.arange(len(every))
        if len(every) > MOST_LINES:  # those that are nowhere but zero say least
            shown = np.flatnonzero(every.any(axis=1))[:MOST_LINES]
            ax.set_title(f"{len(shown)} of {len(every)}", loc="left")
        axis = data.variables[name][0]
        parts = data.names(axis[1]) if len(axis) == 2 and axis[1] in data.labels else ()
        for k in shown:
            drawn.append((parts[k] if parts else name if len(described.y) > 1 or len(shown) > 1 else "", every[k]))
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
    ax.set_xlabel(label(_words(result, described.x), x_shown))
    words = label(_words(result, described.y[0]) if len(described.y) == 1 else described.title, unit)
    ax.set_ylabel(textwrap.fill(words, LETTERS_OF_LABEL))
    key(ax)
    return ax


def _words(result: AnalysisResult, name: str) -> str:
    """What a variable is, in words."""
    about = result.recorded.variables.get(name, ((), None, {}))[2]
    return result.called().get(name) or str(about.get("long_name", name.replace("_", " ")))


@styled
def points(result: AnalysisResult, described: Points, *, ax: Any = None) -> Any:
    """Points in space along the two axes in which they spread most, coloured by a variable."""
    data = result.recorded
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
        ax.figure.colorbar(shown, ax=ax, label=label(_words(result, described.colour), data.unit(described.colour)))
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
