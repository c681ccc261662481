"""A cylinder with flat ends, or an infinite one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
import numpy as np

from pliant.language.base import Problem, positive
from pliant.language.placement import Axis
from pliant.language.scalar import Length, Scalar
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.base import Corner, SurfaceBase, add_shape
from pliant.parts.surface.triangles import disc, matrix_columns

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


@dataclass(frozen=True)
class CylinderShape:
    """Proportions of cylinders."""

    endless: float = 100.0
    """Half the length of a cylinder without a given length [m]."""
    rounding: float = 0.02
    """Default radius of the rims relative to the smaller of radius and half the length."""
    corners: int = 24
    """Number of corners of the rim of a flat end."""
    rim: float = 0.5
    """Share of a contact's stiffness at each corner of a rim."""


SHAPE = CylinderShape()


class CylinderSurface(SurfaceBase):
    """A cylinder around the origin of the surface. Its side is smooth, so that ropes can run around it; its ends are
    flat, with rounded rims.

    A rim is a polygon with 24 corners, inset from the side by twice the rounding; an upright cylinder rests on it and tips
    over it. Without a length the cylinder is infinite (200 m long).
    """

    type: Literal["cylinder"] = "cylinder"
    radius: Length
    """Radius [m]."""
    length: Length | None = None
    """Length [m]; default: infinite."""
    axis: Axis = "z"
    """Direction of its axis: x, y, z, or three numbers."""
    rounding: Length | None = None
    """Radius of the rims of its ends [m], up to a quarter of the radius and of the length; default: a fiftieth of the
    smaller of radius and half the length."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  cord: {shape: circle, radius: 2 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.48}
rods:
  rope: {length: 30 cm, section: cord, material: rubber, position: [-10 cm, 0, 4 cm], rotation: {axis: y, angle: 90 deg},
    rayleigh: {beta: 20 ms}, model: {kind: cosserat, elements: 20}}
surfaces:
  peg: {type: cylinder, radius: 3 cm, axis: y}
contacts:
  wrap: {between: [rope, peg], friction: 0.3}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero, and a rounding that fits the ends."""
        yield from positive(self, value, "radius", *(("length",) if self.length is not None else ()))
        if self.rounding is None:
            return
        if self.length is None:
            yield (
                ("rounding",),
                "a cylinder without a length has no ends to round",
                "add `length`, or remove `rounding`",
            )
            return
        most = min(value(self.radius), value(self.length)) / 4
        if not 0 <= value(self.rounding) <= most:
            yield ("rounding",), f"rounding must be from 0 to {most:g} m here, but it is {value(self.rounding):g} m", ""

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        R, p = pose
        axis = ca.vertcat(*build.direction(self.axis))
        radius = build.value(self.radius)
        if self.length is None:
            return [self._side(build, name, node, (R, p), axis * SHAPE.endless)]
        half = build.value(self.length) / 2
        rounding = SHAPE.rounding * ca.fmin(radius, half) if self.rounding is None else build.value(self.rounding)
        basis = _across(build, axis)
        flat = disc(SHAPE.corners)
        shares = [SHAPE.rim] * SHAPE.corners + [0.0]
        shapes = [self._side(build, name, node, (R, p), axis * (half - rounding))]
        for way, faces in ((1, flat.faces), (-1, flat.faces[:, ::-1])):
            local = basis @ ca.DM(flat.points.T) * (radius - 2 * rounding)
            placed = R @ (local + ca.repmat(way * axis * (half - rounding), 1, len(shares))) + ca.repmat(
                p, 1, len(shares)
            )
            corners = [
                Corner(node, place, rounding, share)
                for place, share in zip(matrix_columns(placed), shares, strict=True)
            ]
            inner = frozenset((k, SHAPE.corners) for k in range(SHAPE.corners))
            shapes.append(
                add_shape(build, name, "faces", corners, [(a, b, c) for a, b, c in faces.tolist()], smooth=inner)
            )
        return shapes

    def _side(self, build: Build, name: str, node: int, pose: Pose, half: Any) -> int:
        ends = [
            Corner(node, build.entries(pose[1] + way * (pose[0] @ half)), build.value(self.radius)) for way in (-1, 1)
        ]
        return add_shape(build, name, "side", ends, [(0, 1)])

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)


def _across(build: Build, axis: Any) -> Any:
    """Orthonormal axes as columns, the third along `axis`."""
    helper = ca.DM(np.eye(3)[int(np.argmin(np.abs(build.nominals(axis))))])
    u = ca.cross(axis, helper)
    u = u / ca.norm_2(u)
    return ca.horzcat(u, ca.cross(axis, u), axis)
