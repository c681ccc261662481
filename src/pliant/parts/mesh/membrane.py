"""Membrane: point masses connected by ropes. It resists stretching only."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language import dimension as dim
from pliant.language.arrays import distinct
from pliant.language.base import Problem
from pliant.language.names import Name
from pliant.language.scalar import Number, Quantity, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import FrameForce
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose, columns, scalars
from pliant.parts.link import DRIVEN_ROPE, ROPE, axial_length, driven_rope_force, rope_force
from pliant.parts.mesh.base import EdgesBase, MembraneEdges, MeshBase, PlacedMesh, section_properties
from pliant.parts.motion import TRANSLATION

Force = Annotated[Scalar, Quantity(dim.FORCE)]


class Membrane(MeshBase):
    """Nets and thin fabrics: every node is a point mass with three coordinates, every edge a rope."""

    type: Literal["membrane"] = "membrane"
    stiffness: Force | None = None
    """Force per unit of strain of an edge, relative to its length without tension [N]; default: Young's modulus times the section's
    area."""
    direction: Literal["tension", "both"] = "tension"
    """Whether edges go slack when they are shorter than at rest, or resist compression."""
    fading: Number = 1e-6
    """Strain over which a slack edge becomes taut [-]: its tension rises from zero as a parabola up to this strain, and is from
    there on lower by the stiffness times half of it: with 0.01 the bundled `net` sags 7 % more. Larger values help where a
    simulation takes very short steps."""
    tightness: Number = 1
    """Rest lengths relative to the lengths in the drawing [-]; below 1 the membrane is stretched at the start."""
    edges: dict[Name, MembraneEdges] = Field(default_factory=dict)
    """Different values for some edges, by the name of a set of nodes: for the edges with both ends in it. `all` applies to all
    edges; other sets override its values one by one. A single edge is the set of its two nodes."""

    example: ClassVar[str] = """\
pliant: 1
meshes:
  net:
    type: membrane
    drawing: {rectangle: [1 m, 1 m], cells: [8, 8]}
    sets: {corners: {nearest: [[0, 0, 0], [1 m, 0, 0], [0, 1 m, 0], [1 m, 1 m, 0]]}}
    held: {corners: world}
    mass: 200 g
    stiffness: 50 N
    damping_time: 10 ms
outputs:
  middle: {frame: net.n41, quantity: position}
