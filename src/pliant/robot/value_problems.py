"""Errors in the values of a flat robot as a function of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from pliant.language.base import Part, Problem
from pliant.language.faults import ExpressionError
from pliant.language.message_text import KeyPath
from pliant.language.parameter import Environment, is_finite, range_problem
from pliant.language.scalar import Each, Quantity, Scalar
from pliant.language.traversal import collections, leaves, parts
from pliant.parts.output.rod import RodOutput
from pliant.parts.rod.stations import is_on_rod
from pliant.parts.tendon import Stretch
from pliant.robot.fields import RobotFields

Finding = tuple[str, str, KeyPath, str, str]
"""Collection, name of the part in it, path in the part, message, hint."""

Key = tuple[str, str]
"""A part: its collection and its name."""


def part_problems(thing: Part, value: Callable[[Scalar], float]) -> Iterator[Problem]:
    """Problems of the values of a single part."""
    yield from _problems_of(parts(thing), value)


def _problems_of(listed: Iterable[tuple[Part, KeyPath]], value: Callable[[Scalar], float]) -> Iterator[Problem]:
    for part, path in listed:
        try:
            for rest, message, hint in (*part.problems(value), *_zero_axes(part, value)):
                yield path + rest, message, hint
        except (ExpressionError, OverflowError):
            continue  # reported at the value


def _zero_axes(part: Part, value: Callable[[Scalar], float]) -> Iterable[Problem]:
    """Directions must not be zero."""
    for name in type(part).model_fields:
        given = getattr(part, name)
        if "axis" in name and isinstance(given, tuple) and all(value(entry) == 0 for entry in given):
            yield (name,), f"`{name}` is a direction and cannot be zero", "give x, y, z, or three numbers"


def problems_between(flat: RobotFields, value: Callable[[Scalar], float]) -> Iterator[Finding]:
    """Problems of values of different parts: eyelets, tables and outputs on their rods, masses of shapes."""
    for found in (_eyelets, _tables, _places, _masses):
        yield from found(flat, value)


def _eyelets(flat: RobotFields, value: Callable[[Scalar], float]) -> Iterator[Finding]:
    """The eyelets of tendons must be on their rods."""
    for name, tendon in flat.tendons.items():
        for index, item in enumerate(tendon.through):
            if not isinstance(item, Stretch) or item.rod not in flat.rods:
                continue
            try:
                problems = list(item.beyond(value, value(flat.rods[item.rod].length)))
            except ExpressionError:
                continue  # reported at the value
            for path, message, hint in problems:
                yield "tendons", name, ("through", index, *path), message, hint


def _tables(flat: RobotFields, value: Callable[[Scalar], float]) -> Iterator[Finding]:
    """A table of sections must end at the end of its rod."""
    for name, rod in flat.rods.items():
        if len(rod.section) != 1 or rod.section[0] not in flat.sections:
            continue
        stations = flat.sections[rod.section[0]].stations_by_arc_length()
        if not stations:
            continue
        try:
            last, length = value(stations[-1][0]), value(rod.length)
        except ExpressionError:
            continue  # reported at the value
        if abs(last - length) > 1e-9 * abs(length):
            message = f"the table '{rod.section[0]}' ends at {last:g} m, but the rod's length is {length:g} m"
            yield "rods", name, ("section", 0), message, "end the table at the rod's length"


def _places(flat: RobotFields, value: Callable[[Scalar], float]) -> Iterator[Finding]:
    """Check that the arc lengths of outputs are on their rods."""
    for name, output in flat.outputs.items():
        if not isinstance(output, RodOutput) or output.at is None or output.rod not in flat.rods:
            continue
        try:
            at, length = value(output.at), value(flat.rods[output.rod].length)
        except ExpressionError:
            continue  # reported at the value
        if not is_on_rod(at, length):
            message = f"the point at {at:g} m is off the rod '{output.rod}' (0 to {length:g} m)"
            yield "outputs", name, ("at",), message, "give an arc length between 0 and the rod's length"


def _masses(flat: RobotFields, value: Callable[[Scalar], float]) -> Iterator[Finding]:
    """Masses from a shape and a material must be finite."""
    for name, body in flat.bodies.items():
        if body.mass is not None or body.shape is None or body.material not in flat.materials:
            continue
        if flat.materials[body.material].density is None:
            continue
        try:
            finite = is_finite(body.total_mass(value, flat.materials))
        except ExpressionError:
            continue  # reported at the value
        except OverflowError:
            finite = False
        if not finite:
            yield "bodies", name, ("shape",), f"the mass of '{name}' is not a finite number", "check the sizes"


class ValueChecks:
    """The checks of a flat robot by the parameters that they depend on."""

    def __init__(self, flat: RobotFields, environment: Environment) -> None:
        self.flat = flat
        self.users: dict[str, list[tuple[Key, Part]]] = {}
        self.parts: dict[Key, list[tuple[Part, KeyPath]]] = {}
        self.values: dict[str, list[tuple[Key, KeyPath, Scalar]]] = {}
        self._note(("world", ""), flat.world, environment)
        for collection in collections(type(flat)):
            if collection == "parameters":
                continue
            for name, thing in getattr(flat, collection).items():
                if isinstance(thing, Part):
                    self._note((collection, name), thing, environment)

    def _note(self, key: Key, thing: Part, environment: Environment) -> None:
        used: set[str] = set()
        for leaf in leaves(thing):
            value = leaf.value
            if not isinstance(value, str) or isinstance(value, Each) or not isinstance(leaf.marker, Quantity):
                continue
            try:
                names = environment.uses(value)
            except ExpressionError:
                continue  # a keyword
            used |= names
            if "t" not in names and not (leaf.marker.of_state and names - environment.values.keys()):
                for name in names:
                    self.values.setdefault(name, []).append((key, leaf.path, value))
        for name in used:
            self.users.setdefault(name, []).append((key, thing))

    def problems(self, changed: Collection[str], value: Callable[[Scalar], float]) -> Iterator[Finding]:
        """Problems of everything that depends on some parameters, at the values of `value`."""
        affected = {key: thing for name in changed for key, thing in self.users.get(name, ())}
        found = False
        for name in changed:
            for (collection, thing), path, scalar in self.values.get(name, ()):
                if problem := range_problem(_number(scalar, value), str(scalar)):
                    found = True
                    yield collection, thing, path, *problem
        if found:
            return  # quantities that depend on such values are not computed
        for (collection, name), part in affected.items():
            listed = self.parts.get((collection, name))
            if listed is None:
                listed = self.parts[collection, name] = list(parts(part))
            yield from ((collection, name, *problem) for problem in _problems_of(listed, value))
        if any(
            collection in ("rods", "tendons", "sections", "bodies", "materials", "outputs")
            for collection, _ in affected
        ):
            yield from problems_between(self.flat, value)


def _number(scalar: Scalar, value: Callable[[Scalar], float]) -> Any:
    try:
        return value(scalar)
    except (ExpressionError, OverflowError, ZeroDivisionError):
        return None
