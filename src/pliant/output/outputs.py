"""Outputs: named quantities that an analysis records."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from pliant.language.base import ByKey, Part
from pliant.language.names import ConstraintName, ContactName, CoordinateName, FrameName, LinkName, RodName, TendonName


class FrameOutput(Part):
    """Motion of a frame: `{frame: arm.tip, quantity: position, component: z}`."""

    frame: FrameName
    """The frame."""
    quantity: Literal["position", "velocity", "acceleration", "rotation_vector", "quaternion", "angular_velocity"] = (
        "position"
    )
    """What is recorded [m, m/s, m/s^2, rad, -, rad/s]."""
    component: Literal["w", "x", "y", "z", "norm"] | None = None
    """One component, or `norm` for the length of the vector; otherwise all components."""
    relative_to: FrameName = "world"
    """Frame that the motion is measured against, and in whose axes."""
    description: str = ""
    """What a reader should know about it."""


class CoordinateOutput(Part):
    """Motion of a coordinate: `{coordinate: hinge, quantity: rate}`."""

    coordinate: CoordinateName
    """The coordinate."""
    quantity: Literal["value", "rate", "acceleration", "force"] = "value"
    """What is recorded; `force` is that of its spring, damper and input together."""
    description: str = ""
    """What a reader should know about it."""


class LinkOutput(Part):
    """State of a link: `{link: rope, quantity: force}`."""

    link: LinkName
    """The link."""
    quantity: Literal["length", "rate", "force", "deformation"] = "force"
    """What is recorded: `length` and `rate` of an axial link [m, m/s], `deformation` of a beam, `force`."""
    description: str = ""
    """What a reader should know about it."""


class TendonOutput(Part):
    """State of a tendon: `{tendon: pull, quantity: length}`."""

    tendon: TendonName
    """The tendon."""
    quantity: Literal["length", "rate", "tension"] = "tension"
    """What is recorded: its length, the rate of it, or the tension that acts [m, m/s, N]."""


class RodOutput(Part):
    """Shape of one arc of a rod of circular arcs: `{rod: arm, section: 2, quantity: angle}`."""

    rod: RodName
    """The rod, of a model such as `pcc`."""
    section: Annotated[int, Field(ge=1, strict=True)] = 1
    """Which of its arcs, counted from the base."""
    quantity: Literal["angle", "plane", "radius", "length"] = "angle"
    """What is recorded: the `angle` that the arc turns [rad], the direction it leans to as an angle from the base's x
    axis (`plane`) [rad], the `radius` (infinite for a straight arc) or the `length` along its axis [m]."""
    description: str = ""
    """What a reader should know about it."""


class ContactOutput(Part):
    """Force of a contact: `{contact: ground, component: z}`."""

    contact: ContactName
    """The contact."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component in world axes, or `norm` for the length of the vector; otherwise all, on all points together [N]."""
    description: str = ""
    """What a reader should know about it."""


class ConstraintOutput(Part):
    """Force of a constraint: `{constraint: pin, component: x}`."""

    constraint: ConstraintName
    """The constraint."""
    component: Literal["x", "y", "z", "rx", "ry", "rz"] | None = None
    """One of its components; otherwise all [N or N m]."""
    description: str = ""
    """What a reader should know about it."""


class EnergyOutput(Part):
    """Energy of the whole robot: `{energy: total}`."""

    energy: Literal["kinetic", "potential", "total", "dissipated"]
    """Which energy [J]."""
    description: str = ""
    """What a reader should know about it."""


Output: TypeAlias = Annotated[
    FrameOutput
    | CoordinateOutput
    | LinkOutput
    | TendonOutput
    | RodOutput
    | ContactOutput
    | ConstraintOutput
    | EnergyOutput,
    ByKey("output"),
]


class Outputs(Part):
    """Named quantities that an analysis records."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
joints:
  hinge: {type: revolute, child: arm, axis: y}
links:
  rope: {type: axial, between: [{frame: world, position: [1 m, 0, 1 m]}, arm.tip], spring: 100 N/m}
outputs:
  height: {frame: arm.tip, quantity: position, component: z}
  swing: {coordinate: hinge, quantity: rate}
  pull: {link: rope, quantity: force}
  energy: {energy: total}
"""
