"""C code of CasADi functions: one writer for kernels, exports and fleets.

A function is written with one constant per operation, in terms of a type of numbers (`Numbers`): doubles, the lanes of
`runtime/lanes.h` (kernels that evaluate several instances at once), or the abstract type of fleets, which `fleet/code/lanes.h` and
`cuda.h` define.

Kernels compute each operation of CasADi as it is, so that compiled code has the results of CasADi's virtual machine bit for bit.
Fleets compute the graph in a cheaper form (`simplified`), whose results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, isinf, isnan
from pathlib import Path

import casadi as ca

from pliant.engine.operations import Graph, read

RUNTIME = Path(__file__).parent / "runtime"
HEADER = "lanes.h"
"""Header of kernels on lanes, in the folder of the runtime."""

PART = 1000
"""Maximum number of operations in one C function of a fleet; longer ones make compilers slow."""
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


# -- cheaper forms ----------------------------------------------------------------------------------------------------------


def simplified(graph: Graph) -> Graph:
    """The same functions up to rounding, with fewer and cheaper operations: one division per divisor, and no powers or divisions
    where products do."""
    cheaper = _rebuilt(graph, lambda new, op, old, args: _simplified(new, op, args))
    uses: dict[int, int] = {}
    for node in cheaper.order():
        if cheaper.ops[node] == ca.OP_DIV:
            uses[cheaper.args[node][1]] = uses.get(cheaper.args[node][1], 0) + 1

    def with_shared_divisors(new: Graph, op: int, old: tuple[int, ...], args: tuple[int, ...]) -> int:
        if op == ca.OP_DIV and uses.get(old[1], 0) > 1:
            return _commuted(new, ca.OP_MUL, (args[0], new.add(ca.OP_INV, args[1:])))
        return _commuted(new, op, args)

    return _rebuilt(cheaper, with_shared_divisors)


def _simplified(graph: Graph, op: int, args: tuple[int, ...]) -> int:
    """The node of an operation, in its cheapest form."""
    if op == ca.OP_DIV and args[1] in graph.numbers:
        inverse = 1 / graph.numbers[args[1]] if graph.numbers[args[1]] else float("inf")
        if isfinite(inverse) and inverse:
            return _commuted(graph, ca.OP_MUL, (args[0], graph.number(inverse)))
    if op == ca.OP_ADD and (select := _select(graph, *args)) is not None:
        return select
    if op == ca.OP_CONSTPOW and graph.numbers.get(args[1]) == 3.0:
        return _commuted(graph, ca.OP_MUL, (graph.add(ca.OP_SQ, args[:1]), args[0]))
    return _commuted(graph, op, args)


def _commuted(graph: Graph, op: int, args: tuple[int, ...]) -> int:
    """The node of an operation; `x + y` and `y + x` are one."""
    return graph.add(op, args[::-1] if op in _COMMUTING and args[0] > args[1] else args)


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


def _rebuilt(graph: Graph, make: Callable[[Graph, int, tuple[int, ...], tuple[int, ...]], int]) -> Graph:
    """The graph with each operation made by `make(new graph, operation, old arguments, new arguments)`."""
    new, at = Graph(), {}
    for node in graph.order():
        if node in graph.numbers:
            at[node] = new.number(graph.numbers[node])
        elif node in graph.places:
            at[node] = new.place(*graph.places[node])
        else:
            old = graph.args[node]
            at[node] = make(new, graph.ops[node], old, tuple(at[i] for i in old))
    new.outputs = [(output, index, at[node]) for output, index, node in graph.outputs]
    return new


# -- statements -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """Spelling of a type of numbers in C.

    number, truth: the types of numbers and of conditions. operand, whole: a constant in arithmetic, and as a number of the type.
    condition, negation: of a condition. library, own: prefixes of the functions of C's library, and of those that it lacks or
    leaves unspecified (`pick(c, x)`, `choose(c, x, y)`, `one(c)`, `sincos(x, &s, &c)`, `fmin`, `fmax` and `sign`).
    """

    number: str
    truth: str
    operand: str = "{}"
    whole: str = "{}"
    condition: str = "({})"
    negation: str = "!{}"
    library: str = ""
    own: str = "pl_"

    def function(self, name: str) -> str:
        """The name of a function."""
        return f"{self.own if name in ('fmin', 'fmax', 'sign') else self.library}{name}"


SCALAR = Numbers("double", "int")
LANES = Numbers(
    "pl_lanes", "pl_mask", whole="pl_lanes_of({})", condition="PL_MASK({})", negation="PL_NOT({})", library="lanes_",
    own="lanes_",
)  # fmt: skip
FLEET = Numbers("R", "B", "K({})", "R_OF({})", "B_OF({})", "B_NOT({})", "f_", "f_")


class _Writer:
    """Writes the statements of a graph, or of parts of it, as C.

    arguments, results: C text of the arrays of arguments and results, before the index of an entry.
    """

    def __init__(self, graph: Graph, kind: Numbers, arguments: Sequence[str], results: Sequence[str]) -> None:
        self.graph, self.kind, self.arguments = graph, kind, arguments
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

    def part(self, nodes: Sequence[int], slots: Mapping[int, int]) -> list[str]:
        """Statements of a part. Values computed by other parts are read from `w`, booleans as numbers."""
        self.here, lines = set(nodes), []
        brought: set[int] = set()
        for node in nodes:
            for i in self.graph.args[node]:
                if i not in self.here and i not in brought and (i in slots or i in self.graph.places):
                    brought.add(i)
                    value = self._place(i) if i in self.graph.places else f"w[{slots[i]}]"
                    lines.append(f"const {self.kind.number} x{i} = {value};")
            lines += self._statements(node)
            lines += [f"{place} = {self._number(node)};" for place in self.wanted.get(node, ())]
            if node in slots:
                lines.append(f"w[{slots[node]}] = {self._number(node)};")
        return lines

    def leaves(self) -> list[str]:
        """Statements of results that are numbers or arguments."""
        found = ((node, places) for node, places in self.wanted.items() if self.graph.is_leaf(node))
        return [f"{place} = {self._leaf(node)};" for node, places in found for place in places]

    def _statements(self, node: int) -> list[str]:
        op, args = self.graph.ops[node], self.graph.args[node]
        if op in (ca.OP_SIN, ca.OP_COS):
            return self._sine(node)
        kind = self.kind.truth if self._is_truth(node) else self.kind.number
        return [f"const {kind} x{node} = {self._expression(op, args)};"]

    def _sine(self, node: int) -> list[str]:
        """Sine and cosine of one angle are computed together."""
        op, (angle,) = self.graph.ops[node], self.graph.args[node]
        if node in self._is_written:
            return []
        pair = self._sines[angle]
        number = self.kind.number
        if len(pair) < 2 or not self.here.issuperset(pair.values()):
            return [f"const {number} x{node} = {self.kind.function(_CALLED[op])}({self._whole(angle)});"]
        self._is_written.update(pair.values())
        sine, cosine = pair[ca.OP_SIN], pair[ca.OP_COS]
        return [f"{number} x{sine}, x{cosine};", f"{self.kind.own}sincos({self._whole(angle)}, &x{sine}, &x{cosine});"]

    def _expression(self, op: int, args: tuple[int, ...]) -> str:
        if op in _BINARY:
            return f" {_BINARY[op]} ".join(self._number(i) for i in args)
        if op in _COMPARED:
            return self.kind.condition.format(f"{self._whole(args[0])} {_COMPARED[op]} {self._whole(args[1])}")
        if op in _CALLED:
            return f"{self.kind.function(_CALLED[op])}({', '.join(self._whole(i) for i in args)})"
        x = self._truth(args[0]) if op in _OF_TRUTH else self._number(args[0])
        if op == ca.OP_IF_ELSE_ZERO:
            return f"{self.kind.own}pick({x}, {self._whole(args[1])})"
        if op == SELECT:
            return f"{self.kind.own}choose({x}, {self._whole(args[1])}, {self._whole(args[2])})"
        if op in (ca.OP_AND, ca.OP_OR):
            return f"{x} {'&' if op == ca.OP_AND else '|'} {self._truth(args[1])}"
        known = {ca.OP_NEG: f"-{x}", ca.OP_TWICE: f"{x} + {x}", ca.OP_SQ: f"{x} * {x}",
                 ca.OP_INV: f"{self.kind.operand.format(1)} / {x}", ca.OP_NOT: self.kind.negation.format(x)}  # fmt: skip
        if op not in known:
            raise ValueError(f"CasADi's operation {op} cannot be written as C")
        return known[op]

    def _is_truth(self, node: int) -> bool:
        return self.graph.ops[node] in _TRUTHS and node in self.here

    def _place(self, node: int) -> str:
        argument, index = self.graph.places[node]
        return f"{self.arguments[argument]}[{index}]"

    def _leaf(self, node: int) -> str:
        return self._place(node) if node in self.graph.places else self._whole(node)

    def _number(self, node: int) -> str:
        """A result as an operand of arithmetic."""
        if node in self.graph.numbers:
            return self.kind.operand.format(literal(self.graph.numbers[node]))
        return f"{self.kind.own}one(x{node})" if self._is_truth(node) else f"x{node}"

    def _whole(self, node: int) -> str:
        """A result as an argument of a function: numbers fill all lanes."""
        if node in self.graph.numbers:
            return self.kind.whole.format(literal(self.graph.numbers[node]))
        return self._number(node)

    def _truth(self, node: int) -> str:
        if self._is_truth(node):
            return f"x{node}"
        return self.kind.condition.format(f"{self._whole(node)} != {self.kind.whole.format(0)}")


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def literal(value: float) -> str:
    """A number as a C literal, exact to the last digit."""
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


# -- kernels ----------------------------------------------------------------------------------------------------------------

SCALAR_FUNCTIONS = """\
#include <math.h>

