"""Outputs of frames, coordinates, energies, links, tendons, constraints, contacts and joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import (
    ConstraintName,
    ContactName,
    CoordinateName,
    FrameName,
    HeldName,
    LinkName,
    PartName,
    TendonName,
    ThingName,
)
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import PartsByName
from pliant.parts.formula.base import world_jacobian
from pliant.parts.geometry import so3
from pliant.parts.magnet import FieldSource, field_sources
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery, OutputBase, Symbols, component

if TYPE_CHECKING:
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


class FluxDensityOutput(OutputBase):
    """Magnetic flux density at a frame, of all magnets, as a sensor measures it: `{flux_density: hand, component: z}`."""

    flux_density: FrameName
    """Frame at whose origin it is measured [T]."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component, or `norm` for the length of the vector; default: all components."""
    expressed_in: FrameName | None = None
    """Frame in whose axes the components are; default: the frame itself."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return "T"

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        return () if self.component is not None else tuple("xyz")

    def prepare(self, build: Build) -> tuple[FieldSource, ...]:
        return field_sources(build)

    def nodes(self, model: Model) -> set[int]:
        prepared = [x for found in model.prepared.values() if isinstance(found, tuple) for x in found]
        frames = [name for name in (self.flux_density, self.expressed_in) if name is not None]
        return {x.node for x in prepared if isinstance(x, FieldSource)} | {model.frames[name].node for name in frames}

    def value(self, at: Symbols) -> Any:
        place, axes = at.frame(self.flux_density), at.frame(self.expressed_in or self.flux_density)
        total = ca.SX.zeros(3)
        for source in at.prepared:
            c = at.numbers(source.constants, source.kind.constants.size)
            signal = ca.vertcat(ca.SX(0, 1), *[at.signal(source.signals + k) for k in range(source.kind.signals)])
            total += source.kind.field_of(at.poses([source.node])[0], c, signal, place.position)
        return component(axes.rotation.T @ total, self.component)


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


class LinkOutput(OutputBase):
    """State of a link: `{link: rope, quantity: force}`."""

    link: LinkName
    """The link."""
    quantity: Literal["length", "rate", "force", "deformation"] = "force"
    """What is recorded: `length` and `rate` of an axial link [m, m/s], `deformation` of a beam, `force`."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return robot.links[self.link].quantities.get(self.quantity, "") if self.link in robot.links else ""

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.link in robot.links and self.quantity not in (known := robot.links[self.link].quantities):
            yield ("quantity",), f"the link '{self.link}' has no {self.quantity}", f"it has {', '.join(known)}"

    def nodes(self, model: Model) -> set[int]:
        return set(model.system.frame_forces[model.link_forces[self.link]].nodes)

    def value(self, at: Symbols) -> Any:
        force = at.model.system.frame_forces[at.model.link_forces[self.link]]
        symbols = [(ca.SX.sym(f"R{i}", 3, 3), ca.SX.sym(f"p{i}", 3)) for i in range(2)]
        deformation = at.model.spec.links[self.link].deformation(symbols, at.constants(force))
        jacobian = world_jacobian(deformation, symbols)
        where = [x for pair in symbols for x in pair]
        into = [ca.densify(x) for pair in at.poses(force.nodes) for x in pair]  # the world's pose has zeros
        value, G = ca.substitute([ca.SX(deformation), jacobian], where, into)
        if self.quantity in ("length", "deformation"):
            return value
        if self.quantity == "rate":
            return G @ at.twists(force.nodes)
        # the force conjugate to the deformation: least squares solves wrench = G' force exactly
        conjugate = ca.solve(G @ G.T, G @ at.wrench(force))
        return -conjugate if value.numel() == 1 else conjugate


TENDON_UNITS = {"length": "m", "rate": "m/s", "tension": "N", "end_tension": "N"}


