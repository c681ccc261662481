"""Expressions: parsing of text such as `=length/2 + 5 mm` to a small tree, and writing it back.

The grammar consists of arithmetic, comparisons and a fixed list of functions; expressions cannot run Python code. Their length
and depth are limited, so that parsing takes a bounded time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pliant.language.dimension import BASE_UNITS
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe, suggestion
from pliant.language.names import FUNCTIONS, WORD
from pliant.language.units import UNITS, Unit, atom, parse_unit


@dataclass(frozen=True)
class ExpressionLimits:
    """Limits of expressions, which keep their evaluation quick."""

    length: int = 1000
    depth: int = 40
    operations: int = 150


EXPRESSION = ExpressionLimits()


ARGUMENTS = {"atan2": (2, 2), "min": (2, 8), "max": (2, 8), "if": (3, 3)}
"""Minimum and maximum number of arguments of the functions that do not take exactly one."""


@dataclass(frozen=True)
class Number:
    """A number, optionally with a unit: `value` is in SI units, `unit` is None for a bare number."""

    value: float
    unit: Unit | None = None
    text: str = ""


@dataclass(frozen=True)
class Symbol:
    """A parameter, `t`, `i`, `count`, `pi` or `e`; in expressions of outputs also an output or its component (`pull.x`)."""

    name: str


@dataclass(frozen=True)
class Item:
    """An instance of a repeated parameter or output, `pull[i+1]`; flattening replaces it by a Symbol.

    component: component of an output, such as `.x`; otherwise empty.
    """

    name: str
    index: Node
    component: str = ""


@dataclass(frozen=True)
class Negative:
    """A value with its sign changed."""

    operand: Node


@dataclass(frozen=True)
class Binary:
    """Two values joined by + - * / ^ or compared by < <= > >= == !=."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    """A function of values."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Number | Symbol | Item | Negative | Binary | Call

_UNCLOSED = "add the closing one; inside { } or [ ], text with commas needs quotes"
_KNOWN = "expressions consist of numbers with units, parameters, + - * / ^ and functions such as sqrt(...)"

COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")

_COMPONENT = r"\.(?:norm|r?[xyz]|w)"
_COMPONENT_NEXT = re.compile(rf"{_COMPONENT}\b")
_TOKEN = re.compile(
    rf"""(?P<space>\s*)(?:
      (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>{WORD}(?:{_COMPONENT}\b)?)
    | `(?P<quoted>[^`]+)`
    | (?P<operator>\*\*|<=|>=|==|!=|[-+*/^<>(),\[\]])
    )""",
    re.VERBOSE,
)
# A unit in an expression is written without spaces (`2 N*m/rad`), so in `2 N * m` the m is a parameter.
_UNIT_NEXT = re.compile(r"\s*([A-Za-zµ]+)")
_UNIT_POWER = re.compile(r"(?:\^|\*\*)[+-]?[0-9]+(?:\.[0-9]+)?")
_UNIT_MORE = re.compile(r"[*/]([A-Za-zµ]+)")
_COMPACT = re.compile(
    rf"[-+0-9.eE]+{_UNIT_NEXT.pattern}(?:{_UNIT_POWER.pattern})?(?:{_UNIT_MORE.pattern}(?:{_UNIT_POWER.pattern})?)*"
)
_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*", re.DOTALL)


@lru_cache(maxsize=16384)
def parse(text: str) -> Node:
    """Read a value: `50 mm`, `0.3`, or `=expression`."""
    if len(text) > EXPRESSION.length:
        raise ExpressionError(f"the expression is too long ({len(text)} characters)", f"at most {EXPRESSION.length}")
    if text.lstrip().startswith("="):
        return _Parser(text.lstrip()[1:]).whole()
    return _quantity(text)


def _quantity(text: str) -> Node:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        hint = "write a number, a number with a unit (50 mm), or an expression that begins with = (=length/2)"
        raise ExpressionError(f"cannot read {describe(text)} as a value", hint)
    number, unit = match.groups()
    if re.match(r",[0-9]", unit):
        raise ExpressionError(f"cannot read {describe(text)} as a value", "write decimals with a point, as in 1.5")
    if not unit:
        return Number(_finite(number))
    try:
        parsed = parse_unit(unit)
    except ExpressionError as error:
        raise ExpressionError(f"in {describe(text)}: {error}", error.hint) from None
    return Number(_finite(number) * parsed.factor, parsed, text.strip())


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ExpressionError(f"the number {describe(text)} is too large")
    return value


