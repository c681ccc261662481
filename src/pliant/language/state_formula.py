"""Coefficients that depend on the state of their part: `=k0*(1 + (angle/1 rad)^2)`.

Such an expression has names of two sorts: quantities of the state, which change in every evaluation, and parameters. Everything in
it that does not depend on the state becomes one number, so that parts which differ in their numbers alone share a kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pliant.language.environment import to_node
from pliant.language.evaluate import CONSTANTS, evaluate
from pliant.language.scalar import Scalar
from pliant.language.syntax import Binary, Call, ExpressionError, Negative, Node, Number, Symbol, symbols, to_text

THIS = "this."
"""Begin of the names of the state in flat texts of attached models, where the outer model may have a parameter of that name."""


@dataclass(frozen=True)
class StateFormula:
    """An expression of named quantities of the state, and of `count` numbers."""

    node: Node
    count: int

    def value(self, state: Mapping[str, Any], numbers: Any) -> Any:
        """Its value at a state by name, with its numbers."""
        return evaluate(self.node, {**state, **{f"#{k}": numbers[k] for k in range(self.count)}})

    @property
    def names(self) -> frozenset[str]:
        """The quantities of the state that it depends on."""
        return frozenset(name for name in symbols(self.node) if not name.startswith("#") and name not in CONSTANTS)

    @property
    def word(self) -> str:
        """A unique key, for names of kernels."""
        return hashlib.sha256(to_text(self.node).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a part: a plain value where it has no formula, otherwise a formula of the state with its numbers."""

    plain: Any
    formula: StateFormula | None = None
    numbers: tuple[Any, ...] = ()

    def at(self, state: Mapping[str, Any]) -> Any:
        """Its value at a state by name."""
        return self.plain if self.formula is None else self.formula.value(state, self.numbers)


def coefficient(scalar: Scalar, state: Collection[str], values: Mapping[str, Any]) -> Coefficient:
    """A coefficient that may use quantities of the state by name, with the values of the parameters, which come first."""
    node = to_node(scalar)
    used = {name for name in symbols(node) if is_state(name, state, values)}
    if not used:
        return Coefficient(evaluate(node, values))
    found: list[Node] = []
    formula = _split(node, used, found)
    return Coefficient(0.0, StateFormula(formula, len(found)), tuple(evaluate(part, values) for part in found))


def is_state(name: str, state: Collection[str], parameters: Collection[str]) -> bool:
    """Whether a name in an expression is a quantity of the state; parameters of that name take precedence."""
    return name.removeprefix(THIS) in state and (name.startswith(THIS) or name not in parameters)


def depends_on_state(scalar: Scalar, state: Collection[str], value: Callable[[Any], Any]) -> bool:
    """Whether a value uses quantities of the state; `value` evaluates what does not."""
    try:
        value(scalar)
    except ExpressionError as error:
        return error.name.removeprefix(THIS) in state
    return False


def _split(node: Node, state: set[str], found: list[Node]) -> Node:
    """The expression with everything that uses parameters but not the state replaced by numbers, which are added to `found`."""
    used = symbols(node)
    if isinstance(node, Symbol) and node.name in state:
        return Symbol(node.name.removeprefix(THIS))
    if not used & state:
        if not used - CONSTANTS.keys():
            return Number(float(evaluate(node, {})))
        if node not in found:
            found.append(node)
        return Symbol(f"#{found.index(node)}")
    if isinstance(node, Negative):
        return Negative(_split(node.operand, state, found))
    if isinstance(node, Binary):
        return Binary(node.operator, _split(node.left, state, found), _split(node.right, state, found))
    assert isinstance(node, Call), "numbers use no names"
    return Call(node.function, tuple(_split(part, state, found) for part in node.arguments))


def sizes(formulas: Sequence[StateFormula | None]) -> int:
    """How many numbers formulas have together."""
    return sum(formula.count for formula in formulas if formula is not None)


def words(formulas: Sequence[StateFormula | None]) -> str:
    """A key of the formulas, for names of kernels; empty if there are none."""
    if all(formula is None for formula in formulas):
        return ""
    text = " ".join("-" if formula is None else formula.word for formula in formulas)
    return "_" + hashlib.sha256(text.encode()).hexdigest()[:12]
