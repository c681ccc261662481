"""Straight-line C code of CasADi functions with an abstract number type: vector lanes on a CPU, scalars on a GPU.

CasADi's own C code has a fixed order of operations and one work array. Here the operations are read as a graph, common
subexpressions are removed, and they are ordered such that few intermediate results are alive at a time, and written as one
assignment per operation. Long functions are split into parts, so that the compile time grows linearly; values needed by later
parts are stored in an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, isinf, isnan

import casadi as ca

PART = 1000
"""Maximum number of operations in one C function; longer ones make compilers slow."""
LONG = 30_000
"""Number of operations above which parts remain separate functions on a GPU too: a single function takes minutes to compile, and
is not faster."""

_BINARY = {ca.OP_ADD: "+", ca.OP_SUB: "-", ca.OP_MUL: "*", ca.OP_DIV: "/"}
_COMPARED = {ca.OP_LT: "<", ca.OP_LE: "<=", ca.OP_EQ: "==", ca.OP_NE: "!="}
_CALLED = {
    ca.OP_SQRT: "sqrt", ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh", ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh", ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_FABS: "fabs",
    ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_ERF: "erf", ca.OP_SIGN: "sign", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax",
    ca.OP_ATAN2: "atan2", ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow", ca.OP_FMOD: "fmod", ca.OP_COPYSIGN: "copysign",
    ca.OP_HYPOT: "hypot",
}  # fmt: skip
_COMMUTING = {ca.OP_ADD, ca.OP_MUL}
_TRUTHS = {*_COMPARED, ca.OP_NOT, ca.OP_AND, ca.OP_OR}
SELECT = -1
"""Code of `condition ? x : y`, which CasADi writes as a sum of two products."""
_OF_TRUTH = {ca.OP_IF_ELSE_ZERO, SELECT, ca.OP_NOT, ca.OP_AND, ca.OP_OR}


@dataclass
class Graph:
    """Operations in an order that can be evaluated: `ops[k]` on the results `args[k]`.

    `numbers` are the values of numbers, `places` the positions `(argument, index)` of entries of arguments.
    """

    ops: list[int] = field(default_factory=list)
    args: list[tuple[int, ...]] = field(default_factory=list)
    numbers: dict[int, float] = field(default_factory=dict)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    outputs: list[tuple[int, int, int]] = field(default_factory=list)
    """Result `(output, index, node)` of each entry that the function returns."""
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(self, op: int, args: tuple[int, ...]) -> int:
        """The node of an operation; an existing node is reused."""
        if op in _COMMUTING and args[0] > args[1]:
            args = args[1], args[0]
        return self._node((op, *args), op, args)

    def number(self, value: float) -> int:
        """The node of a number."""
        node = self._node(("number", value), ca.OP_CONST, ())
        self.numbers[node] = value
        return node

    def place(self, argument: int, index: int) -> int:
        """The node of an entry of an argument."""
        node = self._node(("place", argument, index), ca.OP_INPUT, ())
        self.places[node] = argument, index
        return node

    def _node(self, key: tuple[object, ...], op: int, args: tuple[int, ...]) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
        return found

    def is_leaf(self, node: int) -> bool:
        """Whether a node is a number or an entry of an argument."""
        return self.ops[node] in (ca.OP_CONST, ca.OP_INPUT)


def read_graph(function: ca.Function) -> Graph:
    """The operations of an SX function."""
    graph = Graph()
    work: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op == ca.OP_INPUT:
            argument, index = function.instruction_input(k)
            node = graph.place(argument, index)
        elif op == ca.OP_CONST:
            node = graph.number(function.instruction_constant(k))
        elif op == ca.OP_OUTPUT:
            output, index = function.instruction_output(k)
            graph.outputs.append((output, index, work[function.instruction_input(k)[0]]))
            continue
        else:
            node = _simplified(graph, op, tuple(work[i] for i in function.instruction_input(k)))
        work[function.instruction_output(k)[0]] = node
    return graph


def _simplified(graph: Graph, op: int, args: tuple[int, ...]) -> int:
    """The node of an operation, in its cheapest form."""
    if op == ca.OP_ASSIGN:
        return args[0]
    if op == ca.OP_DIV and args[1] in graph.numbers:
        inverse = 1 / graph.numbers[args[1]] if graph.numbers[args[1]] else float("inf")
        if isfinite(inverse) and inverse:
            return graph.add(ca.OP_MUL, (args[0], graph.number(inverse)))
    if op == ca.OP_ADD and (select := _select(graph, *args)) is not None:
        return select
    if op == ca.OP_CONSTPOW and graph.numbers.get(args[1]) == 3.0:
        return graph.add(ca.OP_MUL, (graph.add(ca.OP_SQ, args[:1]), args[0]))
    return graph.add(op, args)


def _select(graph: Graph, x: int, y: int) -> int | None:
    """`c ? a : b` for CasADi's form `(c ? a : 0) + (!c ? b : 0)`."""
    if graph.ops[x] != ca.OP_IF_ELSE_ZERO or graph.ops[y] != ca.OP_IF_ELSE_ZERO:
        return None
    (c, a), (d, b) = graph.args[x], graph.args[y]
    if graph.ops[d] == ca.OP_NOT and graph.args[d][0] == c:
        return graph.add(SELECT, (c, a, b))
    if graph.ops[c] == ca.OP_NOT and graph.args[c][0] == d:
        return graph.add(SELECT, (d, b, a))
    return None