class _Parser:
    """Reader of an expression by recursive descent, with limited depth."""

    def __init__(self, text: str) -> None:
        self.text, self.end, self.depth, self.operations = text, 0, 0, 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :].strip()
            if rest:
                raise self.error(f"unexpected {describe(rest[0])}", _KNOWN)
            self.kind, self.token = "end", ""
            return
        self.end = match.end()
        self.kind = str(match.lastgroup)
        self.token = match.group(self.kind)

    def error(self, message: str, hint: str = "") -> ExpressionError:
        return ExpressionError(f"in the expression {describe('=' + self.text)}: {message}", hint)

    def unexpected(self) -> ExpressionError:
        if self.kind == "end":
            return self.error("it ends too early")
        return self.error(f"unexpected {describe(self.token)}", _KNOWN)

    def whole(self) -> Node:
        if self.kind == "end":
            raise ExpressionError("the expression is empty")
        node = self.comparison()
        if self.kind != "end":
            raise self.unexpected()
        return node

    def accept(self, *operators: str) -> str | None:
        if self.kind == "operator" and self.token in operators:
            token = self.token
            self.operations += 1
            if self.operations > EXPRESSION.operations:
                raise self.error("it is too long", "split it into several parameters")
            self.advance()
            return token
        return None

    def comparison(self) -> Node:
        self.depth += 1
        if self.depth > EXPRESSION.depth:
            raise self.error("it is nested too deeply", "split it into several parameters")
        node = self.sum()
        if operator := self.accept(*COMPARISONS):
            node = Binary(operator, node, self.sum())
        self.depth -= 1
        return node

    def sum(self) -> Node:
        node = self.product()
        while operator := self.accept("+", "-"):
            node = Binary(operator, node, self.product())
        return node

    def product(self) -> Node:
        node = self.signed()
        while operator := self.accept("*", "/"):
            node = Binary(operator, node, self.signed())
        return node

    def signed(self) -> Node:
        signs = 0
        while operator := self.accept("-", "+"):
            signs += operator == "-"
        node = self.power()
        return Negative(node) if signs % 2 else node

    def power(self) -> Node:
        base = self.single()
        if self.accept("^", "**"):
            self.depth += 1
            if self.depth > EXPRESSION.depth:
                raise self.error("it is nested too deeply", "split it into several parameters")
            base = Binary("^", base, self.signed())
            self.depth -= 1
        return base

    def single(self) -> Node:
        if self.accept("("):
            node = self.comparison()
            if not self.accept(")"):
                raise (self.error("a bracket is not closed", _UNCLOSED) if self.kind == "end" else self.unexpected())
            return node
        if self.kind == "number":
            return self.number()
        if self.kind == "quoted":
            name = self.token
            self.advance()
            return Symbol(name)
        if self.kind == "name":
            return self.name()
        raise self.unexpected()

    def number(self) -> Node:
        number = _finite(self.token)
        begin = self.end - len(self.token)
        match = _UNIT_NEXT.match(self.text, self.end)
        if match is None:
            self.advance()
            return Number(number)
        end = self.end_of_unit(match)
        unit_text = self.text[match.start(1) : end]
        try:
            atom(match.group(1))
            unit = parse_unit(unit_text)
        except ExpressionError as error:
            hint = error.hint or "put * between a number and a parameter"
            raise self.error(str(error), hint) from None
        text = self.text[begin:end]
        self.end = end
        self.advance()
        return Number(number * unit.factor, unit, text)

    def end_of_unit(self, first: re.Match[str]) -> int:
        """The end of the unit after a number: before the first * or / that is not followed by a unit."""
        end = first.end()
        while True:
            if power := _UNIT_POWER.match(self.text, end):
                end = power.end()
            more = _UNIT_MORE.match(self.text, end)
            if more is None or more.group(1) not in UNITS or self.text[more.end() : more.end() + 1] == "(":
                return end
            end = more.end()

    def name(self) -> Node:
        name = self.token
        self.advance()
        if self.accept("["):
            return self.item(name)
        if not self.accept("("):
            if name in FUNCTIONS:
                raise self.error(f"the function {name} has no arguments", f"write {name}(...)")
            return Symbol(name)
        if name not in FUNCTIONS:
            known = suggestion(name, FUNCTIONS, f"known functions: {', '.join(FUNCTIONS)}")
            raise self.error(f"unknown function {describe(name)}", known)
        arguments = [self.comparison()]
        while self.accept(","):
            arguments.append(self.comparison())
        if not self.accept(")"):
            raise (self.error("a bracket is not closed", _UNCLOSED) if self.kind == "end" else self.unexpected())
        least, most = ARGUMENTS.get(name, (1, 1))
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(f"{name} takes {wanted} arguments, not {len(arguments)}")
        return Call(name, tuple(arguments))

    def item(self, name: str) -> Node:
        """Read an instance of a repeated parameter or output: a Symbol if its index is a number, otherwise an Item."""
        index = self.comparison()
        if not (self.kind == "operator" and self.token == "]"):
            raise (self.error("a bracket is not closed", _UNCLOSED) if self.kind == "end" else self.unexpected())
        component = ""
        if match := _COMPONENT_NEXT.match(self.text, self.end):
            component, self.end = match.group(), match.end()
        self.advance()
        if isinstance(index, Number) and index.unit is None and index.value == int(index.value):
            return Symbol(instance_name(name, int(index.value)) + component)
        return Item(name, index, component)


