"""Contact surfaces of simple shapes: plane, sphere, capsule, cylinder, box and ellipsoid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np

from pliant.language.base import Problem
from pliant.language.placement import Axis
from pliant.language.scalar import Length, LengthVector, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.field import hydrodynamics
from pliant.parts.field.hydrodynamics import Hull
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.surface.triangles import (
    BOX,
    BOX_FACES,
    Corner,
    SurfaceBase,
    add_faces,
    add_shape,
    ball,
    disc,
    matrix_columns,
)


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

    not_below_zero = ("radius",)

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        return [
            add_shape(build, name, "point", [Corner(node, build.entries(pose[1]), build.value(self.radius))], [(0,)])
        ]

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        return hydrodynamics.sphere(build.value(self.radius)), se3.identity()

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)


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

    above_zero = ("radius", "length")

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        R, p = pose
        half = R @ ca.vertcat(*build.direction(self.axis)) * (build.value(self.length) / 2)
        ends = [Corner(node, build.entries(p + side * half), build.value(self.radius)) for side in (-1, 1)]
        return [add_shape(build, name, "wire", ends, [(0, 1)])]

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)


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

    above_zero = ("radius", "length")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A rounding that fits the ends."""
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

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        if self.length is None:
            return None
        axes = _across(build, ca.vertcat(*build.direction(self.axis)))
        return hydrodynamics.cylinder(build.value(self.radius), build.value(self.length), 2), (axes, ca.DM.zeros(3))

    def extent(self, build: Build) -> Any:
        return build.value(self.radius)


def _across(build: Build, axis: Any) -> Any:
    """Orthonormal axes as columns, the third along `axis`."""
    helper = ca.DM(np.eye(3)[int(np.argmin(np.abs(build.nominals(axis))))])
    u = ca.cross(axis, helper)
    u = u / ca.norm_2(u)
    return ca.horzcat(u, ca.cross(axis, u), axis)


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

    above_zero = ("size",)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A rounding below half the smallest size."""
        sizes = [value(x) for x in self.size]
        if self.rounding is not None and not 0 <= value(self.rounding) < min(sizes) / 2:
            most = f"below half the smallest size, {min(sizes) / 2:g} m"
            text = f"rounding must be from 0 to {most}, but it is {value(self.rounding):g} m"
            yield ("rounding",), text, "for round edges throughout use a capsule or a cylinder"

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        size = ca.vertcat(*map(build.value, self.size))
        radius = ROUND * ca.mmin(size) if self.rounding is None else build.value(self.rounding)
        points = ca.repmat(size / 2 - radius, 1, len(BOX)) * ca.DM(BOX.T)
        return [add_faces(build, name, node, pose, points, BOX_FACES, radius=radius)]

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        return hydrodynamics.box([build.value(edge) for edge in self.size]), se3.identity()

    def extent(self, build: Build) -> Any:
        return ca.mmin(ca.vertcat(*map(build.value, self.size))) / 2


class EllipsoidSurface(SurfaceBase):
    """An ellipsoid around the origin of the surface: a convex solid of 162 points, within 1 % of its semi-axes."""

    type: Literal["ellipsoid"] = "ellipsoid"
    semi_axes: LengthVector
    """Half its extents along x, y, z [m]."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  egg: {mass: 60 g, inertia: {principal: [2e-5, 2e-5, 1e-5 kg*m^2]}}
joints:
  flight: {type: free, child: egg, z: {initial: 10 cm}}
surfaces:
  shell: {type: ellipsoid, parent: egg, semi_axes: [2 cm, 2 cm, 3 cm]}
  table: {type: plane}
contacts:
  rest: {between: [shell, table], friction: 0.5}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero."""
        for index, axis in enumerate(self.semi_axes):
            if value(axis) <= 0:
                text = f"an ellipsoid needs three semi-axes above zero, but one is {value(axis):g} m"
                yield ("semi_axes", index), text, ""

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        size = ca.vertcat(*map(build.value, self.semi_axes))
        points = ca.repmat(size, 1, len(ball().points)) * ca.DM(ball().points.T)
        return [add_faces(build, name, node, pose, points, ball().faces)]

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        return hydrodynamics.ellipsoid([build.value(axis) for axis in self.semi_axes]), se3.identity()

    def extent(self, build: Build) -> Any:
        return ca.mmin(ca.vertcat(*map(build.value, self.semi_axes)))
