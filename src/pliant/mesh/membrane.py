"""Membrane: point masses joined by ropes. It resists being stretched, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.language import dimension as dim
from pliant.language.base import Problem, positive
from pliant.language.scalar import Number, Quantity, Scalar
from pliant.link.axial import ROPE, rope_force
from pliant.mesh.base import MeshBase, PlacedMesh, columns, section_properties
from pliant.motion import TRANSLATION

if TYPE_CHECKING:
    from pliant.model.build import Build

Force = Annotated[Scalar, Quantity(dim.FORCE)]


class Membrane(MeshBase):
    """Nets and thin fabrics: every node is a point mass with three coordinates, every edge a rope."""

    type: Literal["membrane"] = "membrane"
    stiffness: Force | None = None
    """Force per unit of strain of an edge [N]; otherwise Young's modulus times the section's area."""
    direction: Literal["tension", "both"] = "tension"
    """Whether edges go slack when they get shorter than at rest, or push back."""
    fading: Number = 1e-3
    """Strain over which a slack edge becomes taut [-]: its tension rises from zero as a parabola up to there."""
    tightness: Number = 1
    """Rest lengths as a share of the lengths in the drawing [-]; below 1 the membrane is stretched at the start."""

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

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The edges have a stiffness, and numbers are in their ranges."""
        yield from super().problems(value)
        yield from positive(self, value, "stiffness", "tightness", "fading")
        if self.stiffness is None and self.section is None:
            yield (), "the edges have no stiffness", "give `stiffness`, or `section` and `material`"

    def material_needs(self) -> tuple[tuple[str, ...], ...]:
        """Besides density, stiffness where it is not given."""
        return (*super().material_needs(), *((("youngs_modulus",),) if self.stiffness is None else ()))

    def add_nodes(self, build: Build, name: str, placed: PlacedMesh) -> list[tuple[int, Pose]]:
        """Three coordinates per node: its place in the world."""
        masses = self._node_masses(build, placed)
        free = [i for i in range(placed.count) if i not in placed.held]
        places = columns(placed.world)
        nodes = build.free_nodes(
            TRANSLATION, [f"{name}.n{i + 1}" for i in free], [places[i] for i in free], None, placed.carrier
        )
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
            return [build.value(self.node_mass)] * placed.count
        half = placed.edge_mass / 2
        return [column[0] for column in columns(placed.node_sum(half, half))]

    def add_edges(self, build: Build, name: str, placed: PlacedMesh, frames: list[tuple[int, Pose]]) -> None:
        """A rope per edge; between two points of one body there is none."""
        stiffness = self._edge_stiffness(build) / placed.lengths
        rest = build.value(self.tightness) * placed.lengths
        table = ca.vertcat(stiffness, rest, build.value(self.fading) / 2 * placed.lengths)
        kind, way, time = rope_force(), 1.0 if self.direction == "tension" else 0.0, build.value(self.damping_time)
        points = {i: columns(ca.densify(pose[1]))[0] for i, (_, pose) in placed.held.items()}
        at_origin = [0.0, 0.0, 0.0]
        for a, b, (k, length, width) in zip(
            placed.first.tolist(), placed.second.tolist(), placed.kind_columns(table), strict=True
        ):
            nodes = (frames[a][0], frames[b][0])
            if nodes[0] != nodes[1]:
                first, second = points.get(a, at_origin), points.get(b, at_origin)
                constants = ROPE.write(
                    first=first, second=second, stiffness=k, rest=length, time=time, direction=way, width=width
                )
                build.system.frame_force(kind, nodes, constants, 0, name)

    def _edge_stiffness(self, build: Build) -> Any:
        if self.stiffness is not None:
            return build.value(self.stiffness)
        return section_properties(self, build).stiffness[2]
