"""Round-off of expressions: running error analysis (Higham, Accuracy and stability of numerical algorithms, section 3.3).

An operation `z = f(x, y)` in floating-point arithmetic has the error `|df/dx| e(x) + |df/dy| e(y) + eps |z|`. In units of eps this
is again an expression of the arguments: the *weight* of a result, at least its own size, and much larger where terms cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import casadi as ca

from pliant.engine.operations import read

EXACT = frozenset((ca.OP_NEG, ca.OP_FABS, ca.OP_TWICE, ca.OP_FMIN, ca.OP_FMAX, ca.OP_IF_ELSE_ZERO))
"""Operations without round-off of their own."""


def signal_weights(signals: ca.Function, inputs: ca.Function | None, count: int) -> ca.Function | None:
    """Weights of inputs that are expressions and of signals: `(t, u, weights of u, parameters) -> weights of u, weights of s`. None
    if signals cannot cancel.

    signals, inputs: `(t, u, parameters) -> s` and `(t, parameters) -> u`, of scalars; count: number of parameters.
    """
    if not (sums_vary(signals, 2) or (inputs is not None and sums_vary(inputs, 1))):
        return None
    t, u, w, p = ca.SX.sym("t"), *(ca.SX.sym(x, signals.size1_in(1)) for x in "uw"), ca.SX.sym("p", count)
    of_u = ca.SX.zeros(u.numel()) if inputs is None else weights(inputs, [t, p], [ca.fabs(t), ca.fabs(p)])[0]
    of_s = weights(signals, [t, u, p], [ca.fabs(t), w, ca.fabs(p)])[0]
    return ca.Function("round_off", [t, u, w, p], [ca.densify(of_u), ca.densify(of_s)])


def sums_vary(function: ca.Function, constant: int) -> bool:
    """Whether a function adds anything that may cancel: terms that depend on other arguments than number `constant`."""
    graph = read(function)
    varies: list[bool] = []
    for node, (op, args) in enumerate(zip(graph.ops, graph.args, strict=True)):
        varies.append(any(varies[i] for i in args) or (node in graph.places and graph.places[node][0] != constant))
        if op in (ca.OP_ADD, ca.OP_SUB) and varies[node]:
            return True
    return False


def weights(function: ca.Function, arguments: Sequence[ca.SX], given: Sequence[ca.SX]) -> list[ca.SX]:
    """Weights of the results of a function, whose arguments have the weights `given`."""
    entries = [
        list(zip(ca.vertsplit(ca.vec(x)), ca.vertsplit(ca.vec(w)), strict=True)) if x.numel() else []
        for x, w in zip(arguments, given, strict=True)
    ]
    graph = read(function)
    known = graph.evaluate(entries, lambda x: (ca.SX(x), ca.SX(abs(x))), _with_weight)
    found = [ca.SX.zeros(*function.size_out(i)) for i in range(function.n_out())]
    for output, index, node in graph.outputs:
        found[output].nz[index] = known[node][1]
    return found


def _with_weight(operation: int, given: list[tuple[ca.SX, ca.SX]]) -> tuple[ca.SX, ca.SX]:
    """The result of an operation on values with weights, and its weight."""
    result, slopes = _operation(operation, [value for value, _ in given])
    total = ca.SX(0) if operation in EXACT else ca.fabs(result)
    for slope, (_, weight) in zip(slopes, given, strict=True):
        total += ca.fabs(slope) * weight
    return result, total


def _operation(operation: int, x: list[ca.SX]) -> tuple[ca.SX, list[ca.SX]]:
    """The result of an operation and its derivatives."""
    if operation in (ca.OP_ADD, ca.OP_SUB):
        return (x[0] + x[1] if operation == ca.OP_ADD else x[0] - x[1]), [ca.SX(1), ca.SX(1)]
    if operation == ca.OP_MUL:
        return x[0] * x[1], [x[1], x[0]]
    result, slopes = _formula(operation, len(x))(*x), _slopes(operation, len(x))(*x)
    return result, [slopes] if len(x) == 1 else list(slopes)


@cache
def _formula(operation: int, count: int) -> ca.Function:
    x = [ca.SX.sym(f"x{i}") for i in range(count)]
    make = ca.SX.unary if count == 1 else ca.SX.binary
    return ca.Function("formula", x, [make(operation, *x)])


@cache
def _slopes(operation: int, count: int) -> ca.Function:
    x = [ca.SX.sym(f"x{i}") for i in range(count)]
    result = _formula(operation, count)(*x)
    return ca.Function("slopes", x, [ca.densify(ca.jacobian(result, y)) for y in x])
