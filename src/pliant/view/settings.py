"""Settings of matplotlib for the time that something is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def settings(options: Mapping[str, Any]) -> Iterator[None]:
    """Values of `matplotlib.rcParams` for what is drawn inside; afterwards these have their former values again.

    All others stay as they are, unlike with `rc_context`: the first figure loads the backend, and that of notebooks switches on
    interactive mode, without which no further figure would be shown.
    """
    import matplotlib as mpl

    current: Any = mpl.rcParams  # names are plain texts here
    before = {name: current[name] for name in options}
    current.update(options)
    within = {name: current[name] for name in options}
    try:
        yield
    finally:  # what the backend set when it was loaded stays too
        current.update({name: value for name, value in before.items() if current[name] == within[name]})
