"""Inputs beyond the `minimum` and `maximum` of their parameters: values that are given are applied, not limited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.analysis.remark import Words, joined, remark
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import EXPRESSION
from pliant.engine.model.limits import declared_bounds
from pliant.engine.model.model import Model
from pliant.language.message_text import unit_after_value

ROUND_OFF = 1e-9
"""Excess that is round-off, relative to the value."""

STATES = 50
"""Number of times at which an expression of t is examined if its values are not known."""


@remark("an input is outside of its `min` and `max`", "the limits of the model")
def inputs_beyond_limits(eqs: Equations, result: Any) -> Words:
    """Inputs beyond their limits."""
    seen = result.examined
    return beyond_limits(eqs.model, seen.time, seen.history, seen.inputs)


def beyond_limits(
    model: Model, time: np.ndarray, history: Sequence[tuple[float, Binding]], values: np.ndarray | None = None
) -> Words:
    """Words on the inputs that are beyond their limits in a motion, or at one time.

    time: saved times [s]. history: the active bindings and when they begin [s]; their constants and series are examined between
    saved times too. values: the inputs at saved times (n x inputs); computed at some of them if None, for one binding.
    """
    given = model.spec.parameters
    limited = [x for x in model.input_names if given[x].minimum is not None or given[x].maximum is not None]
    if not limited or not len(time):
        return None
    ends = [*[begin for begin, _ in history[1:]], float(time[-1])]

    def samples(k: int) -> tuple[np.ndarray, np.ndarray]:
        """Times (n) and values (n) of an input."""
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

    numbers = dict(zip(model.parameter_names, history[0][1].parameters.tolist(), strict=True))
    environment, texts = model.environment.with_values(numbers), []
    for name in limited:
        low, high = declared_bounds(model, name, environment)
        times, found = samples(model.input_names.index(name))
        beyond = np.maximum(low - found, found - high)
        k = int(np.argmax(beyond))
        if beyond[k] > ROUND_OFF * abs(found[k]):
            unit = unit_after_value(model.environment.dimension(name))
            side = f"above its maximum of {high:.4g}" if found[k] > high else f"below its minimum of {low:.4g}"
            when = f" at t = {times[k]:.4g} s" if len(time) > 1 else ""
            texts.append(
                f"the input '{name}' is {found[k]:.4g}{unit}{when}, {side}{unit}; it is applied as given, not limited"
            )
    return joined(texts)
