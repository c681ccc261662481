"""Common parts of meshes: a drawing placed in the world, sets of its nodes, values of edges, its supports, and its mass."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import casadi as ca
import numpy as np
from pydantic import Field, PrivateAttr

from pliant.language import dimension as dim
from pliant.language.arrays import distinct
from pliant.language.base import Framed, FromFiles, Part, Problem
from pliant.language.message_text import KeyPath
from pliant.language.names import FrameName, MaterialName, Name, SectionName
from pliant.language.placement import Placement
from pliant.language.scalar import ForceSignal, Length, Mass, Number, Quantity, Repeated, Scalar, Time
from pliant.language.source import FileProblem, Source
from pliant.parts.assembly.build import Build
from pliant.parts.formula import relative
from pliant.parts.formula.base import Effect, FrameForce, power_law
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose, columns
from pliant.parts.mesh.drawing import LabelledSet, Lattice, MeshDrawing, NodeSet, NumberedSet
from pliant.parts.motion import Fields
from pliant.parts.rod import RodModel
from pliant.parts.section.base import MaterialValues, OneSection, SectionProperties

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

    above_zero: ClassVar[tuple[str, ...]] = ("rest", "tightness", "damping_power")
    not_below_zero = ("damping_time", "viscosity")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """One of `rest` and `tightness`."""
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

    above_zero = ("stiffness",)


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


EDGE = relative.ENDS + Fields("length", "stiffness:6", "coupling:2", "time", "damping", "power")
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

    return relative.helical_force(
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
        transverse * softness_y, transverse * softness_x, stretch / length, bend_x / length, bend_y / length,
        twist / length, -transverse * between, bend / length,
    )  # fmt: skip


ALL, ENDS = "all", "ends"
"""Sets that every mesh has: all nodes, and those with one edge."""


class NodeValues(Part):
    """Values for the nodes of a set."""

    above_zero = ("mass",)

    mass: Mass
    """Mass of each of these nodes, instead of that of its edges or of `node_mass` [kg]."""

    example: ClassVar[str] = """\
pliant: 1
meshes:
  net:
    type: membrane
    drawing: {rectangle: [1 m, 50 cm], cells: [4, 2]}
    sets: {left: {plane: x}, hem: {plane: x, through: [1 m, 0, 0]}}
    held: {left: world}
    stiffness: 50 N
    node_mass: 2 g
    nodes: {hem: {mass: 10 g}}
