"""The optimization problem in scaled variables from 0 to 1, with derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.analysis.motion.simulate import simulate
from pliant.analysis.statics.equilibrium import equilibrium
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_function, output_names
from pliant.gradient.differentiable import Analysis, Differentiable, differentiable
from pliant.language.arguments import ArgumentError
from pliant.language.evaluate import evaluate
from pliant.language.syntax import Binary, ExpressionError, Node, parse, symbols, to_text
from pliant.parts.output.base import component
from pliant.parts.output.expression import ExpressionOutput

EXAMPLE = 'write it as in model files: "(tip.x - 20 cm)^2 + (tip.z + 30 cm)^2"'
LIMITS = {"<=": 1.0, "<": 1.0, ">=": -1.0, ">": -1.0, "==": 0.0}
"""Operators of conditions, and the sign of the expression that must not be positive."""


@dataclass(frozen=True)
class Quantity:
    """An expression of outputs, their components (`tip.x`, `tip.norm`) and parameters.

    varied: parameters and inputs with respect to which it is differentiated.
    """

    eqs: Equations
    node: Node
    varied: tuple[str, ...]

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that it depends on."""
        known = self.eqs.model.spec.outputs
        return tuple(sorted({name.partition(".")[0] for name in symbols(self.node)} & known.keys()))

    def value(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values at each time. values: of the variables. outputs: times x components by name."""
        return self._evaluated(values, outputs)[0].ravel()

    def derivatives(
        self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Derivatives at each time with respect to variables that occur in the text (times x varied), and to the outputs."""
        _, by_varied, *by_outputs = self._evaluated(values, outputs)
        return by_varied, dict(zip(self.outputs, by_outputs, strict=True))

    def _evaluated(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        given = [np.reshape(outputs[name], (-1, self._size(name))) for name in self.outputs]
        times = len(given[0]) if given else 1
        x = np.array([values[name] for name in self.varied])
        rows = [
            [np.asarray(y, dtype=float).ravel() for y in self._function(x, *(g[t] for g in given))]
            for t in range(times)
        ]
        return [np.array(column) for column in zip(*rows, strict=True)]

    def _size(self, output: str) -> int:
        model = self.eqs.model
        return int(output_function(model).size1_out(output_names(model).index(output)))

    @cached_property
    def _function(self) -> ca.Function:
        robot = self.eqs.model.spec
        x = ca.SX.sym("x", len(self.varied))
        vectors = {name: ca.SX.sym("output", self._size(name)) for name in self.outputs}
        given = {**self.eqs.parameters, **dict(zip(self.varied, ca.vertsplit(x), strict=True))}
        environment = self.eqs.model.environment
        allowed = {*environment.independent, *environment.inputs}
        values = dict(environment.with_values({n: v for n, v in given.items() if n in allowed}).values)
        for symbol in symbols(self.node):
            output, _, part = symbol.partition(".")
            if output in vectors:
                values[symbol] = _part(vectors[output], part, robot.outputs[output].components(robot), symbol)
        try:
            found = ca.SX(evaluate(self.node, values))
        except ExpressionError as reason:
            raise ArgumentError(f"'{_text(self.node)}': {reason}", reason.hint or EXAMPLE) from None
        if found.numel() != 1:
            raise ArgumentError(
                f"'{_text(self.node)}' is a vector, not a number", "name a component (tip.x) or its length (tip.norm)"
            )
        inputs = [x, *vectors.values()]
        return ca.Function("quantity", inputs, [found, *(ca.densify(ca.jacobian(found, y)) for y in inputs)])


def _part(vector: ca.SX, part: str, labels: Sequence[str], symbol: str) -> ca.SX:
    if not part or part == "norm":
        return component(vector, part or None)
    if part not in labels:
        raise ArgumentError(f"there is no '{symbol}'", f"components are {', '.join([*labels, 'norm'])}")
    return vector[list(labels).index(part)]


def quantity(eqs: Equations, text: str, varied: tuple[str, ...]) -> Quantity:
    """Parse a text. Raises ArgumentError if it is invalid, or if units do not match."""
    return Quantity(eqs, _checked(eqs, _parsed(eqs, text)), varied)


@dataclass(frozen=True)
class Condition:
    """A quantity that must not be positive, or must be zero. text: as written."""

    text: str
    quantity: Quantity
    equal: bool
    sides: tuple[Quantity, Quantity]


def condition(eqs: Equations, text: str, varied: tuple[str, ...]) -> Condition:
    """Parse a condition such as `tip.z >= 10 cm`."""
    node = _parsed(eqs, text)
    if not isinstance(node, Binary) or node.operator not in LIMITS:
        raise ArgumentError(f"'{text}' is not a condition", 'write "tip.z >= 10 cm", "force <= 5 N" or "tip.x == 0"')
    left, right = (node.left, node.right) if LIMITS[node.operator] >= 0 else (node.right, node.left)
    difference = _checked(eqs, Binary("-", left, right))
    sides = Quantity(eqs, node.left, varied), Quantity(eqs, node.right, varied)
    return Condition(text, Quantity(eqs, difference, varied), node.operator == "==", sides)


def _parsed(eqs: Equations, text: str) -> Node:
    if not isinstance(text, str):
        raise ArgumentError("`minimize` and conditions must be texts", EXAMPLE)
    try:
        return parse("=" + text)
    except ExpressionError as reason:
        robot = eqs.model.spec
        for output, part in re.findall(r"([^\W\d]\w*)\.([^\W\d]\w*)", text):
            if output in robot.outputs:
                labels = [*robot.outputs[output].components(robot), "norm"]
                if part not in labels:
                    raise ArgumentError(
                        f"there is no '{output}.{part}'", f"components are {', '.join(labels)}"
                    ) from None
        raise ArgumentError(f"cannot read '{text}': {reason}", reason.hint or EXAMPLE) from None


def _text(node: Node) -> str:
    return to_text(node).removeprefix("=")


def _checked(eqs: Equations, node: Node) -> Node:
    """The parsed expression; its names are known, and its units match."""
    model = eqs.model
    units = {x: c.unit for c in model.coordinates for x in c.q_names}
    try:
        ExpressionOutput(expression=to_text(node)).result_dimension(model.spec, units, ())
    except ExpressionError as reason:
        raise ArgumentError(f"'{_text(node)}': {reason}", reason.hint or EXAMPLE) from None
    return node


HOLDS = 1e-6
"""Accepted violation of a condition, relative to its size."""


@dataclass(frozen=True)
class Evaluation:
    """A point evaluated by a search.

    Attributes:
        values: of the variables, by name (SI units).
        objective: value of the objective [its SI unit].
        spare: margin of each condition, relative to its size; negative if it is violated.
    """

    values: Mapping[str, float]
    objective: float
    spare: Mapping[str, float]

    @property
    def missed(self) -> float:
        """Largest violation of the conditions, relative to their size; 0 if all are satisfied."""
        most = -min(self.spare.values(), default=0.0)
        return most if most > HOLDS else 0.0


@dataclass(frozen=True)
class Outcome:
    """Objective, then conditions (at most zero, or zero), each at the point x, and their derivatives, one row each."""

    objective: float
    conditions: np.ndarray
    gradient: np.ndarray
    jacobian: np.ndarray


@dataclass
class Problem:
    """Objective and conditions, bounds of the variables by name (SI units), and the analysis with its options that computes
    outputs."""

    eqs: Equations
    minimize: Quantity
    conditions: tuple[Condition, ...]
    bounds: Mapping[str, tuple[float, float]]
    analysis: Analysis
    options: Mapping[str, Any]
    progress: Callable[[Evaluation], None] | None = None
    way: list[Evaluation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen: dict[bytes, Outcome] = {}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """All required outputs."""
        wanted = [self.minimize, *(c.quantity for c in self.conditions)]
        return tuple(sorted({name for x in wanted for name in x.outputs}))

    @cached_property
    def function(self) -> Differentiable:
        """Outputs with derivatives. Raises ArgumentError if there are none."""
        return differentiable(self.eqs, self.outputs, tuple(self.bounds), analysis=self.analysis, **self.options)

    @property
    def equal(self) -> np.ndarray:
        """Whether each row of the conditions is an equality; available after the first evaluation."""
        return np.repeat([c.equal for c in self.conditions], self._times).astype(bool)

    def values(self, x: np.ndarray) -> dict[str, float]:
        """The variables, by name, at fractions x of their ranges."""
        return {n: float(low + s * (high - low)) for s, (n, (low, high)) in zip(x, self.bounds.items(), strict=True)}

    def look(self, x: np.ndarray) -> Outcome:
        """Objective and conditions with derivatives with respect to x."""
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self._seen:
            values = self.values(x)
            outputs, pullback = self.function.vjp(values)
            self._note(values, outputs)
            found = [self._pulled(c.quantity, values, outputs, pullback) for c in self.conditions]
            gradient = self._pulled(self.minimize, values, outputs, pullback).mean(axis=0)
            jacobian = np.concatenate(
                [np.zeros((0, len(x))), *(d / s for d, s in zip(found, self._sizes, strict=True))]
            )
            width = np.array([high - low for low, high in self.bounds.values()])
            self._seen[key] = Outcome(self._objective, self._rows, gradient * width, jacobian * width)
        return self._seen[key]

    def try_out(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and conditions, without derivatives."""
        values = self.values(x)
        parameters = {n: v for n, v in values.items() if n not in self.eqs.inputs}
        inputs = {n: v for n, v in values.items() if n in self.eqs.inputs}
        options = {**self.options, "parameters": parameters or None, "inputs": inputs or None}
        if self.analysis == "equilibrium":
            rest = equilibrium(self.eqs, **options)
            self._note(values, {name: np.atleast_1d(rest.outputs[name]) for name in self.outputs})
        else:
            if options.get("save_at") is None:
                options["save_at"] = [options["until"]]
            run = simulate(self.eqs, **options)
            self._note(values, {name: run[name].values for name in self.outputs})
        return self._objective, self._rows

    def again(self, eqs: Equations) -> Any:
        """The equilibrium or the motion of these equations."""
        options = {name: x for name, x in self.options.items() if name != "save_at"}
        analyse: Any = equilibrium if self.analysis == "equilibrium" else simulate
        return analyse(eqs, on_failure="return", **options)

    def _note(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> None:
        """Objective and conditions of these outputs; the point is recorded."""
        self._objective = float(self.minimize.value(values, outputs).mean())
        rows = [c.quantity.value(values, outputs) for c in self.conditions]
        self._times = len(rows[0]) if rows else 0
        if not self.way:  # sizes are taken at the start
            sides = [[np.max(np.abs(side.value(values, outputs))) for side in c.sides] for c in self.conditions]
            self._sizes = [max(both) or 1.0 for both in sides]
        self._rows = np.concatenate([np.zeros(0), *(r / s for r, s in zip(rows, self._sizes, strict=True))])
        spare = {
            c.text: -float(np.max(np.abs(r) if c.equal else r)) / size + 0.0
            for c, r, size in zip(self.conditions, rows, self._sizes, strict=True)
        }
        visit = Evaluation(dict(values), self._objective, spare)
        self.way.append(visit)
        if self.progress is not None:
            self.progress(visit)

    def _pulled(self, of: Quantity, values: Mapping[str, float], outputs: Any, pullback: Any) -> np.ndarray:
        """Derivatives of a quantity with respect to the variables, one row per time."""
        direct, by_outputs = of.derivatives(values, outputs)
        if not by_outputs:
            return direct
        rows = []
        for t, row in enumerate(direct):
            given = {}
            for name, d in by_outputs.items():
                one = np.zeros_like(d)
                one[t] = d[t]
                given[name] = one.reshape(np.shape(outputs[name]))
            back = pullback(given)
            rows.append(row + np.array([float(back[name]) for name in self.bounds]))
        return np.array(rows)
