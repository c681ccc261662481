"""Shape of an arc of a rod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.names import RodName
from pliant.output.base import SymbolicOutput, Symbols

if TYPE_CHECKING:
    from pliant.spec.robot import RobotSpec

UNITS = {"angle": "rad", "plane": "rad", "radius": "m", "length": "m"}


class RodOutput(SymbolicOutput):
    """Shape of one arc of a rod of circular arcs: `{rod: arm, section: 2, quantity: angle}`."""

    rod: RodName
    """The rod, of a model such as `pcc`."""
    section: Annotated[int, Field(ge=1, strict=True)] = 1
    """Which of its arcs, counted from the base."""
    quantity: Literal["angle", "plane", "radius", "length"] = "angle"
    """What is recorded: the `angle` that the arc turns [rad], the direction it leans to as an angle from the base's x
    axis (`plane`) [rad], the `radius` (infinite for a straight arc) or the `length` along its axis [m]."""
    description: str = ""
    """What a reader should know about it."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
        if self.rod not in robot.rods:
            return
        arcs = robot.rods[self.rod].model.arcs()
        if self.section > arcs:
            message = f"the rod '{self.rod}' has {arcs or 'no'} circular arcs, so there is no arc {self.section}"
            hint = f"count from 1 to {arcs}" if arcs else "choose one of the rod models pcc and pcc_cog"
            yield ("section",) if arcs else ("rod",), message, hint

    def value(self, at: Symbols) -> Any:
        bend, length = at.arc(self.rod, self.section)
        angle = ca.norm_2(bend)
        if self.quantity == "angle":
            return angle
        if self.quantity == "plane":
            return ca.atan2(-bend[0], bend[1])
        return length if self.quantity == "length" else length / angle
