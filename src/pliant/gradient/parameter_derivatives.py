"""Outputs of the model in many states, and the propagation of their cotangents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.engine.binding import Binding
from pliant.engine.differences import OFFSETS, difference
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_function, output_names
from pliant.engine.time_loop import ParameterChanges, SampleCotangents
from pliant.language.arguments import ArgumentError

STATE = ("q", "v", "a", "multipliers", "constants")
"""Quantities that outputs may depend on here: the first inputs of `output_function`."""
BEYOND = ("signals", "rates of signals", "forces in joints", "energies of the robot", "sums of contact forces")
"""The other inputs, which depend on the entire motion or on inputs."""


@dataclass(frozen=True)
class OutputCotangents:
    """Cotangents of the states, and of the constants of the equations."""

    samples: SampleCotangents
    constants: np.ndarray


def refuse_others(eqs: Equations, names: Sequence[str]) -> None:
    """Raise ArgumentError if an output has no derivatives."""
    function, known = output_function(eqs.model), output_names(eqs.model)
    for name in names:
        for k, what in enumerate(BEYOND):
            if function.jac_sparsity(known.index(name), len(STATE) + k).nnz():
                raise ArgumentError(
                    f"the output '{name}' has no derivatives: it depends on {what}",
                    "use outputs of positions, velocities, accelerations or constraint forces",
                )


def output_cotangents(
    eqs: Equations, states: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], given: Mapping[str, np.ndarray]
) -> OutputCotangents:
    """Convert cotangents of outputs (by name, states x components) to cotangents of the states.

    states: q, v, a and multipliers, one row per state.
    """
    model, bound = eqs.model, eqs.binding
    function, count = output_function(model), len(states[0])
    inputs = [np.zeros((function.size1_in(i), count)) for i in range(function.n_in())]
    for i, x in enumerate(states):
        inputs[i] = x.T
    inputs[4] = np.tile(bound.constants[:, None], (1, count))
    outputs = [np.zeros((function.size1_out(i), count)) for i in range(function.n_out())]
    seeds = [
        np.reshape(given[name], (count, -1)).T if name in given else np.zeros_like(x)
        for name, x in zip(output_names(model), outputs, strict=True)
    ]
    reverse: ca.Function = model.once("output_reverse", lambda: function.reverse(1)).map(count)
    found = [np.asarray(x, dtype=float) for x in reverse.call([*inputs, *outputs, *seeds])]
    group = ConfigurationGroup(model.system)
    by_q = group.by_increments(states[0], found[0].T)
    samples = SampleCotangents(by_q, found[1].T, found[2].T, found[3].T)
    return OutputCotangents(samples, found[4].sum(axis=1))


SHARE = 2e-3
"""Relative perturbation of a parameter: fourth-order differences, whose error is proportional to its fourth power."""


def step_of(value: float) -> float:
    """Perturbation of a parameter with this value."""
    return SHARE * (abs(value) or 1.0)


def value_of(eqs: Equations, name: str) -> float:
    """The current value of a parameter."""
    return float(eqs.given_parameters.get(name, eqs.parameters[name]))


def varied(eqs: Equations, name: str) -> list[dict[str, float]]:
    """The current parameters with one of them perturbed, in the order of OFFSETS."""
    here, value = eqs.given_parameters, value_of(eqs, name)
    return [{**here, name: value + offset * step_of(value)} for offset in OFFSETS]


def derivative(function: Callable[[dict[str, float]], np.ndarray], eqs: Equations, name: str) -> np.ndarray:
    """Derivative of a function of the parameters with respect to one of them."""
    here, value = eqs.given_parameters, value_of(eqs, name)
    return difference(lambda offset: function({**here, name: value + offset}), step_of(value))


class ParameterTangents:
    """Derivatives of the constants and parameters of the equations with respect to single parameters, computed on first use."""

    def __init__(self, eqs: Equations) -> None:
        self._eqs = eqs
        self._vector = eqs.model.parameter_vector(eqs.given_parameters)
        self._made: dict[str, np.ndarray] = {}

    def constants(self, name: str) -> np.ndarray:
        """Derivative of the constants."""
        if name not in self._made:
            found = self._eqs.model.system.constants.tangent(self._vector, self.parameters(name))
            if not np.all(np.isfinite(found)):
                raise ArgumentError(
                    f"there are no derivatives with respect to '{name}': numbers of the model have none at its value",
                    "see whether an expression has a kink there, such as the square root of zero, and use another value",
                )
            self._made[name] = found
        return self._made[name]

    def parameters(self, name: str) -> np.ndarray:
        """Derivative of the vector of parameters: a unit vector."""
        return np.eye(1, len(self._vector), self._eqs.model.parameter_defaults[1][name])[0]

    def step(self, name: str) -> float:
        """Perturbation of the parameter in finite differences."""
        return step_of(value_of(self._eqs, name))

    def moved(self, name: str, offset: float) -> Binding:
        """The equations with the parameter changed by an offset, to first order."""
        bound = self._eqs.binding
        return bound.with_parameters(
            bound.parameters + offset * self.parameters(name), bound.constants + offset * self.constants(name)
        )


def parameter_changes(eqs: Equations, names: Sequence[str], begin: float, end: float) -> ParameterChanges:
    """Derivatives of constants and parameters of the equations with respect to some parameters, for a motion between two times [s].

    Raises ArgumentError if a parameter moves a time at which an input or a signal jumps or has a kink.
    """
    for name in names:
        refuse_moving_switches(eqs, name, begin, end)
    made, bound = ParameterTangents(eqs), eqs.binding
    constants = np.reshape([made.constants(name) for name in names], (len(names), len(bound.constants)))
    parameters = np.reshape([made.parameters(name) for name in names], (len(names), len(bound.parameters)))
    return ParameterChanges(constants, parameters, np.array([made.step(name) for name in names]))


def refuse_moving_switches(eqs: Equations, name: str, begin: float, end: float) -> None:
    """The steps end at switches; derivatives of steps do not contain their change with the switch."""
    bound = eqs.binding
    change = np.zeros(len(bound.parameters))
    change[eqs.model.parameter_defaults[1][name]] = step_of(value_of(eqs, name))

    def inside(parameters: np.ndarray) -> np.ndarray:
        times = eqs.model.switch_times(parameters, begin, end)
        return np.unique(times[(times >= begin) & (times <= end)])

    here = inside(bound.parameters)
    for moved in (inside(bound.parameters + change), inside(bound.parameters - change)):
        if len(moved) != len(here) or np.any(np.abs(moved - here) > 1e-9 * (end - begin)):
            raise ArgumentError(
                f"motions have no derivatives with respect to '{name}', which moves a time at which an input or a signal switches",
                "use finite differences of simulations, or parameters that move no switch",
            )
