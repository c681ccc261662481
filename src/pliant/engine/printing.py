"""Printed equations, through SymPy: in full for small systems, by element for others, as plain text and as LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import Any

import casadi as ca

from pliant.engine.casadi_functions import casadi_function
from pliant.engine.element_printing import as_latex, as_text, element_lines, signal_values
from pliant.engine.model.model import Model
from pliant.engine.sympy_text import CannotPrint, upright, written

MAX_RATES, MAX_OPERATIONS, MAX_TERMS = 6, 400, 1000
"""Numbers of rates, of operations of M a + h, and of terms of an expanded expression, above which equations are printed by element:
that many terms fill pages, and rotation vectors of two bodies have 1e20."""
LONG = 10**12
"""Denominators of products of rounded coefficients above this are rounded again: SymPy takes minutes for sums of long ones."""


def equations_text(model: Model) -> str:
    """`M a + h = 0` (plus constraints) line by line, or by element if that would be too long."""
    terms = _terms(model)
    if terms is None:
        return as_text(element_lines(model))
    rates = model.v_names
    lines = ["Equations of motion: M a + h = " + ("J' lambda" if terms.rows else "0"), ""]
    lines += ["q = (" + ", ".join(model.q_names) + "), v = (" + ", ".join(rates) + ")", ""]
    n, M = len(rates), terms.M
    for i in range(n):
        lines += [f"M[{rates[i]}, {rates[j]}] = {M[i][j]}" for j in range(i, n) if M[i][j] != 0]
    lines += [""] + [f"h[{rates[i]}] = {terms.h[i]}" for i in range(n)]
    if terms.rows:
        lines += ["", "Constraints:"] + [
            f"{row.name}: {DERIVATIVES[row.order].format(row.left)} = {row.right}" for row in terms.rows
        ]
    return "\n".join(lines)


def equations_latex(model: Model) -> str:
    """The same as an aligned LaTeX block, or by element as a fragment of a document."""
    import sympy

    terms = _terms(model)
    if terms is None:
        return as_latex(element_lines(model))
    symbols = _symbols(model)
    names = {symbol: upright(symbol.name) for group in ("q", "u", "p") for symbol in symbols[group]}
    names |= {s: rf"\dot{{{upright(n)}}}" for s, n in zip(symbols["v"], model.v_names, strict=True)}

    def latex(x: Any) -> str:
        return str(sympy.latex(sympy.Matrix(x), symbol_names=names))

    lines = [r"M(q) &= " + latex(terms.M), r"h(q, v) &= " + latex(terms.h)]
    for row in terms.rows:
        left, right = (sympy.latex(x, symbol_names=names) for x in (row.left, row.right))
        lines.append(LATEX_DERIVATIVES[row.order].format(left) + " &= " + right)
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])


DERIVATIVES = ("{}", "d/dt ({})", "d2/dt2 ({})")
LATEX_DERIVATIVES = ("{}", r"\frac{{d}}{{dt}} \left( {} \right)", r"\frac{{d^2}}{{dt^2}} \left( {} \right)")


@dataclass(frozen=True)
class Row:
    """A constraint: the derivative of this order of `left` equals `right`."""

    name: str
    left: Any
    order: int
    right: Any


@dataclass(frozen=True)
class Terms:
    """Equations written out: M by rows, h, constraints."""

    M: list[list[Any]]
    h: list[Any]
    rows: list[Row]


def _terms(model: Model) -> Terms | None:
    """The equations in full; None if they would be unreadable."""
    import sympy

    n = len(model.v_names)
    if n > MAX_RATES or model.system.contacts.laws:
        return None
    residual = casadi_function(model, "inverse_dynamics")
    if not residual.is_a("SXFunction") or residual.n_instructions() > MAX_OPERATIONS:
        return None
    symbols = _symbols(model)
    t, q, v, u, p = (ca.SX.sym(x, len(symbols[x])) for x in ("t", "q", "v", "u", "p"))
    a = ca.SX.sym("a", n)
    r = residual(t, q, v, a, u, p)
    M, h = ca.jacobian(r, a), residual(t, q, v, ca.DM.zeros(n), u, p)
    phi = casadi_function(model, "constraints")(t, q, v, u, p)[0]
    function = ca.Function("terms", [t, q, v, u, p], [ca.densify(M), ca.densify(h), ca.densify(phi)])
    try:
        values = written(function, [symbols[x] for x in ("t", "q", "v", "u", "p")], shorten=False).outputs
        signals = [_tidy(sympy, x) for x in signal_values(model, sympy)]
    except CannotPrint:
        return None
    terms: dict[Any, int] = {}
    for x in (x for group in values for x in group):
        _expanded_terms(x, terms)
    if max(terms.values(), default=0) > MAX_TERMS:
        return None
    simplified = [[_tidy(sympy, x) for x in group] for group in values]
    # positions that result from prescribed rates and accelerations are zero in the values of constraints
    prescribed = {item.row: (item.order, signals[item.signal]) for item in model.followed}
    rows = [
        Row(name, value, *prescribed.get(k, (0, sympy.Integer(0))))
        for k, (name, value) in enumerate(zip(model.constraint_names(), simplified[2], strict=True))
    ]
    return Terms([[simplified[0][n * j + i] for j in range(n)] for i in range(n)], simplified[1], rows)


def _expanded_terms(x: Any, known: dict[Any, int]) -> int:
    """The number of terms of an expression whose products are expanded. known: those of its parts, arguments of functions too."""
    if x not in known:
        counts = [_expanded_terms(part, known) for part in x.args]
        if x.is_Add:
            known[x] = sum(counts)
        elif x.is_Mul:
            known[x] = prod(counts)
        elif x.is_Pow and x.exp.is_Integer and x.exp > 0:
            known[x] = comb(counts[0] + int(x.exp) - 1, int(x.exp))
        else:
            known[x] = 1
    return known[x]


def _tidy(sympy: Any, expression: Any) -> Any:
    rounded = sympy.nsimplify(expression, rational=True, tolerance=1e-12)
    if rounded == 0:
        return sympy.Integer(0)
    expanded = sympy.expand(rounded).replace(lambda x: x.is_Rational and x.q > LONG, lambda x: x.evalf(15, chop=1e-12))
    return sympy.trigsimp(expanded).evalf(8, chop=1e-12)


def _symbols(model: Model) -> dict[str, list[Any]]:
    import sympy

    return {
        "t": [sympy.Symbol("t")],
        "q": [sympy.Symbol(name) for name in model.q_names],
        "v": [sympy.Symbol(f"d{name}") for name in model.v_names],
        "u": [sympy.Symbol(name) for name in model.input_names],
        "p": [sympy.Symbol(name, positive=True) for name in model.parameter_names],
    }
