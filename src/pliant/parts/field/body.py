"""A fluid acting on rigid bodies: buoyancy, drag and added mass, by their shape.

A body that moves with the twist W relative to the fluid (linear and angular, in the axes of its hull, at its centre) is acted on by

* the weight of the fluid that it displaces, exactly, wherever the surface cuts it, and the force that would accelerate that fluid
  as the undisturbed one is accelerated;
* drag: viscous, proportional to W, and quadratic, the derivative of the potential `density/3 (sum k_i^(2/3) w_i^2)^(3/2)`, which is
  `density k_i w_i^2` along an axis, the same in all directions for a sphere, and across a slender body independent of the
  motion along it; for spheres by the Reynolds number;
* the inertia of the fluid that it moves aside: the added mass M of Kirchhoff's equations `d(M W)/dt + W x* (M W)`, which contain
  Munk's moment.

Coefficients by shape are those of `hydrodynamics`. Of a body that floats, drag acts on the immersed share of the ellipsoid with
its extents, at the centre of that, and added mass counts by the same share of the robot's initial pose throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import casadi as ca
import numpy as np
from pydantic import StrictBool

from pliant.language.base import Part, Problem
from pliant.language.faults import Fault, SpecError
from pliant.language.names import SurfaceName
from pliant.language.scalar import Number, Scalar, Vector
from pliant.parts.assembly.build import Build
from pliant.parts.field import immersion
from pliant.parts.field.base import add_added_mass, velocity_at, wrench_at
from pliant.parts.field.hydrodynamics import Hull, sphere_wake
from pliant.parts.field.medium import Medium, MediumKind
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields

Row: TypeAlias = tuple[Number, Number, Number, Number, Number, Number]
Matrix: TypeAlias = tuple[Row, Row, Row, Row, Row, Row]


class BodyFluid(Part):
    """What the fluid of the `world` does to a body; all that is not given follows from its shape.

    Matrices are in SI units, for the velocity of the centre of mass (or of the hull) and the angular velocity, in the axes of the
    body (or of the hull).
    """

    immersed: StrictBool = True
    """Whether the fluid acts on the body."""
    hull: SurfaceName | None = None
    """Surface on the body that displaces the fluid, instead of its shape: a sphere, cylinder, box, ellipsoid, or a closed
    solid of triangles."""
    inside: Literal["closed", "flooded"] = "closed"
    """What is in the bore of a tube: nothing that counts, or the fluid itself, so that the wall displaces it."""
    buoyancy: StrictBool = True
    """Whether the displaced fluid carries its weight."""
    drag: Literal["both", "quadratic", "viscous", "none"] = "both"
    """Which drag acts: quadratic in the speed, proportional to it, or their sum, where the fluid has viscosity."""
    drag_coefficients: Vector | None = None
    """Coefficients of quadratic drag along x, y and z, relative to the areas of the shape seen from there [-]."""
    linear_drag: Matrix | None = None
    """Matrix of drag proportional to the six velocities, instead of that of the shape."""
    quadratic_drag: Matrix | None = None
    """Matrix of drag proportional to the products of each of the six velocities with its magnitude, instead of that of the
    shape."""
    has_added_mass: StrictBool = True
    """Whether the fluid that the body moves aside has inertia."""
    added_mass: Matrix | None = None
    """Matrix of added mass, instead of that of the shape; it counts wholly, also for a body that floats."""

    example: ClassVar[str] = """\
pliant: 1
world: {fluid: {density: 1000 kg/m^3, viscosity: 1 mPa*s, surface: 0 m}}
bodies:
  buoy: {mass: 2 kg, shape: {type: sphere, radius: 10 cm}, fluid: {drag_coefficients: [0.5, 0.5, 0.5]}}
