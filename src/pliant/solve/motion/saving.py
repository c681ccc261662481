"""When to save states during a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pliant.language.arguments import ArgumentError, positive
from pliant.language.words import describe

MAX_SAVED = 5_000_000


@dataclass(frozen=True)
class Every:
    """Save at equal intervals [s], and at the end."""

    interval: float

    def times(self, start: float, end: float) -> np.ndarray:
        """The times to save."""
        positive("the save interval", self.interval)
        count = (end - start) / self.interval
        if count > MAX_SAVED:
            raise ArgumentError(
                f"saving every {self.interval:g} s gives {count:.3g} states; save at most {MAX_SAVED:,}"
            )
        times = start + self.interval * np.arange(int(np.floor(count * (1 + 1e-12))) + 1)
        return times if end - times[-1] < 1e-9 * max(self.interval, abs(end)) else np.append(times, end)


@dataclass(frozen=True)
class At:
    """Save at given times [s]; steps end exactly there, or with `stops=False` states are interpolated within steps."""

    instants: Sequence[float]
    stops: bool = field(default=True, kw_only=True)

    def times(self, start: float, end: float) -> np.ndarray:
        """The times to save."""
        try:
            times = np.unique(np.asarray(self.instants, dtype=float))
        except (TypeError, ValueError):
            raise ArgumentError(f"times to save at must be numbers, not {describe(self.instants)}") from None
        if len(times) == 0 or not np.all(np.isfinite(times)):
            raise ArgumentError("give at least one finite time to save at")
        outside = times[(times < start - 1e-12) | (times > end + 1e-12)]
        if len(outside):
            raise ArgumentError(
                f"times to save must lie between {start:g} and {end:g} s; got {', '.join(f'{x:g}' for x in outside[:5])}"
            )
        return np.clip(times, start, end)
