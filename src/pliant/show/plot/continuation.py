"""Equilibria along a path: a load or parameter against an output, with stability and special points marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.analysis.statics.path import Path
from pliant.language.arguments import ArgumentError
from pliant.show.plot.style import COLOURS, PREFIXES, axes, key, label, prefixed, styled

MARKERS = {"limit": "^", "bifurcation": "D", "start": "o", "end": "s"}
OTHER_MARKER = "X"


@styled
def path(
    parameter: Any,
    output: Any,
    stable: Sequence[bool | None] | np.ndarray | None = None,
    *,
    marks: Mapping[str, Sequence[int]] | None = None,
    labels: tuple[str, str] = ("parameter", "output"),
    name: str = "",
    ax: Any = None,
) -> Any:
    """An output along a path of equilibria, against the parameter or load that was varied.

    parameter, output: one number per point of the path. stable: True (solid line), False (dashed), or None if the stability is
    unknown (dotted). marks: indices of special points by type ("limit", "bifurcation", any other word). labels: of the two axes,
    with units. name: of this branch in the legend. Call it again with `ax` to add a branch.
    """
    x, y = np.asarray(parameter, dtype=float), np.asarray(output, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(
            f"a path needs one parameter and one output per point; they have shapes {x.shape} and {y.shape}"
        )
    judged = [None if flag is None else bool(flag) for flag in (stable if stable is not None else [True] * len(x))]
    if len(judged) != len(x):
        raise ValueError(f"a path of {len(x)} points needs as many stability flags, not {len(judged)}")
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
        ax.plot(x[piece], y[piece], color=colour, linestyle=dashes, label=None if words in labelled else words)
        labelled.add(words)
    for kind, where in (marks or {}).items():
        at = list(where)
        ax.plot(
            x[at], y[at], linestyle="none", marker=MARKERS.get(kind, OTHER_MARKER), markersize=5, markerfacecolor="white",
            markeredgecolor=colour, zorder=5, label=None if kind in labelled else kind,
        )  # fmt: skip
        labelled.add(kind)
    if first or not ax.get_xlabel():
        ax.set_xlabel(labels[0])
        ax.set_ylabel(labels[1])
    key(ax)
    return ax


def drawn_path(found: Path, x: str | None, y: str | None, *, name: str, ax: Any) -> Any:
    """One quantity of a path over another (`Path.plot`)."""
    lines = [n for n in found.output_names if found[n].ndim == 1]
    x = x or (lines[0] if lines else found.recorded.names("coordinate")[0])
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
    flags = [{1: True, 0: False}.get(int(k)) for k in found.recorded["stable"]]
    marks: dict[str, list[int]] = {}
    for special in found.special:
        marks.setdefault(special.kind, []).append(special.index)
        # a special point ends a piece of known stability; drawn as a separate piece it would be invisible
        flags[special.index] = flags[special.index - 1] if special.index else flags[1]
    return path(columns[0], columns[1], flags, marks=marks, labels=(labels[0], labels[1]), name=name, ax=ax)
