"""Coordinates: the free motions of joints, with start, spring, damper, input or prescribed motion, and the forces on them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import casadi as ca

from pliant.language.base import DRIVES, PUSHES_AWAY, OneOrList, Part, Problem, WordOrList
from pliant.language.dimension import ANGULAR_DAMPING, DAMPING, Dimension, damping_dimension
from pliant.language.evaluate import StateFormula, sizes, words
from pliant.language.message_text import KeyPath
from pliant.language.names import CoordinateName, Name
from pliant.language.placement import Rotations
from pliant.language.scalar import (
    Angle,
    AngleSignal,
    AngularDamping,
    AngularSpeed,
    AngularSpeedVector,
    AngularStiffness,
    Force,
    ForceSignal,
    Length,
    LengthSignal,
    Mass,
    MomentOfInertia,
    Number,
    RestAngle,
    RestLength,
    Scalar,
    Slowness,
    Speed,
    StateAngularDamping,
    StateAngularStiffness,
    StateDamping,
    StateStiffness,
    Stiffness,
    Time,
    Torque,
    TorqueSignal,
    TorqueSignalVector,
    Value,
)
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import (
    STOPS,
    CoordinateForce,
    Effect,
    Inertia,
    one_sided,
    power_law,
    spring_energy,
    stops,
)
from pliant.parts.geometry import so3
from pliant.parts.motion import CoordinatePart, Fields, Quaternion, Vector

FRICTION = Fields("size", "slip_speed")


def _friction_effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    at = FRICTION.read(c)
    force = at.size * ca.tanh(v[0] / at.slip_speed)
    return Effect(-force, dissipation=force * v[0])


DRY_FRICTION = CoordinateForce("dry_friction", (Vector(1),), FRICTION.size, 0, _friction_effect)


class Friction(Part):
    """Dry friction: `-size tanh(rate / slip_speed)`. There is no sticking: a load at rest creeps slower than the slip speed."""

    def apply(self, build: Build, q_at: int, v_at: int, name: str) -> None:
        """Add the friction to the coordinate at these indices of q and v."""
        size, slip_speed = getattr(self, self.short_form or ""), self.slip_speed  # type: ignore[attr-defined]
        constants = FRICTION.write(size=build.value(size), slip_speed=build.value(slip_speed))
        build.system.coordinate_force(DRY_FRICTION, q_at, v_at, constants, 0, name)


class AngleFriction(Friction):
    """Dry friction of an angle: torque `-torque tanh(rate / slip_speed)`. A bare value is the torque. There is no sticking: a load
    at rest creeps slower than the slip speed."""

    short_form: ClassVar[str | None] = "torque"
    above_zero, not_below_zero = ("slip_speed",), ("torque",)

    torque: Torque
    """Torque while sliding [N m]."""
    slip_speed: AngularSpeed = "0.01 rad/s"
    """Rate at which friction has reached 76 % of its full value [rad/s]."""


class LengthFriction(Friction):
    """Dry friction of a displacement: force `-force tanh(rate / slip_speed)`. A bare value is the force. There is no sticking: a
    load at rest creeps slower than the slip speed."""

    short_form: ClassVar[str | None] = "force"
    above_zero, not_below_zero = ("slip_speed",), ("force",)

    force: Force
    """Force while sliding [N]."""
    slip_speed: Speed = "1 mm/s"
    """Rate at which friction has reached 76 % of its full value [m/s]."""


class CoordinateLimits(Part):
    """Range of a coordinate. Within it nothing acts; beyond an end a stop pushes back with
    `stiffness * depth * (1 + dissipation * rate of depth)`, as contacts do, and never pulls."""

    minimum: Value | None = None
    """Smallest value."""
    maximum: Value | None = None
    """Largest value."""
    stiffness: Value
    """Force of a stop per depth beyond it."""
    dissipation: Value = 0
    """Relative increase of the force per rate of depth."""

    not_below_zero = ("stiffness", "dissipation")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The minimum is below the maximum."""
        lower, upper = self.minimum, self.maximum
        if lower is None and upper is None:
            yield (), "the limits have neither a minimum nor a maximum", "give one of them, or both"
        elif lower is not None and upper is not None and value(lower) >= value(upper):
            text = f"the minimum {value(lower):g} is not below the maximum {value(upper):g}"
            yield ("minimum",), text, "swap them, or omit one"

    def apply(self, build: Build, q_at: int, v_at: int, name: str, count: int = 1) -> None:
        """Add the stops to `count` consecutive coordinates."""
        lower, upper = self.minimum, self.maximum
        constants = STOPS.write(
            minimum=0.0 if lower is None else build.value(lower),
            maximum=0.0 if upper is None else build.value(upper),
            stiffness=build.value(self.stiffness),
            dissipation=build.value(self.dissipation),
        )
        force = stops(count, lower=lower is not None, upper=upper is not None)
        build.system.coordinate_force(force, q_at, v_at, constants, 0, name)


