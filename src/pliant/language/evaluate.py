"""Evaluation of expressions: value and dimension.

Values may be numbers, NumPy arrays or CasADi symbols; the type of the arguments selects the functions.
"""

import hashlib
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from pliant.language import dimension as dim
from pliant.language.dimension import Dimension
from pliant.language.faults import ExpressionError
from pliant.language.message_text import suggestion, with_article
from pliant.language.scalar import Each, Scalar
from pliant.language.syntax import (
    COMPARISONS,
    Binary,
    Call,
    Item,
    Negative,
    Node,
    Number,
    Symbol,
    parse,
    rebuilt,
    symbols,
    to_text,
)

CONSTANTS = {"pi": math.pi, "e": math.e}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def evaluate(node: Node, values: Mapping[str, Any]) -> Any:
    """The value of an expression, given the values of the names in it [SI units].

    Raises ExpressionError for unknown names, and where numbers have no result (division by zero, root of a negative number).
    """
    try:
        return _value(node, values)
    except ZeroDivisionError:
        raise ExpressionError(f"division by zero in {to_text(node)}") from None
    except OverflowError:
        raise ExpressionError(f"the value of {to_text(node)} is too large") from None
    except ExpressionError:
        raise
    except ValueError:
        message = f"{to_text(node)} has no value: a root, logarithm or power outside its domain"
        raise ExpressionError(message) from None


def _value(node: Node, values: Mapping[str, Any]) -> Any:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Symbol):
        return _lookup(node.name, values)
    if isinstance(node, Negative):
        return -_value(node.operand, values)
    if isinstance(node, Binary):
        left, right = _value(node.left, values), _value(node.right, values)
        result = _OPERATORS[node.operator](left, right)
        if isinstance(result, complex):
            raise ValueError
        # A boolean is the number 1 or 0.
        return result * 1.0 if node.operator in COMPARISONS else result
    if isinstance(node, Item):
        raise unknown_item(node)
    return _call(node, values)


def unknown_item(node: Item) -> ExpressionError:
    """The error of an instance such as `pull[i]` whose index was not resolved."""
    hint = "the index may use `i` in repeated parts, and constant parameters"
    return ExpressionError(f"cannot determine which instance {to_text(node)[1:]} is", hint)


def _lookup(name: str, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    if name in CONSTANTS:
        return CONSTANTS[name]
    raise unknown_name(name, values)


def unknown_name(name: str, known: Mapping[str, Any]) -> ExpressionError:
    """The error of an expression with an undefined name."""
    listed = "known parameters: " + ", ".join(list(known)[:12])
    hint = suggestion(name, known, listed if known else f"define it: parameters: {{{name}: ...}}")
    return ExpressionError(f"unknown parameter '{name}'", hint, name=name)


def _call(node: Call, values: Mapping[str, Any]) -> Any:
    if node.function == "if":
        condition = _value(node.arguments[0], values)
        if isinstance(condition, (int, float)):
            # The other side is not evaluated: it may have no value.
            return _value(node.arguments[1 if condition else 2], values)
        chosen = [_value(argument, values) for argument in node.arguments[1:]]
        return _functions(condition)["if"](condition, *chosen)
    arguments = [_value(argument, values) for argument in node.arguments]
    kind = next((value for value in arguments if not isinstance(value, (int, float))), 0.0)
    return _functions(kind)[node.function](*arguments)


def _functions(value: Any) -> Mapping[str, Callable[..., Any]]:
    """The functions for the type of `value`."""
    if isinstance(value, (int, float)):
        return _NUMBERS
    if type(value).__module__.partition(".")[0] == "casadi":
        return _casadi_functions()
    return _array_functions()


_SAME_NAME = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10", "sqrt")

_NUMBERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _SAME_NAME},
    "atan2": math.atan2,
    "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "floor": lambda x: float(math.floor(x)),
    "step": lambda x: float(x >= 0),
    "min": min,
    "max": max,
}


