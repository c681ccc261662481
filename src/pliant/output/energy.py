"""Energy of the whole robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pliant.output.base import NumericOutput

if TYPE_CHECKING:
    from pliant.spec.robot import RobotSpec


class EnergyOutput(NumericOutput):
    """Energy of the whole robot: `{energy: total}`."""

    energy: Literal["kinetic", "potential", "total", "dissipated"]
    """Which energy [J]."""
    description: str = ""
    """What a reader should know about it."""

    @property
    def is_of_whole_robot(self) -> bool:
        return True

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return "J"

    def value(self, kinetic: Any, potential: Any, dissipated: Any) -> Any:
        if self.energy == "total":
            return kinetic + potential
        return {"kinetic": kinetic, "potential": potential, "dissipated": dissipated}[self.energy]
