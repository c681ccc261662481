"""Attaching another model under a name prefix."""

from typing import ClassVar

from pydantic import Field

from pliant.language.names import FrameName, Name, ParameterName
from pliant.language.placement import Placement
from pliant.language.scalar import AnySignal, Repeated


class Attach(Placement, Repeated):
    """Another model attached to a frame of this one.

    The other model's world becomes the placed frame, and its names are prefixed with this entry's name and a slash:
    `left/hinge`. Its gravity and analyses, and its outputs of the entire robot such as energies, are not used.
    """

    model: str
    """The name of a model under `models` or of a bundled robot, or the relative path of a file (a model file, URDF or MJCF) in the
    folder of this one or below."""
    to: FrameName = "world"
    """Frame that the other model's world is attached to."""
    parameters: dict[ParameterName, AnySignal] = Field(default_factory=dict)
    """Values for the other model's parameters, in terms of this model's."""
    variant: Name | None = None
    """Variant of the other model."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  length: 40 cm
attach:
  left: {model: pendulum, position: [-1 m, 0, 0], parameters: {length: =length}}
  right: {model: pendulum, position: [1 m, 0, 0], parameters: {length: =2*length}}
links:
  spring: {type: axial, between: [left/rod.tip, right/rod.tip], spring: 50 N/m}
"""
