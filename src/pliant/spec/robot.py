"""The whole of a model: what a file says, as an immutable object."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pliant.constraint import Constraint
from pliant.joint import Joint
from pliant.link import Link
from pliant.load import Load
from pliant.spec.analyses import Analysis
from pliant.spec.attach import Attach
from pliant.spec.base import Part
from pliant.spec.body import Body
from pliant.spec.inputs import Input
from pliant.spec.library import Material, Section
from pliant.spec.names import Name
from pliant.spec.outputs import Output
from pliant.spec.parameter import Parameter, World


class RobotSpec(Part):
    """A robot: the same keys, names and defaults as in a model file."""

    pliant: Literal[1] = 1
    """Version of the language."""
    name: str = ""
    """Name of the robot; otherwise that of the file."""
    description: str = ""
    """What it is, in a line or more."""
    include: tuple[str, ...] = ()
    """Files whose content is read first; this file then adds to it and has the last word."""
    world: World = World()
    """What surrounds the robot: gravity."""
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    """Named values for use in expressions."""
    materials: dict[Name, Material] = Field(default_factory=dict)
    """Materials by name."""
    sections: dict[Name, Section] = Field(default_factory=dict)
    """Cross-sections by name."""
    defaults: dict[str, Any] = Field(default_factory=dict)
    """Values for all bodies, joints, ... that do not say otherwise."""
    attach: dict[Name, Attach] = Field(default_factory=dict)
    """Other models placed on frames of this one, by prefix."""
    bodies: dict[Name, Body] = Field(default_factory=dict)
    """Rigid bodies by name."""
    joints: dict[Name, Joint] = Field(default_factory=dict)
    """Joints by name; every body is the child of exactly one."""
    links: dict[Name, Link] = Field(default_factory=dict)
    """Force elements between two frames, by name."""
    constraints: dict[Name, Constraint] = Field(default_factory=dict)
    """Constraints between two frames, by name; they close loops."""
    loads: dict[Name, Load] = Field(default_factory=dict)
    """External forces and moments by name."""
    inputs: dict[Name, Input] = Field(default_factory=dict)
    """How input parameters vary in time, by parameter."""
    outputs: dict[Name, Output] = Field(default_factory=dict)
    """Named quantities to record."""
    analyses: tuple[Analysis, ...] = ()
    """What `pliant run` does with the model, in order."""
    variants: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    """Changes to the model by name, chosen with MODEL@variant."""
