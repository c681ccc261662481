"""The contents of a model: all keys of a model file."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, PrivateAttr, StrictBool

from pliant.language.arguments import ArgumentError
from pliant.language.base import OneOrList, Part
from pliant.language.faults import Fault
from pliant.language.message_text import describe
from pliant.language.names import InputKey, Name, SymbolName
from pliant.language.parameter import Parameter
from pliant.language.source import Source
from pliant.parts.body import Body
from pliant.parts.constraint import Constraint
from pliant.parts.contact import Contact
from pliant.parts.field_load import Load
from pliant.parts.input import Input
from pliant.parts.joint import Joint
from pliant.parts.link import Link
from pliant.parts.magnet import Magnet
from pliant.parts.mesh import Mesh
from pliant.parts.output import Output
from pliant.parts.rod.rod import Rod
from pliant.parts.section import Section
from pliant.parts.section.material import Material
from pliant.parts.surface import Surface
from pliant.parts.tendon import Tendon
from pliant.parts.world import World
from pliant.robot.analyses import ListedAnalysis
from pliant.robot.attach import Attach
from pliant.robot.controllers import Control
from pliant.robot.learning_task import LearningTask


class RobotFields(Part):
    """The keys of a model file with their defaults. Checks and flattening work on these; `RobotSpec` reads and checks them."""

    pliant: Literal[1] = 1
    """Version of the language; a model file has to state it."""
    flat: StrictBool = False
    """Whether the model is flat, as in results and reports: nothing is repeated or attached, and names such as `link[2]` and
    `left/bar` are allowed."""
    name: str = ""
    """Name of the robot; default: that of the file."""
    description: str = ""
    """Description, in one or more lines."""
    include: Annotated[tuple[str, ...], OneOrList()] = ()
    """Files to read first; this file adds to their content and takes precedence."""
    world: World = World()
    """The environment of the robot: gravity, and the fluid around it."""
    parameters: dict[SymbolName, Parameter] = Field(default_factory=dict)
    """Named values for use in expressions."""
    materials: dict[Name, Material] = Field(default_factory=dict)
    """Materials by name."""
    sections: dict[Name, Section] = Field(default_factory=dict)
    """Cross-sections by name."""
    defaults: dict[str, Any] = Field(default_factory=dict)
    """Default values for all bodies, joints, ..."""
    models: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    """Models to attach by name, written here instead of in separate files."""
    attach: dict[Name, Attach] = Field(default_factory=dict)
    """Other models attached to frames of this one, by prefix."""
    bodies: dict[Name, Body] = Field(default_factory=dict)
    """Rigid bodies by name."""
    joints: dict[Name, Joint] = Field(default_factory=dict)
    """Joints by name; every body is the child of exactly one."""
    rods: dict[Name, Rod] = Field(default_factory=dict)
    """Soft slender parts by name, each in one of several models."""
    meshes: dict[Name, Mesh] = Field(default_factory=dict)
    """Nets, fabrics and blocks by name: nodes and edges from a drawing."""
    links: dict[Name, Link] = Field(default_factory=dict)
    """Force elements between two frames, by name."""
    tendons: dict[Name, Tendon] = Field(default_factory=dict)
    """Lines routed through points of bodies and along rods, by name, that pull with a tension."""
    surfaces: dict[Name, Surface] = Field(default_factory=dict)
    """Surfaces in addition to those of bodies, rods and meshes, by name."""
    contacts: dict[Name, Contact] = Field(default_factory=dict)
    """Parts that can touch, with their contact law, by name."""
    constraints: dict[Name, Constraint] = Field(default_factory=dict)
    """Constraints between two frames, by name; they close loops."""
    loads: dict[Name, Load] = Field(default_factory=dict)
    """External forces and moments by name."""
    magnets: dict[Name, Magnet] = Field(default_factory=dict)
    """Magnetic fields, coils and magnets by name, which act on each other."""
    inputs: dict[InputKey, Input] = Field(default_factory=dict)
    """Signals of input parameters over time, by parameter; `pull` drives all instances of a repeated one, `pull[2]` one of them."""
    outputs: dict[SymbolName, Output] = Field(default_factory=dict)
    """Named quantities to record."""
    start: Literal["initial", "equilibrium"] = "initial"
    """Start of motions: the initial values, or the equilibrium found from them."""
    control: dict[Name, Control] = Field(default_factory=dict)
    """Controllers by name, which simulations run at their sample times."""
    task: dict[Name, LearningTask] = Field(default_factory=dict)
    """Tasks for learning by name, which `pliant.gym.make` turns into environments."""
    analyses: tuple[ListedAnalysis, ...] = ()
    """Analyses that `pliant run` performs, in order."""
    variants: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    """Changes to the model by name, selected with MODEL@variant."""

    _source: Source = PrivateAttr(default=Source())
    _remarks: tuple[Fault, ...] = PrivateAttr(default=())

    @property
    def source(self) -> Source:
        """Source of the model: its text, file and folder. It does not count in comparisons."""
        return self._source

    @property
    def remarks(self) -> tuple[Fault, ...]:
        """Remarks on allowed but probably unintended values: implausible numbers, unused parameters, joints that move no
        mass."""
        return self._remarks

    @property
    def title(self) -> str:
        """The name of the robot, or that of its file."""
        return self.name or (FilePath(self._source.file).stem if self._source.file else "robot")

    @classmethod
    def from_source(cls, source: Source, *, whole: bool = True) -> Self:
        """The model of a source. whole: whether to check its meaning; only the structure of attached models is checked."""
        return cls.model_validate(source.tree, context=(source, whole))

    def with_source(self, source: Source) -> Self:
        """The same model with another `source`."""
        copy = self.model_copy()
        copy._source = source
        return copy

    def replace(self, **changes: Any) -> Self:
        """The model with other values of some keys; the result is checked. Raises SpecError with all faults."""
        data = {name: getattr(self, name) for name in self.model_fields_set} | changes
        source = Source(folder=self._source.folder, roots=self._source.roots, flat=self.flat)
        return type(self).model_validate(data, context=(source, True))


Robot = TypeVar("Robot", bound=RobotFields)


def need_spec(value: Any) -> None:
    """Reject what is not the spec of a robot, such as the name of a model."""
    if not isinstance(value, RobotFields):
        hint = "write pliant.load(...) first"
        raise ArgumentError(f"a robot loaded by pliant.load is needed, not {describe(value)}", hint)
