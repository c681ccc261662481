"""Equations of small systems for people: plain text and LaTeX, through SymPy."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.equations.casadi_functions import casadi_function
from pliant.model.model import Model

MAX_RATES = 6
MAX_OPERATIONS = 4000


class TooLarge(ValueError):
    """The system is too large to print."""


def equations_text(model: Model) -> str:
    """`M a + h = 0` (plus constraints) line by line."""
    M, h, phi, names = _terms(model)
    rates = model.v_names
    lines = ["Equations of motion: M a + h = " + ("J' lambda" if phi else "0"), ""]
    lines += ["q = (" + ", ".join(model.q_names) + "), v = (" + ", ".join(rates) + ")", ""]
    n = len(rates)
    for i in range(n):
        lines += [f"M[{rates[i]}, {rates[j]}] = {M[i][j]}" for j in range(i, n) if M[i][j] != 0]
    lines += [""] + [f"h[{rates[i]}] = {h[i]}" for i in range(n)]
    if phi:
        lines += ["", "Constraints:"] + [f"{name}: {value} = 0" for name, value in zip(names, phi, strict=True)]
    return "\n".join(lines)


def equations_latex(model: Model) -> str:
    """The same as an aligned LaTeX block."""
    import sympy

    M, h, phi, _ = _terms(model)
    symbols = _symbols(model)
    names = {symbol: _upright(symbol.name) for group in ("q", "u", "p") for symbol in symbols[group]}
    names |= {s: rf"\dot{{{_upright(n)}}}" for s, n in zip(symbols["v"], model.v_names, strict=True)}

    def latex(x: Any) -> str:
        return str(sympy.latex(sympy.Matrix(x), symbol_names=names))

    lines = [r"\begin{aligned}", r"M(q) &= " + latex(M) + r" \\", r"h(q, v) &= " + latex(h)]
    if phi:
        lines[-1] += r" \\"
        lines.append(r"\varphi(q) &= " + latex(phi))
    return "\n".join([*lines, r"\end{aligned}"])


def _upright(name: str) -> str:
    """A name as LaTeX: single letters stay italic, words stand upright."""
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{escaped}}}"


def _terms(model: Model) -> tuple[list[list[Any]], list[Any], list[Any], tuple[str, ...]]:
    import sympy

    n = len(model.v_names)
    if n > MAX_RATES:
        raise TooLarge(f"the system has {n} rates; equations are printed up to {MAX_RATES}. Use Equations.casadi().")
    residual = casadi_function(model, "inverse_dynamics")
    symbols = _symbols(model)
    t, q, v, u, p = (ca.SX.sym(x, len(symbols[x])) for x in ("t", "q", "v", "u", "p"))
    a = ca.SX.sym("a", n)
    r = residual(t, q, v, a, u, p)
    M, h = ca.jacobian(r, a), residual(t, q, v, ca.DM.zeros(n), u, p)
    phi = casadi_function(model, "constraints")(t, q, v, u, p)[0]
    function = ca.Function("terms", [t, q, v, u, p], [ca.densify(M), ca.densify(h), ca.densify(phi)])
    if function.n_instructions() > MAX_OPERATIONS:
        raise TooLarge("the equations are too long to read; use Equations.casadi() instead")
    values = _to_sympy(function, [symbols[x] for x in ("t", "q", "v", "u", "p")])
    simplified = [[_tidy(sympy, x) for x in group] for group in values]
    rows = [[simplified[0][n * j + i] for j in range(n)] for i in range(n)]
    return rows, simplified[1], simplified[2], model.constraint_names()


def _tidy(sympy: Any, expression: Any) -> Any:
    rounded = sympy.nsimplify(expression, rational=True, tolerance=1e-12)
    return sympy.trigsimp(sympy.expand(rounded)).evalf(8, chop=1e-12) if rounded != 0 else sympy.Integer(0)


def _symbols(model: Model) -> dict[str, list[Any]]:
    import sympy

    return {
        "t": [sympy.Symbol("t")],
        "q": [sympy.Symbol(name) for name in model.q_names],
        "v": [sympy.Symbol(f"d{name}") for name in model.v_names],
        "u": [sympy.Symbol(name) for name in model.input_names],
        "p": [sympy.Symbol(name, positive=True) for name in model.parameter_names],
    }


def _to_sympy(function: ca.Function, inputs: list[list[Any]]) -> list[list[Any]]:
    """Replays the instructions of an SX function on SymPy symbols."""
    import sympy

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
        ca.OP_IF_ELSE_ZERO: lambda x, y: x * y, ca.OP_AND: lambda x, y: x * y, ca.OP_OR: lambda x, y: sympy.Max(x, y),
    }  # fmt: skip
    work: dict[int, Any] = {}
    outputs: list[list[Any]] = [[sympy.Integer(0)] * function.nnz_out(i) for i in range(function.n_out())]
    for k in range(function.n_instructions()):
        op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CONST:
            work[o[0]] = sympy.Float(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            work[o[0]] = inputs[i[0]][i[1]]
        elif op == ca.OP_OUTPUT:
            outputs[o[0]][o[1]] = work[i[0]]
        elif op in one:
            work[o[0]] = one[op](work[i[0]])
        elif op in two:
            work[o[0]] = two[op](work[i[0]], work[i[1]])
        else:
            raise TooLarge(f"the equations hold an operation (number {op}) that cannot be printed")
    return outputs


def _indicator(sympy: Any, condition: Any) -> Any:
    return sympy.Piecewise((1, condition), (0, True))
