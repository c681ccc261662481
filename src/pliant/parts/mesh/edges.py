"""Values for some edges of a mesh that differ from those of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import casadi as ca

from pliant.language import dimension as dim
from pliant.language.base import Part, Problem, positive
from pliant.language.message_text import KeyPath
from pliant.language.names import MaterialName, SectionName
from pliant.language.scalar import ForceSignal, Length, Number, Quantity, Scalar, Time
from pliant.parts.formula.base import Effect, FrameForce, power_law
from pliant.parts.formula.relative import ENDS, helical_force
from pliant.parts.geometry import so3
from pliant.parts.motion import Fields
from pliant.parts.rod import RodModel
from pliant.parts.section.base import SectionProperties

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


EDGE = ENDS + Fields("length", "stiffness:6", "coupling:2", "time", "damping", "power")
"""Constants of `edge_force`: length without load [m]; stiffness of the six deformations (two [N m/rad], [N/m], three [N m/rad]);
coupling of the first two and of the two bends [N m/rad]; damping time of all but the length [s]; damping of the length
[N (s/m)^power] and its power."""

COLLAPSED = 1e-12
"""Length below which the direction of an edge is undefined, as a fraction of that without load: far below any that occurs."""


@cache
def edge_force(*, with_power: bool, with_input: bool) -> FrameForce:
    """The beam between two nodes. `with_power`: damping of the length by another power than one; `with_input`: a signal, the force
    that pulls the nodes together."""
    name = "edge" + ("_power" if with_power else "") + ("_driven" if with_input else "")
    signals = int(with_input)

    def law(helix: Any, rate: Any, c: Any, signal: Any) -> Effect:
        at = EDGE.read(c)
        deformation = _deformation(helix, at.length)
        along = ca.jacobian(deformation, helix)
        e = deformation - ca.vertcat(0, 0, at.length, 0, 0, 0)
        rates = along @ rate
        elastic, damped = _spring(at, e), at.time * _spring(at, rates)
        damped[2] = power_law(rates[2], at.damping, at.power) if with_power else at.damping * rates[2]
        pull = ca.vertcat(0, 0, signal[0], 0, 0, 0) if with_input else ca.SX(6, 1)
        force = -along.T @ (elastic + damped + pull)
        return Effect(force, ca.dot(elastic, e) / 2, ca.dot(damped, rates), -ca.dot(pull, rates))

    @cache
    def functions() -> tuple[ca.Function, ca.Function]:
        """Force, energy and powers; the force and its derivatives."""
        x, rate, c, signal = ca.SX.sym("x", 6), ca.SX.sym("rate", 6), ca.SX.sym("c", EDGE.size), ca.SX.sym("s", signals)
        answer, given = law(x, rate, c, signal), [x, rate, c, signal]
        slopes = [ca.jacobian(answer.force, y) for y in (x, rate, signal)]
        values = [answer.force, answer.energy, answer.dissipation, answer.supply]
        return ca.Function("edge", given, values), ca.Function("slopes", given, [answer.force, *slopes])

    return helical_force(
        name, constants=EDGE.size, signals=signals,
        law=lambda *given: Effect(*functions()[0].call(list(given))),
        slopes=lambda *given: tuple(functions()[1].call(list(given))),
    )  # fmt: skip


def _deformation(helix: Any, length: Any) -> Any:
    """Angles from the normal to the helix, its length, and the rotations (6).

    Where the nodes are turned by a = 180 deg against each other there are two helices, to either side, of the same length and with
    different tangents. With f = (a / 180 deg)^16, less than 1e-4 up to 100 deg, the angles fade by 1 - f, and a length around the
    axis of rotation by sqrt(1 - f / 9), which is flat at a = 180 deg: the energy is continuous there, and so is the axial force.
    Otherwise a fabric that is crumpled until it folds within its cells is caught at a kink.
    """
    v, alpha = helix[0:3], helix[3:6]
    x = ca.dot(alpha, alpha) / math.pi**2
    near = (x * x) ** 2 * x * x * x  # f = near x
    along = ca.dot(alpha, v) / math.pi  # of the axis of rotation; its square is that of the length along it times x
    square = ca.dot(v, v) + (COLLAPSED * length) ** 2
    tangent = v / ca.sqrt(square)
    stretched = ca.sqrt(square - near * (x * ca.dot(v, v) - along * along) / 9)
    sines = tangent[0:2]
    angles = (1 - near * x) * so3.angle_per_sine(ca.dot(sines, sines), tangent[2]) * sines
    return ca.vertcat(angles, stretched, alpha)


def _spring(at: Any, e: Any) -> Any:
    """Stiffness times deformation."""
    force = at.stiffness * e
    for first, coupling in ((0, at.coupling[0]), (3, at.coupling[1])):
        force[first] += coupling * e[first + 1]
        force[first + 1] += coupling * e[first]
    return force


def edge_stiffness(section: SectionProperties, length: Any) -> Any:
    """Stiffness and coupling (8 x m) of straight beams of these lengths [m], as in `EDGE`.

    Bending by a constant moment does not turn the line between the ends against both alike; a transverse force does, by
    `L^2 / (12 EI) + 1 / (kGA)`.
    """
    shear_x, shear_y, stretch, bend_x, bend_y, twist = section.stiffness
    shear, bend = section.coupling
    sheared, bent = shear_x * shear_y - shear**2, bend_x * bend_y - bend**2
    # bending about x moves along y, but its product with bending about y keeps its sign
    softness_x = shear_y / sheared + length**2 / 12 * (bend_x / bent)
    softness_y = shear_x / sheared + length**2 / 12 * (bend_y / bent)
    between = -shear / sheared + length**2 / 12 * (bend / bent)
    transverse = length / (softness_x * softness_y - between**2)
    return ca.vertcat(
        transverse * softness_y,
        transverse * softness_x,
        stretch / length,
        bend_x / length,
        bend_y / length,
        twist / length,
        -transverse * between,
        bend / length,
    )
