"""Python's search for reference cycles, put off while a large model is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Do without the search for garbage inside: where hundreds of thousands of objects are made that all stay, it goes through them
    again and again, and takes as long as the work. Also a decorator. The setting is the process's: what was off stays off, and
    where threads overlap, the one that found it on turns it on again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
