"""Short pulses of signals: times of their peaks, on which steps have to end so that none of them is missed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

CELLS, SAMPLES = 256, 8
"""Cells of a span, and samples of each. Variations that a polynomial between the ends of a cell describes are seen by any step."""
SEEN = 1e-3
"""Deviation of a signal from such a polynomial, relative to its largest value, above which a cell contains a pulse."""
NEAR = 1e-3
"""Distance of a jump from the end of a cell, relative to its length, up to which it belongs to both cells."""
MOST = 32
"""Number of cells with pulses above which a signal varies as fast everywhere, so that steps cannot miss it."""
ZOOM, ROUNDS = 32, 8
"""Samples around a peak, which is located by enlarging its surroundings this number of times."""

Values = Callable[[np.ndarray], np.ndarray]
"""From n times [s] to the values of signals, signals x n."""
Motion = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""The same with their rates and accelerations."""


def pulse_times(
    signals: Values, motion: Motion, begin: float, end: float, knots: np.ndarray, jumps: np.ndarray
) -> np.ndarray:
    """Times [s] of the peaks of pulses that are shorter than a cell, of all signals, at most one per cell; and the ends of these
    cells, where a peak may be too.

    knots: times at which pieces of series begin, between which they are polynomials. jumps: known times at which signals jump or
    have a kink; steps end there anyway, so their cells are omitted.
    """
    edges = np.linspace(begin, end, CELLS + 1)
    inner = (edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(1, SAMPLES) / SAMPLES)).ravel()
    times = np.union1d(inner, knots[(knots > begin) & (knots < end)])
    cell = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, CELLS - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        ends, values = motion(edges), signals(times)
        off = _deviation(edges, ends, cell, times, values)
        largest = np.maximum(np.abs(values).max(axis=1, initial=0.0), np.abs(ends[0]).max(axis=1))
        share = (off / np.where(largest > 0, largest, np.inf)[:, None]).max(axis=0, initial=0.0)
        near = NEAR * (edges[1] - edges[0])
        broken = np.searchsorted(edges, np.concatenate([jumps - near, jumps + near]), side="right") - 1
        cells = np.setdiff1d(cell[share > SEEN], broken)
        if len(cells) > MOST:
            return np.zeros(0)
        found: list[float] = []
        for k in cells:
            here = np.flatnonzero(cell == k)
            at = here[np.argmax(share[here])]
            low, high = times[max(at - 1, 0)], times[min(at + 1, len(times) - 1)]
            peak, size = _peak(signals, edges, ends, k, max(low, edges[k]), min(high, edges[k + 1]), largest)
            found += [edges[k], peak, edges[k + 1]] if size > SEEN else []
    times = np.array(found)
    return times[np.abs(times[:, None] - jumps).min(axis=1, initial=np.inf) > near]


def _deviation(
    edges: np.ndarray, ends: tuple[np.ndarray, ...], cell: np.ndarray, times: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Distance of values (signals x n) from the quintic polynomials between the ends of their cells; zero where not finite."""
    h = edges[1] - edges[0]
    x = (times - edges[cell]) / h
    y0, d0, a0 = (part[:, cell] for part in ends)
    y1, d1, a1 = (part[:, cell + 1] for part in ends)
    b = x**3 * (10 - 15 * x + 6 * x**2)
    c0, c1 = h * x * (1 - x**2 * (6 - 8 * x + 3 * x**2)), h * x**3 * (-4 + 7 * x - 3 * x**2)
    e0, e1 = 0.5 * h**2 * x**2 * (1 - x) ** 3, 0.5 * h**2 * x**3 * (1 - x) ** 2
    off = np.abs(values - (y0 + b * (y1 - y0) + c0 * d0 + c1 * d1 + e0 * a0 + e1 * a1))
    return np.where(np.isfinite(off), off, 0.0)


def _peak(
    signals: Values, edges: np.ndarray, ends: tuple[np.ndarray, ...], cell: int, low: float, high: float,
    largest: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """The time between two others at which some signal deviates most from the polynomial of a cell [s], and the deviation relative
    to the signal's largest value."""
    peak, size = 0.5 * (low + high), 0.0
    for _ in range(ROUNDS):
        times = np.linspace(low, high, ZOOM + 1)
        values = signals(times)
        off = _deviation(edges, ends, np.full(len(times), cell), times, values)
        scale = np.maximum(largest, np.abs(values).max(axis=1))
        share = (off / np.where(scale > 0, scale, np.inf)[:, None]).max(axis=0)
        at = int(np.argmax(share))
        peak, size = float(times[at]), float(share[at])
        low, high = times[max(at - 1, 0)], times[min(at + 1, ZOOM)]
    return peak, size
