"""Reactions of joints, welds, rod bases and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import FrameName, HeldName
from pliant.parts.output.base import OutputBase, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.model import Model
    from pliant.robot.robot import RobotSpec

Of = Literal["joint", "rod", "constraint"]
COLLECTIONS: dict[Of, str] = {"joint": "joints", "rod": "rods", "constraint": "constraints"}
UNITS = {"force": "N", "moment": "N m", "wrench": ""}


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

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
        found = self._found(robot)
        if self.of is not None and found and self.of not in found:
            yield ("of",), f"'{self.reaction}' is a {found[0]}, not a {self.of}", "remove `of`"
        if self.of is None and len(found) > 1:
            text = f"both a {' and a '.join(found)} are called '{self.reaction}'"
            yield ("reaction",), text, f"add `of: {found[0]}`"
        if self.quantity == "wrench" and self.component is not None:
            text = "a wrench has a force and a moment, so `component` is ambiguous"
            yield ("component",), text, "choose the quantity `force` or `moment`"

    def components(self, robot: RobotSpec) -> tuple[str, ...]:
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

    def _found(self, robot: RobotSpec) -> list[Of]:
        return [of for of, collection in COLLECTIONS.items() if self.reaction in getattr(robot, collection)]

    def _collection(self, robot: RobotSpec) -> str:
        return COLLECTIONS[self.of or self._found(robot)[0]]

    def _frame(self, model: Model) -> str:
        """The supported frame: a rod's base, or that of a joint's child."""
        if self._collection(model.spec) == "rods":
            return self.reaction
        return model.spec.joints[self.reaction].child
