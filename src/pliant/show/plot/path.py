"""Equilibria along a path: a load or parameter against an output, with stability and special points marked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pliant.analysis.path import Path
from pliant.language.arguments import ArgumentError
from pliant.show.plot.style import COLOURS, PREFIXES, axes, key, label, prefixed, styled

MARKERS = {"limit": "^", "bifurcation": "D"}


@styled
def path(found: Path, x: str | None = None, y: str | None = None, *, name: str = "", ax: Any = None) -> Any:
    """Equilibria along a path: one quantity over another, with stability (unstable parts are dashed) and special points.

    x: name of an output, component, coordinate or the parameter; by default the first output with one component (or the first
    coordinate). y: by default the parameter. name: of this path in the legend. Call it again with `ax` to add a path.
    """
    lines = [n for n in found.output_names if found[n].ndim == 1]
    x = x or (lines[0] if lines else found.equations.coordinates[0])
    y = y or found.parameter
    columns: list[np.ndarray] = []
    labels: list[str] = []
    for quantity in (x, y):
        values = found[quantity]
        if values.ndim != 1:
            hint = f"choose one, such as {next(iter(found.parts(quantity)), 'a coordinate')}"
            raise ArgumentError(f"'{quantity}' has {values.shape[1]} components", hint)
        unit, factor = prefixed(found.unit(quantity), values)
        if ax is not None:  # in the unit that the axis already has
            shown = (ax.get_xlabel, ax.get_ylabel)[len(columns)]()
            unit, factor = next(
                ((f"{word}{found.unit(quantity)}", 1.0 / size) for size, word in PREFIXES
                 if shown.endswith(f"[{word}{found.unit(quantity)}]")), (found.unit(quantity), 1.0)
            )  # fmt: skip
        columns.append(values * factor)
        labels.append(label(quantity.replace("_", " "), unit))
    judged = [{1: True, 0: False}.get(int(k)) for k in found.stability]
    marks: dict[str, list[int]] = {}
    for special in found.special:
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
            columns[0][piece],
            columns[1][piece],
            color=colour,
            linestyle=dashes,
            label=None if words in labelled else words,
        )
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
