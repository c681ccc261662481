"""Outputs of frames, coordinates and energies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import CoordinateName, FrameName, PartName
from pliant.parts.geometry import so3
from pliant.parts.output.base import ContactQuery, OutputBase, PartsByName, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.model import Model

UNITS = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "rotation_vector": "rad",
    "quaternion": "-",
    "angular_velocity": "rad/s",
}


class FrameOutput(OutputBase):
    """Motion of a frame: `{frame: arm.tip, quantity: position, component: z}`."""

    frame: FrameName
    """The frame."""
    quantity: Literal["position", "velocity", "acceleration", "rotation_vector", "quaternion", "angular_velocity"] = (
        "position"
    )
    """What is recorded [m, m/s, m/s^2, rad, -, rad/s]."""
    component: Literal["w", "x", "y", "z", "norm"] | None = None
    """One component, or `norm` for the length of the vector; default: all components."""
    relative_to: FrameName = "world"
    """Frame relative to which, and in whose axes, the motion is measured."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        return self.quantity != "acceleration"

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        allowed = ("w", "x", "y", "z") if self.quantity == "quaternion" else ("x", "y", "z", "norm")
        if self.component is not None and self.component not in allowed:
            message = f"the {self.quantity} has no component {self.component}"
            yield ("component",), message, f"it has {', '.join(allowed)}"

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        return () if self.component is not None else tuple("wxyz" if self.quantity == "quaternion" else "xyz")

    def nodes(self, model: Model) -> set[int]:
        return {model.frames[name].node for name in (self.frame, self.relative_to)}

    def value(self, at: Symbols) -> Any:
        return component(self._vector(at), self.component, "wxyz" if self.quantity == "quaternion" else "xyz")

    def _vector(self, at: Symbols) -> Any:
        here, there = at.frame(self.frame), at.frame(self.relative_to)
        R, p, V, A = here.rotation, here.position, here.twist, here.acceleration
        R0, p0, V0, A0 = there.rotation, there.position, there.twist, there.acceleration
        w, w0, turn, turn0 = V[3:6], V0[3:6], A[3:6], A0[3:6]
        velocity = V[0:3] + ca.cross(w, p)
        if self.quantity == "position":
            return R0.T @ (p - p0)
        if self.quantity == "rotation_vector":
            return so3.log(R0.T @ R)
        if self.quantity == "quaternion":
            Q = so3.matrix_quaternion(R0.T @ R)
            return ca.if_else(Q[0] < 0, -Q, Q)
        if self.quantity == "angular_velocity":
            return R0.T @ (w - w0)
        # relative to the moving reference frame: subtract the velocity of its point at the same position
        relative = velocity - (V0[0:3] + ca.cross(w0, p))
        if self.quantity == "velocity":
            return R0.T @ relative
        acceleration = A[0:3] + ca.cross(turn, p) + ca.cross(w, velocity)
        carried = A0[0:3] + ca.cross(turn0, p) + ca.cross(w0, V0[0:3] + ca.cross(w0, p))
        return R0.T @ (acceleration - carried - 2 * ca.cross(w0, relative))


FORCE_UNITS = {"m": "N", "rad": "N m"}


