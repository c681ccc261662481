"""Base of all outputs: unit, and value in a state.

An output is a CasADi expression of the state, so it has exact derivatives. Three quantities are computed by the runtime
and enter as numbers: the wrenches carried by nodes, the energies of the entire robot, and sums over contacts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import casadi as ca

from pliant.language.base import Problem
from pliant.language.dimension import NUMBER, Dimension
from pliant.language.evaluate import UNKNOWN, OpenDimension, dimension_of, evaluate
from pliant.language.faults import ExpressionError
from pliant.language.parameter import TIME, parameter_dimensions
from pliant.language.scalar import Formula, Repeated
from pliant.language.syntax import Symbol, parse, symbols, to_text
from pliant.language.units import parse_unit
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import PartsByName, SectionState, StrainSample
from pliant.parts.assembly.system import CoordinateForceInstance, FrameForceInstance

if TYPE_CHECKING:
    from pliant.engine.model.model import Model


@dataclass(frozen=True)
class FrameSymbols:
    """A frame's rotation and position in the world, and its twist and acceleration in world axes at the world's origin."""

    rotation: Any
    position: Any
    twist: Any
    acceleration: Any


CONTACT_SUMS = {
    "force": (0, 3), "friction_force": (3, 3), "place": (6, 3), "normal_force": (9, 1), "gap": (10, 1),
    "sliding_speed": (11, 1), "count": (12, 1), "energy": (13, 1),
}  # fmt: skip
"""Index and size of each sum over contacts: `PL_SUM_...` in `runtime/contact.h`."""


class ContactQuery(NamedTuple):
    """Request of an output for contacts: the contact of the model, two of its parts (None for all), and whether it
    needs the gap, which takes a separate search."""

    contact: str
    of: tuple[str, ...] = ()
    gap: bool = False


class Symbols(Protocol):
    """A state of the robot in symbols; `engine/outputs.py` provides it."""

    model: Model
    q: Any
    v: Any
    a: Any
    multipliers: Any
    energies: Any
    """Kinetic, potential and dissipated energy of the robot [J]."""
    prepared: Any
    """The output's data from the built model (`OutputBase.prepare`)."""

    def frame(self, name: str) -> FrameSymbols:
        """The motion of a frame."""

    def poses(self, nodes: Iterable[int]) -> list[Any]:
        """Poses of nodes."""

    def twists(self, nodes: Iterable[int]) -> Any:
        """Twists of nodes, stacked."""

    def constants(self, force: FrameForceInstance) -> Any:
        """The constants of a force."""

    def wrench(self, force: FrameForceInstance) -> Any:
        """Wrenches of a force on its nodes, stacked."""

    def carried(self, node: int) -> Any:
        """The wrench exerted on a node by its base, in world axes about the world's origin."""

    def contact(self, question: ContactQuery, quantity: str) -> Any:
        """A sum over contacts: one of `CONTACT_SUMS`."""

    def constraint_wrench(self, constraint: str) -> tuple[Any, Any, Any]:
        """The wrench of a constraint on its second frame in world axes about the world's origin, that frame's position and the
        axes of the constraint."""

    def numbers(self, at: int, count: int) -> Any:
        """Constants of the model by index."""

    def signal(self, index: int) -> Any:
        """A signal by index."""

    def output(self, name: str) -> Any:
        """The value of another output."""

    def section(self, sample: StrainSample) -> SectionState:
        """A section of a rod where its model provides strains."""

    def part_energies(self, collection: str, name: str) -> tuple[Any, Any, Any]:
        """Kinetic, gravity and elastic energy of a part that was tracked [J]."""

    def coordinate_force(self, force: CoordinateForceInstance, q: Any, v: Any) -> Any:
        """A force on coordinates."""

    def line(self, tendon: str) -> tuple[Any, Any, Any, Any]:
        """Length [m], its rate [m/s] and the tensions at its first and its last point [N] of a routed line."""

    def arc(self, rod: str, section: int) -> tuple[Any, Any]:
        """Bending (2) [rad] and length [m] of an arc of a rod, counted from 1."""


