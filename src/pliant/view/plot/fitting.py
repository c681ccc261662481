"""Plots of a fit: the model and the measurements, and the profile of a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.view.plot.style import COLOURS, DASHES, GREY, WIDTH, axes, clock, key, label, prefixed, spaced_ticks, styled

if TYPE_CHECKING:
    from pliant.identify.cross_validation import Profile
    from pliant.identify.fit import Fit, FittedPath

MOST_COMPONENTS = 12
"""Maximum number of components of measured outputs in one figure."""


@styled
def fit(found: Fit) -> np.ndarray:
    """Measured outputs and the model before and after a fit, a pair of axes for each component of each output: over time, or
    over the number of the pose for equilibria. Held-out samples are hollow."""
    import matplotlib.pyplot as plt

    units = {(error.measurement, error.output): error.unit for error in found.errors}
    shown = [(path, k) for path in found.paths for k in range(path.measured.shape[1])][:MOST_COMPONENTS]
    size = (2 * WIDTH, 0.8 + 1.3 * len(shown))
    flat = plt.subplots(len(shown), 1, figsize=size, layout="constrained", squeeze=False)[1][:, 0]
    several = len({path.measurement for path, _ in shown}) > 1
    for ax, (path, k) in zip(flat, shown, strict=True):
        _component(ax, path, k, units[path.measurement, path.output])
        if several:
            ax.set_title(path.measurement, loc="right")
    key(flat[0])
    return np.asarray(flat)


def _component(ax: Any, path: FittedPath, k: int, unit: str) -> None:
    unit, factor = prefixed(unit, path.measured[:, k])
    at, below = clock(path.time) if path.in_motion else (np.arange(1, len(path.time) + 1), "pose")
    dots = {"linestyle": "none", "marker": "o", "markersize": 2.5, "color": GREY}
    used, left_out = path.fitted, ~path.fitted
    ax.plot(at[used], factor * path.measured[used, k], **dots, label="measured")
    if left_out.any():
        ax.plot(at[left_out], factor * path.measured[left_out, k], **dots, fillstyle="none", label="not fitted")
    look = {} if path.in_motion else {"marker": "x", "linestyle": "none"}
    for n, (words, values) in enumerate((("after the fit", path.after), ("before", path.before))):
        ax.plot(at, factor * values[:, k], **{"color": COLOURS[n + 1], "linestyle": DASHES[n], **look}, label=words)
    parts = path.measured.shape[1]
    ax.set_ylabel(label(path.output if parts == 1 else f"{path.output} {'xyz'[k] if parts == 3 else k + 1}", unit))
    ax.set_xlabel(below)


@styled
def likelihood(profile: Profile, *, ax: Any = None) -> Any:
    """Profile likelihood: the rise of the sum of squares with one parameter fixed and the others refitted, with its 95 %
    interval. profile: result of `Fit.profile`."""
    ax = axes(ax)
    ax.plot(profile.values, profile.rise, marker="o", markersize=3)
    for end in profile.interval:
        if np.isfinite(end):
            ax.axvline(end, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlabel(f"{profile.name} (SI)")
    ax.set_ylabel("rise of the sum of squares\n[squared deviations]")
    ax.set_ylim(bottom=0)
    spaced_ticks(ax)
    return ax
