"""Input definitions of the language as expressions of time or piecewise polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.engine.operations import read
from pliant.language.evaluate import to_node
from pliant.language.parameter import Environment
from pliant.language.time_series import TimeSeries
from pliant.parts.assembly.signals import SignalTable, switch_states, switch_times
from pliant.parts.input import PiecewiseInput, RampInput, SeriesInput, SineInput, StepInput

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


HELD, EXPRESSION, SERIES = 0, 1, 2
"""Types of inputs in the tables of the runtime."""


@dataclass(frozen=True)
class InputPlan:
    """Computation of signals from inputs.

    Attributes:
        kinds: per input 0 constant, 1 expression of time, 2 series.
        series: per input the index of its series, or -1.
        table: the series.
        inputs: `(t, parameters) -> u, du/dt, d2u/dt2`, or None when no input is an expression.
        signals: `(t, u, du, d2u, parameters) -> s, ds/dt, d2s/dt2`, or None without signals.
        values: `(t, u, parameters) -> s`, or None.
        round_off: round-off of inputs and signals (`model.round_off.signal_weights`), or None where they cannot cancel.
        parameter_count: numbers in `parameters`.
    """

    kinds: tuple[int, ...] = ()
    series: tuple[int, ...] = ()
    table: tuple[TimeSeries, ...] = ()
    inputs: ca.Function | None = None
    signals: ca.Function | None = None
    values: ca.Function | None = None
    round_off: ca.Function | None = None
    parameter_count: int = 0


@dataclass(frozen=True)
class TimeInput:
    """One input: an expression of t with its switch times, or a series."""

    expression: Any = None
    switches: tuple[Any, ...] = ()
    states: tuple[Any, ...] = ()
    series: TimeSeries | None = None


def plan_inputs(
    definitions: Mapping[str, Any], environment: Environment, signals: SignalTable, parameters: Any
) -> tuple[InputPlan, list[Any], list[Any]]:
    """How each input parameter varies, all times (expressions of parameters) at which something may jump, and integers (expressions
    of parameters and time) that change where something else may."""
    t = signals.t
    kinds: list[int] = []
    series_index: list[int] = []
    table: list[TimeSeries] = []
    expressions: list[Any] = []
    switches, states = list(signals.switch_times), list(signals.switch_states)
    for name in signals.inputs:
        if name not in definitions:
            kinds.append(HELD)
            series_index.append(-1)
            expressions.append(ca.SX(0))
            continue
        found = _time_input(definitions[name], environment, set(signals.inputs), t)
        switches.extend(found.switches)
        states.extend(found.states)
        if found.series is not None:
            kinds.append(SERIES)
            series_index.append(len(table))
            table.append(found.series)
            expressions.append(ca.SX(0))
        else:
            kinds.append(EXPRESSION)
            series_index.append(-1)
            expressions.append(ca.SX(found.expression))
    function = given = None
    if EXPRESSION in kinds:
        u = ca.vertcat(*expressions)
        given = ca.Function("given", [t, parameters], [ca.densify(u)])
        rate = ca.jtimes(u, t, ca.SX(1))
        acceleration = ca.jtimes(rate, t, ca.SX(1))
        outputs = [ca.densify(x) for x in (u, rate, acceleration)]
        function = ca.Function("inputs", [t, parameters], outputs)
    of_signals = signals.function()
    values = None if of_signals is None else signals.values()
    round_off = None if values is None else signal_weights(values, given, parameters.numel())
    plan = InputPlan(
        tuple(kinds), tuple(series_index), tuple(table), function, of_signals, values, round_off, parameters.numel()
    )
    return plan, switches, states


def _time_input(definition: Any, environment: Environment, inputs: set[str], t: Any) -> TimeInput:
    value = environment.value
    if isinstance(definition, StepInput):
        step = definition.step
        at = value(step.at)
        return TimeInput(ca.if_else(t >= at, value(step.after), value(step.before)), (at,))
    if isinstance(definition, RampInput):
        ramp = definition.ramp
        start, end, before, after = (value(x) for x in (ramp.start, ramp.end, ramp.before, ramp.after))
        slope = before + (after - before) * (t - start) / (end - start)
        return TimeInput(ca.if_else(t < start, before, ca.if_else(t > end, after, slope)), (start, end))
    if isinstance(definition, SineInput):
        sine = definition.sine
        phase = 2 * ca.pi * value(sine.frequency) * t + value(sine.phase)
        return TimeInput(value(sine.offset) + value(sine.amplitude) * ca.sin(phase))
    if isinstance(definition, PiecewiseInput):
        pieces = definition.piecewise
        expression: Any = environment.signal(pieces[-1].value, t)
        nodes = [to_node(piece.value) for piece in pieces]
        switches = [x for node in nodes for x in switch_times(node, environment.values, inputs)]
        states = [x for node in nodes for x in switch_states(node, environment.values, inputs, t)]
        for piece in reversed(pieces[:-1]):
            until = value(piece.until)  # type: ignore[arg-type]
            expression = ca.if_else(t < until, environment.signal(piece.value, t), expression)
            switches.append(until)
        return TimeInput(expression, tuple(switches), tuple(states))
    if isinstance(definition, SeriesInput):
        return TimeInput(series=definition.interpolated(environment.value))
    node = to_node(definition)
    return TimeInput(
        environment.signal(definition, t),
        tuple(switch_times(node, environment.values, inputs)),
        tuple(switch_states(node, environment.values, inputs, t)),
    )
