"""The limit on the memory of a command, set by `PLIANT_LIMITS`."""

from __future__ import annotations

import sys

from pliant.language.faults import SpecError
from pliant.language.limits import VARIABLE, limits

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
