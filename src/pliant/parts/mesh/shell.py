"""Shell: small rigid bodies connected by beams. It resists stretching, bending, shearing and twisting."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language import dimension as dim
from pliant.language.arrays import distinct
from pliant.language.base import Problem
from pliant.language.names import Name
from pliant.language.placement import Axis
from pliant.language.scalar import Quantity, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.constraint import CONSTANTS as CLOSING
from pliant.parts.constraint import ROWS as SIX
from pliant.parts.constraint import frame_constraint
from pliant.parts.formula.base import FrameForce
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose, columns, scalars
from pliant.parts.mesh.base import (
    EDGE,
    EdgesBase,
    MeshBase,
    PlacedMesh,
    ShellEdges,
    edge_force,
    edge_stiffness,
    of_kinds,
    section_properties,
)
from pliant.parts.motion import FREE
from pliant.parts.rod.chamber import STEADY
from pliant.parts.rod.properties import RodProperties, Station
from pliant.parts.rod.shape import constant_strain
from pliant.parts.rod.strains import ALL
from pliant.parts.section.base import SectionProperties

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
        yield from super().problems(value)
        if any(self.section_of(number) == (None, None) for number in self.edge_numbers):
            yield (), "the edges have no section", "give `section` and `material`"
        for name, own in self.edges.items():
            for field in ("node_mass", "nodes"):
                if own.model is not None and getattr(self, field):
                    message = "edges that are rods carry their mass along them, not at nodes"
                    yield ("edges", name, "model"), message, f"give `mass` or a density in place of `{field}`"
        if self.node_inertia is not None:
            given = [value(x) for x in self.node_inertia]
            if min(given) < 0 or 2 * max(given) > sum(given) * (1 + 1e-9):
                message = f"no body has the inertias {', '.join(f'{x:g}' for x in given)}"
                yield ("node_inertia",), message, "none is below zero, and none above the sum of the two others"

    @property
    def own_edges(self) -> Mapping[str, EdgesBase]:
        return self.edges

    def no_edges(self) -> ShellEdges:
        return ShellEdges()

    def _edges_of(self, number: int) -> ShellEdges:
        own = self.edge_values(number)
        assert isinstance(own, ShellEdges)
        return own

    def material_needs(self, number: int) -> tuple[tuple[str, ...], ...]:
        return (*super().material_needs(number), ("youngs_modulus",), ("poissons_ratio", "shear_modulus"))

    def edge_strain(self, poses: Sequence[Pose], constants: Any) -> Any:
        at = EDGE.read(constants)
        R, p = se3.compose(se3.inverse(se3.compose(poses[0], at.first)), se3.compose(poses[1], at.second))
        return ca.norm_2(so3.inverse_left_jacobian(so3.log(R)) @ p) / at.length - 1

    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
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
        x, y, z = self._axes(build, placed)
        edge_mass, scale = placed.edge_mass, None
        if edge_mass is None:
            assert self.node_mass is not None
            shares = placed.node_sum(placed.lengths / 2, placed.lengths / 2)
            # half edges of unit density first; those of every node are then scaled to its mass
            scale, edge_mass = build.value(self.node_mass) / shares, placed.lengths
        beams = np.array([self._edges_of(int(number)).model is None for number in placed.sets], dtype=float)
        half = edge_mass / 2 * ca.DM(beams).T  # rods have their own mass
        gyration = ca.vertsplit(
            of_kinds(placed.sets, lambda number: _gyration(section_properties(self, build, number)))
        )
        parts = []
        for sign in (1, -1):
            first = sign * half * placed.lengths / 4
            across = half * placed.lengths**2 / 12
            own = [half * r for r in gyration]
            turn = [across + own[0], across + own[1], own[2], own[3]]
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
        return self._with_own_masses(build, placed.node_columns(total))

    def _with_own_masses(self, build: Build, inertias: list[list[Any]]) -> list[list[Any]]:
        """The inertias of half edges at the nodes with a mass of their own, scaled to it."""
        own, scaled = self.own_node_masses(), dict[tuple[int, Scalar], list[Any]]()
        for i, mass in own.items():
            key = (id(inertias[i]), mass)
            if key not in scaled:
                scaled[key] = scalars(build.value(mass) / inertias[i][0] * ca.vertcat(*inertias[i]))
        return [scaled[id(given), own[i]] if i in own else given for i, given in enumerate(inertias)]

    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        section_axes = placed.kind_columns(ca.vertcat(*self._axes(build, placed)))
        laws, kinds, signals = self._edge_laws(build, placed)
        origin = [0.0, 0.0, 0.0]
        shared: dict[int, int] = {}  # index of the constants of each type of edge between free nodes
        points = {i: scalars(pose[1]) for i, (_, pose) in placed.held.items()}
        # axes of sections at fixed nodes, by their orientation and the type of edge
        axes: dict[tuple[int, int], list[Any]] = {}
        for edge, (a, b, k) in enumerate(
            zip(placed.first.tolist(), placed.second.tolist(), placed.kind.tolist(), strict=True)
        ):
            (node_a, pose_a), (node_b, pose_b) = frames[a], frames[b]
            number = int(placed.sets[k])
            if node_a == node_b:
                continue
            is_free = a not in placed.held and b not in placed.held
            if is_free and k in shared:
                build.system.frame_force(kinds[number], (node_a, node_b), shared[k], signals[number], name)
                continue
            ends = []
            for i, pose in ((a, pose_a), (b, pose_b)):
                turned_axes = section_axes[edge]
                if i in placed.held:
                    key = (id(pose[0]), k)
                    turned_axes = axes[key] = axes.get(key) or _turned_axes(pose[0], turned_axes)
                ends.append([*turned_axes, *points.get(i, origin)])
            if k not in laws:
                self._add_rod(
                    build, f"{name}.e{edge + 1}", placed, k, ((node_a, ends[0]), (node_b, ends[1])), signals[number]
                )
                continue
            values = laws[k]
            constants = EDGE.write(
                first=ends[0], second=ends[1], length=values[0], stiffness=values[1:7], coupling=values[7:9],
                time=values[9], damping=values[10], power=values[11],
            )  # fmt: skip
            at = build.system.constants(constants)
            if is_free:
                shared[k] = at
            build.system.frame_force(kinds[number], (node_a, node_b), at, signals[number], name)

    def _edge_laws(
        self, build: Build, placed: PlacedMesh
    ) -> tuple[dict[int, list[Any]], dict[int, FrameForce], dict[int, int]]:
        """For each type of edge that is a beam: its constants from the length on (`EDGE`). For each entry of `edges`: the type of
        force, and its signal, or the six of driven rods."""
        laws: dict[int, list[Any]] = {}
        kinds: dict[int, FrameForce] = {}
        signals: dict[int, int] = {}
        for number in map(int, distinct(placed.sets)):
            own = self._edges_of(number)
            signals[number] = 0
            if own.is_driven and own.input is not None:
                pull = build.signal_expression(own.input)
                signals[number] = build.add_signal_expressions([pull] if own.model is None else [0, 0, -pull, 0, 0, 0])
            if own.model is not None:
                continue
            mine = np.flatnonzero(placed.sets == number).tolist()
            one = ca.DM.ones(1, len(mine))
            rest = own.rest_length(build, placed.lengths[:, mine], 1.0) * one
            stiffness = edge_stiffness(section_properties(self, build, number), rest)
            along, damping, power = own.damping(build, rest, self.damping_time)
            time = build.value(self.damping_time if own.damping_time is None else own.damping_time)
            table = ca.vertcat(rest, stiffness, time * one, along * stiffness[2, :] + damping * one, power * one)
            laws |= dict(zip(mine, columns(table), strict=True))
            kinds[number] = edge_force(with_power=own.damping_power is not None, with_input=own.is_driven)
        return laws, kinds, signals

    def _add_rod(
        self, build: Build, name: str, placed: PlacedMesh, k: int, ends: Sequence[tuple[int, list[Any]]], driven: int
    ) -> None:
        """A rod from the first end to the second, connected there by a constraint."""
        own, length = self._edges_of(int(placed.sets[k])), placed.lengths[k]
        assert own.model is not None
        assert placed.edge_mass is not None, "checked when the model was read"
        section = section_properties(self, build, int(placed.sets[k]))
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
            free=own.model.takes(ALL), attachments={}, places={}, actuation=driven if own.is_driven else None, fibres=(),
            signals=STEADY if own.is_driven else 0,
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


def _gyration(section: SectionProperties) -> list[Any]:
    """Squared radii of gyration about the section's axes, and their product [m^2]."""
    return [r / section.mass for r in section.rotary]


def _pose(numbers: list[Any]) -> Pose:
    """A placement from its twelve numbers."""
    return ca.reshape(ca.vertcat(*numbers[:9]), 3, 3), ca.vertcat(*numbers[9:])


def _turned_axes(R: Any, axes: list[Any]) -> list[Any]:
    """Axes of a section, nine numbers, after a rotation."""
    return scalars(R @ ca.reshape(ca.vertcat(*axes), 3, 3))