def instance_name(name: str, index: int) -> str:
    """The name of one instance of a repeated part."""
    return f"{name}[{index}]"


def symbols(node: Node) -> frozenset[str]:
    """The names that an expression uses; for an instance such as `pull[i+1]`, those in its index."""
    if isinstance(node, Symbol):
        return frozenset({node.name})
    return frozenset().union(*(symbols(child) for child in children(node)))


def unit_names(node: Node) -> frozenset[str]:
    """Names in compound units after the first one, such as the `m` in `5 N*m`, which might be meant as parameters."""
    if isinstance(node, Number):
        return frozenset(re.findall(rf"[*/]({WORD})", node.text))
    return frozenset().union(*(unit_names(child) for child in children(node)))


def children(node: Node) -> tuple[Node, ...]:
    """The direct subexpressions of an expression."""
    if isinstance(node, Negative):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Item):
        return (node.index,)
    return node.arguments if isinstance(node, Call) else ()


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The expression with its direct subexpressions changed."""
    if isinstance(node, Item):
        return Item(node.name, change(node.index), node.component)
    if isinstance(node, Negative):
        return Negative(change(node.operand))
    if isinstance(node, Binary):
        return Binary(node.operator, change(node.left), change(node.right))
    return Call(node.function, tuple(map(change, node.arguments))) if isinstance(node, Call) else node


def substitute(node: Node, replacements: Mapping[str, Node]) -> Node:
    """The expression with names replaced by other expressions."""
    if isinstance(node, Symbol):
        return replacements.get(node.name, node)
    return rebuilt(node, lambda child: substitute(child, replacements))


def choose(node: Node, index: Callable[[Node], int]) -> Node:
    """The expression with instances such as `pull[i+1]` replaced by names such as `pull[2]`; `index` evaluates an index."""
    if isinstance(node, Item):
        return Symbol(instance_name(node.name, index(node.index)) + node.component)
    return rebuilt(node, lambda child: choose(child, index))


def has_items(node: Node) -> bool:
    """Whether an expression contains instances such as `pull[i+1]`."""
    return isinstance(node, Item) or any(map(has_items, children(node)))


_WORD = re.compile(rf"{WORD}(?:\[[0-9]+\])?(?:{_COMPONENT})?")
_BINDING = {"+": 2, "-": 2, "*": 3, "/": 3, "^": 5, **dict.fromkeys(COMPARISONS, 1)}


def to_text(node: Node) -> str:
    """The expression as text that `parse` reads back to an equal tree, with its leading `=`."""
    return "=" + _text(node, 0)


def _digits(value: float) -> str:
    return repr(value).removesuffix(".0")


def _with_unit(node: Number, unit: Unit) -> str:
    """A number as it was written if an expression may contain it, otherwise in SI units. Values may have spaces and brackets in
    their unit (`5 N m`); in an expression `2 m ^2` would be the square of 2 m."""
    if _COMPACT.fullmatch(node.text):
        return node.text
    powers = {**dict(zip(BASE_UNITS, unit.dimension.exponents, strict=True)), "rad": unit.turns}
    factors = [name if power == 1 else f"{name}^{_digits(float(power))}" for name, power in powers.items() if power]
    return f"{_digits(node.value)} {'*'.join(factors) or 'rad^0'}"


def _text(node: Node, binding: int) -> str:
    if isinstance(node, Number):
        text = _digits(node.value) if node.unit is None else _with_unit(node, node.unit)
        # A power after a unit would be read as part of the unit.
        return f"({text})" if binding > (3 if node.value < 0 else 4 if node.unit is not None else 9) else text
    if isinstance(node, Symbol):
        return node.name if _WORD.fullmatch(node.name) else f"`{node.name}`"
    if isinstance(node, Item):
        return f"{node.name}[{_text(node.index, 0)}]{node.component}"
    if isinstance(node, Negative):
        text = "-" + _text(node.operand, 4)
        return f"({text})" if binding > 3 else text
    if isinstance(node, Call):
        return f"{node.function}({', '.join(_text(child, 0) for child in node.arguments)})"
    own = _BINDING[node.operator]
    # Powers are right-associative, others left-associative; comparisons do not chain.
    left = own + (node.operator == "^" or own == 1)
    right = own + (node.operator != "^")
    joint = node.operator if own > 3 else f" {node.operator} "
    text = f"{_text(node.left, left)}{joint}{_text(node.right, right)}"
    return f"({text})" if own < binding else text
