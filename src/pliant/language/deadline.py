"""Time limits: analyses stop with their results so far; commands are ended in any case.

Long computations call `time_is_up` regularly and stop cleanly. A command also sets an alarm for everything that does
not: reading, deriving, compiling, linear algebra. It interrupts them like Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

STOPPED_BY_TIME = "stopped by the time limit"
"""Beginning of the message of an analysis that was ended by a time limit."""

GRACE = 0.5
"""Time for an analysis to react before the alarm [s]."""
LONGEST = 1e9
"""The longest alarm [s]: system timers have a limited range."""


class DeadlineExceeded(KeyboardInterrupt):
    """The alarm of a command's time limit."""


@dataclass
class Deadline:
    """A time limit [s], its end on the monotonic clock [s], and whether an analysis has noticed the end and is stopping."""

    seconds: float
    end: float
    noticed: bool = False

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    def __str__(self) -> str:
        return f"{STOPPED_BY_TIME} of {self.seconds:g} s"


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def time_is_up() -> str:
    """The reason to stop, if the current time limit has passed; otherwise an empty text."""
    deadline = _current.get()
    if deadline is None or not deadline.is_over:
        return ""
    deadline.noticed = True
    return str(deadline)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[Deadline | None]:
    """Limit the enclosed code to a number of seconds of real time; None: no limit. An enclosing limit remains active.

    Raises DeadlineExceeded if an earlier analysis was stopped by the enclosing limit, so that a search that runs many analyses
    and accepts failed ones ends.
    """
    around = _current.get()
    if around is not None and around.noticed:
        raise DeadlineExceeded(str(around))
    if seconds is None or (around is not None and around.end <= time.monotonic() + seconds):
        yield around
        return
    deadline = Deadline(seconds, time.monotonic() + seconds)
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


@contextmanager
def alarm_after(deadline: Deadline | None) -> Iterator[None]:
    """Raise DeadlineExceeded soon after a deadline, unless an analysis has noticed it. Requires Unix and the main thread."""
    possible = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if deadline is None or not possible:
        yield
        return

    def ring(*signal_and_frame: object) -> None:
        if not deadline.noticed:
            raise DeadlineExceeded(str(deadline))

    before: Any = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(max(deadline.end - time.monotonic(), 0.0) + GRACE, LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
