"""The style of all plots: fonts, widths, colours and dashes, and axes with units."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from pliant.show.sketch import new_axes, settings
from pliant.show.sketch import save as write


@dataclass(frozen=True)
class StyleLayout:
    """Sizes of plots."""

    width: float = 3.5
    """Width of a figure with one pair of axes [inch]: a column of a journal."""
    height: float = 2.4
    """Height of a figure with one pair of axes [inch]."""
    far_start: float = 100.0
    """Ratio of the first time to the duration above which times are counted from the first one."""


SIZE = StyleLayout()

P = ParamSpec("P")
T = TypeVar("T")

COLOURS = ("#000000", "#0072B2", "#D55E00", "#56B4E9", "#009E73", "#E69F00", "#CC79A7")
"""Colours that are distinguishable with any type of colour vision (Okabe and Ito), alternating dark and light."""
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    "-",
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
STYLES = tuple((c, DASHES[(k + r) % len(DASHES)]) for r in range(3) for k, c in enumerate(COLOURS))
"""Colours and dashes of lines, of which no two are the same."""
GREY = "#8A8A8A"


STYLE = {
    "font.size": 8,
    "font.family": "sans-serif",
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "figure.dpi": 160,
    "pdf.fonttype": 42,  # text remains text, as publishers require
    "svg.fonttype": "none",
    "axes.formatter.useoffset": False,
}

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
SCALED = ("m", "m/s", "N", "N m", "J", "W", "Pa", "s")
"""Units that take a prefix if numbers are small or large; m, m/s and s take small ones only."""


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Decorator that draws in the common style; raises ModuleNotFoundError without matplotlib."""

    @wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        with style():
            return draw(*args, **kwargs)

    return in_style


@contextmanager
def style() -> Iterator[Any]:
    """Context with the common style; yields `matplotlib.pyplot`."""
    try:
        import matplotlib.pyplot as plt  # it chooses the backend for the caller's notebook, window or script
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "plots need matplotlib, which is not installed: pip install 'pliant[plot]'", name="matplotlib"
        ) from None
    from cycler import cycler

    options: Any = {
        **STYLE,
        "axes.prop_cycle": cycler(color=[c for c, _ in STYLES]) + cycler(linestyle=[d for _, d in STYLES]),
    }
    with settings(options):
        yield plt


def axes(ax: Any, *, width: float = SIZE.width, height: float = SIZE.height) -> Any:
    """These axes, or those of a new figure of that size [inch]."""
    return new_axes(width, height) if ax is None else ax


def axes_below_each_other(count: int) -> list[Any]:
    """Pairs of axes of a new figure with a common time axis."""
    import matplotlib.pyplot as plt

    size = (SIZE.width, 0.8 + 0.75 * SIZE.height * count)
    return list(plt.subplots(count, 1, figsize=size, layout="constrained", sharex=True, squeeze=False)[1][:, 0])


def prefixed(unit: str, values: Any) -> tuple[str, float]:
    """A unit in which values are easy to read, and the factor from SI to it."""
    largest = float(np.nanmax(np.abs(np.asarray(values, dtype=float)), initial=0.0))
    if unit not in SCALED or not np.isfinite(largest) or largest == 0.0:
        return unit, 1.0
    for size, prefix in PREFIXES:
        if prefix in "GMk" and prefix and unit in ("m", "m/s", "s"):
            continue
        if largest >= 0.2 * size:
            return f"{prefix}{unit}", 1.0 / size
    return unit, 1.0


def label(words: str, unit: str) -> str:
    """An axis label: words with the unit in brackets; a pure number has none."""
    return words if unit in ("", "-") else f"{words} [{unit}]"


MOST_ROWS = 4
"""A legend with more rows stands beside the axes, and the figure is as much wider: above them it would leave no room."""


def key(ax: Any, least: int = 2) -> None:
    """A legend above or beside the axes, where it covers nothing, if there are several entries, or `least`."""
    words = ax.get_legend_handles_labels()[1]
    if len(words) < least:
        return
    inches = (
        ax.figure.get_figwidth() * ax.get_position().width / 0.775
    )  # the width of a figure that one pair of axes would fill
    # a handle is as wide as nine letters, and an inch has fifteen letters of the legend
    widest = (max(map(len, words)) + 9) / 15
    columns = max(1, int(inches / widest))
    if len(words) > columns * MOST_ROWS and len(ax.figure.axes) == 1:
        ax.figure.set_figwidth(ax.figure.get_figwidth() + widest)
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), borderaxespad=0.2)
    else:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=min(len(words), columns))


def spaced_ticks(ax: Any) -> None:
    """Few enough ticks on the x axis that their labels do not overlap; call it when everything is drawn."""
    from matplotlib.ticker import MaxNLocator

    places = ax.get_position().width * ax.figure.get_figwidth() * 72  # points
    size = STYLE["xtick.labelsize"]
    for _ in range(2):  # fewer ticks have shorter labels
        words = ax.xaxis.get_major_formatter().format_ticks(ax.get_xticks())
        widest = (max(map(len, words), default=1) + 2) * 0.62 * float(size)  # type: ignore[arg-type]
        ax.xaxis.set_major_locator(MaxNLocator(nbins=int(np.clip(places / widest, 2, 9)), steps=[1, 2, 2.5, 5, 10]))


def save(ax: Any, path: str | os.PathLike[str]) -> None:
    """Write the figure of these axes (or of an array of them) to a .pdf, .svg or .png file atomically, and close it."""
    with style():
        write(np.ravel(np.asarray(ax, dtype=object))[0], Path(path))


def clock(times: np.ndarray) -> tuple[np.ndarray, str]:
    """Times [s] for an axis, and its label: those of a clock that started long before are counted from the first one."""
    first = float(times[0]) if len(times) else 0.0
    if abs(first) <= SIZE.far_start * float(np.ptp(times)):
        return times, "time [s]"
    return times - first, f"time after {first:.10g} s [s]"
