"""Consistent initial states: prescribed coordinates follow their motions, and carried nodes follow their carriers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.carried_nodes import CarriedNodes
from pliant.engine.model.model import Model
from pliant.engine.state import State, named

AFTER = 1.8e-15
"""Difference of a time just after another [s], relative to it if it is more than a second: as in the runtime, whose runs read
signals after jumps at their start."""
SAME_RATE = 1e-9
"""Relative difference of rates that are equal."""


@dataclass(frozen=True)
class PrescribedCoordinate:
    """A coordinate that follows a motion: its index, its signal, and the index of the constant that is added to it."""

    q_at: int
    v_at: int
    signal: int
    offset: int


def prescribed_coordinates(model: Model) -> tuple[PrescribedCoordinate, ...]:
    """The coordinates of a model that follow motions."""
    return model.once(
        "prescribed_coordinates",
        lambda: tuple(
            PrescribedCoordinate(*line.coordinates[0], line.signal, line.offset)
            for line in model.system.linear_constraints
            if line.signal >= 0 and len(line.coordinates) == 1
        ),
    )


def on_motions(model: Model, binding: Binding, state: State) -> State:
    """The state with prescribed coordinates at the values and rates of their motions at its time; everything they
    carry moves with them."""
    prescribed = prescribed_coordinates(model)
    if not prescribed:
        return state
    values, rates = binding.signals(state.t)[1], binding.signal_rates(time_of_rates(binding, state.t))[0]
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    for entry in prescribed:
        q[entry.q_at] = values[entry.signal] + binding.constants[entry.offset]
        v[entry.v_at] = rates[entry.signal]
    return carried_along(model, binding, state, replace(state, q=q, v=v))


def time_of_rates(binding: Binding, t: float) -> float:
    """The time at which rates of signals are read for a state at time t [s]: just after it if they jump there, as those of `abs(t)`
    at zero do, otherwise t itself."""
    after = t + AFTER * max(1.0, abs(t))
    if any(t <= series.time[-1] < after for series in binding.series):
        return t  # a series that ends there has no rate after it
    (rate, acceleration), (later, acceleration_later) = binding.signal_rates(t), binding.signal_rates(after)
    allowed = SAME_RATE * (np.abs(rate) + np.abs(later))
    allowed += 4 * (after - t) * (np.abs(acceleration) + np.abs(acceleration_later))
    return after if np.any(np.abs(later - rate) > allowed) else t


def carried_along(model: Model, binding: Binding, before: State, state: State) -> State:
    """The state with carried nodes keeping their pose and velocity relative to their carriers, except for given values."""
    carrying = CarriedNodes.of(model)
    if not carrying.any or (np.array_equal(before.q, state.q) and np.array_equal(before.v, state.v)):
        return state
    keep_q, keep_v = named(model, {*state.given.asked, *state.given.stated})
    q = carrying.positions(binding, before.q, state.q, keep_q)
    return replace(state, q=q, v=carrying.rates(binding, (before.q, before.v), q, state.v, keep_v))
