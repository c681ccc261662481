"""Shell: rigid little bodies joined by beams. It resists stretching, bending, shearing and twisting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
import numpy as np

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.language.base import Problem
from pliant.language.placement import Axis
from pliant.language.scalar import Scalar
from pliant.link.beam import BEAM, beam_force
from pliant.mesh.base import MeshBase, PlacedMesh, columns, section_properties
from pliant.motion import FREE
from pliant.section.base import SectionProperties

if TYPE_CHECKING:
    from pliant.model.build import Build

PARALLEL = 1e-6
"""An edge whose direction has a smaller sine to the normal counts as parallel to it."""


class Shell(MeshBase):
    """Cloth, plates and blocks: every node is a free frame, every edge a beam with its section and material.

    A beam alone gives the exact answers of a straight Timoshenko beam to loads at its ends. A grid of beams is not a
    plate, though: it has no Poisson's effect, and twists more easily.
    """

    type: Literal["shell"] = "shell"
    normal: Axis = "z"
    """Direction that the y axis of the edges' sections is nearest to, in the drawing's axes; for edges along it, x or y."""

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
        """Beams need a section and a material."""
        yield from super().problems(value)
        if self.section is None and self.material is None:
            yield (), "the edges have no section", "give `section` and `material`"

    def material_needs(self) -> tuple[tuple[str, ...], ...]:
        """Besides density, both moduli."""
        return (*super().material_needs(), ("youngs_modulus",), ("poissons_ratio", "shear_modulus"))

    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
        """Six coordinates per node; it carries the half of every edge at it as a rigid piece."""
        inertias = self._node_inertias(build, placed)
        free = [i for i in range(placed.count) if i not in placed.held]
        places = columns(placed.world)
        names = [f"{name}.n{i + 1}" for i in free]
        nodes = build.free_nodes(FREE, names, [places[i] for i in free], placed.rotation, placed.carrier)
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
            # half edges of one density first; every node's are then scaled to its mass
            scale, edge_mass = build.value(self.node_mass) / shares, placed.lengths
        half = edge_mass / 2
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
        return columns(total if scale is None else total * ca.repmat(scale, 10, 1))

    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        """A beam per edge; between two points of one body there is none."""
        properties = section_properties(self, build)
        turn = principal_turn(properties)
        stiffness = beam_stiffness(turned(properties, turn), placed.lengths)
        damping = build.value(self.damping_time) * stiffness
        x, y, z = self._axes(build, placed)
        cosine, sine = ca.cos(turn), ca.sin(turn)
        axes = ca.vertcat(cosine * x + sine * y, cosine * y - sine * x, z)
        geometry, elastic = (
            placed.kind_columns(axes),
            placed.kind_columns(ca.vertcat(placed.lengths, stiffness, damping)),
        )
        kind = beam_force(map="midpoint", with_input=False)
        powers, both_ways, origin = [1.0] * 6, [0.0] * 6, [0.0, 0.0, 0.0]
        for a, b, section, values in zip(placed.first.tolist(), placed.second.tolist(), geometry, elastic, strict=True):
            (node_a, pose_a), (node_b, pose_b) = frames[a], frames[b]
            if node_a == node_b:
                continue
            ends = [
                _section_pose(pose, section) if i in placed.held else [*section, *origin]
                for i, pose in ((a, pose_a), (b, pose_b))
            ]
            constants = BEAM.write(
                first=ends[0],
                second=ends[1],
                rest=[0.0, 0.0, values[0], 0.0, 0.0, 0.0],
                stiffness=values[1:7],
                damping=values[7:13],
                power=powers,
                direction=both_ways,
            )
            build.system.frame_force(kind, (node_a, node_b), constants, 0, name)

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
    """Angle from the section's axes to its principal axes of bending [rad]; zero where they are that already."""
    bend_x, bend_y, coupling = section.stiffness[3], section.stiffness[4], section.coupling[1]
    if ca.SX(coupling).is_zero():
        return 0.0
    return ca.atan2(2 * coupling, bend_x - bend_y) / 2


def turned(section: SectionProperties, angle: Any) -> SectionProperties:
    """The stiffness of a section along axes that are turned by an angle [rad]; its inertia is left as it was."""
    cosine, sine = ca.cos(angle), ca.sin(angle)
    stiffness, coupling = list(section.stiffness), list(section.coupling)
    for first, between in ((0, 0), (3, 1)):
        a, b, c = stiffness[first], stiffness[first + 1], coupling[between]
        stiffness[first] = cosine**2 * a + sine**2 * b + 2 * sine * cosine * c
        stiffness[first + 1] = sine**2 * a + cosine**2 * b - 2 * sine * cosine * c
        coupling[between] = (cosine**2 - sine**2) * c - sine * cosine * (a - b)
    return SectionProperties(tuple(stiffness), (coupling[0], coupling[1]), section.mass, section.rotary)


def beam_stiffness(section: SectionProperties, length: Any) -> Any:
    """Six stiffnesses (6 x m) of straight beams of these lengths [m] for displacements seen from half-way between the ends.

    Bent by a constant moment a beam shows no displacement there; a transverse force adds `L^3 / (12 EI)` and `L / (kGA)`. The
    section's axes are its principal ones of bending. A force along one of them that shears a little along the other too does
    so without effect here: it is a small part of a small part, except in stubby beams.
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


def _section_pose(pose: Pose, axes: list[Any]) -> list[Any]:
    """Placement of a section with these axes at a node that is held: twelve numbers."""
    R = pose[0] @ ca.reshape(ca.vertcat(*axes), 3, 3)
    return [column for matrix in (R, pose[1]) for part in columns(ca.densify(matrix)) for column in part]
