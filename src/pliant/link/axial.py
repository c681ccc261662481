"""Axial link: a spring, damper or actuator along the line between two points."""

from __future__ import annotations

from typing import ClassVar, Literal

from pliant.link.base import LinkBase
from pliant.spec.base import Part
from pliant.spec.coordinate import LengthDamper
from pliant.spec.scalar import AS_AT_START, ForceSignal, Length, Number, RestLength, Stiffness


class AxialSpring(Part):
    """Spring of an axial link: pulls its ends together with `coefficient (length - compression * rest)`."""

    short_form: ClassVar[str | None] = "coefficient"

    coefficient: Stiffness
    """Stiffness [N/m]."""
    rest: RestLength = AS_AT_START
    """Length at which the spring is free of force [m], or `as at start`: its length in the initial pose."""
    compression: Number = 1
    """Factor on the rest length, above 0 up to 1; below 1 the spring is pretensioned [-]."""


class Axial(LinkBase):
    """A spring, damper and force along the line between two points; a rope or a soft contact if one-sided."""

    type: Literal["axial"] = "axial"
    spring: AxialSpring | None = None
    """Spring: a stiffness [N/m], or a mapping. The rest length is that of the initial pose unless given."""
    damper: LengthDamper | None = None
    """Damper on the rate of the length: a coefficient [N s/m], or a mapping."""
    input: ForceSignal = 0
    """Force that pulls the two ends together, which may vary in time [N]."""
    direction: Literal["both", "tension", "compression"] = "both"
    """Where it acts: always, only while longer than the rest length, or only while shorter."""
    smoothing: Length = 0
    """Width of length over which a one-sided link fades in [m]; 0 switches sharply."""

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
