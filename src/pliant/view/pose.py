"""The pose to display, with its inputs, parameters and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.equations.state import State, state_of
from pliant.language.arguments import need_equations, vector
from pliant.solve.result import Result
from pliant.solve.state import assemble
from pliant.solve.statics.equilibrium import Equilibrium, state_at
from pliant.view.clips import parameters_of_run

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, InputValues, Values


def pose_of(
    eqs: Equations, given: Any, *, inputs: InputValues | None = None, parameters: Values | None = None
) -> tuple[Equations, State]:
    """Equations with the inputs and parameters of a pose, and the pose.

    given: None or "initial" (the model's start, moved onto its constraints), "equilibrium", coordinates by name, positions, a State
    or an object that has one; a Result gives its final state. inputs, parameters: those of the Equilibrium or Result by default.
    """
    need_equations(eqs)
    if inputs is None:
        inputs = _inputs(given)
    if parameters is None:
        parameters = _parameters(eqs, given)
    here = eqs.at(inputs=inputs, parameters=parameters, within_limits=False)
    found = state_of(given)
    if isinstance(found, State):
        return here, found  # unchanged: failed poses should be displayed
    if np.iterable(found) and not isinstance(found, str | Mapping):
        return here, State(vector("q", found, len(eqs.coordinates)), np.zeros(len(eqs.rates)))
    state = state_at(here, found, 0.0, where="pose", unstable=True)
    closed = assemble(here, here.binding, state.t, state.q, state.v, state.given)
    return here, State(closed.q, closed.v, state.t, contacts=state.contacts)


def _inputs(given: Any) -> InputValues | None:
    if isinstance(given, Result):
        return {name: float(values[-1]) for name, values in given.inputs.items()}
    return given.inputs if isinstance(given, Equilibrium) else None


def _parameters(eqs: Equations, given: Any) -> Values | None:
    if isinstance(given, Result):
        return parameters_of_run(eqs, given)
    return given.parameters if isinstance(given, Equilibrium) else None
