"""Force of a contact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.names import ContactName
from pliant.output.base import OutputBase, Symbols, component

if TYPE_CHECKING:
    from pliant.model.model import Model
    from pliant.spec.robot import RobotSpec


class ContactOutput(OutputBase):
    """Force of a contact: `{contact: ground, component: z}`."""

    contact: ContactName
    """The contact."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component in world axes, or `norm` for the length of the vector; otherwise all, on all points together [N]."""
    description: str = ""
    """What a reader should know about it."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return "N"

    def components(self, robot: RobotSpec) -> tuple[str, ...]:
        return tuple("xyz") if self.component is None else ()

    def nodes(self, model: Model) -> set[int]:
        return set()

    def value(self, at: Symbols) -> Any:
        total = ca.SX.zeros(3)
        return component(total, self.component)
