"""Controllers of the language, one kind per file. A new kind is one more file and one more name here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pliant.controller.base import ControllerBase, Plant
from pliant.controller.constraint import ConstraintController
from pliant.controller.lqr import LqrController
from pliant.controller.pid import PidController
from pliant.controller.statics import StaticsController
from pliant.language.base import ByType

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, Values
    from pliant.solve.sampled import Controller

Control: TypeAlias = Annotated[
    LqrController | PidController | ConstraintController | StaticsController, ByType("controller")
]

__all__ = [
    "ConstraintController",
    "Control",
    "ControllerBase",
    "LqrController",
    "PidController",
    "StaticsController",
    "model_controllers",
]


def model_controllers(eqs: Equations, parameters: Values | None = None) -> list[Controller]:
    """The controllers that a model describes, designed for these parameters."""
    described = eqs.model.spec.control
    if not described:
        return []
    given = dict(parameters or {})
    environment = eqs.model.environment.with_values(given)
    plant = Plant(eqs, environment, given)
    return [_built(controller, plant, name) for name, controller in described.items()]


def _built(controller: ControllerBase, plant: Plant, name: str) -> Controller:
    """The controller; what is wrong with it is said under its name."""
    try:
        return controller.build(plant, name)
    except ValueError as reason:
        begin = f"controller '{name}': "
        raise ValueError(str(reason) if str(reason).startswith(begin) else begin + str(reason)) from reason
