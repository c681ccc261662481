"""The controllers described by a model, designed for its equations.

Types of controllers are defined in a layer above the analyses; here only their common method `build` is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pliant.analysis.motion.sampled_control import Controller
from pliant.engine.equations import Equations, Values
from pliant.language.parameter import Environment
from pliant.language.scalar import Scalar


@dataclass(frozen=True)
class Plant:
    """The plant of a controller: equations with the current parameters, and these."""

    equations: Equations
    environment: Environment
    parameters: dict[str, float]

    def number(self, scalar: Scalar) -> float:
        """The value of a field [SI units]."""
        return float(self.environment.value(scalar))


class ControllerDescription(Protocol):
    """A controller as described by a model."""

    def build(self, plant: Plant, name: str) -> Controller:
        """The controller, designed for this plant."""


def model_controllers(eqs: Equations, parameters: Values | None = None) -> list[Controller]:
    """The controllers described by a model, designed for these parameters, which override those of the equations."""
    described = eqs.model.spec.control
    if not described:
        return []
    given = eqs.given_parameters | dict(parameters or {})
    environment = eqs.model.environment.with_values(given)
    plant = Plant(eqs.at(parameters=given), environment, given)
    return [_built(controller, plant, name) for name, controller in described.items()]


def _built(controller: ControllerDescription, plant: Plant, name: str) -> Controller:
    """The controller; errors are reported with its name."""
    try:
        return controller.build(plant, name)
    except ValueError as reason:
        begin = f"controller '{name}': "
        raise ValueError(str(reason) if str(reason).startswith(begin) else begin + str(reason)) from reason
