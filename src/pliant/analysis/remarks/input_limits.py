"""Warnings for inputs beyond the `minimum` and `maximum` of their parameters: values that are given are applied, not limited."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.model.inputs import EXPRESSION
from pliant.engine.model.limits import declared_bounds
from pliant.engine.model.model import Model
from pliant.language.message_text import unit_after_value

ROUND_OFF = 1e-9
"""Excess that is round-off, relative to the value."""

STATES = 50
"""Number of times at which an expression of t is examined if its values are not known."""

Samples = tuple[np.ndarray, np.ndarray]
"""Times (n) and values (n) of an input."""


def beyond_limits(model: Model, bound: Binding, t: float) -> list[str]:
    """A warning for each input that is beyond its limits at time t [s], in an analysis at one time."""
    if not _limited(model):
        return []
    values = bound.signals(t)[0]
    return _warnings(model, bound, lambda k: (np.array([t]), values[k : k + 1]), moving=False)


def beyond_limits_in_motion(
    model: Model, time: np.ndarray, history: Sequence[tuple[float, Binding]], values: np.ndarray | None = None
) -> list[str]:
    """A warning for each input that is beyond its limits during a motion.

    time: saved times [s]. history: the active bindings and when they begin [s]; their constants and series are examined between
    saved times too. values: the inputs at saved times (n x inputs); computed at some of them if None, for one binding.
    """
    if not _limited(model) or not len(time):
        return []
    ends = [*[begin for begin, _ in history[1:]], float(time[-1])]

    def samples(k: int) -> Samples:
        times, found = [], []
        if values is not None:
            times, found = [time], [values[:, k]]
        elif history[0][1].input_kind[k] == EXPRESSION:
            times = [time[np.linspace(0, len(time) - 1, min(STATES, len(time))).astype(int)]]
            found = [np.array([history[0][1].input_motion(k, float(t))[0] for t in times[0]])]
        for (begin, bound), end in zip(history, ends, strict=True):
            at = bound.input_nodes(k, begin, end)
            times.append(at)
            found.append(np.array([bound.input_motion(k, float(t))[0] for t in at]))
        return np.concatenate(times), np.concatenate(found)

    return _warnings(model, history[0][1], samples, moving=True)


def _limited(model: Model) -> list[str]:
    """The inputs that have limits."""
    given = model.spec.parameters
    return [name for name in model.input_names if given[name].minimum is not None or given[name].maximum is not None]


def _warnings(model: Model, bound: Binding, samples: Callable[[int], Samples], *, moving: bool) -> list[str]:
    numbers = dict(zip(model.parameter_names, bound.parameters.tolist(), strict=True))
    environment, notes = model.environment.with_values(numbers), []
    for name in _limited(model):
        low, high = declared_bounds(model, name, environment)
        times, values = samples(model.input_names.index(name))
        beyond = np.maximum(low - values, values - high)
        k = int(np.argmax(beyond))
        if beyond[k] > ROUND_OFF * abs(values[k]):
            unit = unit_after_value(model.environment.dimension(name))
            side = f"above its maximum of {high:.4g}" if values[k] > high else f"below its minimum of {low:.4g}"
            when = f" at t = {times[k]:.4g} s" if moving else ""
            notes.append(
                f"the input '{name}' is {values[k]:.4g}{unit}{when}, {side}{unit}; it is applied as given, not limited"
            )
    return notes
