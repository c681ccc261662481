"""The controllers described by a model, designed for its equations.

Controllers are in a layer above the analyses (`control/described.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.analysis.motion.sampled_control import Controller
from pliant.engine.equations import Equations, Values
from pliant.language.parameter import Environment
from pliant.language.provided import called
from pliant.language.scalar import Scalar
from pliant.robot.controllers import ControllerBase


@dataclass(frozen=True)
class Plant:
    """The plant of a controller: equations with the current parameters, and these."""

    equations: Equations
    environment: Environment
    parameters: dict[str, float]

    def number(self, scalar: Scalar) -> float:
        """The value of a field [SI units]."""
        return float(self.environment.value(scalar))


def model_controllers(eqs: Equations, parameters: Values | None = None) -> list[Controller]:
    """The controllers described by a model, designed for these parameters, which override those of the equations."""
    described = eqs.model.spec.control
    if not described:
        return []
    given = eqs.given_parameters | dict(parameters or {})
    environment = eqs.model.environment.with_values(given)
    plant = Plant(eqs.at(parameters=given), environment, given)
    return [_built(controller, plant, name) for name, controller in described.items()]


def _built(described: ControllerBase, plant: Plant, name: str) -> Controller:
    """The controller; errors are reported with its name."""
    try:
        made: Controller = called("controller", described, plant, name)
        return made
    except ValueError as reason:
        begin = f"controller '{name}': "
        raise ValueError(str(reason) if str(reason).startswith(begin) else begin + str(reason)) from reason
