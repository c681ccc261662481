"""A complete model: a model file as an immutable object."""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict, ModelWrapValidatorHandler, ValidationInfo, model_validator

from pliant.language.provided import called
from pliant.language.source import Source
from pliant.parts.rod.base import RodModelBase
from pliant.robot.building import build
from pliant.robot.fields import RobotFields
from pliant.robot.rod_switch import with_rod_model
from pliant.robot.writer import dump


class RobotSpec(RobotFields):
    """A robot: the same keys, names and defaults as in a model file."""

    # its validator includes those of all parts, which are built separately only if a part is created on its own
    model_config = ConfigDict(defer_build=False)

    def to_yaml(self) -> str:
        """The model as text that loads to an equal one."""
        return dump(self)

    def with_rod(self, rod: str, model: str | RodModelBase, **options: Any) -> Self:
        """The robot with another model of one of its rods: `with_rod("arm", "finite_element:10", mass="lumped")`.

        `KIND:N` gives the rod model and its number of elements, sections or order. Options that both models share are
        kept; a warning lists the dropped ones. A rod model with its options,
        `pliant.parts.FiniteElement(elements=10)`, is used unchanged.
        """
        return with_rod_model(self, rod, model, options)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, cls):
            return data
        source, whole = info.context or (Source(), True)
        return build(cls, data, handler, source, whole=whole)

    def __str__(self) -> str:
        return str(called("RobotSpec.text", self))

    def _repr_html_(self) -> str:
        return str(called("RobotSpec.html", self))
