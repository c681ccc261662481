"""Dependence on parameters: constants of the equations, initial states, and other functions of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.equations.equations import Equations
from pliant.equations.time_loop import ParameterChanges

SHARE = 2e-3
"""Relative perturbation of a parameter: fourth-order differences, whose error is proportional to its fourth power."""

OFFSETS = (1, -1, 2, -2)
WEIGHTS = np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
"""Fourth-order differences: offsets of evaluations, in steps, and the weights of their values in derivative times step."""


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
    sides = np.array([function(side) for side in varied(eqs, name)])
    found: np.ndarray = np.tensordot(WEIGHTS, sides, axes=1) / step_of(value_of(eqs, name))
    return found


class ParameterPerturbation:
    """Equations with one perturbed parameter, created on first use."""

    def __init__(self, eqs: Equations) -> None:
        self._eqs = eqs
        self._made: dict[str, list[Equations]] = {}

    def of(self, name: str) -> list[Equations]:
        """The perturbed equations in the order of OFFSETS."""
        if name not in self._made:
            sides = varied(self._eqs, name)
            self._made[name] = [self._eqs.at(parameters=side, within_limits=False) for side in sides]
        return self._made[name]

    def constants(self, name: str) -> np.ndarray:
        """Derivative of the constants of the equations with respect to a parameter."""
        step = step_of(value_of(self._eqs, name))
        found: np.ndarray = WEIGHTS @ np.array([here.binding.constants for here in self.of(name)]) / step
        return found


def parameter_changes(eqs: Equations, names: Sequence[str]) -> ParameterChanges:
    """Constants and parameters of the equations for perturbed parameters."""
    model = eqs.model
    vectors = [[model.parameter_vector(side) for side in varied(eqs, name)] for name in names]
    constants = [[model.system.constants.values(vector) for vector in four] for four in vectors]
    return ParameterChanges(
        np.array(constants), np.array(vectors), np.array([step_of(value_of(eqs, name)) for name in names])
    )
