"""Natural frequencies and damping ratios by mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.view.plot.style import COLOURS, axes, key, styled

if TYPE_CHECKING:
    from pliant.solve.linear.modal import Modes

RATIOS_UP_TO = 12
"""Modes whose damping ratio is written beside them; more would run into each other."""


@styled
def modes(found: Modes, *, ax: Any = None, count: int | None = None) -> Any:
    """Natural frequency of each mode, with its damping ratio; directions that grow are hollow and below zero."""
    frequencies = np.asarray(found.frequencies)[:count]
    ratios = np.asarray(found.damping_ratios)[:count]
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
    if len(frequencies) <= RATIOS_UP_TO:
        for k, f, ratio in zip(number, frequencies, ratios, strict=True):
            if ratio != 0:
                ax.annotate(
                    f"{100 * ratio:.2g} %", (k, f), xytext=(0, 5 if f >= 0 else -5), textcoords="offset points", ha="center",
                    va="bottom" if f >= 0 else "top", fontsize=6,
                )  # fmt: skip
    ax.axhline(0, color="black", linewidth=0.6)
    ax.margins(y=0.15)
    if not grows.any():
        ax.set_ylim(bottom=0)
    ax.set_xlim(0.4, len(frequencies) + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("mode")
    ax.set_ylabel("natural frequency [Hz]")
    key(ax)
    return ax
