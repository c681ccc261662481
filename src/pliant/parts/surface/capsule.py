"""A capsule: a cylinder with hemispherical ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem, positive
from pliant.language.placement import Axis
from pliant.language.scalar import Length, Scalar
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.base import Corner, SurfaceBase, add_shape

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class CapsuleSurface(SurfaceBase):
    """A cylinder with hemispherical ends, centred at the origin of the surface."""

    type: Literal["capsule"] = "capsule"
    radius: Length
    """Radius [m]."""
    length: Length
    """Distance between the centres of the hemispheres [m]."""
    axis: Axis = "z"
    """Direction of its axis: x, y, z, or three numbers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  arm: {mass: 1 kg, center_of_mass: [15 cm, 0, 0], shape: {type: cylinder, radius: 2 cm, length: 30 cm, axis: x}}
  bead: {mass: 10 g, shape: {type: sphere, radius: 5 mm}}
joints:
  shoulder: {type: revolute, child: arm, axis: y, angle: {spring: 50 N*m, damper: 0.5 N*m*s}}
  flight: {type: free, child: bead, x: {initial: 20 cm}, z: {initial: 10 cm}}
surfaces:
  skin: {type: capsule, parent: arm, position: [15 cm, 0, 0], axis: x, radius: 2 cm, length: 26 cm}
contacts:
  touch: {between: [bead, skin]}
outputs:
  push: {contact: touch}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero."""
        yield from positive(self, value, "radius", "length")

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        R, p = pose
        half = R @ ca.vertcat(*build.direction(self.axis)) * (build.value(self.length) / 2)
        ends = [Corner(node, build.entries(p + side * half), build.value(self.radius)) for side in (-1, 1)]
        return [add_shape(build, name, "wire", ends, [(0, 1)])]

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)
