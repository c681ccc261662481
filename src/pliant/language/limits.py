"""Limits on sizes and computations. Ordinary models do not reach the defaults.

The environment variable PLIANT_LIMITS sets others, as for untrusted models: `elements=20000,memory=2GB,time=30`. Sizes are in
bytes, optionally with kB, MB or GB; `memory` and `time` are unlimited by default, and apply to commands.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import suggestion

VARIABLE = "PLIANT_LIMITS"

_SIZES = {"": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:e[0-9]{1,2})?)\s*([kmg]b|)", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """Upper limits.

    model: bytes of a model file. values: numbers, texts, lists and mappings in it; aliases count each time. includes: number of
    included files. attached: number of attached models. parts: bodies, joints, links, ... with all instances of repeated ones.
    elements: elements of all rods and nodes of all meshes. drawing, table, recording: bytes of a mesh file, of a file of inputs
    or heights, and of a recording. cells: numbers in such a file when it is unpacked. triangles: triangles of a surface.
    import_time, import_memory: seconds and bytes of the process in which MuJoCo compiles a robot. memory: bytes of the process of
    a command. time: seconds of a command.
    """

    model: float = 1e6
    values: float = 50_000
    includes: float = 50
    attached: float = 200
    parts: float = 10_000
    elements: float = 200_000
    drawing: float = 50e6
    table: float = 50e6
    recording: float = 200e6
    cells: float = 20e6
    triangles: float = 50_000
    import_time: float = 20.0
    import_memory: float = 4e9
    memory: float | None = None
    time: float | None = None


def limits() -> Limits:
    """The current limits; raises SpecError if the environment variable cannot be read."""
    return _read(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=8)
def _read(text: str) -> Limits:
    known = [field.name for field in fields(Limits)]
    given: dict[str, float] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, value = (part.strip() for part in entry.partition("="))
        match = _NUMBER.fullmatch(value)
        if name not in known:
            hint = suggestion(name, known, f"known: {', '.join(known)}")
            raise SpecError([Fault(f"unknown limit '{name}'", hint)], VARIABLE)
        if match is None or float(match[1]) <= 0:
            hint = f"write {name}= and a number above zero, or a size such as 50MB"
            raise SpecError([Fault(f"cannot read '{entry}'", hint)], VARIABLE)
        given[name] = float(match[1]) * _SIZES[match[2].lower()]
    return replace(Limits(), **given)


def most(name: str) -> str:
    """A limit as text for hints, with the variable that changes it."""
    value = getattr(limits(), name)
    is_size = name in ("model", "drawing", "table", "recording", "import_memory", "memory")
    shown = f"{value / 1e6:g} MB" if is_size else f"{value:g} s" if name in ("import_time", "time") else f"{value:.0f}"
    return f"at most {shown}, unless {VARIABLE}={name}=... sets another limit"


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


def current_limit() -> Deadline | None:
    """The time limit of the enclosing code, if there is one."""
    return _current.get()


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
