"""Links: force elements between two frames."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import casadi as ca

from pliant.language.base import DRIVES, PUSHES_AWAY, ByType, KeyPath, OneOrList, WordOrList
from pliant.language.dimension import ANGULAR_DAMPING, DAMPING, LENGTH, NUMBER, Dimension, damping_dimension
from pliant.language.evaluate import StateFormula, sizes, words
from pliant.language.placement import Attachment
from pliant.language.scalar import (
    AS_AT_START,
    Angle,
    ForceSignal,
    Length,
    Number,
    Repeated,
    RestLength,
    Scalar,
    StateAngularDamping,
    StateAngularStiffness,
    StateDamping,
    StateStiffness,
    TorqueSignal,
    Vector,
)
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import Effect, FrameForce, one_sided, power_law, spring_energy
from pliant.parts.formula.relative import ENDS, POINTS, force_between_points, relative_force
from pliant.parts.geometry import se3, so3
from pliant.parts.joint.coordinate import LengthDamper, Spring
from pliant.parts.motion import Fields


class LinkBase(Repeated):
    """Common part of the links: a force element between two frames."""

    quantities: ClassVar[dict[str, str]]
    """Quantities available as outputs, with their units; empty if the components differ in unit."""

    between: tuple[Attachment, Attachment]
    """The two frames, each a reference (`bar.tip`) or a reference with an offset."""
    description: str = ""
    """Description for readers."""

    @abstractmethod
    def deformation(self, poses: Any, constants: Any) -> Any:
        """Deformation of the link, on which its force does work, for the poses of its two nodes."""

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the link's force to the system."""


AXIAL = POINTS + Fields("stiffness", "rest", "damping", "power", "direction", "smoothing")
"""Constants of `axial_force`; direction: 0 both, 1 tension, -1 compression."""
ROPE = POINTS + Fields("stiffness", "rest", "time", "direction", "width")
"""Constants of `rope_force`; time: damping time [s]; direction: 0 both, 1 tension only."""
DRIVEN_ROPE = ROPE + Fields("damping", "power")
"""Constants of `driven_rope_force`: in addition, a damping coefficient [N (s/m)^power] and its power."""


class AxialSpring(Spring):
    """Spring of an axial link: pulls its ends together with `coefficient (length - compression * rest)`."""

    coefficient: StateStiffness
    """Stiffness [N/m]; it may depend on the link's `length` [m], its `stretch` (length minus rest length) [m] and its `strain`
    (stretch over rest length) [-]: `=k0*(1 + strain^2)`."""
    rest: RestLength = AS_AT_START
    """Length at which the spring is free of force [m], or `as at start`: its length in the initial pose."""
    compression: Number = 1
    """Factor on the rest length, above 0 up to 1; below 1 the spring is pretensioned [-]."""