def with_shared_divisors(graph: Graph) -> Graph:
    """The same with one division per divisor: several quotients by it become products."""
    uses: dict[int, int] = {}
    for node in order(graph):
        if graph.ops[node] == ca.OP_DIV:
            uses[graph.args[node][1]] = uses.get(graph.args[node][1], 0) + 1

    def rebuilt(new: Graph, op: int, old: tuple[int, ...], args: tuple[int, ...]) -> int:
        if op == ca.OP_DIV and uses.get(old[1], 0) > 1:
            return new.add(ca.OP_MUL, (args[0], new.add(ca.OP_INV, args[1:])))
        return new.add(op, args)

    return _rebuilt(graph, rebuilt)


def _rebuilt(graph: Graph, make: Callable[[Graph, int, tuple[int, ...], tuple[int, ...]], int]) -> Graph:
    new, at = Graph(), {}
    for node in order(graph):
        if node in graph.numbers:
            at[node] = new.number(graph.numbers[node])
        elif node in graph.places:
            at[node] = new.place(*graph.places[node])
        else:
            old = graph.args[node]
            at[node] = make(new, graph.ops[node], old, tuple(at[i] for i in old))
    new.outputs = [(output, index, at[node]) for output, index, node in graph.outputs]
    return new


def order(graph: Graph) -> list[int]:
    """The nodes needed for the outputs, each after its arguments: in CasADi's order, or depth-first from the outputs."""
    needed = bytearray(len(graph.ops))
    for _, _, node in graph.outputs:
        needed[node] = 1
    for node in range(len(graph.ops) - 1, -1, -1):
        if needed[node]:
            for i in graph.args[node]:
                needed[i] = 1
    return [node for node in range(len(graph.ops)) if needed[node]]


# -- C text -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CFunction:
    """C text of a function, its declaration, and the number of values passed between its parts."""

    text: str
    head: str
    operations: int
    handed_on: int


def straight_line(function: ca.Function, name: str, arguments: Sequence[str], results: Sequence[str]) -> CFunction:
    """C code of an SX function: `FN void name(const R *argument, ..., R *result, ...)`.

    `R` is the number type, `B` that of booleans, `K(x)` a constant; lanes.h and cuda.h define them and the functions `f_...`.
    Only the structurally nonzero entries of the results are written, consecutively.
    """
    graph = with_shared_divisors(read_graph(function))
    wanted = [node for node in order(graph) if not graph.is_leaf(node)]
    parts = [wanted[i : i + PART] for i in range(0, len(wanted), PART)] or [[]]
    writer = _Writer(graph, arguments, results)
    head = _head(name, arguments, results)
    if len(parts) == 1:
        return CFunction(f"{head} {{\n{writer.part(parts[0], {})}{writer.leaves()}}}\n", head, len(wanted), 0)
    slots, count = _slots(graph, parts)
    kind = "PART" if len(wanted) < LONG else "FN"
    texts, calls = [], ""
    for k, part in enumerate(parts):
        texts.append(f"{_head(f'{name}_{k}', [*arguments, ''], results, kind)} {{\n{writer.part(part, slots)}}}\n")
        calls += f"  {name}_{k}({', '.join([*arguments, 'w', *results])});\n"
    texts.append(f"{head} {{\n  R w[{count}];\n{calls}{writer.leaves()}}}\n")
    return CFunction("\n".join(texts), head, len(wanted), count)


def _head(name: str, arguments: Sequence[str], results: Sequence[str], kind: str = "FN") -> str:
    taken = [f"const R *{x}" if x else "R *w" for x in arguments] + [f"R *{x}" for x in results]
    return f"{kind} void {name}({', '.join(taken)})"


def _slots(graph: Graph, parts: Sequence[Sequence[int]]) -> tuple[dict[int, int], int]:
    """Storage of results needed by later parts, and its size; storage is reused."""
    home = {node: k for k, part in enumerate(parts) for node in part}
    last: dict[int, int] = {}
    for node, k in home.items():
        for i in graph.args[node]:
            if home.get(i, k) != k:
                last[i] = max(last.get(i, 0), k)
    free: list[int] = []
    slots: dict[int, int] = {}
    count = 0
    ending: dict[int, list[int]] = {}
    for node, until in last.items():
        ending.setdefault(until, []).append(node)
    for k, part in enumerate(parts):
        for node in part:
            if node in last:
                if not free:
                    free.append(count)
                    count += 1
                slots[node] = free.pop()
        # a part may read values anywhere in its code, so their storage is free only after it
        free += [slots[node] for node in ending.get(k, ())]
    return slots, max(count, 1)


