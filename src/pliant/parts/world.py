"""The environment of a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from pliant.language.base import Part, Problem
from pliant.language.dimension import LENGTH, Dimension
from pliant.language.scalar import AccelerationVector, Scalar
from pliant.parts.field.fluid import Fluid


class World(Part):
    """The environment of the robot."""

    gravity: AccelerationVector = (0, 0, -9.81)
    """Acceleration of free fall, in world axes [m/s^2]."""
    fluid: Fluid | None = None
    """The fluid around the robot; default: none."""

    example: ClassVar[str] = """\
pliant: 1
world: {gravity: [0, -9.81 m/s^2, 0]}   # y points up
bodies:
  stone: {mass: 1 kg}
joints:
  fall: {type: free, child: stone}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A surface is level, so there is gravity."""
        if self.fluid is not None and self.fluid.surface is not None and not any(value(x) for x in self.gravity):
            hint = "add gravity, or remove `surface`: without it the fluid is everywhere"
            yield ("fluid", "surface"), "a fluid has a surface only under gravity", hint

    def state_names(self) -> Mapping[str, Dimension]:
        """The place that a current may depend on."""
        return dict.fromkeys("xyz", LENGTH)
