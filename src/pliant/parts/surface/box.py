"""A box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.scalar import Length, LengthVector, Scalar
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.base import SurfaceBase
from pliant.parts.surface.triangles import BOX, BOX_FACES, add_faces

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

ROUND = 0.01
"""Default radius of the edges relative to the smallest size."""


class BoxSurface(SurfaceBase):
    """A box around the origin of the surface, with rounded edges."""

    type: Literal["box"] = "box"
    size: LengthVector
    """Edge lengths along x, y, z [m]."""
    rounding: Length | None = None
    """Radius of its edges and corners [m], below half the smallest size; default: a hundredth of that size."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  brick: {mass: 2 kg, shape: {type: box, size: [20 cm, 10 cm, 6 cm]}}
joints:
  flight: {type: free, child: brick, z: {initial: 15 cm}}
surfaces:
  table: {type: box, size: [60 cm, 40 cm, 20 cm]}
contacts:
  rest: {between: [brick, table], friction: 0.5}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero, and a rounding below half the smallest size."""
        sizes = [value(x) for x in self.size]
        for index, size in enumerate(sizes):
            if size <= 0:
                yield ("size", index), f"a box needs three edges above zero, but one is {size:g} m", ""
        if self.rounding is not None and not 0 <= value(self.rounding) < min(sizes) / 2:
            most = f"below half the smallest size, {min(sizes) / 2:g} m"
            text = f"rounding must be from 0 to {most}, but it is {value(self.rounding):g} m"
            yield ("rounding",), text, "for round edges throughout use a capsule or a cylinder"

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        size = ca.vertcat(*map(build.value, self.size))
        radius = ROUND * ca.mmin(size) if self.rounding is None else build.value(self.rounding)
        points = ca.repmat(size / 2 - radius, 1, len(BOX)) * ca.DM(BOX.T)
        return [add_faces(build, name, node, pose, points, BOX_FACES, radius=radius)]

    def extent(self, build: Build) -> Any:
        return ca.mmin(ca.vertcat(*map(build.value, self.size))) / 2
