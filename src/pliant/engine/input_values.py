"""Inputs as specified by callers: numbers, texts with units, arrays with times, functions of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.engine.model.enclosures import expression_cells, located
from pliant.engine.model.model import SI_HINT, Model
from pliant.engine.model.sampling import sampled, sampled_at_once
from pliant.language.arguments import ArgumentError, choice, is_number, mapping, number
from pliant.language.evaluate import UNKNOWN, evaluate
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe
from pliant.language.names import instances_of
from pliant.language.parameter import TIME, parameter_dimensions, wrong_dimension
from pliant.language.syntax import Node, parse, symbols
from pliant.language.time_series import TimeSeries, interpolated
from pliant.parts.assembly.signals import switch_states, switch_times

if TYPE_CHECKING:
    from pliant.engine.equations import Equations

InputValue = float | str | TimeSeries | Sequence[Any] | Callable[[float], float]
"""A constant number (SI units), a text with a unit or an expression of t, `(times, values)` optionally with an interpolation, a
function of the time [s], which may be followed by times at which it changes suddenly, or a series."""

_NUMBER = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")
INTERPOLATIONS = ("linear", "previous", "cubic")
INSTANT = 1e-3
"""Functions of time are sampled over this span [s] for analyses at one time, so that their rates are known there."""


def inputs_over_time(
    eqs: Equations, given: Mapping[str, Any] | None, parameters: Mapping[str, float] | None, begin: float, end: float
) -> dict[str, float | TimeSeries] | None:
    """Inputs by name as numbers and series, functions of time sampled from `begin` to `end` [s]."""
    if given is None:
        return None
    values = eqs.given_parameters | mapping("parameters", parameters)
    known = set(eqs.inputs)  # other names are rejected by the equations
    return {
        name: input_value(eqs.model, name, value, values, (begin, end)) if name in known else value
        for name, value in expanded_inputs(eqs.model, mapping("inputs", given)).items()
    }


def expanded_inputs(model: Model, given: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by name, with the name of a repeated input replaced by its instances: one value for all of them, or a list with a
    value for each (in texts separated by commas, `"3, 1, 2 N"`), or `(times, values)` with a column for each. Instances that are
    given too keep their own values. Other names are unchanged."""
    known = model.input_names
    if all(name in known for name in given):
        return dict(given)
    found: dict[str, Any] = {}
    for name, value in given.items():
        instances = [] if name in known else instances_of(name, known)
        found |= dict(zip(instances, _of_each(name, value, len(instances)), strict=True)) if instances else {}
    return found | {name: value for name, value in given.items() if name in known or not instances_of(name, known)}


def _of_each(name: str, value: Any, count: int) -> Sequence[Any]:
    """The value of each instance of a repeated input."""
    words = [x.strip() for x in value.split(",")] if isinstance(value, str) and "(" not in value else []
    if len(words) > 1 and all(_NUMBER.match(x) for x in words):
        unit = words[-1].partition(" ")[2]
        value = [f"{x} {unit}".strip() if _NUMBER.fullmatch(x) else x for x in words]
    if not isinstance(value, list | tuple | np.ndarray) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return [value] * count
    plain = all(isinstance(x, str | TimeSeries) or callable(x) or is_number(x) for x in value)
    if not plain and len(value) in (2, 3) and np.ndim(value[1]) == 2:
        times, columns, *interpolation = value
        return [(times, column, *interpolation) for column in _counted(name, np.asarray(columns).T, count)]
    if not plain and len(value) in (2, 3):
        return [value] * count  # (times, values)
    return _counted(name, value, count)


def _counted(name: str, values: Any, count: int) -> Any:
    if len(values) != count:
        raise ArgumentError(
            f"the input '{name}' has {count} instances, but {len(values)} values are given",
            f"give one value for all, or {count}",
        )
    return values


def inputs_at_time(
    eqs: Equations, given: Mapping[str, Any] | None, parameters: Mapping[str, float] | None, time: float
) -> dict[str, float | TimeSeries] | None:
    """Inputs by name for an analysis at one time [s]: functions of time have their value and rates at that time."""
    if given is None:
        return None
    return inputs_over_time(eqs, given, parameters, number("time", time), time + INSTANT)


def input_value(
    model: Model, name: str, value: Any, parameters: Mapping[str, float], span: tuple[float, float] | None = None
) -> float | TimeSeries:
    """An input as a number or a series; functions of time are sampled over the span [s], and rejected without one."""
    if isinstance(value, TimeSeries):
        return value
    if isinstance(value, str):
        return _text(model, name, value, parameters, span)
    if callable(value):
        return _over_span(value, name, span, ())
    if isinstance(value, tuple | list) and len(value) == 2 and callable(value[0]):
        return _over_span(value[0], name, span, _times(name, value[1]))
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.size > 1):
        return _array(model, name, value)
    return number(f"the input '{name}'", value, hint=SI_HINT)


def _over_span(
    function: Callable[[float], float], name: str, span: tuple[float, float] | None, jumps: Sequence[float]
) -> TimeSeries:
    if span is None:
        raise ArgumentError(
            f"the input '{name}' is a function of time, which only a simulation reads",
            "give its value here, or pass the function to simulate(inputs=...)",
        )
    begin, end = span
    if not end > begin:
        value = float(function(begin))
        return TimeSeries(np.array([begin]), np.array([[value]]))
    return sampled(function, begin, end, jumps=jumps, name=f"the function of input '{name}'")


