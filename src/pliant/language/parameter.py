"""Parameters: their declaration, their values, and checks of dimensions and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import StrictBool, ValidationError

from pliant.language.base import Problem
from pliant.language.dimension import EXAMPLES, Dimension
from pliant.language.evaluate import UNKNOWN, OpenDimension, dimension_of, evaluate, to_node
from pliant.language.faults import ExpressionError, Fault, Place, SpecError
from pliant.language.message_text import describe, suggestion, with_article
from pliant.language.scalar import LARGEST, TOO_LARGE, Repeated, Scalar, Value
from pliant.language.source import SET_FILE, Source
from pliant.language.syntax import Node, Number, symbols, to_text
from pliant.language.tree import Tree, from_plain, merge


class Parameter(Repeated):
    """A named value, used in expressions such as `=length/2`. A bare value is short for `{value: ...}`.

    Its dimension is that of its value: with `length: 30 cm`, a mass of `=length` is a fault.
    """

    short_form: ClassVar[str | None] = "value"

    value: Value
    """A number (SI), a number with a unit, or an expression of other parameters."""
    input: StrictBool = False
    """True if the value varies in time; it can then be used only where a value may vary."""
    minimum: Value | None = None
    """Smallest allowed value. Controllers saturate at the limits of inputs; inputs that are given, or commanded by a
    controller of the user, are applied beyond them with a warning in the results."""
    maximum: Value | None = None
    """Largest allowed value."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  length: 30 cm
  mass: {value: 0.2 kg, minimum: 0 kg, description: mass of the whole rod}
  half: =length/2
  torque: {value: 0 N*m, input: true}
bodies:
  rod: {mass: =mass, center_of_mass: [=half, 0, 0], shape: {type: slender_rod, length: =length}}
joints:
  hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque}}
inputs:
  torque: =0.1 N*m * sin(2*pi*t/1 s)