class TendonOutput(OutputBase):
    """State of a tendon: `{tendon: pull, quantity: length}`."""

    tendon: TendonName
    """The tendon."""
    quantity: Literal["length", "rate", "tension", "end_tension"] = "tension"
    """What is recorded: its length, its rate, the tension at its first point, or at its last point, which differs
    because of friction [m, m/s, N]."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return TENDON_UNITS[self.quantity]

    def nodes(self, model: Model) -> set[int]:
        return set(model.system.routes[model.routes[self.tendon]].nodes)

    def value(self, at: Symbols) -> Any:
        return at.line(self.tendon)[list(TENDON_UNITS).index(self.quantity)]


class ConstraintOutput(OutputBase):
    """Force of a constraint: `{constraint: pin, component: x}`."""

    constraint: ConstraintName
    """The constraint."""
    component: Literal["x", "y", "z", "rx", "ry", "rz"] | None = None
    """One of its components; default: all [N or N m]."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        rows: tuple[str, ...] = (self.component,) if self.component else ()
        if not rows and self.constraint in robot.constraints:
            rows = robot.constraints[self.constraint].rows
        units = {"N m" if row.startswith("r") else "N" for row in rows}
        return units.pop() if len(units) == 1 else ""

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.constraint in robot.constraints and self.component is not None:
            rows = robot.constraints[self.constraint].rows
            if self.component not in rows:
                message = f"the constraint '{self.constraint}' does not constrain {self.component}"
                yield ("component",), message, f"it constrains {', '.join(rows)}"

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        rows = robot.constraints[self.constraint].rows
        return rows if self.component is None and len(rows) > 1 else ()

    def value(self, at: Symbols) -> Any:
        first, rows = at.model.constraint_rows[self.constraint], at.model.spec.constraints[self.constraint].rows
        if self.component is None:
            return at.multipliers[first : first + len(rows)]
        return at.multipliers[first + rows.index(self.component)]


Quantity = Literal["force", "normal_force", "friction_force", "gap", "sliding_speed", "count", "place"]
CONTACT_UNITS: dict[Quantity, str] = {
    "force": "N", "normal_force": "N", "friction_force": "N", "gap": "m", "sliding_speed": "m/s", "count": "-", "place": "m",
}  # fmt: skip


