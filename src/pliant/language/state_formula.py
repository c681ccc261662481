"""Coefficients that depend on the state of their part: `=k0*(1 + (angle/1 rad)^2)`.

Such an expression uses state quantities, which change in every evaluation, and parameters. Each subexpression that does not
depend on the state becomes one number, so that parts that differ only in these numbers share a kernel.
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
"""Prefix of state quantities in flat attached models, because the outer model may have a parameter of the same name."""


@dataclass(frozen=True)
class StateFormula:
    """An expression of named state quantities, and of `count` numbers."""

    node: Node
    count: int

    def value(self, state: Mapping[str, Any], numbers: Any) -> Any:
        """The value at a state, given by name, with the numbers of a part."""
        return evaluate(self.node, {**state, **{f"#{k}": numbers[k] for k in range(self.count)}})

    @property
    def names(self) -> frozenset[str]:
        """The state quantities that it depends on."""
        return frozenset(name for name in symbols(self.node) if not name.startswith("#") and name not in CONSTANTS)

    @property
    def word(self) -> str:
        """A unique key, for names of kernels."""
        return hashlib.sha256(to_text(self.node).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a part: a plain value, or a formula of the state with its numbers."""

    plain: Any
    formula: StateFormula | None = None
    numbers: tuple[Any, ...] = ()

    def at(self, state: Mapping[str, Any]) -> Any:
        """The value at a state, given by name."""
        return self.plain if self.formula is None else self.formula.value(state, self.numbers)


def coefficient(scalar: Scalar, state: Collection[str], values: Mapping[str, Any]) -> Coefficient:
    """A coefficient that may use state quantities by name; parameters of the same name take precedence. values: of parameters."""
    node = to_node(scalar)
    used = {name for name in symbols(node) if is_state(name, state, values)}
    if not used:
        return Coefficient(evaluate(node, values))
    found: list[Node] = []
    formula = _split(node, used, found)
    return Coefficient(0.0, StateFormula(formula, len(found)), tuple(evaluate(part, values) for part in found))


def is_state(name: str, state: Collection[str], parameters: Collection[str]) -> bool:
    """Whether a name in an expression is a state quantity; parameters of the same name take precedence."""
    return name.removeprefix(THIS) in state and (name.startswith(THIS) or name not in parameters)


def depends_on_state(scalar: Scalar, state: Collection[str], value: Callable[[Any], Any]) -> bool:
    """Whether a value uses state quantities. value: evaluates values that do not, and raises ExpressionError otherwise."""
    try:
        value(scalar)
    except ExpressionError as error:
        return error.name.removeprefix(THIS) in state
    return False


def _split(node: Node, state: set[str], found: list[Node]) -> Node:
    """The expression with `#k` for each subexpression of parameters without the state, which is added to `found`."""
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
    """Total count of numbers in formulas."""
    return sum(formula.count for formula in formulas if formula is not None)


def words(formulas: Sequence[StateFormula | None]) -> str:
    """A key of the formulas, for names of kernels; empty if there are none."""
    if all(formula is None for formula in formulas):
        return ""
    text = " ".join("-" if formula is None else formula.word for formula in formulas)
    return "_" + hashlib.sha256(text.encode()).hexdigest()[:12]
