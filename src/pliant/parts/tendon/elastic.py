"""An elastic tendon of given length, which may be wound in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem, positive
from pliant.language.scalar import AS_AT_START, Force, Length, LengthSignal, RestLength, Scalar, Stiffness
from pliant.parts.formula.base import Effect, one_sided, power_law
from pliant.parts.formula.route import RouteForce
from pliant.parts.joint.coordinate import LengthDamper
from pliant.parts.motion.fields import Fields
from pliant.parts.tendon.base import TendonBase

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


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
