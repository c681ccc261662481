"""Signals: time-varying quantities as expressions of t, the inputs and the parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import casadi as ca

from pliant.language.evaluate import evaluate, to_node
from pliant.language.parameter import Environment
from pliant.language.scalar import Scalar
from pliant.language.syntax import COMPARISONS, Binary, Call, Node, children, symbols


@dataclass(frozen=True)
class PrescribedPosition:
    """Constraint row `row` follows input number `input`, signal number `position`.

    Signal number `signal` is its rate (`order` 1) or its acceleration (2).
    """

    row: int
    signal: int
    input: int
    position: int
    order: int


class SignalTable:
    """Collects signal expressions and combines them in one function with two time derivatives."""

    def __init__(self, environment: Environment, parameters: Any, inputs: Mapping[str, Any]) -> None:
        self.t = ca.SX.sym("t")
        self.inputs = dict(inputs)
        self.rates = {name: ca.SX.sym(f"{name}_rate") for name in inputs}
        self.accelerations = {name: ca.SX.sym(f"{name}_acceleration") for name in inputs}
        self._environment, self._parameters = environment, parameters
        self._expressions: list[Any] = []
        self.switch_times: list[Any] = []
        self.switch_states: list[Any] = []
        self.followed: list[PrescribedPosition] = []

    def add(self, scalar: Scalar) -> None:
        """Append a signal."""
        self._expressions.append(self.expression(scalar))

    def expression(self, scalar: Scalar) -> Any:
        """A signal as an expression of time, inputs and parameters; its switch times are recorded."""
        node, values, inputs = to_node(scalar), self._environment.values, set(self.inputs)
        self.switch_times.extend(switch_times(node, values, inputs))
        self.switch_states.extend(switch_states(node, values, inputs, self.t))
        return ca.SX(self._environment.signal(scalar, self.t))

    def add_expression(self, expression: Any) -> None:
        """Append a signal made of expressions."""
        self._expressions.append(ca.SX(expression))

    def add_followed_input(self, row: int, signal: int, order: int) -> None:
        """Append a signal that is a hidden input: the position that results from a prescribed rate (order 1) or acceleration (2).

        A run integrates it; at rest it stays zero. Its derivative of that order is the other signal, for any input.
        """
        number = len(self.inputs)
        name = f"position of row {row}"
        self.inputs[name] = ca.SX.sym("position")
        self.rates[name], self.accelerations[name] = ca.SX.sym("rate"), ca.SX.sym("acceleration")
        self._expressions.append(self.inputs[name])
        self.followed.append(PrescribedPosition(row, signal, number, len(self._expressions) - 1, order))

    def function(self) -> ca.Function | None:
        """`(t, u, du, d2u, parameters) -> s, ds/dt, d2s/dt2`, or None without signals."""
        if not self._expressions:
            return None
        s = ca.vertcat(*self._expressions)
        u, du, ddu = (
            ca.vertcat(*x.values()) if x else ca.SX(0, 1) for x in (self.inputs, self.rates, self.accelerations)
        )
        rate = total_derivative(s, self.t, u, du, du, ddu)
        for item in self.followed:
            if item.order == 1:
                rate[item.position] = s[item.signal]
        acceleration = total_derivative(rate, self.t, u, du, du, ddu)
        for item in self.followed:
            if item.order == 2:
                acceleration[item.position] = s[item.signal]
        outputs = [ca.densify(x) for x in (s, rate, acceleration)]
        return ca.Function("signals", [self.t, u, du, ddu, self._parameters], outputs)

    def values(self) -> ca.Function:
        """`(t, u, parameters) -> s`, if there are signals."""
        u = ca.vertcat(*self.inputs.values()) if self.inputs else ca.SX(0, 1)
        return ca.Function("values", [self.t, u, self._parameters], [ca.densify(ca.vertcat(*self._expressions))])


def total_derivative(x: Any, t: Any, u: Any, du: Any, u_rate: Any, du_rate: Any) -> Any:
    """dx/dt along the motion of the inputs (third derivatives of inputs do not occur)."""
    out = ca.jtimes(x, t, ca.SX(1))
    if u.numel():
        out = out + ca.jtimes(x, u, u_rate) + ca.jtimes(x, du, du_rate)
    return out


def switch_times(node: Node, values: Mapping[str, Any], inputs: set[str]) -> Iterator[Any]:
    """Times at which an expression may jump or have a kink: where conditions linear in `t` change (`t < 1 s`, `step(2*t - delay)`).

    Others are `switch_states`.
    """
    t = ca.SX.sym("t")
    for expression, slope in _differences(node, values, inputs, t):
        if not ca.depends_on(slope, t):
            yield -ca.substitute(expression, t, ca.SX(0)) / slope


def switch_states(node: Node, values: Mapping[str, Any], inputs: set[str], t: Any) -> Iterator[Any]:
    """Integers that change with `t` where an expression may have a jump or a kink, other than at its `switch_times`.

    Those that others depend on come first.
    """
    for child in children(node):
        yield from switch_states(child, values, inputs, t)
    if isinstance(node, Call) and node.function == "floor" and _is_of_time(node, inputs):
        yield ca.SX(evaluate(node, {**values, "t": t}))
    for expression, slope in _differences(node, values, inputs, t, deep=False):
        if ca.depends_on(slope, t) or any(_has_floor(x) for x in children(node)):
            yield expression >= 0


def _is_of_time(node: Node, inputs: set[str]) -> bool:
    return "t" in symbols(node) and not symbols(node) & inputs


def _has_floor(node: Node) -> bool:
    return (isinstance(node, Call) and node.function in PIECEWISE) or any(_has_floor(x) for x in children(node))


PIECEWISE = ("floor", "sign", "step", "if", "abs", "min", "max")
"""Functions whose derivative does not show that they are not linear."""


def _differences(
    node: Node, values: Mapping[str, Any], inputs: set[str], t: Any, *, deep: bool = True
) -> Iterator[tuple[Any, Any]]:
    """Expressions of `t` at whose zeros an expression may jump, and their derivatives with respect to `t`."""
    found: list[Node] = []
    if isinstance(node, Binary) and node.operator in COMPARISONS:
        found = [Binary("-", node.left, node.right)]
    elif isinstance(node, Call) and node.function in ("step", "abs", "sign"):
        found = [node.arguments[0]]
    elif isinstance(node, Call) and node.function in ("min", "max"):
        found = [Binary("-", a, b) for a, b in combinations(node.arguments, 2)]
    for difference in found:
        if _is_of_time(difference, inputs):
            expression = ca.SX(evaluate(difference, {**values, "t": t}))
            yield expression, ca.jacobian(expression, t)
    for child in children(node) if deep else ():
        yield from _differences(child, values, inputs, t)