class Axial(LinkBase):
    """A spring, damper and force along the line between two points; a rope or a soft contact if one-sided."""

    quantities: ClassVar[dict[str, str]] = {"length": "m", "rate": "m/s", "force": "N"}

    type: Literal["axial"] = "axial"
    spring: AxialSpring | None = None
    """Spring: a stiffness [N/m], or a mapping. The rest length is that of the initial pose unless given."""
    damper: LengthDamper | None = None
    """Damper on the rate of the length: a coefficient [N s/m], or a mapping."""
    input: ForceSignal = 0
    """Force that pulls the two ends together, which may vary in time [N]."""
    direction: Literal["both", "tension", "compression"] = "both"
    """When it acts: always, only while longer than the rest length, or only while shorter."""
    smoothing: Length = 0
    """Range of length over which a one-sided link fades in [m]; 0 switches sharply."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  weight: {mass: 2 kg}
joints:
  flight: {type: free, child: weight, z: {initial: -1 m}}
links:
  rope:
    type: axial
    between: [{frame: world, position: [0.5 m, 0, 0]}, weight]
    spring: {coefficient: 4 kN/m, rest: 1.1 m}
    damper: 20 N*s/m
    direction: tension
    smoothing: 1 mm
"""
    not_below_zero = ("smoothing",)

    def state_names(self) -> Mapping[str, Dimension]:
        """Names that coefficients may use: length, stretch and strain."""
        return {"length": LENGTH, "stretch": LENGTH, "strain": NUMBER}

    def deformation(self, poses: Any, constants: Any) -> Any:
        return axial_length(poses, constants)

    def apply(self, build: Build, name: str) -> None:
        ends = [build.attachment(end) for end in self.between]
        spring = self.spring or AxialSpring(coefficient=0)
        length = build.initial_length([(node, placement[1]) for node, placement in ends])
        rest = build.value(spring.compression) * (length if spring.rest == AS_AT_START else build.value(spring.rest))
        given, power = (self.damper.coefficient, self.damper.power) if self.damper else (0, 1)
        start = _state(length, rest)
        stiffness = build.coefficient(spring.coefficient, start, f"links.{name}.spring")
        damping = build.coefficient(given, start, f"links.{name}.damper")
        constants = AXIAL.write(
            first=build.entries(ends[0][1][1]), second=build.entries(ends[1][1][1]), stiffness=stiffness.plain,
            rest=rest, damping=damping.plain, power=build.value(power),
            direction={"both": 0, "tension": 1, "compression": -1}[self.direction],
            smoothing=build.value(self.smoothing),
        )  # fmt: skip
        with_input = self.input != 0
        build.link_forces[name] = build.frame_force(
            axial_force(stiffness.formula, damping.formula, with_input=with_input), [node for node, _ in ends],
            [*constants, *stiffness.numbers, *damping.numbers], [self.input] if with_input else [], name,
        )  # fmt: skip


def _state(length: Any, rest: Any) -> dict[str, Any]:
    """Values that coefficients may use, by name."""
    return {"length": length, "stretch": length - rest, "strain": (length - rest) / rest}


def axial_length(poses: Any, c: Any) -> Any:
    """Distance between the two points [m]; the constants begin with `POINTS`."""
    (R_a, p_a), (R_b, p_b) = poses
    points = POINTS.read(c)
    return ca.norm_2(p_a + R_a @ points.first - p_b - R_b @ points.second)


def axial_force(
    stiffness: StateFormula | None = None, damping: StateFormula | None = None, *, with_input: bool
) -> FrameForce:
    """Force along the line between two points. A stiffness that depends on the length stores the integral of its force."""
    return _axial_force(stiffness, damping, with_input)