"""


TIME = "t"
"""The name of time in signals."""


def finite(scalar: Scalar, values: Mapping[str, Any]) -> float:
    """The value of a field as a number [SI units], given the values of the names in it; raises ExpressionError if it is not
    finite or too large."""
    value = float(evaluate(to_node(scalar), values))
    if problem := range_problem(value, str(scalar)):
        raise ExpressionError(*problem)
    return value


def in_order(parameters: Mapping[str, Parameter]) -> tuple[list[str], list[str]]:
    """Parameter names such that each comes after those it uses, and the names left over by cycles."""
    uses = {name: symbols(to_node(given.value)) & parameters.keys() for name, given in parameters.items()}
    waiting = {name: len(used) for name, used in uses.items()}
    users: dict[str, list[str]] = {name: [] for name in parameters}
    for name, used in uses.items():
        for other in used:
            users[other].append(name)
    ready = [name for name, number in waiting.items() if number == 0]
    for name in ready:
        for user in users[name]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return ready, [name for name in parameters if waiting[name] > 0]


class Environment:
    """Values of a flat model's parameters, and the evaluation of everything written in terms of them.

    names: all parameters. independent: those whose value is not computed from others, without the inputs.
    inputs: those that vary in time. values: the value of every parameter, by name [SI units].
    """

    def __init__(self, parameters: Mapping[str, Parameter], values: Mapping[str, Any] | None = None) -> None:
        """`values` replaces the values of independent and input parameters, by numbers or CasADi symbols."""
        self._parameters = parameters
        self.names: tuple[str, ...] = tuple(parameters)
        self.inputs: tuple[str, ...] = tuple(n for n, p in parameters.items() if p.input)
        ordered, self._cyclic = in_order(parameters)
        self._nodes = {name: to_node(parameters[name].value) for name in ordered}
        used = {name: symbols(node) & self._nodes.keys() for name, node in self._nodes.items()}
        self.independent: tuple[str, ...] = tuple(
            name for name in self.names if name in used and not used[name] and name not in self.inputs
        )
        self._dimensions: dict[str, Dimension | OpenDimension] | None = None
        self._own: dict[str, Any] = {}  # cache of values that do not depend on other parameters
        self._apart = frozenset(name for name, found in used.items() if not found)
        self._put(dict(values or {}))

    def _put(self, given: Mapping[str, Any]) -> None:
        """Evaluate all parameters, with the given values in place of those of the model."""
        self._refuse(given)
        self.values: dict[str, Any] = {}
        for name, node in self._nodes.items():
            if name in given:
                self.values[name] = given[name]
            elif name in self._own:
                self.values[name] = self._own[name]
            else:
                self.values[name] = evaluate(node, self.values)
                if name in self._apart:
                    self._own[name] = self.values[name]

    def _refuse(self, given: Mapping[str, Any]) -> None:
        allowed = {*self.independent, *self.inputs}
        faults = [Fault(f"parameter '{name}' is defined in terms of itself", path=name) for name in self._cyclic]
        for name in given:
            if name not in self.names:
                faults.append(Fault(f"unknown parameter '{name}'", f"known: {', '.join(self.names)}"))
            elif name not in allowed:
                message = f"parameter '{name}' is computed from others and cannot be given a value"
                faults.append(Fault(message, "change those, or its expression in the model"))
        if faults:
            raise SpecError(faults)

    def with_values(self, values: Mapping[str, Any]) -> Environment:
        """The same with other values (numbers or CasADi symbols) of independent and input parameters."""
        other = copy(self)  # shares the parsed expressions and their order
        other._put(values)
        return other

    def value(self, scalar: Scalar) -> Any:
        """The value of a field that does not vary in time [SI units]: a float, or a symbolic expression."""
        return evaluate(to_node(scalar), self.values)

    def signal(self, scalar: Scalar, t: Any = 0.0) -> Any:
        """The value at time `t` of a field that may vary in time [SI units]."""
        return evaluate(to_node(scalar), {**self.values, TIME: t})

    def uses(self, scalar: Scalar) -> frozenset[str]:
        """The names that a value depends on, directly or through other parameters: parameters and `t`."""
        found: set[str] = set()
        waiting = [to_node(scalar)]
        while waiting:
            for name in symbols(waiting.pop()) - found:
                found.add(name)
                if name in self._parameters:
                    waiting.append(to_node(self._parameters[name].value))
        return frozenset(found - {"pi", "e"})

    def dimension(self, name: str) -> Dimension | None:
        """The dimension of a parameter; None if it is unknown, as for a bare number."""
        if self._dimensions is None:
            self._dimensions = parameter_dimensions(self._parameters)[0]
        found = self._dimensions[name]
        return found if isinstance(found, Dimension) else None


def parameter_dimensions(
    parameters: Mapping[str, Parameter],
) -> tuple[dict[str, Dimension | OpenDimension], dict[str, ExpressionError]]:
    """The dimension of each parameter (UNKNOWN for bare numbers, errors and cycles), and the errors by name."""
    found: dict[str, Dimension | OpenDimension] = {}
    errors: dict[str, ExpressionError] = {}
    ordered, cyclic = in_order(parameters)
    for name in ordered:
        try:
            given = dimension_of(to_node(parameters[name].value), found)
            found[name] = given if isinstance(given, Dimension) else UNKNOWN
        except ExpressionError as error:
            errors[name] = error
            found[name] = UNKNOWN
    found.update(dict.fromkeys(cyclic, UNKNOWN))
    return found, errors


def range_problem(value: Any, what: str) -> tuple[str, str] | None:
    """Message and hint if the value of `what`, a number or an array, is not finite or too large."""
    if not is_finite(value):
        return f"the value of {what} is not a finite number", ""
    if np.abs(value).max() > LARGEST:
        return f"the value of {what} is {TOO_LARGE[0]}", TOO_LARGE[1]
    return None


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number, or an array of finite numbers."""
    if isinstance(value, np.ndarray):
        return bool(np.isfinite(value).all())
    return isinstance(value, (int, float)) and math.isfinite(value)


