"""Shell: small rigid bodies connected by beams. It resists stretching, bending, shearing and twisting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.constraint.frames import CONSTANTS as CLOSING
from pliant.constraint.frames import ROWS as SIX
from pliant.constraint.frames import frame_constraint
from pliant.geometry import se3
from pliant.geometry.se3 import Pose, columns, scalars
from pliant.language import dimension as dim
from pliant.language.arrays import distinct
from pliant.language.base import Problem
from pliant.language.names import Name
from pliant.language.placement import Axis
from pliant.language.scalar import Quantity, Scalar
from pliant.link.beam import BEAM, beam_force
from pliant.mesh.base import MeshBase, PlacedMesh, section_properties
from pliant.mesh.edges import EdgesBase, ShellEdges
from pliant.motion import FREE
from pliant.rod.actuation import STEADY
from pliant.rod.curve import constant_strain
from pliant.rod.properties import RodProperties, Station
from pliant.rod.strains import ALL
from pliant.section.base import SectionProperties

if TYPE_CHECKING:
    from pliant.model.build import Build

Inertia = Annotated[Scalar, Quantity(dim.INERTIA)]
PARALLEL = 1e-6
"""An edge with a smaller sine of the angle to the normal is parallel to it."""


class Shell(MeshBase):
    """Cloth, plates and blocks: every node is a free frame, every edge a beam with its section and material.

    A single beam is exact for a straight Timoshenko beam with loads at its ends. A grid of beams is not a plate,
    though: it has no Poisson effect, and a different torsional stiffness.
    """

    type: Literal["shell"] = "shell"
    normal: Axis = "z"
    """Direction, in the drawing's axes, that the y axes of the edges' sections are closest to; for edges along it, x or y."""
    node_inertia: tuple[Inertia, Inertia, Inertia] | None = None
    """Rotary inertia of every node about its own x, y and z axes, those of the drawing at the start, in addition to
    that of the edges [kg m^2]."""
    edges: dict[Name, ShellEdges] = Field(default_factory=dict)
    """Different values for some edges, by the name of a set of nodes: for the edges with both ends in it. `all` applies to all
    edges; other sets override its values one by one. A single edge is the set of its two nodes."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  strip: {shape: rectangle, width: 2 cm, height: 1 mm}
materials:
  felt: {density: 300 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.3}
