"""Natural frequencies and damping ratios by mode, and eigenvalues on the complex plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe
from pliant.show.plot.style import COLOURS, axes, key, styled

if TYPE_CHECKING:
    from pliant.analysis.modes import ModesResult


@dataclass(frozen=True)
class VibrationLayout:
    """Numbers that decide how modes are drawn."""

    wide: float = 1e3
    """Ratio of the largest to the smallest part of eigenvalues above which an axis is logarithmic."""
    ratios_up_to: int = 12
    """Maximum number of modes labelled with damping ratios; more would overlap."""


LAYOUT = VibrationLayout()


@styled
def modes(found: ModesResult, *, ax: Any = None, count: int | None = None) -> Any:
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
    if len(frequencies) <= LAYOUT.ratios_up_to:
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
def eigenvalues(found: Any, *, ax: Any = None) -> Any:
    """Eigenvalues on the complex plane, on axes that show both slow and fast ones; those that grow are hollow.

    found: modes (also a list of them, as those of a regulator), a linear system, of which the eigenvalues of A are drawn, or a
    design with poles: a regulator, an observer or a closed loop. Eigenvalues per sample are drawn with the unit circle.
    """
    values, sampled = _eigenvalues_of(found)
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


def _eigenvalues_of(found: Any) -> tuple[np.ndarray, bool]:
    """Eigenvalues with their conjugates, and whether they are per sample instead of [1/s]."""
    sampled = any(hasattr(x, "sample_time") for x in (found, getattr(found, "linear", None)))
    if hasattr(found, "A"):
        return np.linalg.eigvals(found.A), sampled
    if hasattr(found, "poles"):
        return np.asarray(found.poles, dtype=complex), sampled
    if hasattr(found, "eigenvalues"):
        return _with_conjugates(np.asarray(found.eigenvalues)), False
    if isinstance(found, list | tuple) and found and all(hasattr(x, "eigenvalue") for x in found):
        return _with_conjugates(np.array([x.eigenvalue for x in found], dtype=complex)), False
    raise ArgumentError(
        f"eigenvalues cannot be drawn of {describe(found)}",
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
    if size.size and size.max() > LAYOUT.wide * size.min():
        set_scale("symlog", linthresh=float(size.min()))
