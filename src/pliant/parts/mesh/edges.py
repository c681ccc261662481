"""Values for some edges of a mesh that differ from those of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pliant.language import dimension as dim
from pliant.language.base import Part, Problem, positive
from pliant.language.message_text import KeyPath
from pliant.language.names import MaterialName, SectionName
from pliant.language.scalar import ForceSignal, Length, Number, Quantity, Scalar, Time
from pliant.parts.rod import RodModel

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

Viscosity = Annotated[Scalar, Quantity(dim.FORCE * dim.TIME)]


class EdgesBase(Part):
    """Values for the edges of a set of nodes; those not given are taken from `all`, or from the mesh."""

    section: SectionName | None = None
    """Cross-section, instead of the mesh's, by name."""
    material: MaterialName | None = None
    """Material, instead of the mesh's, by name."""
    damping_time: Time | None = None
    """Stiffness-proportional damping, instead of the mesh's [s]."""
    viscosity: Viscosity | None = None
    """Damping along the edge, in addition to `damping_time`: force per rate of strain [N s]; with a power p, N s^p."""
    damping_power: Number | None = None
    """Power of the rate of strain in the force of `viscosity`, 1 by default [-]. With another power, `viscosity`
    replaces `damping_time` along the edge."""
    input: ForceSignal | None = None
    """Force that pulls the ends of every edge together, which may vary in time [N]."""
    rest: Length | None = None
    """Length of every edge without tension [m]."""
    tightness: Number | None = None
    """Alternatively, that length relative to the one in the drawing [-]; below 1 the edges are stretched at the start."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Values within their ranges, and one of `rest` and `tightness`."""
        yield from positive(self, value, "rest", "tightness", "damping_power")
        for field in ("damping_time", "viscosity"):
            given = getattr(self, field)
            if given is not None and value(given) < 0:
                yield (field,), f"{field} must not be negative, but it is {value(given):g}", ""
        if self.rest is not None and self.tightness is not None:
            yield ("tightness",), "`rest` and `tightness` are redundant", "keep one of them"

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> dim.Dimension | None:
        """The dimension of the viscosity depends on the power."""
        if path != ("viscosity",) or self.damping_power is None:
            return None
        return dim.FORCE * dim.TIME ** Fraction(value(self.damping_power)).limit_denominator(1000)

    def over(self, others: Self) -> Self:
        """These values, with missing ones from `others`."""
        own = {name: getattr(self, name) for name in self.model_fields_set}
        if "rest" in own or "tightness" in own:
            own = {"rest": None, "tightness": None} | own
        if "stiffness" in type(self).model_fields and ("section" in own or "material" in own):
            own = {"stiffness": None} | own
        return others.model_copy(update=own)

    @property
    def is_driven(self) -> bool:
        """Whether an input acts on the edges."""
        return self.input is not None and self.input != 0

    def rest_length(self, build: Build, length: Any, tightness: Any) -> Any:
        """Length without tension [m] of an edge with this length in the drawing [m]; `tightness`: that of the mesh."""
        if self.rest is not None:
            return build.value(self.rest)
        return (tightness if self.tightness is None else build.value(self.tightness)) * length

    def damping(self, build: Build, length: Any, damping_time: Scalar) -> tuple[Any, Any, Any]:
        """Damping time along the edge [s], coefficient on the rate of its length [N (s/m)^power], and the power.

        length: of the edge without tension [m]; damping_time: that of the mesh [s].
        """
        time = build.value(damping_time if self.damping_time is None else self.damping_time)
        if self.viscosity is None:
            return time, 0.0, 1.0
        power = 1.0 if self.damping_power is None else build.value(self.damping_power)
        replaced = self.damping_power is not None and build.nominal(power) != 1
        return 0.0 if replaced else time, build.value(self.viscosity) / length**power, power


class MembraneEdges(EdgesBase):
    """Values for the edges of a membrane with both ends in a set of nodes."""

    stiffness: Annotated[Scalar, Quantity(dim.FORCE)] | None = None
    """Force per unit of strain, instead of the mesh's or that of its section and material [N]."""

    example: ClassVar[str] = """\
pliant: 1
parameters: {pull: {value: 0.5 N, input: true}}
meshes:
  net:
    type: membrane
    drawing: {rectangle: [1 m, 50 cm], cells: [4, 2]}
    sets: {left: {plane: x}, right: {plane: x, through: [1 m, 0, 0]}, tie: {nodes: [7, 8]}}
    held: {left: world}
    mass: 200 g
    stiffness: 50 N
    edges:
      all: {viscosity: 0.2}
      right: {stiffness: 200 N}
      tie: {input: =pull, tightness: 0.9}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The stiffness must be positive."""
        yield from super().problems(value)
        yield from positive(self, value, "stiffness")


class ShellEdges(EdgesBase):
    """Values for the edges of a shell with both ends in a set of nodes. Edges with six stiffnesses of their own have a section
    that is given by its `stiffness`."""

    model: RodModel | None = None
    """Rod model of every edge instead of a beam: the rod begins at one node, and constraints connect it to the other.
    Its mass is distributed along it."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  strip: {shape: rectangle, width: 2 cm, height: 1 mm}
materials:
  felt: {density: 300 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.3}
meshes:
  frame:
    type: shell
    drawing: {rectangle: [20 cm, 10 cm], cells: [1, 1]}
    sets: {base: {plane: x}}
    held: {base: world}
    section: strip
    material: felt
    edges: {all: {model: {kind: polynomial, order: 2}, viscosity: 0.1}}
"""
