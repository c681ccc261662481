"""Progress of a simulation: number of steps between two checks, and detection of runs that would not finish."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from pliant.engine.equations import Equations

# A check takes microseconds, and the reaction to Ctrl-C should take less than a tenth of a second.
SHORT_CHUNK, LONG_CHUNK = 0.05, 0.2
MOST_AT_ONCE = 1 << 20
# The pace of a run is measured over this number of steps, so that short difficult intervals (an impact, a switch) have no effect.
STEPS_JUDGED = 20_000


class RunProgress(Protocol):
    """Time [s] and numbers of accepted and rejected steps of a run."""

    @property
    def t(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def rejected(self) -> int: ...


class ProgressMonitor:
    """Monitors a run until its end [s]; a run that would need more than `most_steps` is abandoned. first: number of steps that
    are known to take negligible time."""

    def __init__(
        self, run: RunProgress, end: float, most_steps: float, *, one_by_one: bool = False, first: int = 1
    ) -> None:
        self.run, self.end, self.most_steps, self.one_by_one = run, end, most_steps, one_by_one
        self.chunk = 1 if one_by_one else max(1, first)
        self._begun = time.perf_counter()
        self._mark = (0, float(run.t))

    def begin(self) -> None:
        """Called before `chunk` steps."""
        self._begun = time.perf_counter()

    def check(self) -> str:
        """Called after them: adapts `chunk`, and returns the reason to abandon the run, or an empty string."""
        elapsed = time.perf_counter() - self._begun
        if not self.one_by_one and elapsed < SHORT_CHUNK:
            self.chunk = min(2 * self.chunk, MOST_AT_ONCE)
        elif elapsed > LONG_CHUNK:
            self.chunk = max(1, self.chunk // 2)
        tried, t = self.run.steps + self.run.rejected, float(self.run.t)
        steps, way = tried - self._mark[0], t - self._mark[1]
        if steps < STEPS_JUDGED:
            return ""
        self._mark = (tried, t)
        if self.end <= t or steps * (self.end - t) <= self.most_steps * way:
            return ""
        more = (
            f"the rest would take {steps * (self.end - t) / way:.1g} more" if way > 0 else "the end cannot be reached"
        )
        return f"the steps became too small to continue: the last {steps} of them advanced by {way:.2g} s, {more}"


def fastest(eqs: Equations, run: Any) -> str:
    """Name of the largest rate, as a hint for finding the cause of a divergence."""
    return str(eqs.rates[int(np.argmax(np.abs(run.v)))]) if len(run.v) else ""
