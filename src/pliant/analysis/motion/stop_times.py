"""Times at which steps of a run have to end."""

from __future__ import annotations

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.enclosures import SEARCH
from pliant.engine.time_loop import INSTANT
from pliant.language.arrays import distinct

NONE = np.zeros(0)


def stop_times(
    eqs: Equations, bound: Binding, begin: float, end: float, wanted: np.ndarray, pauses: np.ndarray = NONE
) -> np.ndarray:
    """Times at which steps of a run have to end [s]: requested times, pauses, jumps of inputs and signals, and its end."""
    jumps = jump_times(eqs, bound, begin, end)
    if not (len(jumps) or len(pauses) or len(wanted)):
        return np.array([end])
    # the initial state is read after jumps at the start
    inside = jumps[(jumps > begin + SEARCH.round_off * max(abs(begin), abs(end))) & (jumps < end)]
    stops = distinct(np.concatenate([inside, pauses, wanted, [end]]))
    return np.asarray(stops[stops > begin])


def jump_times(eqs: Equations, bound: Binding, begin: float, end: float) -> np.ndarray:
    """Times at which inputs and signals jump or have a kink [s]."""
    switches = eqs.model.switch_times(bound.parameters, begin, end)
    return np.concatenate([switches[np.isfinite(switches)], *(series.breaks for series in bound.series)])


def on_stops(times: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Saved times [s], with those that differ from a stop by round-off set to it: a sample at a jump is the state after it, and all
    quantities computed from it have to read the inputs after it too."""
    nearest = np.searchsorted(stops, times * (1 - np.sign(times) * INSTANT))
    stop = stops[np.minimum(nearest, len(stops) - 1)]
    return np.where(np.abs(stop - times) <= INSTANT * np.abs(times), stop, times)