/* the first of two equal numbers, as in CasADi's virtual machine: it matters for the sign of zero */
static inline double pl_fmin(double x, double y) { return y < x || x != x ? y : x; }
static inline double pl_fmax(double x, double y) { return y > x || x != x ? y : x; }
static inline double pl_sign(double x) { return x < 0 ? -1 : x > 0 ? 1 : x; }
static inline double pl_pick(int c, double x) { return c ? x : 0; }
static inline double pl_one(int c) { return c; }
static inline void pl_sincos(double x, double *sine, double *cosine) { *sine = sin(x), *cosine = cos(x); }
"""
"""Functions of kernels on doubles."""


@cache
def lanes_header() -> str:
    """Text of lanes.h."""
    return (RUNTIME / HEADER).read_text(encoding="utf-8")


def kernel_code(function: ca.Function, kind: Numbers = SCALAR, *, before: str = "") -> str:
    """C code of an SX function as the runtime calls it, under its name with the text `before` it (`static `, a prefix).

    Results that are not wanted are null pointers.
    """
    graph = read(function)
    arguments = sorted({argument for argument, _ in graph.places.values()})
    results = sorted({output for output, _, _ in graph.outputs})
    guarded = [f"if (r{i}) r{i}" for i in range(function.n_out())]
    writer = _Writer(graph, kind, [f"a{i}" for i in range(function.n_in())], guarded)
    lines = [
        "(void)arg, (void)res, (void)iw, (void)w, (void)number;",
        *(f"const {kind.number} *a{i} = (const {kind.number} *)arg[{i}];" for i in arguments),
        *(f"{kind.number} *r{i} = ({kind.number} *)res[{i}];" for i in results),
        *writer.part([node for node in graph.order() if not graph.is_leaf(node)], {}),
        *writer.leaves(),
        "return 0;",
    ]
    taken = "const double **arg, double **res, long long *iw, double *w, int number"
    head = f"{before or 'int '}{function.name()}({taken})"
    return f"{head} {{\n{_lines(lines)}}}\n"


# -- fleets -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CFunction:
    """C text of a function, and its number of operations."""

    text: str
    operations: int


def straight_line(function: ca.Function, name: str, arguments: Sequence[str], results: Sequence[str]) -> CFunction:
    """C code of an SX function for a fleet: `FN void name(const R *argument, ..., R *result, ...)`.

    Only the structurally nonzero entries of the results are written, consecutively. Long functions are split into parts, so that
    the compile time grows linearly; values needed by later parts are stored in an array.
    """
    graph = simplified(read(function))
    wanted = [node for node in graph.order() if not graph.is_leaf(node)]
    parts = [wanted[i : i + PART] for i in range(0, len(wanted), PART)] or [[]]
    writer = _Writer(graph, FLEET, arguments, results)
    head = _head(name, arguments, results)
    if len(parts) == 1:
        text = f"{head} {{\n{_lines(writer.part(parts[0], {}))}{_lines(writer.leaves())}}}\n"
        return CFunction(text, len(wanted))
    slots, count = _slots(graph, parts)
    kind = "PART" if len(wanted) < LONG else "FN"
    texts, calls = [], ""
    for k, part in enumerate(parts):
        own = _head(f"{name}_{k}", [*arguments, ""], results, kind)
        texts.append(f"{own} {{\n{_lines(writer.part(part, slots))}}}\n")
        calls += f"  {name}_{k}({', '.join([*arguments, 'w', *results])});\n"
    texts.append(f"{head} {{\n  R w[{count}];\n{calls}{_lines(writer.leaves())}}}\n")
    return CFunction("\n".join(texts), len(wanted))


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
