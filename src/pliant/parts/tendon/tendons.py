"""Tendons with a given tension, and elastic tendons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
from pydantic import model_validator

from pliant.language.base import Problem, fault, positive
from pliant.language.scalar import (
    AS_AT_START,
    Force,
    ForceSignal,
    Length,
    LengthSignal,
    Number,
    Repeated,
    RestLength,
    Scalar,
    Speed,
    Stiffness,
)
from pliant.parts.formula.base import Effect, one_sided, power_law
from pliant.parts.formula.route import RouteForce
from pliant.parts.joint.coordinate import LengthDamper
from pliant.parts.motion.base import Fields
from pliant.parts.tendon.routing import Stretch, Through

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

TENSION_KEYS = ("tension",)
LENGTH_KEYS = ("stiffness", "axial_stiffness", "rest", "shortening", "damper", "smoothing")
FORMED = 4.0
"""Ratio of sliding speed to slip speed at which friction counts as fully developed: tanh(4) is 0.9993."""


class TendonBase(Repeated):
    """Common part of the tendons: a line that is straight between its points and slides through them, with friction or without.

    Its ends are fixed to its first and last points. Drives act along the line, like a winch at the first point.

    With `friction` the tension falls over every point between the ends, in the direction in which the line slides there, by the
    factor `exp(-friction * turn)`, where `turn` is the angle between the spans before and after it [rad] (the capstan equation). A
    given tension is that at the first point; the law of an elastic tendon gives the mean along the line.
    """

    through: tuple[Through, ...]
    """The points it passes, in order, two or more: frames (`hand`, `{frame: hand, position: [0, 0, 1 cm]}`) and
    stretches along rods (`{rod: arm, offset: [8 mm, 0]}`)."""
    friction: Number = 0
    """Coefficient of friction at every point between its ends [-]."""
    slip_speed: Speed = "1 mm/s"
    """Sliding speed at which friction has reached 76 % of its full value [m/s]; it is proportional to
    `tanh(speed/slip_speed)`. There is no sticking: a line at rest creeps at less than this speed."""
    at_rest: Literal["none", "pulled", "released"] = "none"
    """Friction at rest, which may have any value up to the full one: none, that of a line that was just pulled in at
    the first point, or that of one that was released. Used in equilibria and linear systems. In motions the line
    counts as pulled (released) until it slides the other way at four times the slip speed."""
    description: str = ""
    """Description for readers."""

    @model_validator(mode="before")
    @classmethod
    def _one_drive(cls, data: Any) -> Any:
        given = [key for key in (*TENSION_KEYS, *LENGTH_KEYS) if isinstance(data, dict) and key in data]
        if any(key in TENSION_KEYS for key in given) and any(key in LENGTH_KEYS for key in given):
            message = f"a tendon has either a given tension or a given length, but {given[0]} and {given[1]} are given"
            hint = "keep `tension` (type tension), or length and stiffness (type elastic)"
            raise fault("two_drives", message, hint=hint, key=given[1])
        return data

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Two points or more, none twice in a row; friction that is not negative and has points to act on."""
        if sum(item.count() for item in self.through) < 2:
            yield ("through",), "a tendon needs two points or more", "add the frame or the rod that it runs to"
        for index, (first, second) in enumerate(pairwise(self.through), start=1):
            if first == second:
                yield ("through", index), "the tendon passes the same point twice in a row", "remove one of them"
        if value(self.friction) < 0:
            yield ("friction",), f"friction must not be negative, but it is {value(self.friction):g}", ""
        yield from positive(self, value, "slip_speed")
        if self.at_rest != "none" and not self.has_friction:
            yield ("at_rest",), "a line without friction has none at rest", "give `friction`, or remove `at_rest`"
        if self.has_friction and sum(item.count() for item in self.through) == 2:
            message = "a line with two points has no point with friction between them"
            yield ("friction",), message, "remove `friction`, or route the line through more points"

    @property
    def has_friction(self) -> bool:
        """Whether there is friction at the points between its ends."""
        return self.friction != 0

    def reserve(self, build: Build) -> None:
        """Request the frames of eyelets from rods; to be called before the rods are added to the system."""
        for item in self.through:
            if isinstance(item, Stretch):
                item.reserve(build)

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """Points that the line passes: nodes, and positions in their frames [m]."""
        return [point for item in self.through for point in item.passes(build)]

    def add(
        self, build: Build, name: str, kind: RouteForce, constants: Sequence[Any], signals: Sequence[Scalar]
    ) -> None:
        """Add the line to the system with the force law `kind`."""
        friction: list[Any] = []
        if self.has_friction:
            slip = build.value(self.slip_speed)
            shift = {"none": 0.0, "pulled": FORMED, "released": -FORMED}[self.at_rest]
            friction = [build.value(self.friction), slip, shift * slip]
        build.route(kind, self.passes(build), constants, signals, name, friction)

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""


class TensionTendon(TendonBase):
    """A line under a given tension, as from a motor under force control. Its length follows from the motion."""

    type: Literal["tension"] = "tension"
    tension: ForceSignal
    """Tension, which may vary in time [N]. A line cannot push: while the value is negative the line is slack, which
    results report as a warning. It must not be negative at the start."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0.2 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: pcs, elements: 5}}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: =pull}
outputs:
  shortened: {tendon: flexor, quantity: length}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Points as for all tendons; no tension below zero."""
        yield from super().problems(value)
        if value(self.tension) < 0:
            message = f"the tension cannot be negative, but it is {value(self.tension):g} N: a line cannot push"
            yield ("tension",), message, "use a tendon on the other side instead"

    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""
        self.add(build, name, GIVEN_TENSION, [], [self.tension])


