"""Coordinates of rods by name: which there are follows from the rod's model, so a model of the rod alone is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.spec.collection import collections
from pliant.spec.names import Reference
from pliant.spec.rods import Finding
from pliant.spec.units import parse_unit
from pliant.spec.walk import leaves
from pliant.spec.words import suggestion

if TYPE_CHECKING:
    from pliant.spec.meaning import Checked
    from pliant.spec.robot import RobotSpec


@dataclass(frozen=True)
class RodCoordinate:
    """A coordinate of a rod: its name, the rod's, whether it is a free rotation, and its SI unit (`-` for none)."""

    name: str
    rod: str
    is_rotation: bool
    unit: str

    @property
    def label(self) -> str:
        """Its name without the rod's."""
        return self.name[len(self.rod) + 1 :]


def rod_coordinates(flat: RobotSpec) -> list[RodCoordinate]:
    """All coordinates of the rods of a flat and sound model, in order."""
    from pliant.model.build import Build

    found = []
    for name, rod in flat.rods.items():
        build = Build(flat)
        for tendon in flat.tendons.values():
            tendon.reserve(build)  # sections may stand at eyelets
        # on the world, and starting as its shape says, its coordinates have the same names
        rod.model_copy(update={"parent": "world", "initial": {}, "rates": {}}).apply(build, name)
        found += [RodCoordinate(c.name, name, c.is_rotation, c.unit) for c in build.coordinates.values()]
    return found


def rod_coordinate_problems(checked: Checked) -> Iterator[Finding]:
    """References to coordinates of rods, and their initial values, lead to something."""
    flat = checked.flat
    used = [
        (collection, name, leaf)
        for collection in collections(type(flat))
        for name, thing in getattr(flat, collection).items()
        for leaf in leaves(thing)
        if isinstance(leaf.marker, Reference) and leaf.marker.kind == "coordinate" and of_a_rod(flat, leaf.value)
    ]
    given = [rod for rod in flat.rods.values() if rod.initial or rod.rates]
    if checked.faults or not (used or given):
        return  # a model with faults may not be built
    known = {coordinate.name: coordinate for coordinate in rod_coordinates(flat)}
    for collection, name, leaf in used:
        if leaf.value not in known:
            hint = suggestion(leaf.value, known, f"known: {', '.join(list(known)[:12])}")
            yield collection, name, leaf.path, f"there is no coordinate '{leaf.value}'", hint
        elif leaf.path[-2:] == ("equal_to", "coordinate") and known[leaf.value].is_rotation:
            message = f"'{leaf.value}' is a free rotation and cannot be equal to a single coordinate"
            yield collection, name, leaf.path, message, "tie it to a length or an angle"
    for name in flat.rods:
        yield from _starts(checked, name, {c.label: c for c in known.values() if c.rod == name})


def of_a_rod(flat: RobotSpec, reference: str) -> bool:
    """Whether a reference to a coordinate is one to a coordinate of a rod, known or not."""
    return any(reference.startswith(f"{rod}.") for rod in flat.rods)


def _starts(checked: Checked, rod: str, known: dict[str, RodCoordinate]) -> Iterator[Finding]:
    for key in ("initial", "rates"):
        for label, value in getattr(checked.flat.rods[rod], key).items():
            if label not in known:
                hint = suggestion(label, known, f"known: {', '.join(list(known)[:12])}")
                yield "rods", rod, (key, label), f"the rod '{rod}' has no coordinate '{label}' in its model", hint
            elif known[label].is_rotation:
                message = f"'{label}' is a free rotation, which has no single value"
                yield "rods", rod, (key, label), message, "give the rod a `shape`"
            else:
                unit = {"-": "1", "rad": "1"}.get(known[label].unit, known[label].unit)
                dimension = parse_unit(unit if key == "initial" else f"{unit}/s").dimension
                if problem := checked.dimension_problem(value, dimension):
                    yield "rods", rod, (key, label), *problem