"""

    above_zero = ("stiffness", "tightness", "fading")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from super().problems(value)
        for number in self.edge_numbers:
            if self._has_section_stiffness(number) and self.section_of(number)[0] is None:
                yield (), "the edges have no stiffness", "give `stiffness`, or `section` and `material`"

    def _edges_of(self, number: int) -> MembraneEdges:
        own = self.edge_values(number)
        assert isinstance(own, MembraneEdges)
        return own

    def _has_section_stiffness(self, number: int) -> bool:
        """Whether the stiffness of the edges of an entry of `edges` is that of a section, which takes precedence over `stiffness`
        if it is of their own."""
        own = self._edges_of(number)
        has_own = own.section is not None or own.material is not None
        return own.stiffness is None and (has_own or self.stiffness is None)

    @property
    def own_edges(self) -> Mapping[str, EdgesBase]:
        return self.edges

    def no_edges(self) -> MembraneEdges:
        return MembraneEdges()

    def material_needs(self, number: int) -> tuple[tuple[str, ...], ...]:
        modulus = (("youngs_modulus",),) if self._has_section_stiffness(number) else ()
        return (*super().material_needs(number), *modulus)

    def edge_strain(self, poses: Sequence[Pose], constants: Any) -> Any:
        return axial_length(poses, constants) / ROPE.read(constants).rest - 1

    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
        masses = self._node_masses(build, placed)
        free = [i for i in range(placed.count) if i not in placed.held]
        names = [f"{name}.n{i + 1}" for i in free]
        nodes = build.free_nodes(TRANSLATION, names, placed.world[:, free], None, placed.carrier)
        frames: dict[int, tuple[int, Pose]] = dict(placed.held)
        identity = se3.identity()
        for i, node in zip(free, nodes, strict=True):
            build.system.mass_numbers(node, [masses[i], *[0.0] * 9])
            frames[i] = (node, identity)
        for i, (node, pose) in placed.held.items():
            if node:
                build.system.mass(node, masses[i], ca.DM.zeros(3), ca.DM.zeros(3, 3), pose)
        return [frames[i] for i in range(placed.count)]

    def _node_masses(self, build: Build, placed: PlacedMesh) -> list[Any]:
        if placed.edge_mass is None:
            assert self.node_mass is not None
            masses = [build.value(self.node_mass)] * placed.count
        else:
            half = placed.edge_mass / 2
            masses = [column[0] for column in placed.node_columns(placed.node_sum(half, half))]
        own = self.own_node_masses()
        return [build.value(own[i]) if i in own else mass for i, mass in enumerate(masses)]

    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        way = 1.0 if self.direction == "tension" else 0.0
        laws, kinds, signals = self._edge_laws(build, placed)
        points = {i: scalars(pose[1]) for i, (_, pose) in placed.held.items()}
        at_origin = [0.0, 0.0, 0.0]
        shared: dict[int, int] = {}  # index of the constants of each type of edge between free nodes
        for a, b, k in zip(placed.first.tolist(), placed.second.tolist(), placed.kind.tolist(), strict=True):
            nodes, number = (frames[a][0], frames[b][0]), int(placed.sets[k])
            if nodes[0] == nodes[1]:
                continue
            is_free = a not in points and b not in points
            if is_free and k in shared:
                build.system.frame_force(kinds[number], nodes, shared[k], signals[number], name)
                continue
            stiffness, rest, time, width, damping, power = laws[k]
            values = {
                "first": points.get(a, at_origin), "second": points.get(b, at_origin), "stiffness": stiffness, "rest": rest,
                "time": time, "direction": way, "width": width,
            }  # fmt: skip
            if kinds[number] is rope_force():
                constants = ROPE.write(**values)
            else:
                constants = DRIVEN_ROPE.write(**values, damping=damping, power=power)
            at = build.system.constants(constants)
            if is_free:
                shared[k] = at
            build.system.frame_force(kinds[number], nodes, at, signals[number], name)

    def _edge_laws(
        self, build: Build, placed: PlacedMesh
    ) -> tuple[dict[int, list[Any]], dict[int, FrameForce], dict[int, int]]:
        """For each type of edge: stiffness [N/m], rest length [m], damping time [s], transition width [m], coefficient and
        power of the damper. For each entry of `edges`: the type of force, and its signal."""
        laws: dict[int, list[Any]] = {}
        kinds: dict[int, FrameForce] = {}
        signals: dict[int, int] = {}
        for number in map(int, distinct(placed.sets)):
            own = self._edges_of(number)
            mine = np.flatnonzero(placed.sets == number).tolist()
            length, one = placed.lengths[:, mine], ca.DM.ones(1, len(mine))
            whole = self._edge_stiffness(build, number)
            rest = own.rest_length(build, length, build.value(self.tightness)) * one
            time, damping, power = own.damping(build, rest, self.damping_time)
            fading = build.value(self.fading) / 2 * rest
            table = ca.vertcat(whole / rest, rest, time * one, fading, damping * one, power * one)
            laws |= dict(zip(mine, columns(table), strict=True))
            plain = own.viscosity is None and not own.is_driven
            kinds[number] = rope_force() if plain else driven_rope_force(with_input=own.is_driven)
            signals[number] = build.add_signals([own.input]) if own.is_driven and own.input is not None else 0
        return laws, kinds, signals

    def _edge_stiffness(self, build: Build, number: int) -> Any:
        if self._has_section_stiffness(number):
            return section_properties(self, build, number).stiffness[2]
        given = self._edges_of(number).stiffness
        return build.value(self.stiffness if given is None else given)  # type: ignore[arg-type]