"""


class MeshBase(Framed, FromFiles, Placement, Repeated):
    """Common part of the meshes: nodes with mass, and an elastic element on every edge.

    The drawing is placed in the parent frame by `position` and `rotation` and starts there at rest. Nodes are called
    `mesh.n1`, `mesh.n2`, ... in the order of the drawing, those of a set also `mesh.set_1`, ... (`mesh.set` if there is
    only one). The frame `mesh` is at the drawing's origin, fixed to the parent.
    """

    above_zero: ClassVar[tuple[str, ...]] = ("mass", "node_mass")
    not_below_zero = ("damping_time",)

    drawing: MeshDrawing
    """Nodes and edges, from a `file`, a `rectangle`, a `block` or a `web`."""
    parent: FrameName = "world"
    """Frame that the drawing is placed in."""
    sets: dict[Name, NodeSet] = Field(default_factory=dict)
    """Sets of nodes by name: in a `box`, on a `plane`, `nearest` to points, `nodes` by number, or by a `label` of the file.
    In addition, every mesh has the sets `all` and `ends` (nodes with one edge)."""
    held: dict[Name, FrameName] = Field(default_factory=dict)
    """Frames that sets of nodes are fixed to, by the name of the set, at their initial positions."""
    ends: Literal["held", "free"] = "held"
    """Whether nodes with one edge are fixed to the parent frame, or free."""
    mass: Mass | None = None
    """Mass of the entire mesh, distributed by the length of edges [kg]; default: from section and material."""
    node_mass: Mass | None = None
    """Mass of every node instead [kg]."""
    nodes: dict[Name, NodeValues] = Field(default_factory=dict)
    """Different values for some nodes, by the name of their set."""
    section: SectionName | None = None
    """Cross-section of the edges, by name; `edges` may give some another one."""
    surface: Literal["faces", "nodes"] = "faces"
    """Contact surface: its triangles, and edges that belong to none; or only its nodes, for coarse meshes whose
    straight edges would cut through round parts."""
    material: MaterialName | None = None
    """Material of the edges, by name; sections of given stiffness need none. `edges` may give some another one."""
    damping_time: Time = 0
    """Stiffness-proportional damping: every damper is its spring times this time [s]."""
    description: str = ""
    """Description for readers."""

    _lattice: Lattice | None = PrivateAttr(default=None)
    _members: Mapping[str, np.ndarray] = PrivateAttr(default_factory=dict)
    _edge_sets: tuple[int, ...] = PrivateAttr(default=())

    # -- contents of files ------------------------------------------------------------------------------------------

    def with_files(self, source: Source, value: Callable[[Scalar], float]) -> Self:
        try:
            lattice = self.drawing.lattice(source, value)
        except FileProblem as problem:
            raise FileProblem(str(problem), problem.hint, ("drawing",)) from None
        points = lattice.shares * np.array([float(x) for x in self.drawing.size(value)])
        members = {ALL: np.arange(len(points)), ENDS: np.flatnonzero(lattice.degree == 1)}
        for name, chosen in self.sets.items():
            if name in members:
                raise FileProblem(
                    f"the set '{name}' is predefined for every mesh", "choose another name", ("sets", name)
                )
            try:
                members[name] = chosen.choose(points, value, lattice.labels)
            except FileProblem as problem:
                raise FileProblem(str(problem), problem.hint, ("sets", name)) from None
            if not len(members[name]):
                hint = "see the numbers and places of nodes with pliant show MODEL --mesh picture.png"
                raise FileProblem(f"the set '{name}' has no nodes", hint, ("sets", name))
        for field in ("held", "nodes"):
            for name in getattr(self, field):
                if name not in members:
                    raise FileProblem(f"there is no set '{name}'", f"known: {', '.join(members)}", (field, name))
        self._check_holders(members)
        self._check_nodes(members)
        copy = self.model_copy()
        copy._lattice, copy._members = lattice, members
        copy._edge_sets = tuple(self._sets_of_edges(lattice, members).tolist())
        return copy

    @property
    def is_read(self) -> bool:
        return self._lattice is not None

    def without_files(self) -> Self:
        if not self.is_read:
            return self
        sets = {
            name: NumberedSet(nodes=tuple((self.members[name] + 1).tolist()))
            if isinstance(chosen, LabelledSet)
            else chosen
            for name, chosen in self.sets.items()
        }
        changed = {"drawing": self.drawing.without_files(self.lattice)} | ({"sets": sets} if sets else {})
        return self.model_copy(update=changed)

    def _sets_of_edges(self, lattice: Lattice, members: Mapping[str, np.ndarray]) -> np.ndarray:
        """For each edge the index of its entry of `edges`, counted from 1; 0 for none, or for `all` alone."""
        sets_of_edges = np.zeros(len(lattice.edges), dtype=int)
        names = list(self.own_edges)
        for number, name in enumerate(names, start=1):
            if name not in members:
                raise FileProblem(f"there is no set '{name}'", f"known: {', '.join(members)}", ("edges", name))
            inside = np.isin(lattice.edges, members[name]).all(axis=1)
            if not inside.any():
                hint = "both nodes of an edge must be in the set; see them with pliant show MODEL --mesh picture.png"
                raise FileProblem(f"no edge has both ends in the set '{name}'", hint, ("edges", name))
            twice = np.flatnonzero(inside & (sets_of_edges > 0))
            if name != ALL and len(twice):
                a, b = (int(i) + 1 for i in lattice.edges[twice[0]])
                message = (
                    f"the edge from node {a} to node {b} is in '{names[sets_of_edges[twice[0]] - 1]}' and in '{name}'"
                )
                raise FileProblem(message, "remove it from one of them", ("edges", name))
            sets_of_edges[inside & (name != ALL)] = number
        return sets_of_edges

    @property
    @abstractmethod
    def own_edges(self) -> Mapping[str, EdgesBase]:
        """Values of edges by the name of their set of nodes."""

    def edge_values(self, number: int) -> EdgesBase:
        """The values of the edges of an entry of `edges`, counted from 1, merged with those of `all`; 0 for the others."""
        common = self.own_edges.get(ALL, self.no_edges())
        return common if number == 0 else list(self.own_edges.values())[number - 1].over(common)

    @abstractmethod
    def no_edges(self) -> EdgesBase:
        """Empty values of edges."""

    def _check_holders(self, members: Mapping[str, np.ndarray]) -> None:
        """Check that no node is fixed to two frames; sets that are fixed take precedence over the ends, which are otherwise fixed
        to the parent."""
        holder: dict[int, str] = {}
        for name, frame in self.held.items():
            for i in members[name].tolist():
                other = holder.setdefault(i, name)
                if self.held[other] != frame:
                    message = (
                        f"node {i + 1} is in '{other}', held by {self.held[other]}, and in '{name}', held by {frame}"
                    )
                    raise FileProblem(message, "remove it from one of them", ("held", name))

    def _check_nodes(self, members: Mapping[str, np.ndarray]) -> None:
        """Check that no node has its mass from two sets."""
        giver: dict[int, str] = {}
        for name in self.nodes:
            if name == ALL:
                raise FileProblem("the mass of all nodes is `node_mass`", "write it there", ("nodes", name))
            for i in members[name].tolist():
                other = giver.setdefault(i, name)
                if other != name:
                    message = f"node {i + 1} is in '{other}' and in '{name}'"
                    raise FileProblem(message, "remove it from one of them", ("nodes", name))

    def own_node_masses(self) -> dict[int, Scalar]:
        """Masses of the nodes that have one of their own, by index [kg]."""
        return {i: own.mass for name, own in self.nodes.items() for i in self.members[name].tolist()}

    @property
    def edge_numbers(self) -> tuple[int, ...]:
        """Entries of `edges` that apply to some edge, counted from 1, and 0 if the others have edges too."""
        return tuple(sorted(set(self._edge_sets))) if self.is_read else tuple(range(len(self.own_edges) + 1))

    def section_of(self, number: int) -> tuple[str | None, str | None]:
        """Names of the section and the material of the edges of an entry of `edges`, counted from 1; 0 for the others."""
        own = self.edge_values(number)
        return own.section or self.section, own.material or self.material

    def path_of(self, number: int, field: Literal["section", "material"]) -> tuple[str, ...]:
        """Place of the section or the material of these edges in the mesh."""
        names = list(self.own_edges)
        for name in (*names[number - 1 : number], ALL):
            if name in self.own_edges and getattr(self.own_edges[name], field) is not None:
                return ("edges", name, field)
        return (field,)

    @property
    def lattice(self) -> Lattice:
        """Nodes and edges."""
        assert self._lattice is not None, "flattening reads the files"
        return self._lattice

    @property
    def members(self) -> Mapping[str, np.ndarray]:
        """Indices of the nodes of every set."""
        return self._members

    @property
    def holders(self) -> dict[str, str]:
        """Frames to which sets of nodes are fixed, by the name of the set, including the ends unless they are free."""
        return {**({ENDS: self.parent} if self.ends == "held" else {}), **self.held}

    @property
    def held_nodes(self) -> np.ndarray:
        """Indices of all fixed nodes, ascending."""
        return distinct(np.concatenate([np.zeros(0, dtype=int), *(self.members[name] for name in self.holders)]))

    def frame_names(self) -> tuple[str, ...]:
        if self._lattice is None:
            return ()
        return (*(f"n{i + 1}" for i in range(len(self.lattice.shares))), *self._set_frames())

    def _set_frames(self) -> dict[str, int]:
        """Frames named after sets, and the node of each."""
        found: dict[str, int] = {}
        for name, members in self._members.items():
            if name not in (ALL, ENDS):
                single = len(members) == 1
                found |= {name if single else f"{name}_{k}": int(i) for k, i in enumerate(members, start=1)}
        return found

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Masses must be unique, and the edges must be completely defined."""
        if self.mass is not None and self.node_mass is not None:
            yield ("node_mass",), "`mass` and `node_mass` are redundant", "keep one of them"
        if self.mass is not None and self.nodes:
            text = "`mass` is that of the entire mesh, of which no node can have another part"
            yield ("nodes",), text, "give `node_mass` or a density in place of `mass`"
        for name, entry in self.own_edges.items():
            others = self.own_edges.values() if name == ALL else (entry, self.own_edges.get(ALL, entry))
            if entry.damping_power is not None and all(x.viscosity is None for x in others):
                yield ("edges", name, "damping_power"), "`damping_power` needs `viscosity` beside it", "add `viscosity`"
        for number in self.edge_numbers:
            section, material = self.section_of(number)
            if section is None and material is not None:
                yield self.path_of(number, "material"), "`material` needs `section` beside it", "add `section`"
            elif section is None and self.mass is None and self.node_mass is None:
                yield (), "the mesh has no mass", "give `mass`, `node_mass`, or `section` and `material`"

    def material_needs(self, number: int) -> tuple[tuple[str, ...], ...]:
        """Properties that the material of the edges of an entry of `edges` must have: one of each group."""
        return () if self.mass is not None or self.node_mass is not None else (("density",),)

    @abstractmethod
    def edge_strain(self, poses: Sequence[Pose], constants: Any) -> Any:
        """Elongation of an edge relative to its length without load [-], from the poses of the nodes and the constants of its
        force."""

    # -- physics -----------------------------------------------------------------------------------------------------

    def apply(self, build: Build, name: str) -> None:
        """Add nodes, their mass, and the forces of edges to the system."""
        placed = place(self, build)
        frames = self.add_nodes(build, name, placed)
        build.name_frame(name, *placed.base)
        for index, (node, pose) in enumerate(frames):
            build.name_frame(f"{name}.n{index + 1}", node, pose)
        for frame, index in self._set_frames().items():
            build.name_frame(f"{name}.{frame}", *frames[index])
        for members_of, members in self._members.items():
            build.point_sets[f"{name}.{members_of}"] = [frames[int(i)] for i in members]
        self.add_edges(build, name, placed, frames)

    @abstractmethod
    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
        """Add the nodes with their mass; return the node of the system of each, and the placement on it."""

    @abstractmethod
    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        """Add the forces of edges."""


