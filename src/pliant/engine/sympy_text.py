"""CasADi functions as SymPy expressions, with names for common subexpressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from typing import Any

import casadi as ca

from pliant.engine.operations import read

NAMED_ABOVE = 8
"""An expression is named if its number of operations times its number of uses exceeds this."""
DIGITS = 8
"""Digits of printed numbers."""


class CannotPrint(ValueError):
    """Raised if a function contains an operation that cannot be printed."""


@dataclass(frozen=True)
class PrintedFunction:
    """A printed function: names with their expressions, in order, and each output's entries by columns."""

    named: tuple[tuple[Any, Any], ...]
    outputs: tuple[tuple[Any, ...], ...]


def written(function: ca.Function, inputs: list[list[Any]], *, shorten: bool = True) -> PrintedFunction:
    """Replays the operations of an SX function on SymPy's symbols.

    With `shorten` repeated expressions are named w1, w2, ..., and numbers have eight digits.
    """
    import sympy

    one, two = _operations(sympy)
    graph = read(function)
    uses = Counter(node for args in (*graph.args, *((node,) for *_, node in graph.outputs)) for node in args)
    taken = {str(symbol) for group in inputs for symbol in group}
    names = (sympy.Symbol(name) for k in count(1) if (name := f"w{k}") not in taken)
    named: list[tuple[Any, Any]] = []
    values: list[Any] = []
    for node, (op, args) in enumerate(zip(graph.ops, graph.args, strict=True)):
        x = [values[i] for i in args]
        if node in graph.numbers:
            value = _number(sympy, graph.numbers[node], DIGITS if shorten else 15)
        elif node in graph.places:
            argument, index = graph.places[node]
            value = inputs[argument][index]
        elif op in one or op in two:
            value = (one if op in one else two)[op](*x)
            if shorten and uses[node] > 1 and _operations_in(sympy, value) * uses[node] > NAMED_ABOVE:
                named.append((next(names), value))
                value = named[-1][0]
        else:
            raise CannotPrint(f"an operation (number {op}) that cannot be printed")
        values.append(value)
    outputs: list[list[Any]] = [[sympy.Integer(0)] * function.nnz_out(i) for i in range(function.n_out())]
    for output, index, node in graph.outputs:
        outputs[output][index] = values[node]
    return PrintedFunction(tuple(named), tuple(map(tuple, outputs)))


def signature(function: ca.Function) -> Hashable:
    """The operations of a function, by which functions with equal text are recognized; comparing with SymPy would take a hundred
    times longer."""
    graph = read(function)
    shapes = tuple(function.size_out(i) for i in range(function.n_out()))
    numbers = tuple((node, f"{number:.{DIGITS}g}") for node, number in graph.numbers.items())
    return shapes, tuple(graph.ops), tuple(graph.args), numbers, tuple(graph.places.items()), tuple(graph.outputs)


def _operations_in(sympy: Any, value: Any) -> int:
    """Number of operations in an expression; a function or a power of one symbol is not counted."""
    return 0 if value.is_Atom or all(part.is_Atom for part in value.args) else int(sympy.count_ops(value))


def _number(sympy: Any, value: float, digits: int) -> Any:
    """A constant: integers exactly, others with limited digits."""
    whole = abs(value) < 1e15 and value == int(value)
    return sympy.Integer(int(value)) if whole else sympy.Float(value, digits)


def _operations(sympy: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    one = {
        ca.OP_NEG: lambda x: -x, ca.OP_SQ: lambda x: x**2, ca.OP_SQRT: sympy.sqrt, ca.OP_SIN: sympy.sin,
        ca.OP_COS: sympy.cos, ca.OP_TAN: sympy.tan, ca.OP_EXP: sympy.exp, ca.OP_LOG: sympy.log,
        ca.OP_INV: lambda x: 1 / x, ca.OP_TWICE: lambda x: 2 * x, ca.OP_FABS: sympy.Abs, ca.OP_SIGN: sympy.sign,
        ca.OP_NOT: lambda x: 1 - x, ca.OP_TANH: sympy.tanh, ca.OP_ATAN: sympy.atan,
        ca.OP_ASIN: sympy.asin, ca.OP_ACOS: sympy.acos, ca.OP_SINH: sympy.sinh, ca.OP_COSH: sympy.cosh,
        ca.OP_FLOOR: sympy.floor,
    }  # fmt: skip
    two = {
        ca.OP_ADD: lambda x, y: x + y, ca.OP_SUB: lambda x, y: x - y, ca.OP_MUL: lambda x, y: x * y,
        ca.OP_DIV: lambda x, y: x / y, ca.OP_POW: lambda x, y: x**y, ca.OP_CONSTPOW: lambda x, y: x**y,
        ca.OP_ATAN2: sympy.atan2, ca.OP_FMIN: sympy.Min, ca.OP_FMAX: sympy.Max,
        ca.OP_LT: lambda x, y: _indicator(sympy, x < y), ca.OP_LE: lambda x, y: _indicator(sympy, x <= y),
        ca.OP_EQ: lambda x, y: _indicator(sympy, sympy.Eq(x, y)), ca.OP_NE: lambda x, y: _indicator(sympy, sympy.Ne(x, y)),
        # a NaN branch only marks the end of a law's range
        ca.OP_IF_ELSE_ZERO: lambda x, y: 0 if y is sympy.nan else x * y,
        ca.OP_AND: lambda x, y: x * y, ca.OP_OR: lambda x, y: sympy.Max(x, y),
    }  # fmt: skip
    return one, two


def _indicator(sympy: Any, condition: Any) -> Any:
    return sympy.Piecewise((1, condition), (0, True))


def upright(name: str) -> str:
    """A name as LaTeX: single letters are italic, words upright."""
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{escaped}}}"