class LengthLimits(CoordinateLimits):
    """Range of a displacement, with stiff stops at its ends."""

    minimum: Length | None = None
    """Smallest value [m]."""
    maximum: Length | None = None
    """Largest value [m]."""
    stiffness: Stiffness
    """Force of a stop per depth beyond it [N/m]; 0 for none."""
    dissipation: Slowness = "50 s/m"
    """Relative increase of the force per rate of depth [s/m]."""


class AngleLimits(CoordinateLimits):
    """Range of an angle, with stiff stops at its ends."""

    minimum: Angle | None = None
    """Smallest value [rad]."""
    maximum: Angle | None = None
    """Largest value [rad]."""
    stiffness: AngularStiffness
    """Torque of a stop per angle beyond it [N m/rad]; 0 for none."""
    dissipation: Time = "5 s"
    """Relative increase of the torque per rate of the angle beyond the stop [s/rad]."""


class Spring(Part):
    """Spring of a coordinate or link: `-coefficient (x - compression * rest)`. Final classes have the types of its unit."""

    short_form: ClassVar[str | None] = "coefficient"
    odd_below_zero: ClassVar[Mapping[str, str]] = {"coefficient": PUSHES_AWAY}

    coefficient: Value
    """Stiffness."""
    rest: Value = 0
    """Value at which the spring is free of force."""
    compression: Number = 1
    """Factor on the rest value, above 0 up to 1 [-]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The compression is above 0 and at most 1."""
        if not 0 < value(self.compression) <= 1:
            text = f"compression must be above 0 and up to 1, but it is {value(self.compression):g}"
            yield ("compression",), text, ""


class LengthSpring(Spring):
    """Spring on a length: force `-coefficient (x - compression * rest)`. A bare value is the coefficient."""

    coefficient: StateStiffness
    """Stiffness [N/m]; it may depend on the joint's coordinates: `=k0*(1 + (x/1 cm)^2)`."""
    rest: RestLength = 0
    """Value at which the spring is free of force [m], or `as at start`: its value in the initial pose."""


class AngleSpring(Spring):
    """Spring on an angle: torque `-coefficient (x - compression * rest)`. A bare value is the coefficient."""

    coefficient: StateAngularStiffness
    """Stiffness [N m/rad]; it may depend on the joint's coordinates: `=k0*(1 + (angle/1 rad)^2)`."""
    rest: RestAngle = 0
    """Angle at which the spring is free of torque [rad], or `as at start`: its value in the initial pose."""


class Damper(Part):
    """Damper of a coordinate or link: `-coefficient sign(xd) |xd|^power`. Final classes have the types of its unit."""

    short_form: ClassVar[str | None] = "coefficient"
    odd_below_zero: ClassVar[Mapping[str, str]] = {"coefficient": DRIVES}
    above_zero = ("power",)
    viscous_dimension: ClassVar[Dimension]
    """Dimension of the coefficient for a power of one."""

    coefficient: Value
    """Force per rate to the power."""
    power: Number = 1
    """Power of the rate."""

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """The coefficient's dimension depends on the power."""
        return damping_dimension(self.viscous_dimension, value(self.power)) if path == ("coefficient",) else None


