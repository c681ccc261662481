"""Progress of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.view.plot.style import COLOURS, DASHES, GREY, key, styled

if TYPE_CHECKING:
    from pliant.gradient.optimize import Optimum


@styled
def search(found: Optimum, *, axes: Any = None) -> np.ndarray:
    """The iterations of `optimize`: the objective, the margins of the conditions, and the varied values as fractions of their
    ranges, each over the evaluations. Without conditions, two pairs of axes are drawn.
    """
    count = 3 if found.spare else 2
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(1, count, figsize=(2.35 * count, 2.0), layout="constrained", squeeze=False)[1]
    flat = np.ravel(np.asarray(axes, dtype=object))
    at = np.arange(1, len(found.way) + 1)
    _objective(flat[0], at, found)
    if found.spare:
        _conditions(flat[1], at, found)
    _values(flat[count - 1], at, found)
    for ax in flat[:count]:
        ax.set_xlabel("evaluation")
        ax.xaxis.get_major_locator().set_params(integer=True)
    return flat


def _objective(ax: Any, at: np.ndarray, found: Optimum) -> None:
    """The objective; points that violate a condition are hollow."""
    values = np.array([visit.objective for visit in found.way])
    missed = np.array([visit.missed > 0 for visit in found.way])
    ax.plot(at, values, color=GREY, linewidth=0.6)
    ax.plot(at[missed], values[missed], "o", color=GREY, markersize=3, fillstyle="none", label="violates a condition")
    ax.plot(at[~missed], values[~missed], "o", color=COLOURS[1], markersize=3)
    if missed.any():
        key(ax, least=1)
    ax.set_ylabel("objective (SI)")


def _conditions(ax: Any, at: np.ndarray, found: Optimum) -> None:
    ax.axhline(0, color=GREY, linewidth=0.6)
    for k, text in enumerate(found.spare):
        spare = [100 * visit.spare[text] for visit in found.way]
        ax.plot(at, spare, color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], label=text)
    ax.set_ylabel("margin [%]")
    key(ax, least=1)


def _values(ax: Any, at: np.ndarray, found: Optimum) -> None:
    for k, name in enumerate(found.values):
        low, high = found.bounds[name]
        shares = [100 * (visit.values[name] - low) / (high - low) for visit in found.way]
        ax.plot(at, shares, color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], label=name)
    ax.set_ylim(-5, 105)
    ax.set_ylabel("fraction of the range [%]")
    key(ax, least=1)
