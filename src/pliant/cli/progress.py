"""Progress of a simulation: a line on stderr, for longer runs."""

from __future__ import annotations

import sys
import time
from typing import IO

# On a terminal the line is redrawn; elsewhere (a file, a pipe) a new one is printed occasionally.
TERMINAL_AFTER, TERMINAL_EVERY = 0.5, 0.2
FILE_EVERY = 10.0
# The pace that the time left is reckoned with is that of about this long [s].
RECENT = 5.0


class ProgressLine:
    """Progress line, called with the time reached; as a context manager it clears the line at the end."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.begin = time.perf_counter()
        self.last = self.begin
        self.marks: list[tuple[float, float]] = []
        self.width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *reason: object) -> None:
        if self.width:
            self._write("\r" + " " * self.width + "\r")

    def __call__(self, t: float, end: float, steps: int) -> None:
        """Show that the run has reached t of end [s]."""
        now = time.perf_counter()
        if not self.marks or now - self.marks[-1][0] > RECENT / 5:
            recent = [mark for mark in self.marks if now - mark[0] < RECENT]
            self.marks = [*(recent or self.marks[-1:]), (now, t)]
        after, every = (TERMINAL_AFTER, TERMINAL_EVERY) if self.terminal else (FILE_EVERY, FILE_EVERY)
        if now - self.begin < after or now - self.last < every:
            return
        self.last = now
        words = f"t = {t:.4g} of {end:g} s, {steps} steps, {self._left(now, t, end)}"
        if not self.terminal:
            self._write(f"pliant: simulating: {words}\n")
            return
        line = f"[{'#' * int(30 * min(1.0, max(0.0, t / end))) if end else '':<30}] {words}"
        self._write("\r" + line.ljust(self.width))
        self.width = max(self.width, len(line))

    def _left(self, now: float, t: float, end: float) -> str:
        since, there = self.marks[0]
        if not t > there:
            return "hardly moving on"
        return f"{duration_text((end - t) * (now - since) / (t - there))} left"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def duration_text(seconds: float) -> str:
    """A duration in readable form."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
