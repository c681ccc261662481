"""State of an edge of a mesh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.faults import Fault, SpecError
from pliant.language.names import MeshName
from pliant.parts.output.base import OutputBase, PartsByName, Symbols

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.model import Model

UNITS = {"force": "N", "strain": "-", "length": "m", "rate": "m/s"}
NodeNumber = Annotated[int, Field(ge=1, strict=True)]


class MeshOutput(OutputBase):
    """State of an edge of a mesh: `{mesh: net, edge: [3, 7], quantity: force}`."""

    mesh: MeshName
    """The mesh."""
    edge: tuple[NodeNumber, NodeNumber]
    """The two nodes of the edge by their numbers, as `pliant show MODEL --mesh` draws them."""
    quantity: Literal["force", "strain", "length", "rate"] = "force"
    """What is recorded: the `force` along the line between the nodes, positive if it pulls them together [N], the elongation of
    the edge relative to its length without load, along its curve if it bends (`strain`) [-], the distance of the nodes (`length`)
    [m], or its `rate` [m/s]."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.mesh not in robot.meshes:
            return
        lattice = robot.meshes[self.mesh].lattice
        last = len(lattice.shares)
        if max(self.edge) > last:
            yield ("edge",), f"the mesh '{self.mesh}' has no node {max(self.edge)}", f"count from 1 to {last}"
        elif self._number(robot) is None:
            a, b = self.edge
            ends = {int(x) + 1 for pair in lattice.edges.tolist() if a - 1 in pair for x in pair} - {a}
            hint = f"node {a} has edges to {', '.join(map(str, sorted(ends)[:12])) or 'none'}"
            yield ("edge",), f"the mesh '{self.mesh}' has no edge between its nodes {a} and {b}", hint

    def reserve(self, build: Build) -> None:
        build.system.track("meshes", self.mesh)

    def prepare(self, build: Build) -> Any:
        """Index of the edge's force: forces are in the order of the edges, without edges that have both ends on one body."""
        ends = [(self._node(build, a), self._node(build, b)) for a, b in build.robot.meshes[self.mesh].lattice.edges]
        number, forces = self._number(build.robot), build.system.tracked["meshes", self.mesh].frame_forces
        assert number is not None, "checked when the model was read"
        if ends[number][0] == ends[number][1]:
            path = next(f"outputs.{name}.edge" for name, output in build.robot.outputs.items() if output is self)
            text = f"both ends of this edge of the mesh '{self.mesh}' are fixed to the same body, so it has no force"
            raise SpecError([Fault(text, "choose another edge", path)])
        if sum(a != b for a, b in ends) != len(forces):
            if self.quantity in ("length", "rate"):
                return None
            path = next(f"outputs.{name}.edge" for name, output in build.robot.outputs.items() if output is self)
            text = f"edges of the mesh '{self.mesh}' are rods, so its edges have no '{self.quantity}'"
            raise SpecError([Fault(text, "remove the output, or the `model` of these edges", path)])
        return forces[sum(a != b for a, b in ends[:number])]

    def nodes(self, model: Model) -> set[int]:
        return {model.frames[name].node for name in self._frames()}

    def value(self, at: Symbols) -> Any:
        first, second = (at.frame(name) for name in self._frames())
        force = None if at.prepared is None else at.model.system.frame_forces[at.prepared]
        if self.quantity == "strain":
            assert force is not None, "checked when the model was built"
            mesh = at.model.spec.meshes[self.mesh]
            return mesh.edge_strain(at.poses(force.nodes), at.constants(force))
        way = second.position - first.position
        length = ca.norm_2(way)
        if self.quantity == "length":
            return length
        if self.quantity == "rate":
            velocities = (end.twist[0:3] + ca.cross(end.twist[3:6], end.position) for end in (first, second))
            near, far = velocities
            return ca.dot(far - near, way) / length
        assert force is not None, "checked when the model was built"
        same = force.nodes[0] == at.model.frames[self._frames()[0]].node
        pull = at.wrench(force)[0:3] if same else at.wrench(force)[6:9]
        return ca.dot(pull, way) / length

    def _frames(self) -> tuple[str, str]:
        return f"{self.mesh}.n{self.edge[0]}", f"{self.mesh}.n{self.edge[1]}"

    def _number(self, robot: PartsByName) -> int | None:
        """Index of the edge; None if the mesh has no such edge."""
        wanted = {self.edge[0] - 1, self.edge[1] - 1}
        edges = robot.meshes[self.mesh].lattice.edges.tolist()
        return next((k for k, pair in enumerate(edges) if set(pair) == wanted), None)

    def _node(self, build: Build, index: int) -> int:
        return build.frame(f"{self.mesh}.n{int(index) + 1}")[0]