meshes:
  cloth:
    type: shell
    drawing: {rectangle: [20 cm, 10 cm], cells: [8, 4]}
    sets: {edge: {plane: x}}
    held: {edge: world}
    section: strip
    material: felt
    damping_time: 5 ms
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Edges need a section; node masses exclude rods; inertias are possible for a body."""
        yield from super().problems(value)
        if self.section is None and self.material is None:
            yield (), "the edges have no section", "give `section` and `material`"
        for name, own in self.edges.items():
            if own.model is not None and self.node_mass is not None:
                message = "edges that are rods carry their mass along them, not at nodes"
                yield ("edges", name, "model"), message, "give `mass` or a density in place of `node_mass`"
        if self.node_inertia is not None:
            given = [value(x) for x in self.node_inertia]
            if min(given) < 0 or 2 * max(given) > sum(given) * (1 + 1e-9):
                message = f"no body has the inertias {', '.join(f'{x:g}' for x in given)}"
                yield ("node_inertia",), message, "none is below zero, and none above the sum of the two others"

    @property
    def own_edges(self) -> Mapping[str, EdgesBase]:
        """Values of edges by the name of their set of nodes."""
        return self.edges

    def no_edges(self) -> ShellEdges:
        """Empty values of edges."""
        return ShellEdges()

    def _edges_of(self, number: int) -> ShellEdges:
        own = self.edge_values(number)
        assert isinstance(own, ShellEdges)
        return own

    def material_needs(self) -> tuple[tuple[str, ...], ...]:
        """Density if no mass is given, and both moduli."""
        return (*super().material_needs(), ("youngs_modulus",), ("poissons_ratio", "shear_modulus"))

    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
        """Six coordinates per node; half of each of its edges is rigidly attached to it."""
        inertias = self._node_inertias(build, placed)
        free = [i for i in range(placed.count) if i not in placed.held]
        names = [f"{name}.n{i + 1}" for i in free]
        nodes = build.free_nodes(FREE, names, placed.world[:, free], placed.rotation, placed.carrier)
        frames: dict[int, tuple[int, Pose]] = dict(placed.held)
        identity = se3.identity()
        for i, node in zip(free, nodes, strict=True):
            build.system.mass_numbers(node, inertias[i])
            frames[i] = (node, identity)
        for i, (node, pose) in placed.held.items():
            if node:
                build.system.rigid(node, inertias[i], pose)
        return [frames[i] for i in range(placed.count)]

    def _node_inertias(self, build: Build, placed: PlacedMesh) -> list[list[Any]]:
        """Mass [kg], first moment [kg m] and inertia about the node [kg m^2] in the drawing's axes: ten numbers each."""
        section = section_properties(self, build)
        x, y, z = self._axes(build, placed)
        edge_mass, scale = placed.edge_mass, None
        if edge_mass is None:
            assert self.node_mass is not None
            shares = placed.node_sum(placed.lengths / 2, placed.lengths / 2)
            # half edges of unit density first; those of every node are then scaled to its mass
            scale, edge_mass = build.value(self.node_mass) / shares, placed.lengths
        beams = np.array([self._edges_of(int(number)).model is None for number in placed.sets], dtype=float)
        half = edge_mass / 2 * ca.DM(beams).T  # rods have their own mass
        gyration = [r / section.mass for r in section.rotary]
        parts = []
        for sign in (1, -1):
            first = sign * half * placed.lengths / 4
            across = half * placed.lengths**2 / 12
            turn = [across + half * gyration[0], across + half * gyration[1], half * gyration[2], half * gyration[3]]
            at = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
            second = [
                turn[0] * x[i, :] * x[j, :]
                + turn[1] * y[i, :] * y[j, :]
                + turn[2] * z[i, :] * z[j, :]
                + turn[3] * (x[i, :] * y[j, :] + y[i, :] * x[j, :])
                for i, j in at
            ]
            parts.append(ca.vertcat(half, *[first * z[k, :] for k in range(3)], *second))
        total = placed.node_sum(*parts)
        total = total if scale is None else total * ca.repmat(scale, 10, 1)
        if self.node_inertia is not None:
            own = ca.vertcat(ca.DM.zeros(4), *[build.value(x) for x in self.node_inertia], ca.DM.zeros(3))
            total = total + ca.repmat(own, 1, total.shape[1])
        return placed.node_columns(total)

    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        """A beam per edge, except between two points of one body."""
        properties = section_properties(self, build)
        turn = principal_turn(properties)
        x, y, z = self._axes(build, placed)
        cosine, sine = ca.cos(turn), ca.sin(turn)
        geometry = placed.kind_columns(ca.vertcat(cosine * x + sine * y, cosine * y - sine * x, z))
        laws, signals = self._edge_laws(build, placed, beam_stiffness(turned(properties, turn), placed.lengths))
        plain, both_ways, origin = placed.kind_columns(ca.vertcat(x, y, z)), [0.0] * 6, [0.0, 0.0, 0.0]
        forces = {
            number: beam_force(map="midpoint", with_input=number in signals) for number in set(placed.sets.tolist())
        }
        shared: dict[int, int] = {}  # index of the constants of each type of edge between free nodes
        points = {i: scalars(pose[1]) for i, (_, pose) in placed.held.items()}
        axes: dict[
            tuple[int, int], list[Any]
        ] = {}  # of sections at fixed nodes, by their orientation and the type of edge
        for edge, (a, b, k) in enumerate(
            zip(placed.first.tolist(), placed.second.tolist(), placed.kind.tolist(), strict=True)
        ):
            (node_a, pose_a), (node_b, pose_b) = frames[a], frames[b]
            number = int(placed.sets[k])
            if node_a == node_b:
                continue
            force = forces[number]
            is_free = a not in placed.held and b not in placed.held
            if is_free and k in shared:
                build.system.frame_force(force, (node_a, node_b), shared[k], signals.get(number, 0), name)
                continue
            rod = self._edges_of(number).model is not None
            section = plain[edge] if rod else geometry[edge]
            ends = []
            for i, pose in ((a, pose_a), (b, pose_b)):
                turned_axes = section
                if i in placed.held:
                    key = (id(pose[0]), k)
                    turned_axes = axes[key] = axes.get(key) or _turned_axes(pose[0], section)
                ends.append([*turned_axes, *points.get(i, origin)])
            if rod:
                self._add_rod(
                    build, f"{name}.e{edge + 1}", placed, k, ((node_a, ends[0]), (node_b, ends[1])), signals.get(number)
                )
                continue
            values = laws[k]
            constants = BEAM.write(
                first=ends[0],
                second=ends[1],
                rest=[0.0, 0.0, values[0], 0.0, 0.0, 0.0],
                stiffness=values[1:7],
                damping=values[7:13],
                power=[1.0, 1.0, values[13], 1.0, 1.0, 1.0],
                direction=both_ways,
            )
            at = build.system.constants(constants)
            if is_free:
                shared[k] = at
            build.system.frame_force(force, (node_a, node_b), at, signals.get(number, 0), name)

    def _edge_laws(
        self, build: Build, placed: PlacedMesh, stiffness: Any
    ) -> tuple[dict[int, list[Any]], dict[int, int]]:
        """For each type of edge: rest length [m], six stiffnesses and dampings, power along it. For driven entries of `edges`:
        the index of the first of their six signals."""
        laws: dict[int, list[Any]] = {}
        signals: dict[int, int] = {}
        for number in map(int, distinct(placed.sets)):
            own = self._edges_of(number)
            mine = np.flatnonzero(placed.sets == number).tolist()
            length, one, k = placed.lengths[:, mine], ca.DM.ones(1, len(mine)), stiffness[:, mine]
            time = build.value(self.damping_time if own.damping_time is None else own.damping_time)
            rest = own.rest_length(build, length, 1.0) * one
            k = ca.vertcat(k[:2, :], k[2, :] * length / rest, k[3:, :])  # strains are relative to the length at rest
            along, damping, power = own.damping(build, rest, self.damping_time)
            dampings = ca.vertcat(time * k[:2, :], along * k[2, :] + damping * one, time * k[3:, :])
            table = ca.vertcat(rest, k, dampings, power * one)
            laws |= dict(zip(mine, columns(table), strict=True))
            if own.is_driven and own.input is not None:
                signals[number] = build.add_signal_expressions([0, 0, -build.signal_expression(own.input), 0, 0, 0])
        return laws, signals

    def _add_rod(
        self,
        build: Build,
        name: str,
        placed: PlacedMesh,
        k: int,
        ends: Sequence[tuple[int, list[Any]]],
        driven: int | None,
    ) -> None:
        """A rod from the first end to the second, connected there by a constraint."""
        own, length = self._edges_of(int(placed.sets[k])), placed.lengths[k]
        assert own.model is not None
        assert placed.edge_mass is not None, "checked when the model was read"
        section = section_properties(self, build)
        density = placed.edge_mass[k] / length / section.mass
        section = replace(section, mass=density * section.mass, rotary=tuple(density * x for x in section.rotary))
        rest = own.rest_length(build, length, 1.0)
        relaxed = own.rest is None and own.tightness is None
        time = build.value(self.damping_time if own.damping_time is None else own.damping_time)
        along, _, power = own.damping(build, 1.0, self.damping_time)
        viscosity = 0.0 if own.viscosity is None else build.value(own.viscosity)
        stretch_damping = viscosity + (along - time) * section.stiffness[2]
        (node, first), (other, second) = ends
        rod = RodProperties(
            name=name, node=node, placement=_pose(first), length=rest,
            curve=constant_strain((0, 0, 0 if relaxed else length / rest - 1, 0, 0, 0), build.nominal), stress_free=relaxed,
            rest=(0.0,) * 6, sections=(Station(0.0, 0.0, lambda material: section),), materials=(),
            dampings=(Station(0.0, 0.0, (0.0, 0.0, stretch_damping, 0.0, 0.0, 0.0)),),
            stiffness_factors=(1.0,) * 6, damping_power=(1.0, 1.0, power, 1.0, 1.0, 1.0), law="linear", law_numbers=(),
            free=own.model.takes(ALL), attachments={}, places={}, actuation=driven, signals=0 if driven is None else STEADY,
            nominal=build.nominal, stiffness_damping=time,
        )  # fmt: skip
        own.model.apply(build, rod)
        tip, pose = build.frame(f"{name}.tip")
        constants = CLOSING.write(
            first=build.pose_entries(pose), second=second, axes=build.entries(pose[0]), offset=[0.0, 0.0, 0.0]
        )
        build.constraint(frame_constraint(SIX, prescribed=False), [tip, other, tip], constants, (), 0, name)

    def _axes(self, build: Build, placed: PlacedMesh) -> tuple[Any, Any, Any]:
        """Axes x, y, z of every edge's section in the drawing's axes, 3 x m each; z runs along the edge."""
        z = placed.vectors / ca.repmat(placed.lengths, 3, 1)
        along = build.nominals(z)
        towards = np.tile(build.nominals(ca.vertcat(*build.direction(self.normal))).reshape(3, 1), (1, along.shape[1]))
        for other in np.eye(3):
            parallel = np.linalg.norm(np.cross(along, towards, axis=0), axis=0) < PARALLEL
            towards[:, parallel] = other[:, None]
        y = ca.DM(towards) - z * ca.repmat(ca.sum1(z * ca.DM(towards)), 3, 1)
        y = y / ca.repmat(ca.sqrt(ca.sum1(y * y)), 3, 1)
        x = ca.vertcat(*[y[i, :] * z[j, :] - y[j, :] * z[i, :] for i, j in ((1, 2), (2, 0), (0, 1))])
        return x, y, z


