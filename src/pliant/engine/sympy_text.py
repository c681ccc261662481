"""CasADi functions as SymPy expressions, with names for common subexpressions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from typing import Any

import casadi as ca

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
    """Replays the instructions of an SX function on SymPy's symbols.

    With `shorten` repeated expressions are named w1, w2, ..., and numbers have eight digits.
    """
    import sympy

    one, two = _operations(sympy)
    uses = _uses(function)
    work: dict[int, Any] = {}
    named: list[tuple[Any, Any]] = []
    taken = {str(symbol) for group in inputs for symbol in group}
    names = (sympy.Symbol(name) for k in count(1) if (name := f"w{k}") not in taken)
    outputs: list[list[Any]] = [[sympy.Integer(0)] * function.nnz_out(i) for i in range(function.n_out())]
    for k in range(function.n_instructions()):
        op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CONST:
            work[o[0]] = _number(sympy, function.instruction_constant(k), DIGITS if shorten else 15)
            continue
        if op == ca.OP_INPUT:
            work[o[0]] = inputs[i[0]][i[1]]
            continue
        if op == ca.OP_OUTPUT:
            outputs[o[0]][o[1]] = work[i[0]]
            continue
        if op in one:
            value = one[op](work[i[0]])
        elif op in two:
            value = two[op](work[i[0]], work[i[1]])
        else:
            raise CannotPrint(f"an operation (number {op}) that cannot be printed")
        if shorten and uses[k] > 1 and _operations_in(sympy, value) * uses[k] > NAMED_ABOVE:
            named.append((next(names), value))
            value = named[-1][0]
        work[o[0]] = value
    return PrintedFunction(tuple(named), tuple(map(tuple, outputs)))


def instructions(function: ca.Function) -> Hashable:
    """The operations of a function, by which functions with equal text are recognized; comparing with SymPy would take a hundred
    times longer."""
    steps = []
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        constant = f"{function.instruction_constant(k):.{DIGITS}g}" if op == ca.OP_CONST else ""
        steps.append((op, constant, *function.instruction_input(k), *function.instruction_output(k)))
    shapes = tuple(function.size_out(i) for i in range(function.n_out()))
    return shapes, tuple(steps)


def _uses(function: ca.Function) -> list[int]:
    """Number of uses of the result of each instruction."""
    uses = [0] * function.n_instructions()
    writer: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op not in (ca.OP_CONST, ca.OP_INPUT):
            for register in function.instruction_input(k):
                uses[writer[register]] += 1
        if op != ca.OP_OUTPUT:
            writer[function.instruction_output(k)[0]] = k
    return uses


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
        ca.OP_ASSIGN: lambda x: x, ca.OP_NOT: lambda x: 1 - x, ca.OP_TANH: sympy.tanh, ca.OP_ATAN: sympy.atan,
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
