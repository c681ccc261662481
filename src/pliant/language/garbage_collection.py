"""Suspending garbage collection while a large model is created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable garbage collection in the enclosed code: when hundreds of thousands of persistent objects are created,
    repeated collections take as long as the work itself. Also a decorator. The setting is per process: if it was off
    it stays off, and if threads overlap, the one that found it on restores it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