class OutputBase(Repeated):
    """A named quantity. Final classes add their distinguishing key as their first field."""

    @property
    def is_of_whole_robot(self) -> bool:
        """Whether it is defined for the entire robot only, not for one of several attached models."""
        return False

    @abstractmethod
    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        """SI unit; empty if its components differ in unit, or if the unit is unknown.

        `coordinates`: units of the coordinates by name, as far as they are known.
        """

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        """Requested quantities that the robot lacks; missing names are reported elsewhere."""
        yield from ()

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        """Names of the components of a vector; empty for a number."""
        return ()

    def reserve(self, build: Build) -> None:
        """Request what the output needs from the build; called before any part is added."""

    def prepare(self, build: Build) -> Any:
        """Data of the built robot that the output needs, available as `Symbols.prepared`."""
        return None

    @property
    def is_of_positions_and_velocities(self) -> bool:
        """Whether it is a smooth function of positions, velocities and parameters, and so has derivatives along a motion."""
        return False

    def nodes(self, model: Model) -> set[int]:
        """The nodes whose motion it needs."""
        return set()

    def carrying(self, model: Model) -> set[int]:
        """The nodes whose carried wrench it needs."""
        return set()

    def touching(self, model: Model) -> set[ContactQuery]:
        """The contacts that it needs."""
        return set()

    def arc_lengths(self, prepared: Any, constants: Any) -> Any:
        """Arc lengths [m] of its components if it is a profile along a rod, otherwise None."""
        return None

    @abstractmethod
    def value(self, at: Symbols) -> Any:
        """The value in a state: a symbol, or a vector of them."""


def component(vector: Any, name: str | None, axes: str = "xyz") -> Any:
    """One component of a vector, its length (`norm`), or the vector itself if the name is None."""
    if name is None:
        return vector
    return ca.norm_2(vector) if name == "norm" else vector[axes.index(name)]


class ExpressionOutput(OutputBase):
    """A number computed from other outputs, parameters and the time: `{expression: =0.5*(left - right)/width}`.

    A component of a vector is written `pull.x`, its length `pull.norm`; an output of an attached model is written in backticks,
    `` `leg1/pull.x` ``.
    """

    expression: Formula
    """The expression, beginning with =; units are checked as in all expressions."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        try:
            found = self.result_dimension(robot, coordinates, ())
        except ExpressionError:
            return ""
        if not isinstance(found, Dimension):
            return ""
        unit = "-" if found.is_number else found.unit.replace("*", " ")
        try:
            return unit if found.is_number or parse_unit(unit).dimension == found else ""
        except ExpressionError:  # noninteger powers
            return ""

    def result_dimension(
        self, robot: PartsByName, coordinates: Mapping[str, str], above: tuple[str, ...]
    ) -> Dimension | OpenDimension:
        """Its dimension; `above` are outputs being evaluated. Raises ExpressionError if units do not match."""
        node = parse(self.expression)
        known = {**parameter_dimensions(robot.parameters)[0], TIME: parse_unit("s").dimension}
        for name in symbols(node):
            output = name.partition(".")[0]
            if output in robot.outputs:
                known[name] = _dimension(robot, coordinates, output, above)
        return dimension_of(node, known)

    def used(self, robot: PartsByName) -> dict[str, tuple[str, str]]:
        """The other outputs that it uses: name and component (empty for the output itself) by symbol."""
        parts = {name: name.partition(".") for name in symbols(parse(self.expression))}
        return {name: (output, part) for name, (output, _, part) in parts.items() if output in robot.outputs}

    def prepare(self, build: Build) -> Any:
        places: dict[str, tuple[bool, int]] = {}
        used = self.used(build.robot)
        for name in sorted(symbols(parse(self.expression)) - used.keys() - {"pi", "e"}):
            value = to_text(Symbol(name))
            varies = build.environment.uses(value) & {TIME, *build.environment.inputs}
            places[name] = (
                (True, build.add_signals([value])) if varies else (False, build.system.constants([build.value(value)]))
            )
        return places

    def value(self, at: Symbols) -> Any:
        values = {
            name: at.signal(index) if varies else at.numbers(index, 1) for name, (varies, index) in at.prepared.items()
        }
        robot = at.model.spec
        for name, (output, part) in self.used(robot).items():
            given, labels = at.output(output), robot.outputs[output].components(robot)
            values[name] = (
                given if not part else component(given, part) if part == "norm" else given[labels.index(part)]
            )
        return evaluate(parse(self.expression), values)


def _dimension(
    robot: PartsByName, coordinates: Mapping[str, str], name: str, above: tuple[str, ...]
) -> Dimension | OpenDimension:
    """Dimension of an output; unknown within a circular reference, which is reported separately."""
    output = robot.outputs[name]
    if isinstance(output, ExpressionOutput):
        return UNKNOWN if name in above else output.result_dimension(robot, coordinates, (*above, name))
    unit = output.unit(robot, coordinates)
    return UNKNOWN if not unit else NUMBER if unit == "-" else parse_unit(unit).dimension
