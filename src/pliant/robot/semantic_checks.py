"""Semantic checks of a well-formed model: values, dimensions, names, and the structure of the robot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pliant.language.base import Part, Problem
from pliant.language.dimension import Dimension
from pliant.language.evaluate import CONSTANTS, THIS, UNKNOWN, OpenDimension, evaluate, is_state, to_node
from pliant.language.faults import ExpressionError, Fault
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath, suggestion
from pliant.language.parameter import (
    TIME,
    Parameter,
    bounds_problems,
    finite,
    in_order,
    parameter_dimensions,
    range_problem,
    wrong_dimension,
)
from pliant.language.scalar import Each, Quantity, Scalar
from pliant.language.syntax import Number, children, symbols, to_text, unit_names
from pliant.language.traversal import Leaf, collections, leaves
from pliant.parts.rod.strains import LABELS
from pliant.robot.defaults import expressions_in_defaults
from pliant.robot.fields import RobotFields
from pliant.robot.flat import INSTANCE_NAMES, Flat, Origin
from pliant.robot.value_problems import part_problems

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
