"""A plane, such as a floor, a wall or a moving table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.placement import Axis
from pliant.language.scalar import Scalar
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.base import Corner, SurfaceBase, add_shape

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class PlaneSurface(SurfaceBase):
    """An infinite plane; its normal points outwards."""

    type: Literal["plane"] = "plane"
    normal: Axis = "z"
    """Direction out of the plane: x, y, z, or three numbers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  flight: {type: free, child: ball, z: {initial: 30 cm}, x: {rate: 1 m/s}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [ball, floor], friction: 0.4}
outputs:
  place: {frame: ball, quantity: position}
  push: {contact: ground, component: z}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The normal is not zero."""
        if not isinstance(self.normal, str) and all(value(x) == 0 for x in self.normal):
            yield ("normal",), "`normal` is a direction and cannot be zero", "give x, y, z, or three numbers"

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        R, p = pose
        normal = build.entries(R @ ca.vertcat(*build.direction(self.normal)))
        return [add_shape(build, name, "plane", [Corner(node, build.entries(p))], [], constants=normal)]

    def extent(self, build: Build) -> Any:
        return None
