"""Standard output and error of commands: closed, full, or in an encoding that lacks characters, they must not end a command."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any


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
