"""When to save states during a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

MAX_SAVED = 5_000_000


@dataclass(frozen=True)
class Every:
    """Save at equal intervals [s], and at the end."""

    interval: float

    def times(self, start: float, end: float) -> np.ndarray:
        """The times to save."""
        if not self.interval > 0:
            raise ValueError(f"the save interval must be above zero; it is {self.interval:g} s")
        count = (end - start) / self.interval
        if count > MAX_SAVED:
            raise ValueError(f"saving every {self.interval:g} s gives {count:.3g} states; save at most {MAX_SAVED:,}")
        times = start + self.interval * np.arange(int(np.floor(count * (1 + 1e-12))) + 1)
        return times if end - times[-1] < 1e-9 * max(self.interval, abs(end)) else np.append(times, end)


@dataclass(frozen=True)
class At:
    """Save at given times [s]; steps end exactly there, or with `stops=False` states are interpolated within steps."""

    instants: Sequence[float]
    stops: bool = field(default=True, kw_only=True)

    def times(self, start: float, end: float) -> np.ndarray:
        """The times to save."""
        times = np.unique(np.asarray(self.instants, dtype=float))
        if len(times) == 0 or not np.all(np.isfinite(times)):
            raise ValueError("give at least one finite time to save at")
        if times[0] < start - 1e-12 or times[-1] > end + 1e-12:
            raise ValueError(
                f"times to save must lie between {start:g} and {end:g} s; got {times[0]:g} to {times[-1]:g}"
            )
        return np.clip(times, start, end)
