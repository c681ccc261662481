"""A ball."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pliant.language.base import Problem
from pliant.language.scalar import Length, Scalar
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.base import Corner, SurfaceBase, add_shape

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class SphereSurface(SurfaceBase):
    """A ball around the origin of the surface. With radius 0 it is a point."""

    type: Literal["sphere"] = "sphere"
    radius: Length
    """Radius [m]."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  leg: {mass: 200 g, shape: {type: cylinder, radius: 5 mm, length: 20 cm}}
joints:
  flight: {type: free, child: leg, z: {initial: 20 cm}}
surfaces:
  floor: {type: plane}
  foot: {type: sphere, parent: leg, position: [0, 0, -10 cm], radius: 1 cm}
contacts:
  ground: {between: [foot, floor], friction: 0.8}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A radius that is not negative."""
        if value(self.radius) < 0:
            yield ("radius",), f"radius must not be negative, but it is {value(self.radius):g} m", ""

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        return [
            add_shape(build, name, "point", [Corner(node, build.entries(pose[1]), build.value(self.radius))], [(0,)])
        ]

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)
