"""Energy of the entire robot, or of a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pliant.language.base import Problem
from pliant.language.names import PartName
from pliant.parts.output.base import ContactQuery, OutputBase, PartsByName, Symbols

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.model import Model

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
        found = self._found(robot)
        if not found:
            return
        if self.of is not None and self.of not in found:
            yield ("of",), f"'{self.part}' is a {found[0]}, not a {self.of}", "remove `of`"
            return
        if self.of is None and len(found) > 1:
            text = f"both a {' and a '.join(found)} are called '{self.part}'"
            yield ("part",), text, f"add `of: {found[0]}`"
            return
        of = self.of or found[0]
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