@dataclass(frozen=True)
class PlacedMesh:
    """A mesh in numbers or expressions of parameters (CasADi matrices, one column per node or edge).

    Attributes:
        base: node and placement of the frame of the drawing.
        local: 3 x n, nodes in the drawing's axes [m].
        rotation, world: the axes of the drawing, and the initial positions of the nodes (3 x n) in the world [m].
        first, second, kind: nodes of each edge, and its type out of k: edges of one type are equal and parallel.
        vectors, lengths: 3 x k and 1 x k, edges of each type in the drawing's axes [m].
        sets: index of the entry of `edges` with the values of each type, or 0.
        edge_mass: 1 x k [kg], or None if the mass of nodes is given.
        held: for nodes fixed to a frame: the node of the frame, and the placement on it.
        carrier: node that initially carries the free nodes: the support of the mesh if it is a single body, else the parent.
    """

    base: tuple[int, Pose]
    local: Any
    rotation: Any
    world: Any
    first: np.ndarray
    second: np.ndarray
    kind: np.ndarray
    vectors: Any
    lengths: Any
    sets: np.ndarray
    edge_mass: Any | None
    held: dict[int, tuple[int, Pose]]
    carrier: int

    @property
    def count(self) -> int:
        """Number of nodes."""
        return int(self.local.shape[1])

    @cached_property
    def _kinds_of_nodes(self) -> tuple[list[int], list[int]]:
        """Representative nodes with edges of the same types, and the index of the representative of every node."""
        ends = np.concatenate([self.first, self.second])
        kinds = np.concatenate([self.kind, self.kind + int(self.lengths.shape[1])])
        order = np.lexsort((kinds, ends))
        begins = np.searchsorted(ends[order], np.arange(self.count + 1)).tolist()
        sorted_kinds = kinds[order].tolist()
        numbers: dict[tuple[int, ...], int] = {}
        examples: list[int] = []
        found = []
        for node, (begin, end) in enumerate(pairwise(begins)):
            number = numbers.setdefault(tuple(sorted_kinds[begin:end]), len(examples))
            if number == len(examples):
                examples.append(node)
            found.append(number)
        return examples, found

    def node_sum(self, first: Any, second: Any) -> Any:
        """Sum over the edges at a node: columns of `first` (one per type) for their first nodes, of `second` for their second
        ones. One column for all nodes with edges of the same types; see `node_columns`."""
        shape = (int(self.lengths.shape[1]), self.count)
        examples, _ = self._kinds_of_nodes
        total = 0
        for values, ends in ((first, self.first), (second, self.second)):
            places, counts = np.unique(ends * shape[0] + self.kind, return_counts=True)
            column, row = np.divmod(places, shape[0])
            begins = np.searchsorted(column, np.arange(self.count + 1))
            chosen = [slice(begins[node], begins[node + 1]) for node in examples]
            rows, numbers = (np.concatenate([x[part] for part in chosen]).tolist() for x in (row, counts))
            starts = np.cumsum([0, *(part.stop - part.start for part in chosen)]).tolist()
            total = total + values @ ca.DM(ca.Sparsity(shape[0], len(examples), starts, rows), numbers)
        return total

    def node_columns(self, matrix: Any) -> list[list[Any]]:
        """Columns of a result of `node_sum` for every node; nodes with edges of the same types share theirs."""
        found = columns(matrix)
        return [found[k] for k in self._kinds_of_nodes[1]]

    def kind_columns(self, matrix: Any) -> list[list[Any]]:
        """Columns of a matrix with one per type, for every edge; edges of one type share theirs."""
        found = columns(matrix)
        return [found[k] for k in self.kind.tolist()]


