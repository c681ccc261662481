"""Controllers of the language, one kind per file. A new kind is one more file and one more name here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pliant.controller.base import ControllerBase, Plant
from pliant.controller.constraint import ConstraintController
from pliant.controller.lqr import LqrController
from pliant.controller.statics import StaticsController
from pliant.spec.base import ByType

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, Values
    from pliant.solve.sampled import Controller

Control: TypeAlias = Annotated[LqrController | ConstraintController | StaticsController, ByType("controller")]

__all__ = [
    "ConstraintController",
    "Control",
    "ControllerBase",
    "LqrController",
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
    # designed on a twin: the run's own evaluator is in use
    plant = Plant(eqs.twin(), environment, given)
    return [controller.build(plant, name) for name, controller in described.items()]
