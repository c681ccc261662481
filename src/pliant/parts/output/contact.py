"""Outputs of contacts: sums of forces, gaps, sliding speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pliant.language.base import Problem
from pliant.language.names import ContactName, ThingName
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery, OutputBase, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.model import Model
    from pliant.robot.robot import RobotSpec

Quantity = Literal["force", "normal_force", "friction_force", "gap", "sliding_speed", "count", "place"]
UNITS: dict[Quantity, str] = {
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

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        return UNITS[self.quantity]

    def components(self, robot: RobotSpec) -> tuple[str, ...]:
        return tuple("xyz") if self.component is None and self._is_vector else ()

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
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
