"""Temporary settings of matplotlib while drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def settings(options: Mapping[str, Any]) -> Iterator[None]:
    """Set values of `matplotlib.rcParams` within the context; afterwards the previous values are restored.

    Unlike `rc_context`, it does not restore others: the first figure loads the backend, and that of notebooks switches on
    interactive mode, without which no further figure would be shown.
    """
    import matplotlib as mpl

    current: Any = mpl.rcParams  # names are plain texts here
    before = {name: current[name] for name in options}
    current.update(options)
    within = {name: current[name] for name in options}
    try:
        yield
    finally:  # values set by the backend when it was loaded are kept too
        current.update({name: value for name, value in before.items() if current[name] == within[name]})