class ContactOutput(OutputBase):
    """State of a contact: `{contact: ground, component: z}`, `{contact: grip, quantity: gap, of: [finger, ball]}`."""

    contact: ContactName
    """The contact; all of its contact points are combined."""
    quantity: Quantity = "force"
    """What is recorded: the `force` on the first entry of `between`, or its tangential part, `friction_force` [N];
    the `normal_force`, summed regardless of direction [N]; the smallest `gap` between the surfaces, negative where
    they overlap [m]; the largest `sliding_speed` [m/s]; the `count` of contact points; the `place` of contact,
    averaged with the normal forces as weights [m], NaN if nothing touches."""
    of: tuple[ThingName, ThingName] | None = None
    """Two of its parts, if it has more: `[finger1, ball]`. The force is then that on the first of them."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component of a force or place in world axes, or `norm` for the length of the vector; default: all."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return CONTACT_UNITS[self.quantity]

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        return tuple("xyz") if self.component is None and self._is_vector else ()

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        if self.component is not None and not self._is_vector:
            yield ("component",), f"the {self.quantity} is one number and has no components", "omit `component`"
        if self.of is None or self.contact not in robot.contacts:
            return
        sides = robot.contacts[self.contact].between
        things = [name for side in sides for name in side]
        for name in self.of:
            if name == "all" or (name not in things and "all" not in things):
                hint = f"it has {', '.join(dict.fromkeys(things))}" if "all" not in things else "give two parts"
                yield ("of",), f"the contact '{self.contact}' does not involve '{name}'", hint

    def touching(self, model: Model) -> set[ContactQuery]:
        return {self._question}

    def value(self, at: Symbols) -> Any:
        found = at.contact(self._question, self.quantity)
        return component(found, self.component) if self._is_vector else found

    @property
    def _is_vector(self) -> bool:
        return CONTACT_SUMS[self.quantity][1] == 3

    @property
    def _question(self) -> ContactQuery:
        return ContactQuery(self.contact, self.of or (), self.quantity == "gap")


OfKind = Literal["joint", "rod", "constraint"]
HOLDING: dict[OfKind, str] = {"joint": "joints", "rod": "rods", "constraint": "constraints"}
REACTION_UNITS = {"force": "N", "moment": "N m", "wrench": ""}


class ReactionOutput(OutputBase):
    """Reaction of a joint, a weld, a rod's base or a constraint: `{reaction: hinge, quantity: moment, component: y}`.

    It is the force exerted by the parent on the child, and the moment about the origin of the child frame at the joint: the total
    load transmitted by the joint, including its springs, dampers and inputs along its free axes. For a rod it is exerted by its
    parent, about the centre of its base section; for a constraint by the first of its frames on the second, about the origin of
    the second. `NAME/world` is the weld that supports the model attached as NAME.
    """

    reaction: HeldName
    """The joint (including welds), rod or constraint."""
    quantity: Literal["force", "moment", "wrench"] = "force"
    """What is recorded: the `force` [N], the `moment` [N m], or both, x, y, z, rx, ry, rz (`wrench`)."""
    component: Literal["x", "y", "z", "norm"] | None = None
    """One component of the force or moment, or `norm` for its length; default: all."""
    expressed_in: FrameName | None = None
    """Frame in whose axes the components are expressed; default: the child frame at the joint, the rod's base, or the
    axes of the constraint."""
    of: OfKind | None = None
    """Type of the part, if a joint, a rod and a constraint have the same name."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: PartsByName, coordinates: Mapping[str, str]) -> str:
        return REACTION_UNITS[self.quantity]

    def problems_in(self, robot: PartsByName) -> Iterator[Problem]:
        part = self._found(robot)
        if self.of is not None and part and self.of not in part:
            yield ("of",), f"'{self.reaction}' is a {part[0]}, not a {self.of}", "remove `of`"
        if self.of is None and len(part) > 1:
            text = f"both a {' and a '.join(part)} are called '{self.reaction}'"
            yield ("reaction",), text, f"add `of: {part[0]}`"
        if self.quantity == "wrench" and self.component is not None:
            text = "a wrench has a force and a moment, so `component` is ambiguous"
            yield ("component",), text, "choose the quantity `force` or `moment`"

    def components(self, robot: PartsByName) -> tuple[str, ...]:
        if self.quantity == "wrench":
            return ("x", "y", "z", "rx", "ry", "rz")
        return tuple("xyz") if self.component is None else ()

    def reserve(self, build: Build) -> None:
        build.reserve_cut(self._collection(build.robot), self.reaction)

    def nodes(self, model: Model) -> set[int]:
        axes = set() if self.expressed_in is None else {model.frames[self.expressed_in].node}
        if self._collection(model.spec) == "constraints":
            held = next(c for c in model.system.constraints if c.name == self.reaction)
            return axes | set(held.nodes)
        return axes | self.carrying(model)

    def carrying(self, model: Model) -> set[int]:
        if self._collection(model.spec) == "constraints":
            return set()
        return {model.frames[self._frame(model)].node}

    def value(self, at: Symbols) -> Any:
        if self._collection(at.model.spec) == "constraints":
            wrench, point, axes = at.constraint_wrench(self.reaction)
        else:
            name = self._frame(at.model)
            frame = at.frame(name)
            point, axes, wrench = frame.position, frame.rotation, at.carried(at.model.frames[name].node)
        if self.expressed_in is not None:
            axes = at.frame(self.expressed_in).rotation
        force = axes.T @ wrench[0:3]
        moment = axes.T @ (wrench[3:6] - ca.cross(point, wrench[0:3]))
        if self.quantity == "wrench":
            return ca.vertcat(force, moment)
        return component(force if self.quantity == "force" else moment, self.component)

    def _found(self, robot: PartsByName) -> list[OfKind]:
        return [of for of, collection in HOLDING.items() if self.reaction in getattr(robot, collection)]

    def _collection(self, robot: PartsByName) -> str:
        return HOLDING[self.of or self._found(robot)[0]]

    def _frame(self, model: Model) -> str:
        """The supported frame: a rod's base, or that of a joint's child."""
        if self._collection(model.spec) == "rods":
            return self.reaction
        return model.spec.joints[self.reaction].child
