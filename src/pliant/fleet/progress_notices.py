"""Messages on stderr about operations that take long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds after which a line on stderr states that a program is being compiled."""


@contextmanager
def notice_if_long(words: str) -> Iterator[None]:
    """Write a line to stderr if the work in this context takes longer than a moment."""
    timer = threading.Timer(PATIENCE, lambda: print(words, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