class CoordinateOutput(OutputBase):
    """Motion of a coordinate: `{coordinate: hinge, quantity: rate}`."""

    coordinate: CoordinateName
    """The coordinate."""
    quantity: Literal["value", "rate", "acceleration", "force"] = "value"
    """What is recorded; `force` is the sum of spring, damper and input, without friction and limits."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        return self.quantity in ("value", "rate")

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        unit = coordinates.get(self.coordinate, "")
        if self.quantity == "value" or not unit:
            return unit
        if self.quantity == "force":
            return FORCE_UNITS.get(unit, "")
        # the rate of a free rotation is an angular velocity
        return ("rad" if unit == "-" else unit) + {"rate": "/s", "acceleration": "/s^2"}[self.quantity]

    def value(self, at: Symbols) -> Any:
        entry = next(c for c in at.model.coordinates if c.name == self.coordinate)
        q_size, v_size = (4, 3) if entry.is_rotation else (1, 1)
        q, v = at.q[entry.q_at : entry.q_at + q_size], at.v[entry.v_at : entry.v_at + v_size]
        if self.quantity == "value":
            return q
        if self.quantity == "rate":
            return v
        if self.quantity == "acceleration":
            return at.a[entry.v_at : entry.v_at + v_size]
        if self.coordinate not in at.model.coordinate_forces:
            return ca.DM.zeros(v_size)
        force = at.model.system.coordinate_forces[at.model.coordinate_forces[self.coordinate]]
        # coefficients may depend on other coordinates of the joint, which are among the arguments and results then
        size = sum(part.q_size for part in force.kind.parts)
        q, v = at.q[force.q_at : force.q_at + size], at.v[force.v_at : force.v_at + force.size]
        return at.coordinate_force(force, q, v)[entry.v_at - force.v_at : entry.v_at - force.v_at + v_size]


Of = Literal["body", "joint", "rod", "mesh", "link", "tendon", "contact"]
COLLECTIONS: dict[Of, str] = {
    "body": "bodies",
    "joint": "joints",
    "rod": "rods",
    "mesh": "meshes",
    "link": "links",
    "tendon": "tendons",
    "contact": "contacts",
}
MOVING: tuple[Of, ...] = ("body", "rod", "mesh")
"""Parts that have mass."""
RIGID: Of = "body"


class EnergyOutput(OutputBase):
    """Energy of the entire robot, or of a part: `{energy: total}`, `{energy: elastic, part: arm}`."""

    energy: Literal["kinetic", "potential", "total", "dissipated", "elastic", "gravity"]
    """Which energy [J]. `potential` is that of gravity and elasticity, `total` includes the kinetic energy; for a
    part, `elastic` and `gravity` are also available separately. `dissipated`, which accumulates along a motion, is
    available for the entire robot only."""
    part: PartName | None = None
    """Body, joint (its springs), rod, mesh, link, tendon or contact; default: the entire robot."""
    of: Of | None = None
    """Type of the part, if two parts have the same name."""
    description: str = ""
    """Description for readers."""

    @property
    def is_of_whole_robot(self) -> bool:
        return self.part is None

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return "J"

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.part is None:
            if self.of is not None:
                yield ("of",), "`of` is the type of a part, but no part is given", "give a `part`, or remove `of`"
            if self.energy in ("elastic", "gravity"):
                text = f"the {self.energy} energy is available for parts only"
                yield ("energy",), text, "give a `part`, or use the `potential` energy of the robot"
            return
        parts = self._found(robot)
        if not parts:
            return
        if self.of is not None and self.of not in parts:
            yield ("of",), f"'{self.part}' is a {parts[0]}, not a {self.of}", "remove `of`"
            return
        if self.of is None and len(parts) > 1:
            text = f"both a {' and a '.join(parts)} are called '{self.part}'"
            yield ("part",), text, f"add `of: {parts[0]}`"
            return
        of = self.of or parts[0]
        if self.energy == "dissipated":
            text = "dissipated energy accumulates along a motion and is available for the entire robot only"
            yield ("part",), text, "remove `part`"
        elif self.energy in ("kinetic", "gravity") and of not in MOVING:
            text = f"the {of} '{self.part}' has no mass, so it has no {self.energy} energy"
            yield ("energy",), text, "it has `elastic` energy"
        elif self.energy == "elastic" and of == RIGID:
            text = f"the body '{self.part}' is rigid, so it has no elastic energy"
            yield ("energy",), text, "it has `kinetic` and `gravity` energy; that of a spring is its joint's or link's"

    def reserve(self, build: Build) -> None:
        if self.part is not None and not self._is_contact(build.robot):
            build.system.track(self._collection(build.robot), self.part)

    def nodes(self, model: Model) -> set[int]:
        if self.part is None or self._is_contact(model.spec):
            return set()
        return model.tracked[self._collection(model.spec), self.part].nodes(model.system)

    def touching(self, model: Model) -> set[ContactQuery]:
        return {ContactQuery(self.part)} if self.part is not None and self._is_contact(model.spec) else set()

    def value(self, at: Symbols) -> Any:
        if self.part is not None and self._is_contact(at.model.spec):
            return at.contact(ContactQuery(self.part), "energy")
        if self.part is None:
            kinetic, potential, dissipated = (at.energies[k] for k in range(3))
            return {
                "kinetic": kinetic, "potential": potential, "total": kinetic + potential, "dissipated": dissipated
            }[self.energy]  # fmt: skip
        kinetic, gravity, elastic = at.part_energies(self._collection(at.model.spec), self.part)
        return {
            "kinetic": kinetic,
            "gravity": gravity,
            "elastic": elastic,
            "potential": gravity + elastic,
            "total": kinetic + gravity + elastic,
        }[self.energy]

    def _found(self, robot: PartsByName) -> list[Of]:
        return [of for of, collection in COLLECTIONS.items() if self.part in getattr(robot, collection)]

    def _is_contact(self, robot: PartsByName) -> bool:
        return self._collection(robot) == "contacts"

    def _collection(self, robot: PartsByName) -> str:
        return COLLECTIONS[self.of or self._found(robot)[0]]
