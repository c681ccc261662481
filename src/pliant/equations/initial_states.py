"""Consistent initial states: prescribed coordinates follow their motions, and carried nodes follow their carriers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.carried_nodes import CarriedNodes
from pliant.equations.state import State, named
from pliant.model.model import Model


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
    values, rates = binding.signals(state.t)[1], binding.signal_rates(state.t)[0]
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    for entry in prescribed:
        q[entry.q_at] = values[entry.signal] + binding.constants[entry.offset]
        v[entry.v_at] = rates[entry.signal]
    return carried_along(model, binding, state, replace(state, q=q, v=v))


def carried_along(model: Model, binding: Binding, before: State, state: State) -> State:
    """The state with carried nodes keeping their pose and velocity relative to their carriers, except for given values."""
    carrying = CarriedNodes.of(model)
    if not carrying.any or (np.array_equal(before.q, state.q) and np.array_equal(before.v, state.v)):
        return state
    keep_q, keep_v = named(model, {*state.given.asked, *state.given.stated})
    q = carrying.positions(binding, before.q, state.q, keep_q)
    return replace(state, q=q, v=carrying.rates(binding, (before.q, before.v), q, state.v, keep_v))
