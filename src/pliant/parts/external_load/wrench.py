"""Wrench: a force and a moment at a point of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.names import FrameName
from pliant.language.repeated import Repeated
from pliant.language.scalar import ForceSignalVector, LengthVector, TorqueSignalVector
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.motion.fields import Fields

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class Wrench(Repeated):
    """An external force and moment at a frame, in the axes of the world or of any frame."""

    type: Literal["wrench"] = "wrench"
    frame: FrameName
    """Frame that the load acts on, at its origin."""
    position: LengthVector = (0, 0, 0)
    """Offset of the point of application, in the axes of `frame` [m]."""
    force: ForceSignalVector = (0, 0, 0)
    """Force, which may vary in time [N]."""
    moment: TorqueSignalVector = (0, 0, 0)
    """Moment, which may vary in time [N m]."""
    expressed_in: FrameName = "world"
    """Frame whose axes force and moment are given in; a body's frame makes a follower load."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  thrust: {value: 2 N, input: true}
bodies:
  drone: {mass: 0.5 kg, shape: {type: box, size: [30 cm, 30 cm, 5 cm]}}
joints:
  flight: {type: free, child: drone}
loads:
  rotor: {frame: drone, position: [10 cm, 0, 0], force: [0, 0, =thrust], expressed_in: drone}
  gust: {frame: drone, force: ["=if(t < 1 s, 0.3 N, 0)", 0, 0]}
inputs:
  thrust: {ramp: {start: 0 s, end: 2 s, before: 0 N, after: 5 N}}
"""

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system."""
        node, placement = build.frame(self.frame)
        point = placement[1] + placement[0] @ ca.vertcat(*map(build.value, self.position))
        axes_node, axes = build.frame(self.expressed_in)
        constants = CONSTANTS.write(point=build.entries(point), axes=build.entries(axes[0]))
        build.load_forces[name] = build.frame_force(
            WRENCH, [node, axes_node], constants, [*self.force, *self.moment], name
        )


CONSTANTS = Fields("point:3", "axes:matrix")
"""The point in the first frame, the axes in the second frame."""


def _effect(poses: Any, twists: Any, c: Any, signal: Any) -> Effect:
    (R, p), (R_axes, _) = poses
    at = CONSTANTS.read(c)
    axes, point = R_axes @ at.axes, p + R @ at.point
    force, moment = axes @ signal[0:3], axes @ signal[3:6]
    wrench = ca.vertcat(force, moment + ca.cross(point, force))
    return Effect(ca.vertcat(wrench, ca.DM.zeros(6)), supply=ca.dot(wrench, twists[0]))


WRENCH = FrameForce("wrench", frames=2, constants=CONSTANTS.size, signals=6, effect=_effect)
"""Force and moment at a point of the first frame, given in axes of the second."""
