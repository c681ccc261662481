"""State of a link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.names import LinkName
from pliant.parts.formula.base import world_jacobian
from pliant.parts.output.base import OutputBase, Symbols

if TYPE_CHECKING:
    from pliant.engine.model.model import Model
    from pliant.robot.robot import RobotSpec


class LinkOutput(OutputBase):
    """State of a link: `{link: rope, quantity: force}`."""

    link: LinkName
    """The link."""
    quantity: Literal["length", "rate", "force", "deformation"] = "force"
    """What is recorded: `length` and `rate` of an axial link [m, m/s], `deformation` of a beam, `force`."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return robot.links[self.link].quantities.get(self.quantity, "") if self.link in robot.links else ""

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
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
