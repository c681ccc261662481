"""The scalar operations of CasADi functions: the one place that reads them, for generated code, bounds, round-off and printing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import casadi as ca

Value = TypeVar("Value")


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
        return self._node((op, *args), op, args)

    def number(self, value: float) -> int:
        """The node of a number."""
        node = self._node(("number", repr(value)), ca.OP_CONST, ())  # 0 and -0 are equal, but different numbers
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

    def evaluate(
        self, arguments: Sequence[Any], number: Callable[[float], Value], operation: Callable[[int, list[Value]], Value]
    ) -> list[Value]:
        """The value of each node in another arithmetic. arguments: values by argument and index; number: the value of a number;
        operation: that of an operation on values."""
        values: list[Value] = []
        for node, (op, args) in enumerate(zip(self.ops, self.args, strict=True)):
            if node in self.places:
                argument, index = self.places[node]
                values.append(arguments[argument][index])
            elif node in self.numbers:
                values.append(number(self.numbers[node]))
            else:
                values.append(operation(op, [values[i] for i in args]))
        return values

    def order(self) -> list[int]:
        """The nodes needed for the outputs, each after its arguments, in CasADi's order."""
        needed = bytearray(len(self.ops))
        for _, _, node in self.outputs:
            needed[node] = 1
        for node in range(len(self.ops) - 1, -1, -1):
            if needed[node]:
                for i in self.args[node]:
                    needed[i] = 1
        return [node for node in range(len(self.ops)) if needed[node]]


def read(function: ca.Function) -> Graph:
    """The operations of an SX function, as they are; raises ValueError for a function that calls others."""
    if not function.is_a("SXFunction"):
        raise ValueError(f"the function {function.name()} is not a plain one of scalar operations")
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
            args = tuple(work[i] for i in function.instruction_input(k))
            node = args[0] if op == ca.OP_ASSIGN else graph.add(op, args)
        work[function.instruction_output(k)[0]] = node
    return graph