class LengthDamper(Damper):
    """Damper along a length: force `-coefficient sign(xd) |xd|^power`. A bare value is the coefficient."""

    viscous_dimension: ClassVar[Dimension] = DAMPING

    coefficient: StateDamping
    """Force per speed to the power [N (s/m)^power]; it may depend on the state like a stiffness."""
    power: Number = 1
    """Power of the speed, 1 for a viscous damper [-]. With a power below 1, the force is linear below 1 um/s."""


class AngleDamper(Damper):
    """Damper on an angle: torque `-coefficient sign(xd) |xd|^power`. A bare value is the coefficient."""

    viscous_dimension: ClassVar[Dimension] = ANGULAR_DAMPING

    coefficient: StateAngularDamping
    """Torque per angular speed to the power [N m (s/rad)^power]; it may depend on the joint's coordinates."""
    power: Number = 1
    """Power of the angular speed, 1 for a viscous damper [-]. With a power below 1, the torque is linear below 1e-6 rad/s."""


class EqualTo(Part):
    """Tie to another coordinate: this = ratio * other + offset. A bare name is the coordinate."""

    short_form: ClassVar[str | None] = "coordinate"

    coordinate: CoordinateName
    """The other coordinate."""
    ratio: Value = 1
    """Factor on the other coordinate [-, or m/rad between a length and an angle]."""
    offset: Value = 0
    """Value of this coordinate when the other one is zero [m or rad]."""


class Coordinate(Part):
    """A free motion. All keys are optional: `{}`, or the keyword `free`, starts at zero."""

    empty_word: ClassVar[str | None] = "free"

    name: Name | None = None
    """Its name; default: the joint's name, or joint.x and so on if the joint has several coordinates."""
    direction: Literal["both", "positive", "negative"] = "both"
    """When spring, damper and input act: always, only above the spring's rest value, or only below it."""
    equal_to: EqualTo | None = None
    """Another coordinate that this one is tied to; it is then no longer free."""


class LengthCoordinate(Coordinate):
    """A free displacement [m]."""

    not_below_zero = ("smoothing", "armature")

    initial: Length = 0
    """Value at the start [m]."""
    rate: Speed = 0
    """Rate at the start [m/s]."""
    spring: LengthSpring | None = None
    """Spring on the displacement: a stiffness [N/m], or a mapping."""
    damper: LengthDamper | None = None
    """Damper on the displacement: a coefficient [N s/m], or a mapping."""
    friction: LengthFriction | None = None
    """Dry friction against the displacement: a force [N], or a mapping."""
    armature: Mass = 0
    """Mass of the drive reflected to the displacement, in addition to that of the bodies [kg]; for a rotor, its inertia times
    (angle per displacement)^2."""
    input: ForceSignal = 0
    """Force along the displacement, which may vary in time [N]."""
    motion: LengthSignal | None = None
    """Prescribed displacement as a function of time or of inputs [m]; the coordinate is then no longer free."""
    limits: LengthLimits | None = None
    """Range of the displacement: hard stops at its ends."""
    smoothing: Length = 0
    """Width over which a one-sided spring, damper and input fade in [m]; 0 switches sharply."""


class AngleCoordinate(Coordinate):
    """A free angle [rad]."""

    not_below_zero = ("smoothing", "armature")

    initial: Angle = 0
    """Value at the start [rad]."""
    rate: AngularSpeed = 0
    """Rate at the start [rad/s]."""
    spring: AngleSpring | None = None
    """Spring on the angle: a stiffness [N m/rad], or a mapping."""
    damper: AngleDamper | None = None
    """Damper on the angle: a coefficient [N m s/rad], or a mapping."""
    friction: AngleFriction | None = None
    """Dry friction against the angle: a torque [N m], or a mapping."""
    armature: MomentOfInertia = 0
    """Inertia of the drive reflected to the axis, in addition to that of the bodies [kg m^2]; for a rotor, its inertia times
    the square of the gear ratio."""
    input: TorqueSignal = 0
    """Torque about the axis, which may vary in time [N m]."""
    motion: AngleSignal | None = None
    """Prescribed angle as a function of time or of inputs [rad]; the coordinate is then no longer free."""
    limits: AngleLimits | None = None
    """Range of the angle: hard stops at its ends."""
    smoothing: Angle = 0
    """Width over which a one-sided spring, damper and input fade in [rad]; 0 switches sharply."""