def place(mesh: MeshBase, build: Build) -> PlacedMesh:
    """The mesh at its initial position in the world."""
    lattice = mesh.lattice
    size = [x if isinstance(x, ca.SX | ca.DM) else float(x) for x in mesh.drawing.size(build.value)]
    local = ca.vertcat(*[size[k] * ca.DM(lattice.shares[:, k]).T for k in range(3)])
    node, pose = build.frame(mesh.parent)
    base = se3.compose(pose, build.placement(mesh))
    R, p = se3.compose(build.initial_pose(node), base)
    world = R @ local + ca.repmat(p, 1, local.shape[1])
    held: dict[int, tuple[int, Pose]] = {}
    for name, frame in mesh.holders.items():
        holder, at = build.frame(frame)
        R_holder, p_holder = se3.compose(build.initial_pose(holder), at)
        turned = at[0] @ (R_holder.T @ R)
        own = [int(i) for i in mesh.members[name]]
        apart = world[:, own] - ca.repmat(p_holder, 1, len(own))
        points = ca.repmat(at[1], 1, len(own)) + at[0] @ (R_holder.T @ apart)
        held |= {i: (holder, (turned, point)) for i, point in zip(own, ca.horzsplit(points), strict=True)}
    first, second = lattice.edges[:, 0], lattice.edges[:, 1]
    features = np.column_stack([np.round(lattice.shares[second] - lattice.shares[first], 12), mesh._edge_sets])
    _, examples, kind = np.unique(features, axis=0, return_index=True, return_inverse=True)
    vectors = local[:, second[examples].tolist()] - local[:, first[examples].tolist()]
    lengths = ca.sqrt(ca.sum1(vectors * vectors))
    kind = kind.ravel()
    sets = np.array(mesh._edge_sets, dtype=int)[examples]
    mass = _edge_mass(mesh, build, lengths, sets, np.bincount(kind))
    holders = {holder for holder, _ in held.values()}
    carrier = holders.pop() if len(holders) == 1 else node
    return PlacedMesh((node, base), local, R, world, first, second, kind, vectors, lengths, sets, mass, held, carrier)


