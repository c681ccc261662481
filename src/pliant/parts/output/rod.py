"""Outputs of rods and meshes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.faults import Fault, SpecError
from pliant.language.names import MeshName, RodName
from pliant.language.scalar import Length, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import PartsByName
from pliant.parts.output.base import OutputBase, Symbols, component
from pliant.parts.rod.stations import station
from pliant.parts.rod.strains import Free, held_strains, named

if TYPE_CHECKING:
    from pliant.engine.model.model import Model

UNITS = {
    "angle": "rad", "plane": "rad", "radius": "m", "length": "m", "strain": "-", "curvature": "1/m",
    "force": "N", "moment": "N m", "material_force": "N", "material_moment": "N m",
}  # fmt: skip
OF_ARCS = ("angle", "plane", "radius", "length")
LINEAR = ("strain", "force", "material_force")
"""Quantities that belong to the first three of six strains: shear along x and y, stretch along z."""
MEANING = {
    "strain": ("shear along x", "shear along y", "stretch"),
    "curvature": ("bending about x", "bending about y", "twist"),
}


class RodOutput(OutputBase):
    """Strains and section forces of a rod, `{rod: arm, at: 10 cm, quantity: moment, component: x}`, or as a profile
    along it, `{rod: arm, stations: 21, quantity: moment, component: x}`; shape of one arc of a rod of circular arcs,
    `{rod: arm, section: 2, quantity: angle}`.

    Quantities are in the axes of the section, whose z axis is the rod's tangent, and relative to the straight, unstretched rod.
    """

    rod: RodName
    """The rod."""
    quantity: Literal[
        "angle", "plane", "radius", "length", "strain", "curvature", "force", "moment", "material_force", "material_moment"
    ] = "angle"  # fmt: skip
    """What is recorded. At a point or along the rod: `strain` (shear along x and y, stretch along z) [-], `curvature`
    (bending about x and y, twist about z) [1/m], per undeformed length: of a stretched rod it is `1 + stretch` times
    the reciprocal of its radius of curvature; `force` and `moment` of the section: exerted by the distal part of
    the rod on the proximal part, by material and chambers together, as in statics [N, N m]; `material_force` and
    `material_moment` are the contribution of the material, elastic and viscous, which also balances the pressure of
    chambers. Of an arc: the `angle` of bending [rad], the direction of bending as an angle from the base's x axis
    (`plane`) [rad], the `radius` (infinite for a straight arc) or the `length` along its axis [m]."""
    at: Length | None = None
    """Undeformed arc length from the base [m]."""
    stations: Annotated[int, Field(ge=2, le=1000, strict=True)] | None = None
    """Number of equidistant stations from base to tip, for a profile along the rod."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component, or `norm` for the length of the vector; default: all, at a single arc length."""
    section: Annotated[int, Field(ge=1, strict=True)] = 1
    """Number of an arc of a model such as `pcc`, counted from the base."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        return self.quantity in ("strain", "curvature")

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        if self.stations is not None:
            return tuple(str(k + 1) for k in range(self.stations))
        return () if self.quantity in OF_ARCS or self.component is not None else tuple("xyz")

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Quantities of an arc take no position; all others take `at` or `stations`."""
        if self.quantity in OF_ARCS:
            for key in ("at", "stations", "component"):
                if getattr(self, key) is not None:
                    text = f"the {self.quantity} is defined for an entire arc, so `{key}` does not apply"
                    yield (key,), text, "choose a quantity such as `curvature` or `moment`, or remove it"
            return
        if "section" in self.model_fields_set:
            yield ("section",), f"the {self._words} is defined at a point, not for an entire arc", "give `at` instead"
        if (self.at is None) == (self.stations is None):
            hint = "give `at`, an arc length, or `stations`, a number of points for a profile"
            yield ("quantity",), f"the {self._words} of a rod needs a position, or stations along the rod", hint
        if self.stations is not None and self.component is None:
            yield ("stations",), "a profile has one component", "add `component`: x, y, z or norm"

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.rod not in robot.rods:
            return
        rod = robot.rods[self.rod]
        if self.quantity not in OF_ARCS:
            if free := rod.free_strains():  # a rod without free strains is reported elsewhere
                yield from self._unknown(held_strains(free))
            return
        arcs = rod.model.arcs()
        if self.section > arcs:
            message = f"the rod '{self.rod}' has {arcs or 'no'} circular arcs, so there is no arc {self.section}"
            hint = f"count from 1 to {arcs}" if arcs else "choose one of the rod models pcc and pcc_cog"
            yield ("section",) if arcs else ("rod",), message, hint

    def _unknown(self, held: Free) -> Iterator[Problem]:
        """Forces conjugate to strains that are not free, which are undetermined."""
        if self.quantity in MEANING:
            return
        first = 0 if self.quantity in LINEAR else 3
        asked = range(3) if self.component in (None, "norm") else ("xyz".index(self.component),)
        missing = [k for k in asked if first + k in held]
        if missing:
            words = " and ".join("xyz"[k] for k in missing)
            strains = named(first + k for k in missing)
            message = f"the rod '{self.rod}' has no free {strains}, so the {self._words} along {words} is unknown"
            known = ["xyz"[k] for k in range(3) if first + k not in held]
            hint = f"use component {' or '.join(known)}, " if known else ""
            yield (
                ("rod",),
                message,
                f"{hint}choose other `strains` or another rod model, or take the `reaction` of the rod's base",
            )

    @property
    def _words(self) -> str:
        return self.quantity.replace("_", " ")

    def prepare(self, build: Build) -> Any:
        if self.quantity in OF_ARCS:
            return None
        length, of_force = build.value(build.robot.rods[self.rod].length), self.quantity in LINEAR
        path = next(f"outputs.{name}.at" for name, output in build.robot.outputs.items() if output is self)
        if self.at is not None:
            at = build.value(self.at)
            return (station(build, self.rod, at, at / length, path, of_force=of_force),)
        assert self.stations is not None, "checked when the model was read"
        fractions = [k / (self.stations - 1) for k in range(self.stations)]
        return tuple(station(build, self.rod, length * x, x, path, of_force=of_force) for x in fractions)

    def arc_lengths(self, prepared: Any, constants: Any) -> Any:
        return None if self.stations is None else [float(constants[place.constants]) for place in prepared]

    def nodes(self, model: Model) -> set[int]:
        if self.quantity in OF_ARCS:
            return set()
        samples, name = model.strain_samples[self.rod], next(n for n, x in model.spec.outputs.items() if x is self)
        used = {samples[k] for place in model.prepared[name] for k in place.samples}
        return {node for s in used if s.on_frames for node in model.system.frame_forces[s.force].nodes}

    def value(self, at: Symbols) -> Any:
        if self.quantity in OF_ARCS:
            return self._of_arc(at)
        samples = at.model.strain_samples[self.rod]
        found = {k: self._vector(at, samples[k]) for place in at.prepared for k in place.samples}
        values = []
        for place in at.prepared:
            weights = at.numbers(place.constants + 1, len(place.samples))
            vector = sum(weights[i] * found[k] for i, k in enumerate(place.samples))
            values.append(component(vector, self.component))
        return ca.vertcat(*values)

    def _vector(self, at: Symbols, sample: Any) -> Any:
        section = at.section(sample)
        if self.quantity in MEANING:
            six = section.strain
        elif self.quantity in ("force", "moment"):
            six = section.material - section.actuation
        else:
            six = section.material
        return six[0:3] if self.quantity in LINEAR else six[3:6]

    def _of_arc(self, at: Symbols) -> Any:
        bend, length = at.arc(self.rod, self.section)
        angle = ca.norm_2(bend)
        if self.quantity == "angle":
            return angle
        if self.quantity == "plane":
            return ca.atan2(-bend[0], bend[1])
        return length if self.quantity == "length" else length / angle


MESH_UNITS = {"force": "N", "strain": "-", "length": "m", "rate": "m/s"}
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
        return MESH_UNITS[self.quantity]

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