ThreeStiffnesses: TypeAlias = Annotated[tuple[AngularStiffness, AngularStiffness, AngularStiffness], OneOrList(3)]
ThreeDampings: TypeAlias = Annotated[tuple[AngularDamping, AngularDamping, AngularDamping], OneOrList(3)]


class OrientationSpring(Part):
    """Spring on a rotation, acting on the components of its rotation vector. A bare value, or three, are the coefficient.

    With the rotation vector r from the rest orientation, its energy is `1/2 (c_x r_x^2 + c_y r_y^2 + c_z r_z^2)`, and its torque
    is the exact derivative. The components of r are the same in the axes at rest and in the moving ones. Beyond half a turn
    the spring pulls the shorter way round.
    """

    short_form: ClassVar[str | None] = "coefficient"
    odd_below_zero: ClassVar[Mapping[str, str]] = {"coefficient": PUSHES_AWAY}

    coefficient: ThreeStiffnesses
    """Stiffness about x, y and z, or one for all [N m/rad]."""
    rest: Annotated[Literal["as at start"] | Rotations, WordOrList()] = ()
    """Orientation at which it is free of torque: one rotation, or a list applied in turn; or `as at start`."""


class Orientation(Part):
    """A free rotation: its state is a unit quaternion, its rate the angular velocity in the moving frame."""

    empty_word: ClassVar[str | None] = "free"
    odd_below_zero: ClassVar[Mapping[str, str]] = {"damper": DRIVES}

    not_below_zero = ("armature",)
    name: Name | None = None
    """Its name; default: the joint's name, or joint.orientation if the joint has other coordinates."""
    initial: Rotations = ()
    """Rotation at the start: one rotation, or a list applied in turn."""
    rate: AngularSpeedVector = (0, 0, 0)
    """Angular velocity at the start, in the axes of the moving frame [rad/s]."""
    spring: OrientationSpring | None = None
    """Spring on the rotation vector: a stiffness, or three about x, y and z [N m/rad], or a mapping."""
    damper: ThreeDampings = (0, 0, 0)
    """Damping of the angular velocity about the axes x, y and z of the moving frame, or one for all [N m s/rad]."""
    armature: MomentOfInertia = 0
    """Inertia of drives about each axis of the moving frame, in addition to that of the bodies [kg m^2]."""
    input: TorqueSignalVector = (0, 0, 0)
    """Torque in the axes of the moving frame, which may vary in time [N m]."""


CONSTANTS = Fields("stiffness", "rest", "damping", "power", "direction", "smoothing")
"""Constants of `coordinate_force`: stiffness, rest value, damping coefficient and power, direction (0, 1, -1), smoothing width."""

DIRECTION = {"both": 0, "positive": 1, "negative": -1}


