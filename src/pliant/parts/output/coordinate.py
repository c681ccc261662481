"""Motion of a coordinate, and the force on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.names import CoordinateName
from pliant.parts.output.base import OutputBase, Symbols

if TYPE_CHECKING:
    from pliant.robot.robot import RobotSpec

FORCE_UNITS = {"m": "N", "rad": "N m"}


class CoordinateOutput(OutputBase):
    """Motion of a coordinate: `{coordinate: hinge, quantity: rate}`."""

    coordinate: CoordinateName
    """The coordinate."""
    quantity: Literal["value", "rate", "acceleration", "force"] = "value"
    """What is recorded; `force` is the sum of spring, damper and input, without friction and limits."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        return self.quantity in ("value", "rate")

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        unit = coordinates.get(self.coordinate, "")
        if self.quantity == "value" or not unit:
            return unit
        if self.quantity == "force":
            return FORCE_UNITS.get(unit, "")
        # the rate of a free rotation is an angular velocity
        return ("rad" if unit == "-" else unit) + {"rate": "/s", "acceleration": "/s^2"}[self.quantity]

    def value(self, at: Symbols) -> Any:
        entry = next(c for c in at.model.coordinates if c.name == self.coordinate)
        q_size, v_size = (4, 3) if entry.is_rotation else (1, 1)
        q, v = at.q[entry.q_at : entry.q_at + q_size], at.v[entry.v_at : entry.v_at + v_size]
        if self.quantity == "value":
            return q
        if self.quantity == "rate":
            return v
        if self.quantity == "acceleration":
            return at.a[entry.v_at : entry.v_at + v_size]
        if self.coordinate not in at.model.coordinate_forces:
            return ca.DM.zeros(v_size)
        force = at.model.system.coordinate_forces[at.model.coordinate_forces[self.coordinate]]
        # coefficients may depend on other coordinates of the joint, which are among the arguments and results then
        size = sum(part.q_size for part in force.kind.parts)
        q, v = at.q[force.q_at : force.q_at + size], at.v[force.v_at : force.v_at + force.size]
        return at.coordinate_force(force, q, v)[entry.v_at - force.v_at : entry.v_at - force.v_at + v_size]