def _edge_mass(mesh: MeshBase, build: Build, lengths: Any, sets: np.ndarray, counts: np.ndarray) -> Any | None:
    if mesh.node_mass is not None:
        return None
    if mesh.mass is not None:
        return build.value(mesh.mass) * lengths / (lengths @ ca.DM(counts.astype(float)))
    return of_kinds(sets, lambda number: [section_properties(mesh, build, number).mass]) * lengths


def of_kinds(sets: np.ndarray, values: Callable[[int], Sequence[Any]]) -> Any:
    """Values (n x k) of each type of edge from those of its entry of `edges`."""
    total: Any = 0
    for number in map(int, distinct(sets)):
        total = total + ca.vertcat(*values(number)) @ ca.DM((sets == number).astype(float)).T
    return total


def section_properties(mesh: MeshBase, build: Build, number: int) -> SectionProperties:
    """Stiffness and inertia per length of the edges of an entry of `edges`, counted from 1; 0 for the others. Properties that a
    material lacks and this type of mesh does not need are 1."""
    name, material_name = mesh.section_of(number)
    assert name is not None, "checked when the model was read"
    value, section = build.value, build.robot.sections[name]
    assert isinstance(section, OneSection), "no table: checked when the model was read"
    if material_name is None:  # with given stiffness
        return section.properties(value, None)
    material = build.robot.materials[material_name]
    E = 1.0 if material.youngs_modulus is None else value(material.youngs_modulus)
    if material.shear_modulus is not None:
        G = value(material.shear_modulus)
    else:
        G = E / (2 * (1 + value(0 if material.poissons_ratio is None else material.poissons_ratio)))
    density = 1.0 if material.density is None else value(material.density)
    return section.properties(value, MaterialValues(E, G, density))