def _law(length: Any, rate: Any, c: Any, signal: Any, signal_rate: Any) -> Effect:
    # at zero the derivative is that of a pulling line: controllers need it for a line without tension
    tension = ca.if_else(signal[0] >= 0, signal[0], 0.0)
    return Effect(force=tension, supply=-tension * rate)


GIVEN_TENSION = RouteForce("tension", constants=0, signals=1, coupled=False, law=_law)


class ElasticTendon(TendonBase):
    """An elastic line, as on a winch under position control: it pulls while stretched and is slack otherwise.

    With elongation `e = length - rest + shortening`, the tension is `stiffness e` plus the force of the damper; it is zero
    while e is negative, and never negative.
    """

    type: Literal["elastic"] = "elastic"
    stiffness: Stiffness | None = None
    """Tension per elongation of the entire line [N/m]."""
    axial_stiffness: Force | None = None
    """Instead of `stiffness`: Young's modulus times area of the line [N]; its stiffness is that divided by `rest`,
    independent of the length wound in."""
    rest: RestLength = AS_AT_START
    """Length without tension while nothing is wound in [m], or `as at start`: its length in the initial pose."""
    shortening: LengthSignal = 0
    """Length wound in, which may vary in time [m]; negative if let out."""
    damper: LengthDamper | None = None
    """Damper on the rate of the elongation: a coefficient [N s/m], or a mapping."""
    smoothing: Length = 0
    """Range of elongation over which the tension fades in [m]; 0 switches sharply. With a width w, force and tangent are
    continuous, and at elongation 0 the tension is `stiffness w/4`."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  wound: {value: 5 mm, input: true}
bodies:
  finger: {mass: 20 g, center_of_mass: [3 cm, 0, 0], frames: {tip: {position: [6 cm, 0, 0]}}}
  hand: {mass: 50 g}
joints:
  knuckle: {type: revolute, parent: hand, child: finger, axis: y, angle: {spring: 0.05 N*m/rad, damper: 1e-3}}
  wrist: {type: revolute, child: hand, axis: y, angle: {spring: 0.2 N*m/rad, damper: 1e-3}}
tendons:
  flexor:
    type: elastic
    through: [{frame: world, position: [-2 cm, 0, 1 cm]}, {frame: hand, position: [0, 0, 1 cm]}, finger.tip]
    stiffness: 2 kN/m
    shortening: =wound
    damper: 1 N*s/m
    smoothing: 0.1 mm
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Points as for all tendons; one stiffness, above zero."""
        yield from super().problems(value)
        yield from positive(self, value, "stiffness", "axial_stiffness")
        if (self.stiffness is None) == (self.axial_stiffness is None):
            hint = "give one of `stiffness` and `axial_stiffness`"
            if self.stiffness is None:
                yield (), "the stiffness of the tendon is unknown", hint
            else:
                yield ("axial_stiffness",), "the stiffness is given twice", hint
        if self.rest != AS_AT_START:
            yield from positive(self, value, "rest")
        if value(self.smoothing) < 0:
            yield ("smoothing",), f"smoothing cannot be negative, but it is {value(self.smoothing):g}", ""

    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""
        rest = build.initial_length(self.passes(build)) if self.rest == AS_AT_START else build.value(self.rest)
        if self.stiffness is not None:
            stiffness = build.value(self.stiffness)
        else:
            assert self.axial_stiffness is not None, "checked when the model was read"
            stiffness = build.value(self.axial_stiffness) / rest
        damping, power = (self.damper.coefficient, self.damper.power) if self.damper else (0, 1)
        constants = CONSTANTS.write(
            stiffness=stiffness,
            rest=rest,
            damping=build.value(damping),
            power=build.value(power),
            smoothing=build.value(self.smoothing),
        )
        wound = self.shortening != 0
        self.add(build, name, elastic_line(wound=wound), constants, [self.shortening] if wound else [])


CONSTANTS = Fields("stiffness", "rest", "damping", "power", "smoothing")
"""Stiffness, rest length, damping coefficient, damping power, smoothing width."""


@cache
def elastic_line(*, wound: bool) -> RouteForce:
    """Law of an elastic line; if `wound`, its signal is the length wound in."""

    def law(length: Any, rate: Any, c: Any, signal: Any, signal_rate: Any) -> Effect:
        wound_in, winding = (signal[0], signal_rate[0]) if wound else (0.0, 0.0)
        elongation_rate = rate + winding
        at = CONSTANTS.read(c)
        counted, half_square, share = one_sided(length + wound_in, at.rest, 1, at.smoothing)
        elastic = at.stiffness * counted
        # the damper would push if a stretched line shortened fast: the line goes slack instead
        tension = ca.fmax(elastic + share * power_law(elongation_rate, at.damping, at.power), 0.0)
        return Effect(
            force=tension,
            energy=at.stiffness * half_square,
            dissipation=(tension - elastic) * elongation_rate,
            supply=tension * winding,
        )

    return RouteForce("elastic_wound" if wound else "elastic", CONSTANTS.size, int(wound), coupled=True, law=law)