def principal_turn(section: SectionProperties) -> Any:
    """Angle from the section's axes to its principal axes of bending [rad]; zero if they coincide."""
    bend_x, bend_y, coupling = section.stiffness[3], section.stiffness[4], section.coupling[1]
    if ca.SX(coupling).is_zero():
        return 0.0
    return ca.atan2(2 * coupling, bend_x - bend_y) / 2


def turned(section: SectionProperties, angle: Any) -> SectionProperties:
    """The stiffness of a section along axes rotated by an angle [rad]; its inertia is unchanged."""
    cosine, sine = ca.cos(angle), ca.sin(angle)
    stiffness, coupling = list(section.stiffness), list(section.coupling)
    for first, between in ((0, 0), (3, 1)):
        a, b, c = stiffness[first], stiffness[first + 1], coupling[between]
        stiffness[first] = cosine**2 * a + sine**2 * b + 2 * sine * cosine * c
        stiffness[first + 1] = sine**2 * a + cosine**2 * b - 2 * sine * cosine * c
        coupling[between] = (cosine**2 - sine**2) * c - sine * cosine * (a - b)
    return SectionProperties(tuple(stiffness), (coupling[0], coupling[1]), section.mass, section.rotary)


def beam_stiffness(section: SectionProperties, length: Any) -> Any:
    """Six stiffnesses (6 x m) of straight beams of these lengths [m] for displacements relative to the frame half-way between the
    ends.

    Bending by a constant moment causes no displacement there; a transverse force adds `L^3 / (12 EI)` and `L / (kGA)`. The
    section's axes are its principal axes of bending. The coupling of the shears along these axes is neglected; it is small except
    in very short beams.
    """
    shear_x, shear_y, stretch, bend_x, bend_y, twist = section.stiffness
    both = shear_x * shear_y - section.coupling[0] ** 2
    return ca.vertcat(
        1 / (length * shear_y / both + length**3 / (12 * bend_y)),
        1 / (length * shear_x / both + length**3 / (12 * bend_x)),
        stretch / length,
        bend_x / length,
        bend_y / length,
        twist / length,
    )


def _pose(numbers: list[Any]) -> Pose:
    """A placement from its twelve numbers."""
    return ca.reshape(ca.vertcat(*numbers[:9]), 3, 3), ca.vertcat(*numbers[9:])


def _turned_axes(R: Any, axes: list[Any]) -> list[Any]:
    """Axes of a section, nine numbers, after a rotation."""
    return scalars(R @ ca.reshape(ca.vertcat(*axes), 3, 3))