@cache
def _axial_force(stiffness: StateFormula | None, damping: StateFormula | None, with_input: bool) -> FrameForce:
    fields = AXIAL + Fields(f"of_stiffness:{sizes([stiffness])}", f"of_damping:{sizes([damping])}")

    def law(length: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = fields.read(c)

        def k_at(x: Any) -> Any:
            return at.stiffness if stiffness is None else stiffness.value(_state(x, at.rest), at.of_stiffness)

        counted, half_square, share = one_sided(length, at.rest, at.direction, at.smoothing)
        resistance = at.damping if damping is None else damping.value(_state(length, at.rest), at.of_damping)
        friction = share * power_law(rate, resistance, at.power)
        pull = share * signal[0] if with_input else 0.0
        energy, supply = at.stiffness * half_square, -pull * rate
        if stiffness is not None:
            x = ca.SX.sym("x")
            stored = spring_energy(k_at, at.rest, x, at.direction, at.smoothing)
            energy, slope = ca.substitute([stored, ca.jacobian(stored, x)], [x], [ca.SX(length)])
            # the quadrature is not exact for a stiffness with kinks
            supply += (slope - k_at(length) * counted) * rate
        return Effect(-k_at(length) * counted - friction - pull, energy, friction * rate, supply)

    name = ("axial_driven" if with_input else "axial") + words([stiffness, damping])
    return force_between_points(name, constants=fields.size, signals=int(with_input), law=law)


@cache
def rope_force() -> FrameForce:
    """A rope that never pushes: its tension is `stiffness (length - rest + time rate)` where that is above zero.

    Spring and damper go slack together, so the tension never decreases with the length or its rate, and Newton's method has
    a unique solution even if many ropes go slack in a step. The tension rises from slack as a parabola and reaches its full
    slope at twice the width.
    """

    def law(length: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = ROPE.read(c)
        rest = at.rest + ca.if_else(at.direction == 0, 0.0, at.width)
        still, half_square, _ = one_sided(length, rest, at.direction, at.width)
        moving, _, _ = one_sided(length + at.time * rate, rest, at.direction, at.width)
        return Effect(
            force=-at.stiffness * moving,
            energy=at.stiffness * half_square,
            dissipation=at.stiffness * (moving - still) * rate,
        )

    return force_between_points("rope", constants=ROPE.size, signals=0, law=law)


@cache
def driven_rope_force(*, with_input: bool) -> FrameForce:
    """A rope with a damper and, optionally, an input force that pulls its ends together. Neither acts while it is slack."""

    def law(length: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = DRIVEN_ROPE.read(c)
        rest = at.rest + ca.if_else(at.direction == 0, 0.0, at.width)
        still, half_square, share = one_sided(length, rest, at.direction, at.width)
        moving, _, _ = one_sided(length + at.time * rate, rest, at.direction, at.width)
        pull = share * signal[0] if with_input else 0.0
        tension = at.stiffness * moving + share * power_law(rate, at.damping, at.power) + pull
        # the damper would push if a stretched rope shortened fast: the rope goes slack instead
        tension = ca.if_else(at.direction == 0, tension, ca.fmax(tension, 0.0))
        return Effect(
            force=-tension,
            energy=at.stiffness * half_square,
            dissipation=(tension - at.stiffness * still - pull) * rate,
            supply=-pull * rate,
        )

    return force_between_points(
        "rope_driven" if with_input else "rope_damped",
        constants=DRIVEN_ROPE.size, signals=int(with_input), law=law,
    )  # fmt: skip


COMPONENTS = ("shear_x", "shear_y", "stretch", "bend_x", "bend_y", "twist")
"""The six deformations in order."""

Way: TypeAlias = Literal["both", "positive", "negative"]
Map: TypeAlias = Literal["midpoint", "first", "published"]


SixStiffnesses: TypeAlias = tuple[
    StateStiffness, StateStiffness, StateStiffness, StateAngularStiffness, StateAngularStiffness, StateAngularStiffness
]
SixDampings: TypeAlias = tuple[
    StateDamping, StateDamping, StateDamping, StateAngularDamping, StateAngularDamping, StateAngularDamping
]
SixNumbers: TypeAlias = Annotated[tuple[Number, Number, Number, Number, Number, Number], OneOrList(6)]
SixWays: TypeAlias = Annotated[tuple[Way, Way, Way, Way, Way, Way], OneOrList(6)]


Rest: TypeAlias = Annotated[Literal["as at start"] | tuple[Length, Length, Length, Angle, Angle, Angle], WordOrList()]


class Beam(LinkBase):
    """Six springs, dampers and inputs between frames: shear-x, shear-y, stretch, bend-x, bend-y, twist."""

    quantities: ClassVar[dict[str, str]] = {"deformation": "", "rate": "", "force": ""}

    odd_below_zero: ClassVar[Mapping[str, str]] = {"stiffness": PUSHES_AWAY, "damping": DRIVES}

    type: Literal["beam"] = "beam"
    stiffness: SixStiffnesses = (0,) * 6
    """The six stiffnesses: three [N/m], three [N m/rad]. They may depend on the deformations from rest `shear_x`, `shear_y`,
    `stretch` [m], `bend_x`, `bend_y` and `twist` [rad]: `=k0*(1 + (stretch/1 cm)^2)`."""
    damping: SixDampings = (0,) * 6
    """The six damping coefficients: three [N (s/m)^power], three [N m (s/rad)^power]; they may depend on the deformations too."""
    damping_power: SixNumbers = (1,) * 6
    """Power of the rates, one for all components or six [-]."""
    rest: Rest = "as at start"
    """The six values at which the beam is free of force (three [m], three [rad]), or `as at start`."""
    compression: SixNumbers = (1,) * 6
    """Factors on the rest values, one for all components or six [-]."""
    direction: SixWays = ("both",) * 6
    """When each component acts: always, only above its rest value, or only below; one keyword or six."""
    x_axis: Vector | None = None
    """Direction of the section's x axis in the first frame; default: the axes of that frame."""
    map: Map | None = None
    """How deformations are measured: displacements in the frame half-way between the ends and the rotation vector
    (`midpoint`), displacements in the first frame and the rotation vector (`first`), or displacements in the first
    frame and twice the quaternion's vector part (`published`). Default: `midpoint`, which treats both ends equally,
    or `first` if a component acts on one side only: the axes of a stop then do not rotate with the stopped body."""
    input: tuple[ForceSignal, ForceSignal, ForceSignal, TorqueSignal, TorqueSignal, TorqueSignal] = (0,) * 6
    """Forces and torques along the six components, which may vary in time: three [N], three [N m]."""

    @property
    def measure(self) -> Map:
        """The `map` that measures deformations, or its default."""
        one_way = any(way != "both" for way in self.direction)
        return self.map or ("first" if one_way else "midpoint")

    def state_names(self) -> Mapping[str, Dimension]:
        """Names that coefficients may use: the six deformations from rest."""
        return dict(zip(COMPONENTS, (LENGTH,) * 3 + (NUMBER,) * 3, strict=True))

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """A damping coefficient's dimension depends on its power."""
        if path[0] != "damping":
            return None
        component = int(path[1])
        coefficient = DAMPING if component < 3 else ANGULAR_DAMPING
        return damping_dimension(coefficient, value(self.damping_power[component]))

    example: ClassVar[str] = """\
pliant: 1
bodies:
  plate: {mass: 1 kg, shape: {type: box, size: [20 cm, 20 cm, 1 cm]}}
joints:
  float: {type: free, child: plate, z: {initial: 30 cm}}
links:
  mount:
    type: beam
    between: [world, plate]
    stiffness: [500 N/m, 500 N/m, 2 kN/m, 3, 3, 1]
    damping: [5, 5, 20, 0.02, 0.02, 0.01]
    rest: as at start
"""

    def deformation(self, poses: Any, constants: Any) -> Any:
        ends = ENDS.read(constants)
        first, second = se3.compose(poses[0], ends.first), se3.compose(poses[1], ends.second)
        R, p = se3.compose(se3.inverse(first), second)
        return beam_deformation(p, so3.log(R), self.measure)

    def apply(self, build: Build, name: str) -> None:
        (node_a, end_a), (node_b, end_b) = (build.attachment(end) for end in self.between)
        start_a = se3.compose(build.initial_pose(node_a), end_a)
        start_b = se3.compose(build.initial_pose(node_b), end_b)
        if self.x_axis is not None:
            section = _section_axes(
                start_a[0].T @ (start_b[1] - start_a[1]), ca.vertcat(*map(build.value, self.x_axis))
            )
            end_a, start_a = (end_a[0] @ section, end_a[1]), (start_a[0] @ section, start_a[1])
            end_b, start_b = (end_b[0] @ section, end_b[1]), (start_b[0] @ section, start_b[1])
        if self.rest == "as at start":
            # turn the second end's axes onto the first's, so that only the displacement has a rest value
            end_b = (end_b[0] @ start_b[0].T @ start_a[0], end_b[1])
            rest = [*build.entries(start_a[0].T @ (start_b[1] - start_a[1])), 0, 0, 0]
        else:
            rest = [build.value(x) for x in self.rest]
        rest = [build.value(f) * r for f, r in zip(self.compression, rest, strict=True)]
        relative = (start_a[0].T @ start_b[0], start_a[0].T @ (start_b[1] - start_a[1]))
        if self.rest == "as at start":
            relative = (ca.DM.eye(3), relative[1])
        started = beam_deformation(relative[1], so3.log(relative[0]), self.measure)
        start = {name: started[k] - rest[k] for k, name in enumerate(COMPONENTS)}
        stiffness, damping = (
            [build.coefficient(x, start, f"links.{name}.{key}.{k}") for k, x in enumerate(getattr(self, key))]
            for key in ("stiffness", "damping")
        )
        ways = {"both": 0, "positive": 1, "negative": -1}
        constants = BEAM.write(
            first=build.pose_entries(end_a), second=build.pose_entries(end_b), rest=rest,
            stiffness=[x.plain for x in stiffness], damping=[x.plain for x in damping],
            power=[build.value(x) for x in self.damping_power], direction=[ways[way] for way in self.direction],
        )  # fmt: skip
        with_input = any(x != 0 for x in self.input)
        formulas = tuple(x.formula for x in (*stiffness, *damping))
        constants += [number for x in (*stiffness, *damping) for number in x.numbers]
        kind = beam_force(formulas, map=self.measure, with_input=with_input)
        inputs = self.input if with_input else ()
        build.link_forces[name] = build.frame_force(kind, [node_a, node_b], constants, inputs, name)


def _section_axes(along: Any, x_axis: Any) -> Any:
    """Axes with z along the link and x nearest to the given direction."""
    z = along / ca.norm_2(along)
    x = x_axis - z * ca.dot(z, x_axis)
    x = x / ca.norm_2(x)
    return ca.horzcat(x, ca.cross(z, x), z)


def beam_deformation(p: Any, turn: Any, map: Map) -> Any:
    """Six components of the pose of the second end in the first, with position p and rotation vector `turn`, by the map."""
    if map == "published":
        # twice the quaternion's vector part
        return ca.vertcat(p, so3.sinc(ca.dot(turn, turn) / 4) * turn)
    if map == "first":
        return ca.vertcat(p, turn)
    return ca.vertcat(so3.exp(-0.5 * turn) @ p, turn)


BEAM = ENDS + Fields("rest:6", "stiffness:6", "damping:6", "power:6", "direction:6")
"""Constants of `beam_force`."""


PLAIN: tuple[StateFormula | None, ...] = (None,) * 12
"""Formulas of a beam without coefficients that depend on the state."""


def beam_force(formulas: tuple[StateFormula | None, ...] = PLAIN, *, map: Map, with_input: bool) -> FrameForce:
    """Six-component force between two frames; `formulas` of six stiffnesses and six damping coefficients, None for constants.

    With a stiffness that depends on the deformation, the stored energy is the integral of the force along its own component.
    Its change by the motion of other components counts as supplied.
    """
    return _beam_force(formulas, map, with_input)


@cache
def _beam_force(formulas: tuple[StateFormula | None, ...], map: Map, with_input: bool) -> FrameForce:
    fields = BEAM + Fields(f"numbers:{sizes(formulas)}")
    first = [sizes(formulas[:k]) for k in range(12)]

    def law(e: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = fields.read(c)
        forces: list[Any] = []
        energy: Any = 0.0
        dissipation: Any = 0.0
        supply: Any = 0.0
        x = ca.SX.sym("x", 6)

        def coefficient(k: int, plain: Any, deformation: Any) -> Any:
            formula = formulas[k]
            if formula is None:
                return plain
            state = {name: deformation[j] for j, name in enumerate(COMPONENTS)}
            return formula.value(state, at.numbers[first[k] : first[k] + formula.count])

        from_rest = [e[k] - at.rest[k] for k in range(6)]
        for k in range(6):
            counted, half_square, share = one_sided(e[k], at.rest[k], at.direction[k], 0.0)
            stiffness = coefficient(k, at.stiffness[k], from_rest)
            friction = share * power_law(rate[k], coefficient(6 + k, at.damping[k], from_rest), at.power[k])
            drive = share * signal[k] if with_input else 0.0
            forces.append(-stiffness * counted - friction + drive)
            dissipation += friction * rate[k]
            supply += drive * rate[k]
            if formulas[k] is None:
                energy += at.stiffness[k] * half_square
                continue

            def along(s: Any, k: int = k) -> Any:
                return coefficient(k, 0.0, [s if j == k else x[j] for j in range(6)])

            stored = spring_energy(along, 0.0, x[k], at.direction[k], 0.0)
            held, slope = ca.substitute([stored, ca.gradient(stored, x)], [x], [ca.SX(ca.vertcat(*from_rest))])
            energy += held
            supply += ca.dot(slope, rate) - stiffness * counted * rate[k]
        return Effect(ca.vertcat(*forces), energy, dissipation, supply)

    name = f"beam_{map}" + ("_driven" if with_input else "") + words(formulas)
    return relative_force(
        name, constants=fields.size, signals=6 if with_input else 0,
        deformation=lambda p, turn, c: beam_deformation(p, turn, map), law=law,
    )  # fmt: skip


Link: TypeAlias = Annotated[Axial | Beam, ByType("link")]
