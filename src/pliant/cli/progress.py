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


class ProgressLine(Line):
    """Progress of an analysis, as its class reports it. Where the share that is done is known, the line has a bar and the time that
    is left; otherwise it counts reports, and one line remains of each stage."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        super().__init__(stream)
        self.stage, self.count, self.words = "", 0, ""
        self.marks: list[tuple[float, float]] = []

    def __call__(self, stage: str, words: str, share: float | None = None) -> None:
        """Show a report. words: what it says; share: of the stage that is done."""
        if share is not None:
            self._measured(stage, words, share)
            return
        if stage != self.stage:
            self._end()
        self.stage, self.count, self.words = stage, self.count + 1, words
        if self.is_due():
            self.show(self._counted())

    def __exit__(self, *reason: object) -> None:
        self._end()

    def _end(self) -> None:
        self.clear()
        if self.count:
            self._write(f"{self._counted()}\n")
        self.count = 0

    def _counted(self) -> str:
        return f"{self.stage}: {self.count} evaluation{'s' if self.count > 1 else ''}, {self.words}"

    def _measured(self, stage: str, words: str, share: float) -> None:
        now = time.perf_counter()
        if not self.marks or now - self.marks[-1][0] > RECENT / 5:
            recent = [mark for mark in self.marks if now - mark[0] < RECENT]
            self.marks = [*(recent or self.marks[-1:]), (now, share)]
        if not self.is_due():
            return
        words = f"{words}, {self._left(now, share)}"
        bar = f"[{'#' * int(30 * min(1.0, max(0.0, share))):<30}]"
        self.show(f"{bar} {words}" if self.terminal else f"pliant: {stage}: {words}")

    def _left(self, now: float, share: float) -> str:
        if share >= 1:
            return "finished"
        since, share_since = self.marks[0]
        if len(self.marks) == 1:
            return "time left unknown"
        if not share > share_since:
            return "hardly any progress"
        return f"{duration_text((1 - share) * (now - since) / (share - share_since))} left"


def duration_text(seconds: float) -> str:
    """A duration in readable form."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
