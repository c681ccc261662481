"""Outputs of links, tendons, constraints, contacts and joints: lengths, forces, violations and reactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import ConstraintName, ContactName, FrameName, HeldName, LinkName, TendonName, ThingName
from pliant.parts.formula.base import world_jacobian
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery, OutputBase, PartsByName, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.model import Model


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


Of = Literal["joint", "rod", "constraint"]
COLLECTIONS: dict[Of, str] = {"joint": "joints", "rod": "rods", "constraint": "constraints"}
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
    of: Of | None = None
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

    def _found(self, robot: PartsByName) -> list[Of]:
        return [of for of, collection in COLLECTIONS.items() if self.reaction in getattr(robot, collection)]

    def _collection(self, robot: PartsByName) -> str:
        return COLLECTIONS[self.of or self._found(robot)[0]]

    def _frame(self, model: Model) -> str:
        """The supported frame: a rod's base, or that of a joint's child."""
        if self._collection(model.spec) == "rods":
            return self.reaction
        return model.spec.joints[self.reaction].child
