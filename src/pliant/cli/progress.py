"""Progress of simulations and searches: a line on stderr for longer computations."""

from __future__ import annotations

import sys
import time
from shutil import get_terminal_size
from typing import IO, Self

# Times [s]: on a terminal the line is redrawn; elsewhere (a file, a pipe) a new line is printed occasionally.
TERMINAL_AFTER, TERMINAL_EVERY = 0.5, 0.2
FILE_EVERY = 10.0
# The remaining time is estimated from the progress in about this time [s].
RECENT = 5.0


class Line:
    """A line that is redrawn on a terminal; elsewhere, a new line is printed occasionally. Leaving `with` clears the line, so
    that later output does not follow it on the same line."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.begin = time.perf_counter()
        self.last = self.begin
        self.width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Erase the line."""
        if self.width:
            self._write("\r" + " " * self.width + "\r")
            self.width = 0

    def is_due(self) -> bool:
        """Whether the line should be shown now; if so, the time is noted."""
        now = time.perf_counter()
        after, every = (TERMINAL_AFTER, TERMINAL_EVERY) if self.terminal else (FILE_EVERY, FILE_EVERY)
        if now - self.begin < after or now - self.last < every:
            return False
        self.last = now
        return True

    def show(self, line: str) -> None:
        """Show a text in place of the last one, or on a new line if the stream is not a terminal."""
        if not self.terminal:
            self._write(f"{line}\n")
            return
        line = line[: get_terminal_size().columns - 1]
        self._write("\r" + line.ljust(self.width))
        self.width = max(self.width, len(line))

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class SearchLine(Line):
    """Progress of an analysis in stages. If it counts evaluations, the line has their number, and one line is left of
    each stage."""

    def __init__(self, stream: IO[str] | None = None, *, counts: bool = True) -> None:
        super().__init__(stream)
        self.counts = counts
        self.stage, self.count, self.words = "", 0, ""

    def __call__(self, stage: str, words: str) -> None:
        """Count an evaluation. words: its result."""
        if stage != self.stage:
            self._end()
        self.stage, self.count, self.words = stage, self.count + 1, words
        if self.is_due():
            self.show(str(self))

    def __exit__(self, *reason: object) -> None:
        self._end()

    def _end(self) -> None:
        self.clear()
        if self.count and self.counts:
            self._write(f"{self}\n")
        self.count = 0

    def __str__(self) -> str:
        if not self.counts:
            return f"{self.stage}: {self.words}"
        return f"{self.stage}: {self.count} evaluation{'s' if self.count > 1 else ''}, {self.words}"


class ProgressLine(Line):
    """Progress of a simulation; passed to `simulate` as `progress`."""

    def __init__(self, stream: IO[str] | None = None, *, start: float = 0.0) -> None:
        """start: the time at which the simulation begins [s]."""
        super().__init__(stream)
        self.start = start
        self.marks: list[tuple[float, float]] = []

    def __call__(self, t: float, end: float, steps: int) -> None:
        """Show that the simulation has reached the time t [s] after a number of steps; it ends at the time `end` [s]."""
        now = time.perf_counter()
        if not self.marks or now - self.marks[-1][0] > RECENT / 5:
            recent = [mark for mark in self.marks if now - mark[0] < RECENT]
            self.marks = [*(recent or self.marks[-1:]), (now, t)]
        if not self.is_due():
            return
        words = f"t = {t:.4g} of {end:g} s, {steps} steps, {self._left(now, t, end)}"
        share = (t - self.start) / (end - self.start) if end != self.start else 0.0
        bar = f"[{'#' * int(30 * min(1.0, max(0.0, share))):<30}]"
        self.show(f"{bar} {words}" if self.terminal else f"pliant: simulating: {words}")

    def _left(self, now: float, t: float, end: float) -> str:
        if t >= end:
            return "finished"
        since, t_since = self.marks[0]
        if len(self.marks) == 1:
            return "time left unknown"
        if not t > t_since:
            return "hardly any progress"
        return f"{duration_text((end - t) * (now - since) / (t - t_since))} left"


def duration_text(seconds: float) -> str:
    """A duration in readable form."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
