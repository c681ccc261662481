"""Times at which conditions on time change: where expressions of t jump or have a kink."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from pliant.engine.model.enclosures import decided_cells
from pliant.language.arguments import ArgumentError

SAMPLES = 256
"""Samples of a span, besides the ends of cells in which conditions do not change as far as their bounds show."""
BETWEEN = 16
"""Samples between two switches that are already known, as a condition may depend on others."""
MOST_SWITCHES = 100_000
ROUND_OFF = 1e-13
"""Times that differ by less than this fraction of the larger of begin and end are the same."""


def located(states: ca.Function, parameters: np.ndarray, known: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Times between `begin` and `end` [s] at which one of several states changes, to round-off: the first times after the changes.

    states: `(t, parameters) -> integers`; those that others depend on come first. known: switch times that are given.

    Raises ArgumentError if there are too many.
    """
    if not end > begin:
        return np.zeros(0)

    def values(times: np.ndarray) -> np.ndarray:
        return np.asarray(states(times[None], parameters))

    found = np.unique(known[(known > begin) & (known < end)])
    base = np.union1d(np.linspace(begin, end, SAMPLES), decided_cells(states, parameters, begin, end, found))
    before = -1
    for row in range(states.numel_out(0)):
        if len(found) != before:
            before, times = len(found), _refined(base, found)
        found = np.union1d(found, _changes(lambda t, row=row: values(t)[row], times))  # type: ignore[misc]
    instant = ROUND_OFF * max(abs(begin), abs(end))
    # of times that differ by round-off the last is after the change; the begin itself is read after its changes
    found = found[np.append(np.diff(found) > instant, True)] if len(found) else found
    return np.asarray(found[(found > begin + instant) & (found < end)])


def _refined(base: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Samples of a span that is divided by switches: on both sides of each and between them."""
    if not len(found):
        return base
    ends = np.concatenate([base[:1], found, base[-1:]])
    inner = ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(BETWEEN) / BETWEEN)
    return np.unique(np.concatenate([base, inner.ravel(), found, np.nextafter(found, -np.inf)]))


def _changes(state: Callable[[np.ndarray], np.ndarray], times: np.ndarray) -> np.ndarray:
    """First times after changes of a state that are seen in samples, by bisection of all of them together."""
    values = state(times)
    at = np.flatnonzero(values[1:] != values[:-1])
    low, high, left, right = times[at], times[at + 1], values[at], values[at + 1]
    out: list[np.ndarray] = []
    while len(low):
        if len(low) > MOST_SWITCHES:
            raise ArgumentError(
                f"a condition on t changes more than {MOST_SWITCHES} times, as at t = {low[0]:g} s",
                "simulate a shorter time, or give a smooth function",
            )
        middle = 0.5 * (low + high)
        done = (middle <= low) | (middle >= high)
        out.append(high[done])
        low, high, left, right, middle = (x[~done] for x in (low, high, left, right, middle))
        if not len(low):
            break
        value = state(middle)
        a, b = left != value, value != right
        low, high, left, right = (
            np.concatenate([low[a], middle[b]]),
            np.concatenate([middle[a], high[b]]),
            np.concatenate([left[a], value[b]]),
            np.concatenate([value[a], right[b]]),
        )
    return np.unique(np.concatenate(out)) if out else np.zeros(0)