joints:
  flight: {type: free, child: buoy}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Coefficients not below zero; drag takes energy from the body; added mass is symmetric and not negative."""
        for k, given in enumerate(self.drag_coefficients or ()):
            if value(given) < 0:
                yield (
                    ("drag_coefficients", k),
                    f"a drag coefficient is not negative, but this one is {value(given):g}",
                    "",
                )
        for key in ("linear_drag", "quadratic_drag", "added_mass"):
            rows = getattr(self, key)
            if rows is None:
                continue
            matrix = np.array([[value(x) for x in row] for row in rows])
            size = float(np.abs(matrix).max())
            if key == "added_mass" and np.abs(matrix - matrix.T).max() > 1e-9 * size:
                yield (key,), "the matrix of added mass is not symmetric", "mirror it at the diagonal"
            elif np.linalg.eigvalsh(matrix + matrix.T).min() < -1e-9 * size:
                what = "added mass" if key == "added_mass" else "drag"
                yield (key,), f"the matrix of {what} is negative for some motion", "check its signs"

    def apply(self, build: Build, name: str, hull: Hull | None, place: Pose, medium: Medium) -> None:
        """Add the forces of the fluid on a body. place: pose of the hull on the body."""
        node, pose = build.frame(name)
        place = se3.compose(pose, place)
        if not self.immersed:
            return
        if self.hull is not None:
            node, place, hull = _surface_hull(build, self.hull, name)
        immersed = Immersion(self, build, name, node, place, hull, medium)
        if not node or (hull is None and not immersed.has_matrices):
            return
        if self.buoyancy and hull is not None:
            immersed.add_buoyancy(hull)
        added = immersed.added_mass()
        immersed.add_drag(added)
        if self.has_added_mass:
            add_added_mass(build, node, place, added)


def _surface_hull(build: Build, name: str, body: str) -> tuple[int, Pose, Hull]:
    surface = build.robot.surfaces[name]
    node, pose = build.frame(surface.parent)
    found = surface.hull(build)
    if found is None or node != build.frame(body)[0]:
        problem = "does not enclose a volume" if found is None else "is not fixed to this body"
        hint = "use a sphere, a cylinder with a length, a box, an ellipsoid, or a closed solid" if found is None else ""
        raise SpecError([Fault(f"the surface '{name}' {problem}", hint, f"bodies.{body}.fluid.hull")])
    hull, place = found
    return node, se3.compose(se3.compose(pose, build.placement(surface)), place), hull


NO_RATE = 1e-24
"""Square of a speed below which the direction of a flow is not resolved [m^2/s^2]."""
NO_DRAG = 1e-40
"""Quadratic drag [kg/m, kg m^2] added where there is none, so that its power 2/3 has a derivative by parameters."""
DRY = 1e-9
"""Share of the volume below which the centre of the immersed part is not resolved."""


@dataclass(frozen=True)
class DragKind:
    """What the formula of drag contains.

    is_sphere: whether the Reynolds number of a sphere counts. by_matrix: whether linear and quadratic drag are those of matrices.
    """

    medium: MediumKind
    is_sphere: bool
    by_matrix: tuple[bool, bool]

    @property
    def fields(self) -> Fields:
        """All constants: those of the medium first."""
        return self.medium.fields + self.own

    @property
    def own(self) -> Fields:
        """Constants of the body: place, displaced volume [m^3], extents [m], resistance (six, or a matrix) [N s/m, N m s],
        quadratic drag (six to the power 2/3, or a matrix) [kg/m, kg m^2], Reynolds number per speed [s/m], added mass."""
        linear, quadratic = (36 if given else 6 for given in self.by_matrix)
        return Fields(
            "placement:pose",
            "volume",
            "extents:3",
            f"linear:{linear}",
            f"quadratic:{quadratic}",
            "reynolds",
            "added:36",
        )

    @property
    def word(self) -> str:
        """A key for names of kernels."""
        return f"{self.medium.word}_{''.join(str(int(x)) for x in (self.is_sphere, *self.by_matrix))}"


def _resistance(kind: DragKind, at: Any, w: Any) -> Any:
    """Drag against a twist relative to the fluid, in the axes of the hull."""
    squares = [ca.dot(part, part) for part in (w[0:3], w[3:6])]
    slow, fast = 1.0, 1.0
    if kind.is_sphere:
        slow, fast = sphere_wake(at.reynolds * ca.sqrt(squares[0] + NO_RATE))
    linear = ca.reshape(at.linear, 6, 6) @ w if kind.by_matrix[0] else at.linear * w
    if kind.by_matrix[1]:
        return linear + ca.reshape(at.quadratic, 6, 6) @ (ca.fabs(w) * w)
    speeds = [ca.sqrt(ca.dot(at.quadratic[k : k + 3], w[k : k + 3] ** 2) + NO_RATE) for k in (0, 3)]
    quadratic = at.quadratic * w * ca.vertcat(*[speeds[0]] * 3, *[speeds[1]] * 3)
    return linear * ca.vertcat(*[slow] * 3, 1, 1, 1) + quadratic * ca.vertcat(*[fast] * 3, 1, 1, 1)


@cache
def drag_force(kind: DragKind) -> FrameForce:
    """Drag on a body, and the forces by which a current acts on the displaced and the added mass."""

    def effect(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
        at = kind.fields.read(c)
        R, p = se3.compose(poses[0], at.placement)
        share, point = 1.0, p
        if kind.medium.has_surface:
            g = ca.sqrt(ca.dot(at.gravity, at.gravity) + 1e-300)
            part = immersion.ellipsoid(at.extents, -ca.dot(at.gravity, p) / g - at.surface, -R.T @ at.gravity / g)
            whole = 4 / 3 * np.pi * at.extents[0] * at.extents[1] * at.extents[2]
            share = part.volume / whole
            point = p + R @ (part.moment / (part.volume + DRY * whole))
        flow = kind.medium.flow(point, at.current, signals)
        turning = R.T @ twists[0][3:6]
        relative = ca.vertcat(R.T @ (velocity_at(twists[0], point) - flow.velocity), turning)
        drag = -share * _resistance(kind, at, relative)
        force, moment = R @ drag[0:3], R @ drag[3:6]
        wrench, supply = wrench_at(force, moment, point), ca.dot(force, flow.velocity)
        if not kind.medium.still:
            carried = wrench_at(share * at.density * at.volume * flow.acceleration, ca.DM.zeros(3), point)
            center = kind.medium.flow(p, at.current, signals)
            body = ca.vertcat(R.T @ velocity_at(twists[0], p), turning)
            pushed = _of_current(ca.reshape(at.added, 6, 6), body, R.T @ center.velocity, R.T @ center.acceleration)
            carried = carried + wrench_at(R @ pushed[0:3], R @ pushed[3:6], p)
            wrench, supply = wrench + carried, supply + ca.dot(carried, twists[0])
        return Effect(wrench, dissipation=-ca.dot(drag, relative), supply=supply)

    return FrameForce(f"fluid_body_{kind.word}", 1, kind.fields.size, kind.medium.signals, effect)


def _of_current(M: Any, W: Any, U: Any, acceleration: Any) -> Any:
    """Wrench by which added mass that moves relative to a current differs from that in a fluid at rest, whose inertia is among the
    masses; all in the axes of the hull. In axes that turn, the velocity U changes by `acceleration - w x U`."""
    relative = ca.vertcat(W[0:3] - U, W[3:6])
    change = ca.vertcat(acceleration - ca.cross(W[3:6], U), ca.DM.zeros(3))
    return M @ change + se3.cross_wrench(W, M @ W) - se3.cross_wrench(relative, M @ relative)


POINT = 1e-3
"""Extents of a body without a shape, for its crossing of the surface [m]."""


def plain(number: Any) -> Any:
    """A number or expression as a float or a scalar expression."""
    entry = ca.SX(number)
    return float(entry) if entry.is_constant() else se3.scalars(entry)[0]


@dataclass(frozen=True)
class Immersion:
    """A body in a fluid under construction: the node and the place of its hull."""

    given: BodyFluid
    build: Build
    name: str
    node: int
    place: Pose
    hull: Hull | None
    medium: Medium

    @property
    def has_matrices(self) -> bool:
        """Whether anything is given that needs no shape."""
        return any(
            given is not None for given in (self.given.linear_drag, self.given.quadratic_drag, self.given.added_mass)
        )

    def _matrix(self, rows: Matrix) -> Any:
        return ca.vertcat(*[ca.horzcat(*map(self.build.value, row)) for row in rows])

    def _gravity(self) -> tuple[Any, Any]:
        """Direction upwards, and the acceleration of free fall [m/s^2]."""
        g = ca.vertcat(*map(self.build.value, self.build.robot.world.gravity))
        size = ca.sqrt(ca.dot(g, g) + 1e-300)
        return -g / size, size

    def add_buoyancy(self, hull: Hull) -> None:
        """Add the forces of the displaced fluid."""
        up, size = self._gravity()
        weight = self.medium.density * size
        system = self.build.system
        if not self.medium.kind.has_surface:
            constants = LIFT.write(lift=se3.scalars(weight * hull.volume * up), point=se3.scalars(self.place[1]))
            system.frame_force(WHOLE, [self.node], constants, 0, self.name)
            return
        at = self.medium.kind.fields.at["surface"]
        for solid in hull.solids:
            place = self.place[0] @ solid.axes, self.place[1]
            surface = immersion.SURFACE.write(
                up=se3.scalars(up), level=self.medium.constants[at], weight=plain(solid.sign * weight)
            )
            constants = [*surface, *self.build.pose_entries(place), *map(plain, solid.size)]
            system.frame_force(solid.kind, [self.node], constants, 0, self.name)

    def add_drag(self, added: Any) -> None:
        """Add drag, and what a current does to the displaced and the added mass."""
        given, build, hull = self.given, self.build, self.hull
        by_matrix = given.linear_drag is not None, given.quadratic_drag is not None
        density, viscosity = self.medium.density, self.medium.viscosity
        linear: list[Any] = [0.0] * 6
        quadratic: list[Any] = [0.0] * 6
        if hull is not None and given.drag in ("both", "viscous"):
            linear = [viscosity * k for k in hull.viscous]
        if hull is not None and given.drag in ("both", "quadratic"):
            drag = list(hull.drag)
            if given.drag_coefficients is not None:
                coefficients = map(build.value, given.drag_coefficients)
                drag[0:3] = [0.5 * c * area for c, area in zip(coefficients, hull.areas, strict=True)]
            quadratic = [(density * k + NO_DRAG) ** (2 / 3) for k in drag]
        if given.linear_drag is not None:
            linear = se3.scalars(self._matrix(given.linear_drag))
        if given.quadratic_drag is not None:
            quadratic = se3.scalars(self._matrix(given.quadratic_drag))
        is_sphere = hull is not None and hull.is_sphere and given.drag == "both" and self.medium.is_viscous
        is_sphere = is_sphere and given.drag_coefficients is None and not any(by_matrix)
        kind = DragKind(self.medium.kind, is_sphere, by_matrix)
        has_drag = given.drag != "none" and hull is not None
        if not has_drag and not any(by_matrix) and self.medium.kind.still:
            return
        constants = [
            *self.medium.constants,
            *kind.own.write(
                placement=build.pose_entries(self.place),
                volume=plain(hull.volume) if hull is not None else 0.0,
                extents=[plain(x) for x in hull.semi_axes] if hull is not None else [POINT] * 3,
                linear=[plain(x) for x in linear],
                quadratic=[plain(x) for x in quadratic],
                reynolds=plain(2 * density * hull.semi_axes[0] / viscosity) if is_sphere and hull is not None else 0.0,
                added=se3.scalars(ca.densify(ca.SX(added))),
            ),
        ]
        build.system.frame_force(drag_force(kind), [self.node], constants, self.medium.signals, self.name)

    def added_mass(self) -> Any:
        """Added mass in the axes of the hull: of one that floats, by its immersed share at the start."""
        if not self.given.has_added_mass:
            return ca.DM.zeros(6, 6)
        if self.given.added_mass is not None:
            return self._matrix(self.given.added_mass)
        if self.hull is None:
            return ca.DM.zeros(6, 6)
        M = self.medium.density * ca.diag(ca.vertcat(*self.hull.added))
        if not self.medium.kind.has_surface:
            return M
        up, _ = self._gravity()
        R, p = se3.compose(self.build.initial_pose(self.node), self.place)
        level = self.medium.constants[self.medium.kind.fields.at["surface"]]
        axes = ca.vertcat(*self.hull.semi_axes)
        part = immersion.ellipsoid(axes, ca.dot(up, p) - level, R.T @ up)
        if self.build.nominal(part.volume) == 0:
            self.build.remarks.append(
                f"the body '{self.name}' is above the fluid at the start, so its added mass is zero, also where it dives in "
                "(start it where it floats, or give `fluid: {added_mass: ...}`)"
            )
        return M * (part.volume / (4 / 3 * np.pi * axes[0] * axes[1] * axes[2]))


LIFT = Fields("lift:3", "point:3")
"""Weight of the displaced fluid, upwards [N], and the centre of the hull on its node [m]."""


def _lift(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
    at = LIFT.read(c)
    R, p = poses[0]
    point = p + R @ at.point
    return Effect(wrench_at(at.lift, ca.DM.zeros(3), point), energy=-ca.dot(at.lift, point))


WHOLE = FrameForce("buoyant_whole", frames=1, constants=LIFT.size, signals=0, effect=_lift)
"""Buoyancy of a body in a fluid without a surface."""
