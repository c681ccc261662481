"""Wrench: a force and a moment at a point of a body."""

from __future__ import annotations

from typing import ClassVar, Literal

from pliant.spec.base import Part
from pliant.spec.names import FrameName
from pliant.spec.scalar import Count, ForceSignalVector, LengthVector, TorqueSignalVector


class Wrench(Part):
    """An external force and moment at a frame, in the axes of the world or of any frame."""

    type: Literal["wrench"] = "wrench"
    frame: FrameName
    """Frame that the load acts on, at its origin."""
    position: LengthVector = (0, 0, 0)
    """Offset of the point of application, in the axes of `frame` [m]."""
    force: ForceSignalVector = (0, 0, 0)
    """Force, which may vary in time [N]."""
    moment: TorqueSignalVector = (0, 0, 0)
    """Moment, which may vary in time [N m]."""
    expressed_in: FrameName = "world"
    """Frame whose axes force and moment are given in; a body's frame makes a follower load."""
    count: Count | None = None
    """Number of instances, where the load is repeated; its references may use `i` and `count`."""
    description: str = ""
    """What a reader should know about it."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  thrust: {value: 2 N, input: true}
bodies:
  drone: {mass: 0.5 kg, shape: {type: box, size: [30 cm, 30 cm, 5 cm]}}
joints:
  flight: {type: free, child: drone}
loads:
  rotor: {frame: drone, position: [10 cm, 0, 0], force: [0, 0, =thrust], expressed_in: drone}
  gust: {frame: drone, force: ["=if(t < 1 s, 0.3 N, 0)", 0, 0]}
inputs:
  thrust: {ramp: {start: 0 s, end: 2 s, before: 0 N, after: 5 N}}
"""
