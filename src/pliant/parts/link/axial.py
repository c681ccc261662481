"""Base of all links: the two frames they connect."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem, not_negative
from pliant.language.dimension import LENGTH, NUMBER, Dimension
from pliant.language.evaluate import StateFormula, sizes, words
from pliant.language.placement import Attachment
from pliant.language.scalar import (
    AS_AT_START,
    ForceSignal,
    Length,
    Number,
    Repeated,
    RestLength,
    Scalar,
    StateStiffness,
)
from pliant.parts.formula.base import Effect, FrameForce, one_sided, power_law, spring_energy
from pliant.parts.formula.relative import POINTS, force_between_points
from pliant.parts.joint.coordinate import LengthDamper, Spring
from pliant.parts.motion.base import Fields

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


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

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The smoothing width is not negative."""
        yield from not_negative(self, value, "smoothing")

    def state_names(self) -> Mapping[str, Dimension]:
        """Names that coefficients may use: length, stretch and strain."""
        return {"length": LENGTH, "stretch": LENGTH, "strain": NUMBER}

    def deformation(self, poses: Any, constants: Any) -> Any:
        """Length of the link [m]."""
        return axial_length(poses, constants)

    def apply(self, build: Build, name: str) -> None:
        """Add the link's force to the system."""
        ends = [build.attachment(end) for end in self.between]
        spring = self.spring or AxialSpring(coefficient=0)
        length = build.initial_length([(node, placement[1]) for node, placement in ends])
        rest = build.value(spring.compression) * (length if spring.rest == AS_AT_START else build.value(spring.rest))
        given, power = (self.damper.coefficient, self.damper.power) if self.damper else (0, 1)
        start = _state(length, rest)
        stiffness = build.coefficient(spring.coefficient, start, f"links.{name}.spring")
        damping = build.coefficient(given, start, f"links.{name}.damper")
        constants = AXIAL.write(
            first=build.entries(ends[0][1][1]),
            second=build.entries(ends[1][1][1]),
            stiffness=stiffness.plain,
            rest=rest,
            damping=damping.plain,
            power=build.value(power),
            direction={"both": 0, "tension": 1, "compression": -1}[self.direction],
            smoothing=build.value(self.smoothing),
        )
        with_input = self.input != 0
        build.link_forces[name] = build.frame_force(
            axial_force(stiffness.formula, damping.formula, with_input=with_input),
            [node for node, _ in ends],
            [*constants, *stiffness.numbers, *damping.numbers],
            [self.input] if with_input else [],
            name,
        )


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
