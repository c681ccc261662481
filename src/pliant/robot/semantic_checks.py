"""Semantic checks of a well-formed model: values, dimensions, names, and the structure of the robot."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pliant.language.base import Part, Problem, problems_of
from pliant.language.dimension import Dimension
from pliant.language.evaluate import CONSTANTS, THIS, UNKNOWN, OpenDimension, evaluate, is_state, to_node
from pliant.language.faults import ExpressionError, Fault
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath, suggestion
from pliant.language.parameter import (
    TIME,
    Environment,
    Parameter,
    bounds_problems,
    finite,
    in_order,
    is_finite,
    parameter_dimensions,
    range_problem,
    wrong_dimension,
)
from pliant.language.scalar import Each, Quantity, Scalar
from pliant.language.syntax import Number, children, symbols, to_text, unit_names
from pliant.language.traversal import Leaf, collections, leaves, parts
from pliant.parts.output.rod import RodOutput
from pliant.parts.rod.stations import is_on_rod
from pliant.parts.rod.strains import LABELS
from pliant.parts.tendon import Stretch
from pliant.robot.defaults import expressions_in_defaults
from pliant.robot.fields import RobotFields
from pliant.robot.flat import INSTANCE_NAMES, Flat, Origin

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
            for rest, message, hint in (*problems_of(part, value), *_zero_axes(part, value)):
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


NO_STATE: Mapping[str, Dimension] = {}
STRAINS = frozenset({*LABELS, "strain"})
MAY_DEPEND = (
    "coefficients of springs and dampers of joints and links may depend on their coordinates and lengths, and stiffness_factors "
    "of rods on their strains; a parameter needs another name"
)


def _base(step: str | int) -> str | int:
    """A key as in the text: that of a repeated frame or chamber has no index."""
    return step if isinstance(step, int) or not step.endswith("]") else step.partition("[")[0]


@dataclass(frozen=True)
class UnreadableEntries:
    """Entries of a model that were omitted because they could not be read; faults that depend on them are not reported.

    dropped: entire entries, as (`joints`, `hinge`), or entire collections. trimmed: entries that lack a key.
    frames: names of the frames of such bodies and rods, where these can be read; the frame of the part itself is "".
    """

    dropped: frozenset[KeyPath] = frozenset()
    trimmed: frozenset[KeyPath] = frozenset()
    frames: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def lacks(self, *collections: str) -> bool:
        """Whether entries of these collections were omitted."""
        return any(not path or path[0] in collections for path in self.dropped)

    def touches(self, collection: str, name: str) -> bool:
        """Whether an entry was omitted or lacks a key."""
        return bool({(collection,), (collection, name)} & (self.dropped | self.trimmed))


class SemanticChecks:
    """A flat model under check: its values and dimensions, and the faults found so far."""

    def __init__(self, spec: RobotFields, flat: RobotFields, origins: Flat, broken: UnreadableEntries) -> None:
        self.spec, self.flat, self.origins, self.broken = spec, flat, origins, broken
        self.faults: list[Fault] = list(origins.faults)
        self.inputs = {name for name, parameter in flat.parameters.items() if parameter.input}
        self.dimensions, self.errors = parameter_dimensions(flat.parameters)
        self.numbers = self._numbers()
        self.parameter_words = {name.rpartition("/")[2] for name in flat.parameters}
        self._seen: set[tuple[str | None, KeyPath]] = set()

    def _numbers(self) -> dict[str, float]:
        numbers: dict[str, float] = {}
        for name in in_order(self.flat.parameters)[0]:
            try:
                numbers[name] = evaluate(to_node(self.flat.parameters[name].value), numbers)
            except ExpressionError as error:
                self.errors.setdefault(name, error)
        return numbers

    def lacks(self, *collections: str) -> bool:
        """Whether entries of these collections were omitted or could not be read."""
        return self.broken.lacks(*collections) or any(path[0] in collections for path in self.origins.unread)

    def number(self, scalar: Scalar) -> float:
        """The value of a field at the parameters' values and at time zero."""
        return finite(scalar, {**self.numbers, TIME: 0.0})

    def report(self, collection: str, name: str, rest: KeyPath, message: str, hint: str = "") -> None:
        """Record a fault of a flat part at its location in the text, once for all instances."""
        origin = self.origins.origins.get((collection, name))
        if origin is None:
            origin = Origin(self.spec.source, (collection, name) if name else (collection,))
        if origin.path[0] == "attach" and rest[:1] == ("parent",):
            rest = ("to", *rest[1:])
        if origin.path[0] == "bodies" and rest[:1] == ("child",):
            rest = ()  # the weld of a fixed body is not in the text
        if rest[:1] == ("frames",) and (name, rest[1]) in self.origins.along:
            origin, rest = self.origins.along[name, str(rest[1])], ()
        path = origin.path + (tuple(map(_base, rest)) if rest[:1] in (("frames",), ("chambers",)) else rest)
        if origin.instance is not None or path != origin.path + rest:
            if origin.instance is not None:
                path = origin.source.path_of_instance(path, origin.instance)
            key = (origin.source.file, path)
            if key in self._seen:
                return
            self._seen.add(key)
        self.faults.append(origin.source.fault(path, message, hint))

    def is_too_large(self) -> bool:
        """Whether the robot has more elements than allowed. This is then the only fault, because other checks would take long."""
        total = 0
        rods = (("rods", name, rod.model.pieces(), ("model",)) for name, rod in self.flat.rods.items())
        meshes = (("meshes", name, len(mesh.lattice.shares), ("drawing",)) for name, mesh in self.flat.meshes.items())
        for collection, name, number, path in (*rods, *meshes):
            total += number
            if total > limits().elements:
                message = f"the rods and meshes of the robot have {total} elements up to this one"
                self.report(collection, name, path, message, f"use fewer of them; {most('elements')}")
                return True
        return False

    # Parameters

    def parameters(self) -> None:
        """Check parameters: no cycles, known names, values within bounds; constant unless marked as input."""
        for name in in_order(self.flat.parameters)[1]:
            message = f"parameter '{name}' is defined in terms of itself"
            self.report("parameters", name, ("value",), message, "give one of them a value")
        for name, error in self.errors.items():
            if problem := self._unknown(error):
                self.report("parameters", name, ("value",), *problem)
        for name, parameter in self.flat.parameters.items():
            if name in self.numbers and name not in self.errors:
                for rest, message, hint in self._parameter(name, parameter):
                    self.report("parameters", name, rest, message, hint)

    def _parameter(self, name: str, parameter: Parameter) -> Iterator[Problem]:
        used = symbols(to_node(parameter.value)) & self.inputs
        if used and not parameter.input:
            message = f"'{name}' is constant but uses the input parameter '{min(used)}', which varies in time"
            yield ("value",), message, "write the expression where it is used"
        if problem := range_problem(self.numbers[name], f"'{name}'"):
            yield ("value",), *problem
        yield from bounds_problems(
            name, parameter, self.numbers[name], self.dimensions.get(name, UNKNOWN), self.dimensions, self.number
        )

    # Values

    def values(self) -> None:
        """Check every value: known names, the right dimension, constant where required, a finite number."""
        for prefix, (world, analyses) in {
            "": (self.flat.world, self.flat.analyses),
            **self.origins.without_effect,
        }.items():
            self._thing("world", prefix, world)
            for leaf in leaves(analyses):
                self._value("analyses", prefix, leaf)
        for collection in collections(type(self.flat)):
            for name, thing in getattr(self.flat, collection).items():
                if collection != "parameters":
                    self._thing(collection, name, thing)
        for (collection, name), (thing, fault) in self.origins.incomplete.items():
            before = len(self.faults)
            self._thing(collection, name, thing)
            if fault is not None and len(self.faults) == before:
                self.faults.append(fault)

    def defaults(self) -> None:
        """Check expressions in defaults: known names, and finite numbers. Those that parts use are also checked with the parts."""
        reported = {(fault.file, fault.line) for fault in self.faults}
        for path, text, own in expressions_in_defaults(type(self.spec), self.spec.source.tree):
            problem: tuple[str, str] | None = None
            try:
                self.evaluate_constants(text, symbols(to_node(text)) & {*own, *STRAINS, *INSTANCE_NAMES})
            except ExpressionError as error:
                problem = self._unknown(error)
            if problem:
                fault = self.spec.source.fault(path, *problem)
                self.faults += [fault] if (fault.file, fault.line) not in reported else []

    def _thing(self, collection: str, name: str, thing: Any) -> None:
        if not isinstance(thing, Part):  # an input given as a bare value
            if isinstance(thing, (str, int, float)):
                marker = Quantity(None, signal=True)
                self._value(collection, name, Leaf(thing, marker, (), Parameter(value=thing), ()))
            return
        state = thing.state_names()
        for leaf in leaves(thing):
            self._value(collection, name, leaf, state)
        for path, message, hint in part_problems(thing, self.number):
            self.report(collection, name, path, message, hint)

    def _value(self, collection: str, name: str, leaf: Leaf, state: Mapping[str, Dimension] = NO_STATE) -> None:
        marker, value = leaf.marker, leaf.value
        if not isinstance(marker, Quantity) or isinstance(value, (Each, int, float)) or value in marker.words:
            return
        try:
            problem = self._problem(collection, name, leaf, marker, state)
        except ExpressionError as error:
            problem = self._unknown(error, state)
        if problem:
            self.report(collection, name, leaf.path, *problem)

    def _problem(
        self, collection: str, name: str, leaf: Leaf, marker: Quantity, state: Mapping[str, Dimension]
    ) -> tuple[str, str] | None:
        node = to_node(leaf.value)
        what = str(next((step for step in reversed(leaf.path) if isinstance(step, str)), "the value"))
        varying = symbols(node) & (self.inputs | {TIME})
        if varying and not marker.signal:
            named = f"the input parameter '{min(varying)}'" if varying != {TIME} else "the time t"
            hint = "inputs, motions, loads and prescribed values of constraints may vary in time"
            return f"`{what}` cannot vary in time, but it uses {named}", hint
        meant = {name for name in unit_names(node) if name in self.parameter_words}
        if meant and str(leaf.value).startswith("="):
            message = f"in {leaf.value}, '{min(meant)}' is read as a unit, but is also the name of a parameter"
            return message, "put spaces around * to use the parameter, otherwise rename the parameter"
        if marker.cycles and isinstance(node, Number) and node.unit is not None and node.unit.turns:
            return f"`{what}` counts cycles, but {leaf.value} is an angular speed", "write it in Hz"
        known: Mapping[str, Dimension | OpenDimension] = self.dimensions
        if marker.signal:
            known = {**known, TIME: UNKNOWN}
        own = {name for name in symbols(node) if marker.of_state and is_state(name, state, self.flat.parameters)}
        known = {**known, **{name: state[name.removeprefix(THIS)] for name in own}} if own else known
        missing = sorted(symbols(node) - known.keys() - CONSTANTS.keys())
        if missing and marker.of_state and state:
            names = [*state, *self.flat.parameters]
            hint = suggestion(missing[0], names, f"it may depend on parameters and on {', '.join(state)}")
            return f"unknown parameter or state '{missing[0]}'", hint
        expected, special = self._expected(collection, name, leaf, marker)
        problem = wrong_dimension(node, expected, known, by_unit=special)
        if problem is None:
            self.evaluate_constants(leaf.value, own)
        return problem

    def evaluate_constants(self, scalar: Scalar, varying: Collection[str]) -> None:
        """Evaluate the parts of a value that do not depend on the names in `varying`; raises ExpressionError where that fails."""
        if not varying:
            self.number(scalar)
            return
        waiting = [to_node(scalar)]
        while waiting:
            node = waiting.pop()
            if symbols(node) & set(varying):
                waiting.extend(children(node))
            elif not isinstance(node, Number):
                self.number(to_text(node))

    def _expected(
        self, collection: str, name: str, leaf: Leaf, marker: Quantity
    ) -> tuple[Dimension | OpenDimension, bool]:
        """The dimension that a value should have, and whether it depends on other values."""
        if collection == "inputs" and marker.dimension is None:
            return self.dimensions.get(name, UNKNOWN), False
        try:
            special = leaf.owner.dimension(leaf.field, self.number)
        except (ExpressionError, OverflowError, ValueError):
            return UNKNOWN, False
        return special or marker.dimension or UNKNOWN, special not in (None, marker.dimension)

    def dimension_problem(self, scalar: Scalar, expected: Dimension) -> tuple[str, str] | None:
        """Message and hint if a value has another dimension than expected."""
        try:
            return wrong_dimension(to_node(scalar), expected, self.dimensions)
        except ExpressionError:
            return None  # reported at the value

    def _unknown(self, error: ExpressionError, state: Mapping[str, Dimension] = NO_STATE) -> tuple[str, str] | None:
        """Message and hint of an error, specific if the name is defined elsewhere; None if it is reported where it is defined."""
        if error.name in self.flat.parameters or self.broken.touches("parameters", error.name):
            return None
        if (count := self.origins.counts.get(("parameters", error.name))) is not None:
            return f"'{error.name}' is repeated: an index is missing", f"write {error.name}[1] to {error.name}[{count}]"
        for word, where in (("i", "in repeated parts"), ("count", "in repeated parts"), (TIME, "in signals")):
            if error.name == word:
                return f"`{word}` is defined only {where}", ""
        if error.name in state or error.name in STRAINS:
            return f"'{error.name}' is a quantity of the state, which this value cannot depend on", MAY_DEPEND
        return str(error), error.hint
