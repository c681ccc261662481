"""Dependence on parameters: constants of the equations, initial states, and other functions of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.differences import OFFSETS, difference
from pliant.engine.equations import Equations
from pliant.engine.time_loop import ParameterChanges
from pliant.language.arguments import ArgumentError

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