class _Writer:
    """Writes parts of a graph as C."""

    def __init__(self, graph: Graph, arguments: Sequence[str], results: Sequence[str]) -> None:
        self.graph, self.arguments = graph, arguments
        self.here: set[int] = set()
        """Nodes of the current part."""
        self.wanted: dict[int, list[str]] = {}
        for output, index, node in graph.outputs:
            self.wanted.setdefault(node, []).append(f"{results[output]}[{index}]")
        self._sines: dict[int, dict[int, int]] = {}
        for node, op in enumerate(graph.ops):
            if op in (ca.OP_SIN, ca.OP_COS):
                self._sines.setdefault(graph.args[node][0], {})[op] = node
        self._is_written: set[int] = set()

    def part(self, nodes: Sequence[int], slots: dict[int, int]) -> str:
        """Statements of a part. Values computed by other parts are read from `w`, booleans as numbers."""
        self.here, lines = set(nodes), []
        brought: set[int] = set()
        for node in nodes:
            for i in self.graph.args[node]:
                if i in slots and i not in self.here and i not in brought:
                    brought.add(i)
                    lines.append(f"const R x{i} = w[{slots[i]}];")
            lines += self._statements(node)
            lines += [f"{place} = {self._number(node)};" for place in self.wanted.get(node, ())]
            if node in slots:
                lines.append(f"w[{slots[node]}] = {self._number(node)};")
        return _lines(lines)

    def leaves(self) -> str:
        """Statements of results that are numbers or arguments."""
        found = ((node, places) for node, places in self.wanted.items() if self.graph.is_leaf(node))
        return _lines([f"{place} = {self._whole(node)};" for node, places in found for place in places])

    def _statements(self, node: int) -> list[str]:
        op, args = self.graph.ops[node], self.graph.args[node]
        if op in (ca.OP_SIN, ca.OP_COS):
            return self._sine(node)
        return [f"const {'B' if self._is_truth(node) else 'R'} x{node} = {self._expression(op, args)};"]

    def _sine(self, node: int) -> list[str]:
        """Sine and cosine of one angle are computed together."""
        op, (angle,) = self.graph.ops[node], self.graph.args[node]
        if node in self._is_written:
            return []
        pair = self._sines[angle]
        if len(pair) < 2 or not self.here.issuperset(pair.values()):
            return [f"const R x{node} = f_{_CALLED[op]}({self._whole(angle)});"]
        self._is_written.update(pair.values())
        sine, cosine = pair[ca.OP_SIN], pair[ca.OP_COS]
        return [f"R x{sine}, x{cosine};", f"f_sincos({self._whole(angle)}, &x{sine}, &x{cosine});"]

    def _expression(self, op: int, args: tuple[int, ...]) -> str:
        if op in _BINARY:
            return f" {_BINARY[op]} ".join(self._number(i) for i in args)
        if op in _COMPARED:
            return f"B_OF({self._whole(args[0])} {_COMPARED[op]} {self._whole(args[1])})"
        if op in _CALLED:
            return f"f_{_CALLED[op]}({', '.join(self._whole(i) for i in args)})"
        x = self._truth(args[0]) if op in _OF_TRUTH else self._number(args[0])
        if op == ca.OP_IF_ELSE_ZERO:
            return f"f_pick({x}, {self._whole(args[1])})"
        if op == SELECT:
            return f"f_choose({x}, {self._whole(args[1])}, {self._whole(args[2])})"
        if op in (ca.OP_AND, ca.OP_OR):
            return f"{x} {'&' if op == ca.OP_AND else '|'} {self._truth(args[1])}"
        known = {ca.OP_NEG: f"-{x}", ca.OP_TWICE: f"{x} + {x}", ca.OP_SQ: f"{x} * {x}", ca.OP_INV: f"K(1) / {x}",
                 ca.OP_NOT: f"B_NOT({x})"}  # fmt: skip
        return known[op]

    def _is_truth(self, node: int) -> bool:
        return self.graph.ops[node] in _TRUTHS and node in self.here

    def _number(self, node: int) -> str:
        """A result as an operand of arithmetic."""
        graph = self.graph
        if node in graph.numbers:
            return f"K({literal(graph.numbers[node])})"
        if node in graph.places:
            argument, index = graph.places[node]
            return f"{self.arguments[argument]}[{index}]"
        return f"f_one(x{node})" if self._is_truth(node) else f"x{node}"

    def _whole(self, node: int) -> str:
        """A result as an argument of a function: numbers fill all lanes."""
        return f"R_OF({literal(self.graph.numbers[node])})" if node in self.graph.numbers else self._number(node)

    def _truth(self, node: int) -> str:
        return f"x{node}" if self._is_truth(node) else f"B_OF({self._whole(node)} != R_OF(0))"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def literal(value: float) -> str:
    """A number as a C literal, exact to the last digit."""
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))