def wrong_dimension(
    node: Node, expected: Dimension | OpenDimension, known: Mapping[str, Dimension | OpenDimension], *,
    by_unit: bool = False,
) -> tuple[str, str] | None:  # fmt: skip
    """Message and hint if an expression has another dimension than expected.

    known: dimensions of the parameters. by_unit: name the expected dimension by its unit, where its usual name would mislead.
    """
    found = dimension_of(node, known)
    if isinstance(expected, OpenDimension) or isinstance(found, OpenDimension) or found == expected:
        return None
    wanted = f"a value in {expected.unit}" if by_unit and not expected.is_number else _named(expected)
    shown = node.text if isinstance(node, Number) and node.text else to_text(node)
    hint = f"give {_named(expected)} such as {EXAMPLES[expected]}" if expected in EXAMPLES and not by_unit else ""
    return f"expected {wanted}, got {_named(found)}: '{shown}'", hint


def _named(dimension: Dimension) -> str:
    return with_article("plain number or angle" if dimension.is_number else str(dimension))


def bounds_problems(
    name: str, parameter: Parameter, value: float, dimension: Dimension | OpenDimension,
    known: Mapping[str, Dimension | OpenDimension], number: Callable[[Scalar], float],
) -> Iterator[Problem]:  # fmt: skip
    """Problems of a parameter's value relative to its bounds, and of the bounds themselves."""
    for key, sign, word in (("minimum", 1, "below its minimum"), ("maximum", -1, "above its maximum")):
        bound = getattr(parameter, key)
        if bound is None:
            continue
        try:
            problem = wrong_dimension(to_node(bound), dimension, known)
            if problem:
                yield (key,), *problem
            elif sign * value < sign * number(bound):
                yield ("value",), f"'{name}' is {value:g}, {word} of {number(bound):g}", ""
        except ExpressionError as error:
            yield (key,), str(error), error.hint


def setting_faults(tree: Tree, values: Mapping[str, float | str]) -> list[Fault]:
    """Faults of values that do not have the dimension of their parameter; otherwise each use of the parameter would be reported.

    Values that cannot be read, here or in the model, are reported by the checks of the complete model.
    """
    section = tree.value.get("parameters") if isinstance(tree.value, dict) else None
    known: dict[str, Parameter] = {}
    for name, given in (section.value if section is not None and isinstance(section.value, dict) else {}).items():
        try:
            known[name] = Parameter.model_validate(given.plain())
        except ValidationError:
            continue
    try:
        dimensions = parameter_dimensions(known)[0]
    except ExpressionError:
        return []
    faults = []
    for name, value in values.items():
        if name not in dimensions or not isinstance(value, str):
            continue
        try:
            problem = wrong_dimension(to_node(value), dimensions[name], dimensions)
        except ExpressionError:
            continue
        if problem:
            faults.append(Fault(*problem, path=f"parameters.{name}.value", file=SET_FILE))
    return faults


def with_parameters(source: Source, values: dict[str, float | str]) -> Source:
    """The model with other values of parameters; `left/length` is a parameter of the model attached as `left`."""
    tree = source.tree or Tree({})
    faults: list[Fault] = setting_faults(tree, values) if values else []
    for name, value in values.items():
        prefix, slash, rest = name.partition("/")
        section = tree.value.get("attach" if slash else "parameters")
        known = section.value if section is not None and isinstance(section.value, dict) else {}
        if prefix not in known:
            what = "attached model" if slash else "parameter"
            names = ", ".join(map(str, known)) or "none"
            hint = suggestion(prefix, map(str, known), f"known: {names}")
            faults.append(Fault(f"cannot set {describe(name)}: there is no {what} {describe(prefix)}", hint))
            continue
        driven = tree.value.get("inputs")
        if not slash and driven is not None and isinstance(driven.value, dict) and name in driven.value:
            what = f"cannot set {describe(name)}: `inputs` of the model drives it, so a value has no effect"
            faults.append(Fault(what, "use --input (in Python: inputs=)"))
            continue
        new = Tree({"parameters": Tree({rest if slash else name: from_plain(value, Place(SET_FILE, None))})})
        tree = merge(tree, Tree({"attach": Tree({prefix: new})}) if slash else new)
    if faults:
        raise SpecError(faults, source.file)
    return replace(source, tree=tree)