def _casadi_functions() -> Mapping[str, Callable[..., Any]]:
    def fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        def folded(first: Any, *others: Any) -> Any:
            for other in others:
                first = function(first, other)
            return first

        return folded

    return {
        **{name: getattr(ca, name) for name in _SAME_NAME},
        "atan2": ca.atan2,
        "abs": ca.fabs,
        "sign": ca.sign,
        "floor": ca.floor,
        "step": lambda x: ca.if_else(x >= 0, 1.0, 0.0),
        "min": fold(ca.fmin),
        "max": fold(ca.fmax),
        "if": ca.if_else,
    }


def _array_functions() -> Mapping[str, Callable[..., Any]]:
    renamed = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
    return {
        **{name: getattr(np, name) for name in _SAME_NAME if name not in renamed},
        **renamed,
        "atan2": np.arctan2,
        "abs": np.abs,
        "sign": np.sign,
        "floor": np.floor,
        "step": lambda x: np.where(np.asarray(x) >= 0, 1.0, 0.0),
        "min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
        "max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
        "if": lambda condition, a, b: np.where(condition, a, b),
    }


class OpenDimension:
    """A dimension that is not fixed.

    A bare number fits any dimension in sums (plain numbers are SI) and is a plain factor in products. A
    parameter whose value is a bare number is unknown: it fits everywhere, and so does everything computed from it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


BARE = OpenDimension("a bare number")
UNKNOWN = OpenDimension("unknown")


def dimension_of(node: Node, known: Mapping[str, Dimension | OpenDimension]) -> Dimension | OpenDimension:
    """The dimension of an expression, given those of its names; raises ExpressionError if dimensions do not match."""
    if isinstance(node, Number):
        return BARE if node.unit is None else node.unit.dimension
    if isinstance(node, Symbol):
        if node.name in CONSTANTS:
            return BARE
        if node.name not in known:
            raise unknown_name(node.name, known)
        return known[node.name]
    if isinstance(node, Negative):
        return dimension_of(node.operand, known)
    if isinstance(node, Binary):
        return _dimension_of_binary(node, known)
    if isinstance(node, Item):
        raise unknown_item(node)
    return _dimension_of_call(node, known)


def _dimension_of_binary(node: Binary, known: Mapping[str, Dimension | OpenDimension]) -> Dimension | OpenDimension:
    left, right = dimension_of(node.left, known), dimension_of(node.right, known)
    if node.operator in COMPARISONS:
        _same(node, left, right)
        return dim.NUMBER
    if node.operator in "+-":
        return _same(node, left, right)
    if node.operator == "^":
        return _power(node, left, right)
    return _product(left, right, 1 if node.operator == "*" else -1)


def _same(node: Node, left: Dimension | OpenDimension, right: Dimension | OpenDimension) -> Dimension | OpenDimension:
    if isinstance(left, Dimension) and isinstance(right, Dimension) and left != right:
        two = " and ".join(f"{with_article(str(one))} ({one.unit})" for one in (left, right))
        raise ExpressionError(f"'{to_text(node)[1:]}' mixes {two}")
    if isinstance(left, Dimension) or isinstance(right, Dimension):
        return left if isinstance(left, Dimension) else right
    return UNKNOWN if UNKNOWN in (left, right) else BARE


def _product(left: Dimension | OpenDimension, right: Dimension | OpenDimension, sign: int) -> Dimension | OpenDimension:
    if UNKNOWN in (left, right):
        return UNKNOWN
    if isinstance(left, OpenDimension) and isinstance(right, OpenDimension):
        return BARE
    a = left if isinstance(left, Dimension) else dim.NUMBER
    b = right if isinstance(right, Dimension) else dim.NUMBER
    return a * b**sign


def _power(
    node: Binary, base: Dimension | OpenDimension, exponent: Dimension | OpenDimension
) -> Dimension | OpenDimension:
    _number(node.right, exponent)
    if isinstance(base, OpenDimension) or base.is_number:
        return base
    try:
        value = float(_value(node.right, {}))
    except (ExpressionError, ArithmeticError, ValueError):
        message = f"the exponent of {to_text(node.left)[1:]} must be a plain number, as it has a dimension"
        raise ExpressionError(message) from None
    if abs(value) > 100:
        raise ExpressionError(f"the exponent in {to_text(node)[1:]} is too large")
    return base ** Fraction(value).limit_denominator(1000)


def _number(node: Node, dimension: Dimension | OpenDimension) -> None:
    if isinstance(dimension, Dimension) and not dimension.is_number:
        text = to_text(node)[1:]
        message = f"'{text}' must be a plain number, but it is {with_article(str(dimension))} ({dimension.unit})"
        raise ExpressionError(message, f"divide it by a reference value, as in {text}/(1 {dimension.unit})")


def _dimension_of_call(node: Call, known: Mapping[str, Dimension | OpenDimension]) -> Dimension | OpenDimension:
    arguments = [dimension_of(argument, known) for argument in node.arguments]
    if node.function in ("abs", "floor"):
        return arguments[0]
    if node.function in ("sign", "step"):
        return dim.NUMBER
    if node.function == "sqrt":
        return arguments[0] ** Fraction(1, 2) if isinstance(arguments[0], Dimension) else arguments[0]
    if node.function == "atan2":
        _same(node, *arguments)
        return dim.NUMBER
    if node.function in ("min", "max"):
        result = arguments[0]
        for argument in arguments[1:]:
            result = _same(node, result, argument)
        return result
    if node.function == "if":
        return _same(node, arguments[1], arguments[2])
    _number(node.arguments[0], arguments[0])
    return dim.NUMBER


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


@dataclass(frozen=True)
class StateExpressions:
    """Expressions of named quantities of the state and of numbers, which are constants or vary in time.

    varying: of each number whether it is a signal.
    """

    nodes: tuple[Node, ...]
    varying: tuple[bool, ...] = ()

    @property
    def constants(self) -> int:
        """How many of the numbers are constants."""
        return self.varying.count(False)

    @property
    def signals(self) -> int:
        """How many of the numbers vary in time."""
        return self.varying.count(True)

    def values(self, state: Mapping[str, Any], constants: Any, signals: Any) -> list[Any]:
        """Their values at a state, given by name."""
        at, numbers = {False: 0, True: 0}, {}
        for k, varies in enumerate(self.varying):
            numbers[f"#{k}"] = (signals if varies else constants)[at[varies]]
            at[varies] += 1
        return [evaluate(node, {**state, **numbers}) for node in self.nodes]

    @property
    def names(self) -> frozenset[str]:
        """The quantities of the state that they depend on."""
        found = {name for node in self.nodes for name in symbols(node)}
        return frozenset(name for name in found if not name.startswith("#") and name not in CONSTANTS)

    @property
    def word(self) -> str:
        """A unique key, for names of kernels."""
        text = " ".join(map(to_text, self.nodes)) + str(self.varying)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def state_expressions(
    scalars: Sequence[Scalar], state: Collection[str], parameters: Collection[str], varying: Callable[[Node], bool]
) -> tuple[StateExpressions, list[Node]]:
    """Expressions that may use quantities of the state by name, and what their numbers are computed from, in order.

    varying: whether an expression without the state changes in time.
    """
    nodes = [to_node(scalar) for scalar in scalars]
    used = {name for node in nodes for name in symbols(node) if is_state(name, state, parameters)}
    found: list[Node] = []
    split = tuple(_split(node, used, found) for node in nodes)
    return StateExpressions(split, tuple(map(varying, found))), found


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
    return rebuilt(node, lambda part: _split(part, state, found))


def sizes(formulas: Sequence[StateFormula | None]) -> int:
    """Total count of numbers in formulas."""
    return sum(formula.count for formula in formulas if formula is not None)


def words(formulas: Sequence[StateFormula | None]) -> str:
    """A key of the formulas, for names of kernels; empty if there are none."""
    if all(formula is None for formula in formulas):
        return ""
    text = " ".join("-" if formula is None else formula.word for formula in formulas)
    return "_" + hashlib.sha256(text.encode()).hexdigest()[:12]


def to_node(scalar: Scalar) -> Node:
    """A value as an expression tree."""
    if isinstance(scalar, Each):
        hint = "values per instance are resolved by flattening the model"
        raise ExpressionError("a list of values per instance has no single value", hint)
    return parse(scalar) if isinstance(scalar, str) else Number(float(scalar))
