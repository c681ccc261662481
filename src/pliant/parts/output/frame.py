"""Motion of a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import FrameName
from pliant.parts.geometry import so3
from pliant.parts.output.base import OutputBase, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.model import Model
    from pliant.robot.robot import RobotSpec

UNITS = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "rotation_vector": "rad",
    "quaternion": "-",
    "angular_velocity": "rad/s",
}


class FrameOutput(OutputBase):
    """Motion of a frame: `{frame: arm.tip, quantity: position, component: z}`."""

    frame: FrameName
    """The frame."""
    quantity: Literal["position", "velocity", "acceleration", "rotation_vector", "quaternion", "angular_velocity"] = (
        "position"
    )
    """What is recorded [m, m/s, m/s^2, rad, -, rad/s]."""
    component: Literal["w", "x", "y", "z", "norm"] | None = None
    """One component, or `norm` for the length of the vector; default: all components."""
    relative_to: FrameName = "world"
    """Frame relative to which, and in whose axes, the motion is measured."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        return self.quantity != "acceleration"

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
        allowed = ("w", "x", "y", "z") if self.quantity == "quaternion" else ("x", "y", "z", "norm")
        if self.component is not None and self.component not in allowed:
            message = f"the {self.quantity} has no component {self.component}"
            yield ("component",), message, f"it has {', '.join(allowed)}"

    def components(self, robot: RobotSpec) -> tuple[str, ...]:
        return () if self.component is not None else tuple("wxyz" if self.quantity == "quaternion" else "xyz")

    def nodes(self, model: Model) -> set[int]:
        return {model.frames[name].node for name in (self.frame, self.relative_to)}

    def value(self, at: Symbols) -> Any:
        return component(self._vector(at), self.component, "wxyz" if self.quantity == "quaternion" else "xyz")

    def _vector(self, at: Symbols) -> Any:
        here, there = at.frame(self.frame), at.frame(self.relative_to)
        R, p, V, A = here.rotation, here.position, here.twist, here.acceleration
        R0, p0, V0, A0 = there.rotation, there.position, there.twist, there.acceleration
        w, w0, turn, turn0 = V[3:6], V0[3:6], A[3:6], A0[3:6]
        velocity = V[0:3] + ca.cross(w, p)
        if self.quantity == "position":
            return R0.T @ (p - p0)
        if self.quantity == "rotation_vector":
            return so3.log(R0.T @ R)
        if self.quantity == "quaternion":
            Q = so3.matrix_quaternion(R0.T @ R)
            return ca.if_else(Q[0] < 0, -Q, Q)
        if self.quantity == "angular_velocity":
            return R0.T @ (w - w0)
        # relative to the moving reference frame: subtract the velocity of its point at the same position
        relative = velocity - (V0[0:3] + ca.cross(w0, p))
        if self.quantity == "velocity":
            return R0.T @ relative
        acceleration = A[0:3] + ca.cross(turn, p) + ca.cross(w, velocity)
        carried = A0[0:3] + ca.cross(turn0, p) + ca.cross(w0, V0[0:3] + ca.cross(w0, p))
        return R0.T @ (acceleration - carried - 2 * ca.cross(w0, relative))
