"""States that analyses start from or linearize about, where they may be equilibria."""

from __future__ import annotations

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.numerics.state import EQUILIBRIUM, Start, given_state
from pliant.analysis.numerics.status import AnalysisFailed, Status
from pliant.engine.equations import Equations, InputValues, Values
from pliant.engine.input_values import inputs_at_time
from pliant.engine.state import State
from pliant.language.arguments import number


def state_at(eqs: Equations, given: Start, time: float, *, where: str, unstable: bool = False) -> State:
    """The state specified by a caller, including "equilibrium"; `unstable`: also if no stable equilibrium was found."""
    if not isinstance(given, str) or given != EQUILIBRIUM:
        return given_state(eqs, given, time, where=where)
    rest = equilibrium(eqs, time=number("time", time), on_failure="return")
    if rest.status != Status.CONVERGED and not (unstable and rest.balanced):
        raise AnalysisFailed(f"{rest.message}; or give the state 'initial' as {where}", rest)
    return rest.state


def about(
    eqs: Equations, at: Start, inputs: InputValues | None, parameters: Values | None, time: float | None
) -> tuple[Equations, State, float]:
    """Equations, state and time [s] of an analysis about a state: the inputs and parameters of an `Equilibrium` are used if none
    are given, and the time of a state."""
    if isinstance(at, Equilibrium):
        inputs = at.inputs if inputs is None else inputs
        parameters = at.parameters if parameters is None else parameters
    known = at.t if isinstance(at, State) else getattr(getattr(at, "state", None), "t", 0.0)
    here = inputs_at_time(eqs, inputs, parameters, known if time is None else time)
    eqs = eqs.at(inputs=here, parameters=parameters)
    state = state_at(eqs, at, 0.0 if time is None else time, where="at", unstable=True)
    return eqs, state, state.t if time is None else time