def _times(name: str, value: Any) -> list[float]:
    """Times at which a function of time changes suddenly."""
    try:
        times = np.array(value, dtype=float)
    except (TypeError, ValueError):
        times = np.full(1, np.nan)
    if times.ndim != 1 or not np.all(np.isfinite(times)):
        raise ArgumentError(
            f"the times of the function of input '{name}' cannot be {describe(value)}",
            "write (function, times), with the times [s] at which it changes suddenly",
        )
    return times.tolist()


def _array(model: Model, name: str, value: Any) -> TimeSeries:
    """Samples with times: (times, values) or (times, values, interpolation)."""
    hint = "write (times, values), or (times, values, 'cubic')"
    if len(value) not in (2, 3) or is_number(value[0]) or (len(value) == 3 and not isinstance(value[2], str)):
        raise ArgumentError(f"the input '{name}' cannot be {describe(value)}", hint)
    try:
        time, values = (np.array(x, dtype=float) for x in value[:2])
    except (TypeError, ValueError):
        raise ArgumentError(f"times and values of the input '{name}' must be numbers", hint) from None
    if time.ndim != 1 or values.shape != time.shape or not len(time):
        raise ArgumentError(
            f"the input '{name}' has times of shape {time.shape} and values of shape {values.shape}",
            "give as many times as values, each in one dimension",
        )
    for what, numbers in (("time", time), ("value", values)):
        if not np.all(np.isfinite(numbers)):
            index = int(np.argmin(np.isfinite(numbers)))
            raise ArgumentError(f"the {what} at index {index} of the input '{name}' is not finite")
    if np.any(np.diff(time) <= 0):
        index = int(np.argmax(np.diff(time) <= 0)) + 1
        raise ArgumentError(
            f"the times of the input '{name}' must increase; at index {index}, {time[index]:g} s follows {time[index - 1]:g} s",
            "sort them and remove duplicates",
        )
    usual = "cubic" if name in model.smooth_inputs else "linear"
    return interpolated(time, values, choice("interpolation", value[2], INTERPOLATIONS) if len(value) == 3 else usual)


def _text(
    model: Model, name: str, text: str, parameters: Mapping[str, float], span: tuple[float, float] | None
) -> float | TimeSeries:
    where = f"the input '{name}'"
    try:
        node = _read(text)
        used = symbols(node) & set(model.input_names)
        if used:
            raise ArgumentError(f"{where} cannot depend on the input '{min(used)}'", "write it in terms of t")
        dimensions, _ = parameter_dimensions(model.spec.parameters)
        problem = wrong_dimension(node, dimensions.get(name, UNKNOWN), {**dimensions, TIME: UNKNOWN})
        if problem:
            raise ArgumentError(f"{where}: {problem[0]}", problem[1])
        values = model.environment_with(parameters).values
        t = ca.SX.sym(TIME)
        expression = ca.SX(evaluate(node, {**values, TIME: t}))
    except ExpressionError as error:
        raise ArgumentError(f"{where}: {error}", error.hint) from None
    function = ca.Function("input", [t], [expression])
    if TIME not in symbols(node):
        return number(where, float(function(0.0)))
    jumps = np.array([float(ca.DM(x)) for x in switch_times(node, values, set(model.input_names))])
    states = [*switch_states(node, values, set(model.input_names), t)]
    if states and span is not None:
        state = ca.Function("states", [t, ca.SX(0, 1)], [ca.densify(ca.vertcat(*states))])
        jumps = located(state, np.zeros(0), jumps[np.isfinite(jumps)], *span)
    known = jumps[np.isfinite(jumps)]
    if span is None or not span[1] > span[0]:
        return _over_span(lambda time: float(function(time)), name, span, known.tolist())
    ends = np.union1d(known, expression_cells(expression, t, *span, known))
    whole = f"the function of input '{name}'"
    return sampled_at_once(lambda times: np.asarray(function(times[None])).ravel(), *span, jumps=ends, name=whole)


def input_expression(model: Model, name: str, text: str, parameters: Mapping[str, float], t: ca.SX) -> ca.SX:
    """An input given as text, as an expression of the time t."""
    try:
        return ca.SX(evaluate(_read(text), {**model.environment_with(parameters).values, TIME: t}))
    except ExpressionError as error:
        raise ArgumentError(f"the input '{name}': {error}", error.hint) from None


def names_in(text: str) -> set[str]:
    """Names that an input given as text depends on; none where it cannot be read."""
    try:
        return set(symbols(_read(text)))
    except ExpressionError:
        return set()


def _read(text: str) -> Node:
    """An expression, optionally preceded by `=` and followed by a unit."""
    body, _, unit = text.strip().rpartition(" ")
    tries = [text, f"={text}", f"=({body})*1 {unit}"]
    first: ExpressionError | None = None
    for attempt in tries:
        try:
            return parse(attempt)
        except ExpressionError as error:
            first = first or error
    assert first is not None
    raise first
