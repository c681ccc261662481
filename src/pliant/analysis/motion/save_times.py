"""When states are saved during a simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.language.arguments import ArgumentError, positive
from pliant.language.arrays import distinct
from pliant.language.message_text import describe

MAX_SAVED = 5_000_000
INTERVALS = 200
"""Default number of saved intervals."""


def save_times(begin: float, end: float, every: float | None, at: Sequence[float] | np.ndarray | None) -> np.ndarray:
    """Times to save [s]: at equal intervals and at the end, or at given times."""
    if every is not None and at is not None:
        raise ArgumentError("save_every and save_at are given", "keep one of them")
    if at is None:
        return _equal(begin, end, (end - begin) / INTERVALS if every is None else every)
    try:
        times = distinct(np.asarray(at, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"save_at must be times, not {describe(at)}", "write save_at=[0.5, 1]") from None
    if len(times) == 0 or not np.all(np.isfinite(times)):
        raise ArgumentError("give at least one finite time to save at")
    slack = _slack(begin, end, end - begin)
    outside = times[(times < begin - slack) | (times > end + slack)]
    if len(outside):
        raise ArgumentError(
            f"times to save must lie between {begin:g} and {end:g} s; got {', '.join(f'{x:g}' for x in outside[:5])}"
        )
    return np.clip(times, begin, end)


def _equal(begin: float, end: float, interval: float) -> np.ndarray:
    positive("save_every", interval)
    count = (end - begin) / interval
    if count > MAX_SAVED:
        raise ArgumentError(f"saving every {interval:g} s gives {count:.3g} states; save at most {MAX_SAVED:,}")
    times = begin + interval * np.arange(int(np.floor(count * (1 + 1e-12))) + 1)
    if end - times[-1] > _slack(begin, end, interval):
        return np.append(times, end)
    times[-1] = end
    return times


def _slack(begin: float, end: float, interval: float) -> float:
    """Times closer than this are equal [s]: a small fraction of an interval, or round-off of times far from zero."""
    return 1e-9 * interval + 16 * float(np.spacing(max(abs(begin), abs(end))))
