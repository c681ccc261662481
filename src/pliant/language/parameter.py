"""The world and the named parameters of a model."""

from __future__ import annotations

from typing import ClassVar

from pydantic import StrictBool

from pliant.language.base import Part
from pliant.language.repeated import Repeated
from pliant.language.scalar import AccelerationVector, Value


class World(Part):
    """The environment of the robot."""

    gravity: AccelerationVector = (0, 0, -9.81)
    """Acceleration of free fall, in world axes [m/s^2]."""

    example: ClassVar[str] = """\
pliant: 1
world: {gravity: [0, -9.81 m/s^2, 0]}   # y points up
bodies:
  stone: {mass: 1 kg}
joints:
  fall: {type: free, child: stone}
"""


class Parameter(Repeated):
    """A named value, used in expressions such as `=length/2`. A bare value is short for `{value: ...}`.

    Its dimension is that of its value: with `length: 30 cm`, a mass of `=length` is a fault.
    """

    short_form: ClassVar[str | None] = "value"

    value: Value
    """A number (SI), a number with a unit, or an expression of other parameters."""
    input: StrictBool = False
    """True if the value varies in time; it can then be used only where a value may vary."""
    minimum: Value | None = None
    """Smallest allowed value. Controllers saturate at the limits of inputs; inputs that are given, or commanded by a
    controller of the user, are applied beyond them with a warning in the results."""
    maximum: Value | None = None
    """Largest allowed value."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  length: 30 cm
  mass: {value: 0.2 kg, minimum: 0 kg, description: mass of the whole rod}
  half: =length/2
  torque: {value: 0 N*m, input: true}
bodies:
  rod: {mass: =mass, center_of_mass: [=half, 0, 0], shape: {type: slender_rod, length: =length}}
joints:
  hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque}}
inputs:
  torque: =0.1 N*m * sin(2*pi*t/1 s)
"""
