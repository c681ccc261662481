"""State of a tendon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pliant.language.names import TendonName
from pliant.parts.output.base import OutputBase, Symbols

if TYPE_CHECKING:
    from pliant.engine.model.model import Model
    from pliant.robot.robot import RobotSpec

UNITS = {"length": "m", "rate": "m/s", "tension": "N", "end_tension": "N"}


class TendonOutput(OutputBase):
    """State of a tendon: `{tendon: pull, quantity: length}`."""

    tendon: TendonName
    """The tendon."""
    quantity: Literal["length", "rate", "tension", "end_tension"] = "tension"
    """What is recorded: its length, its rate, the tension at its first point, or at its last point, which differs
    because of friction [m, m/s, N]."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def nodes(self, model: Model) -> set[int]:
        return set(model.system.routes[model.routes[self.tendon]].nodes)

    def value(self, at: Symbols) -> Any:
        return at.line(self.tendon)[list(UNITS).index(self.quantity)]
