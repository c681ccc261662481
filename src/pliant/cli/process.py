"""The process of a command: its standard output and error, and its memory.

Streams that are closed, full, or in an encoding that lacks characters must not end a command. `PLIANT_LIMITS` limits the memory.
"""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any

from pliant.language.faults import SpecError
from pliant.language.limits import VARIABLE, limits


class _Forgiving(io.FileIO):
    """A file that drops what cannot be written: a lost remark must not cost the results of a computation."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Replace closed streams, let stderr never fail, and escape characters that the encoding of stdout lacks.

    Without this, `print(..., file=sys.stderr)` writes to stdout if stderr is closed, into the JSON object.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    own = sys.__stderr__
    if sys.stderr is None:
        sys.stderr = _nowhere()
    elif own is not None and sys.stderr is own:  # not one that a caller in Python put there
        raw = _Forgiving(own.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), own.encoding, "backslashreplace", line_buffering=True, write_through=True
        )


def _nowhere() -> IO[str]:
    return open(os.devnull, "w", encoding="utf-8")


if sys.platform != "win32":
    import resource


def limit_memory() -> None:
    """Limit the address space of this process and its children, if a limit is set and the system supports it."""
    try:
        most = limits().memory
    except SpecError:
        return  # the command reports the error
    if most is None:
        return
    if sys.platform == "win32":
        print("pliant: this system has no limit on the memory of a process", file=sys.stderr)
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(int(most), hard) if hard >= 0 else int(most), hard))


def memory_words() -> str:
    """The hint for errors of insufficient memory."""
    most = limits().memory
    return "close other programs" if most is None else f"{VARIABLE} allows {most / 1e6:g} MB"
