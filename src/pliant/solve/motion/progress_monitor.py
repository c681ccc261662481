"""How a run gets on: how many steps to take between two looks at it, and whether it will ever end."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from pliant.equations.equations import Equations

# A look at a run costs microseconds, and a person who waits for an answer to Ctrl-C notices tenths of a second.
SHORT_LAP, LONG_LAP = 0.05, 0.2
MOST_AT_ONCE = 1 << 20
# The pace of a run is judged over this many steps, so that a short hard stretch (a hit, a switch) does not count.
STEPS_JUDGED = 20_000


class RunProgress(Protocol):
    """What is known of a run."""

    @property
    def t(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def rejected(self) -> int: ...


class ProgressMonitor:
    """The pace of one run to its end [s]; `most_steps` is the number of steps beyond which it is given up."""

    def __init__(self, run: RunProgress, end: float, most_steps: float, *, one_by_one: bool = False) -> None:
        self.run, self.end, self.most_steps, self.one_by_one = run, end, most_steps, one_by_one
        self.chunk = 1
        self._lap = time.perf_counter()
        self._mark = (0, float(run.t))

    def lap(self) -> None:
        """A lap of `chunk` steps begins."""
        self._lap = time.perf_counter()

    def look(self) -> str:
        """After a lap: fits the number of steps of the next one; returns why to give up, or nothing."""
        elapsed = time.perf_counter() - self._lap
        if not self.one_by_one and elapsed < SHORT_LAP:
            self.chunk = min(2 * self.chunk, MOST_AT_ONCE)
        elif elapsed > LONG_LAP:
            self.chunk = max(1, self.chunk // 2)
        tried, t = self.run.steps + self.run.rejected, float(self.run.t)
        steps, way = tried - self._mark[0], t - self._mark[1]
        if steps < STEPS_JUDGED:
            return ""
        self._mark = (tried, t)
        if self.end <= t or steps * (self.end - t) <= self.most_steps * way:
            return ""
        more = f"the rest would take {steps * (self.end - t) / way:.1g} more" if way > 0 else "there is no end to it"
        return f"the steps became too small to go on: the last {steps} of them went {way:.2g} s, {more}"


def fastest(eqs: Equations, run: Any) -> str:
    """Name of the rate that is largest now: where to look when a motion goes wrong."""
    return str(eqs.rates[int(np.argmax(np.abs(run.v)))]) if len(run.v) else ""