@cache
def coordinate_force(*, with_input: bool) -> CoordinateForce:
    """Spring, damper and input on one plain coordinate."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = CONSTANTS.read(c)
        counted, half_square, share = one_sided(q[0], at.rest, at.direction, at.smoothing)
        damping = share * power_law(v[0], at.damping, at.power)
        drive = share * signal[0] if with_input else 0.0
        return Effect(
            force=-at.stiffness * counted - damping + drive,
            energy=at.stiffness * half_square,
            dissipation=damping * v[0],
            supply=drive * v[0],
        )

    name = "driven" if with_input else "passive"
    return CoordinateForce(name, (Vector(1),), CONSTANTS.size, int(with_input), effect)


ORIENTATION = Fields("stiffness:3", "damping:3", "rest:4")
"""Constants of `ORIENTATION_FORCE`: stiffness and damping about x, y and z, quaternion of the rest orientation."""


@dataclass(frozen=True)
class CoefficientCoordinates:
    """Coordinates of a joint that a coefficient may depend on.

    Attributes:
        parts: parts of the state, in order.
        own: indices in q and in v of the coordinate that the force acts on.
        names: each name, with its indices in q and in v.
    """

    parts: tuple[CoordinatePart, ...]
    own: tuple[int, int]
    names: tuple[tuple[str, tuple[int, int]], ...]


@cache
def varying_force(
    seen: CoefficientCoordinates, stiffness: StateFormula | None, damping: StateFormula | None, *, with_input: bool
) -> CoordinateForce:
    """Spring, damper and input on one plain coordinate, with coefficients that depend on coordinates of its joint.

    The stored energy is the integral of the spring force from rest, at the current values of the other coordinates. Its change
    by the motion of those coordinates counts as supplied.
    """
    fields = CONSTANTS + Fields(f"of_stiffness:{sizes([stiffness])}", f"of_damping:{sizes([damping])}")
    (own_q, own_v), places = seen.own, dict(seen.names)
    own = next((name for name, place in seen.names if place == seen.own), "")

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at, x, rate = fields.read(c), q[own_q], v[own_v]
        state = {name: q[place] for name, (place, _) in places.items()}
        counted, half_square, share = one_sided(x, at.rest, at.direction, at.smoothing)

        def coefficient(formula: StateFormula | None, plain: Any, numbers: Any, where: Any) -> Any:
            return plain if formula is None else formula.value({**state, own: where}, numbers)

        k = coefficient(stiffness, at.stiffness, at.of_stiffness, x)
        friction = share * power_law(rate, coefficient(damping, at.damping, at.of_damping, x), at.power)
        drive = share * signal[0] if with_input else 0.0
        supply, energy = drive * rate, at.stiffness * half_square
        if stiffness is not None:
            energy = spring_energy(
                lambda s: coefficient(stiffness, 0.0, at.of_stiffness, s), at.rest, x, at.direction, at.smoothing
            )
            supply += sum(ca.jacobian(energy, q[a]) * v[b] for a, b in places.values()) - k * counted * rate
        force = ca.SX(v.numel(), 1)
        force[own_v] = drive - k * counted - friction
        return Effect(ca.densify(force), energy, friction * rate, supply)

    name = ("driven" if with_input else "passive") + words([stiffness, damping])
    where = "_".join(f"{a}_{b}" for _, (a, b) in (("", seen.own), *seen.names))
    shape = "_".join(f"{part.q_size}{part.v_size}" for part in seen.parts)
    return CoordinateForce(f"{name}_{shape}_at_{where}", seen.parts, fields.size, int(with_input), effect)


def _orientation_effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    at = ORIENTATION.read(c)
    turn = so3.quaternion_log(so3.quaternion_product(so3.quaternion_conjugate(at.rest), q))
    # with v in the moving axes d(turn)/dt = V(-turn)^-1 v, whose transpose is V(turn)^-1
    restoring = so3.inverse_left_jacobian(turn) @ (at.stiffness * turn)
    return Effect(
        force=-restoring - at.damping * v + signal,
        energy=0.5 * ca.dot(at.stiffness * turn, turn),
        dissipation=ca.dot(at.damping * v, v),
        supply=ca.dot(signal, v),
    )


ORIENTATION_FORCE = CoordinateForce("orientation", (Quaternion(),), ORIENTATION.size, 3, _orientation_effect)
"""Spring on the rotation vector, damper and torque on a free rotation, with the constants `ORIENTATION`."""


ARMATURE = "armature"


def is_armature(inertia: Inertia) -> bool:
    """Whether it is an inertia of this module."""
    return inertia.name.split("_")[0] == ARMATURE


@cache
def armature(parts: tuple[CoordinatePart, ...]) -> Inertia:
    """Inertia that acts on the rates of an element's coordinates only, with one constant per rate [kg or kg m^2]."""
    rates = sum(part.v_size for part in parts)

    def mass(pose: Any, q: Any, c: Any) -> Any:
        return ca.horzcat(ca.SX(rates, 6), ca.SX.eye(rates)), ca.diag(c)

    name = "_".join([ARMATURE, *(f"{part.q_size}{part.v_size}" for part in parts)])
    return Inertia(name, 1, parts, rates, mass)
