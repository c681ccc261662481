"""Enclosures of expressions by interval arithmetic: bounds of their values over cells of time, between any samples.

Bounds are not rounded outward: they serve to find what samples may miss, not to prove it to the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from pliant.engine.operations import read
from pliant.language.arguments import ArgumentError


@dataclass(frozen=True)
class SearchLimits:
    """Effort of searches in a span of time."""

    cells: int = 64
    """Initial number of cells."""
    least_cell: float = 2.0**-44
    """Shortest cell, relative to the span: times within are hardly distinct."""
    most_cells: int = 2**18
    """Number of cells above which a function varies as fast nearly everywhere, so that steps cannot miss it."""
    most_switch_cells: int = 2**15
    """Number of cells in search of switches above which bounds are too wide to show them."""
    seen: float = 1e-3
    """Deviation of a function from a parabola, relative to its largest value, up to which a cell is resolved."""
    samples: int = 256
    """Samples of a span, besides the ends of cells in which conditions do not change as far as their bounds show."""
    between: int = 16
    """Samples between two switches that are already known, as a condition may depend on others."""
    most_switches: int = 100_000
    round_off: float = 1e-13
    """Times that differ by less than this fraction of the larger of begin and end are the same."""


SEARCH = SearchLimits()


class Enclosure(NamedTuple):
    """Bounds over n cells, and of the size of the terms that sums consist of."""

    low: np.ndarray
    high: np.ndarray
    size: np.ndarray


def enclosures(function: ca.Function, arguments: Sequence[Sequence[Enclosure]]) -> list[list[Enclosure]]:
    """Bounds of the results of a function of scalars for bounds of its arguments."""
    graph = read(function)
    with np.errstate(all="ignore"):
        known = graph.evaluate(arguments, point, _operation)
    boxes = [[point(0.0)] * function.numel_out(i) for i in range(function.n_out())]
    for output, index, node in graph.outputs:
        boxes[output][index] = known[node]
    return boxes


def point(value: float | np.ndarray) -> Enclosure:
    """A known value."""
    x = np.asarray(value, dtype=float)
    return Enclosure(x, x, np.abs(x))


def _cells(
    begin: float, end: float, jumps: np.ndarray, is_resolved: Callable[[np.ndarray, np.ndarray], np.ndarray], most: int
) -> np.ndarray:
    """Ends of cells of a span, which are halved until they are resolved or very many.

    jumps: times at which cells end; is_resolved: from the ends of cells to booleans.
    """
    ends = np.union1d(np.linspace(begin, end, SEARCH.cells + 1), jumps[(jumps > begin) & (jumps < end)])
    low, high, kept = ends[:-1], ends[1:], [ends]
    while len(low) and sum(map(len, kept)) < most:
        # a cell ends before the jump at its end
        wrong = ~is_resolved(low, np.maximum(np.nextafter(high, -np.inf), low)) & (
            high - low > SEARCH.least_cell * (end - begin)
        )
        low, high = low[wrong], high[wrong]
        middle = 0.5 * (low + high)
        kept.append(middle)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return np.unique(np.concatenate(kept))


Motion = Callable[[Enclosure, np.ndarray], tuple[Sequence[Enclosure], Sequence[Enclosure]]]
"""Bounds of functions and of their second derivatives over cells of time; the middles of these cells [s]."""


def smooth_cells(motion: Motion, count: int, begin: float, end: float, jumps: np.ndarray) -> np.ndarray:
    """Ends of cells of a span [s] in which some functions are nearly parabolas, so that nothing happens between them.

    count: number of functions; jumps: times at which they jump or have a kink.
    """
    size = np.zeros(count)

    def is_resolved(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        middle = 0.5 * (low + high)
        for i, x in enumerate(motion(point(middle), middle)[0]):
            size[i] = max(size[i], np.max(x.size, initial=0.0, where=np.isfinite(x.size)))
        fine = np.ones(len(low), dtype=bool)
        cells = Enclosure(low, high, np.maximum(np.abs(low), np.abs(high)))
        with np.errstate(invalid="ignore", over="ignore"):
            for i, x in enumerate(motion(cells, middle)[1]):
                fine &= (x.high - x.low) * (high - low) ** 2 / 16 <= SEARCH.seen * size[i]
        return fine

    return _cells(begin, end, jumps, is_resolved, SEARCH.most_cells)


def expression_cells(expression: ca.SX, t: ca.SX, begin: float, end: float, jumps: np.ndarray) -> np.ndarray:
    """The same for an expression of t."""
    second = ca.jtimes(ca.jtimes(expression, t, ca.SX(1)), t, ca.SX(1))
    function = ca.Function("motion", [t], [ca.densify(expression), ca.densify(second)])

    def motion(cells: Enclosure, _: np.ndarray) -> tuple[Sequence[Enclosure], Sequence[Enclosure]]:
        value, acceleration = enclosures(function, [[cells]])
        return value, acceleration

    return smooth_cells(motion, 1, begin, end, jumps)


def decided_cells(
    function: ca.Function, parameters: np.ndarray, begin: float, end: float, known: np.ndarray
) -> np.ndarray:
    """Ends of cells of a span [s] in which some integers, `(t, parameters) -> integers`, do not change, and of very short ones.

    known: times at which they do.
    """
    given = [point(x) for x in parameters]

    def is_resolved(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        cells = Enclosure(low, high, np.maximum(np.abs(low), np.abs(high)))
        fine = np.ones(len(low), dtype=bool)
        for x in enclosures(function, [[cells], given])[0]:
            fine &= x.high == x.low
        return fine

    return _cells(begin, end, known, is_resolved, SEARCH.most_switch_cells)


def _operation(operation: int, x: list[Enclosure]) -> Enclosure:
    if operation in _EXACT:
        return _EXACT[operation](*x)
    if operation in _MONOTONIC:
        f = _MONOTONIC[operation]
        return _of(f(x[0].low), f(x[0].high))
    shape = np.broadcast_shapes(*(y.low.shape for y in x))
    return _of(np.full(shape, -np.inf), np.full(shape, np.inf))


def _of(low: np.ndarray, high: np.ndarray) -> Enclosure:
    """Bounds where nothing cancels; unbounded where undefined."""
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return Enclosure(low, high, np.maximum(np.abs(low), np.abs(high)))


def _product(a: Enclosure, b: Enclosure) -> Enclosure:
    ends = [
        np.nan_to_num(x * y, nan=0.0, posinf=np.inf, neginf=-np.inf) for x in (a.low, a.high) for y in (b.low, b.high)
    ]
    size = np.nan_to_num(a.size * b.size, nan=0.0, posinf=np.inf)
    return Enclosure(np.minimum.reduce(ends), np.maximum.reduce(ends), size)


def _inverse(x: Enclosure) -> Enclosure:
    around = (x.low <= 0) & (x.high >= 0)
    return _of(np.where(around, -np.inf, 1 / x.high), np.where(around, np.inf, 1 / x.low))


def _square(x: Enclosure) -> Enclosure:
    a, b = x.low**2, x.high**2
    return Enclosure(np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(a, b)), np.maximum(a, b), x.size**2)


def _power(x: Enclosure, y: Enclosure) -> Enclosure:
    ends = [a**b for a in (x.low, x.high) for b in (y.low, y.high)]
    low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
    if np.all(y.low == y.high) and np.all(y.low == np.round(y.low)) and np.all(y.low >= 0):
        even = (y.low % 2 == 0) & (x.low <= 0) & (x.high >= 0)
        return _of(np.where(even, 0.0, low), high)
    return _of(np.where(x.low >= 0, low, -np.inf), np.where(x.low >= 0, high, np.inf))


def _sine(x: Enclosure, shift: float = 0.0) -> Enclosure:
    """The sine of x + shift."""
    a, b = x.low + shift, x.high + shift
    low, high = np.minimum(np.sin(a), np.sin(b)), np.maximum(np.sin(a), np.sin(b))
    crest = np.floor(b / (2 * np.pi) - 0.25) > np.floor(a / (2 * np.pi) - 0.25)
    trough = np.floor(b / (2 * np.pi) + 0.25) > np.floor(a / (2 * np.pi) + 0.25)
    return _of(np.where(trough, -1.0, low), np.where(crest, 1.0, high))


def _tangent(x: Enclosure) -> Enclosure:
    pole = np.floor(x.high / np.pi + 0.5) > np.floor(x.low / np.pi + 0.5)
    return _of(np.where(pole, -np.inf, np.tan(x.low)), np.where(pole, np.inf, np.tan(x.high)))


def _absolute(x: Enclosure) -> Enclosure:
    a, b = np.abs(x.low), np.abs(x.high)
    return Enclosure(np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(a, b)), np.maximum(a, b), x.size)


def _known(holds: np.ndarray, fails: np.ndarray) -> Enclosure:
    """A condition: one, zero, or either."""
    return _of(np.where(holds, 1.0, 0.0), np.where(fails, 0.0, 1.0))


def _given(condition: Enclosure, x: Enclosure) -> Enclosure:
    """x under the condition, else zero."""
    holds, fails = (condition.low > 0) | (condition.high < 0), (condition.low == 0) & (condition.high == 0)
    low = np.where(fails, 0.0, np.where(holds, x.low, np.minimum(x.low, 0)))
    high = np.where(fails, 0.0, np.where(holds, x.high, np.maximum(x.high, 0)))
    return Enclosure(low, high, np.where(fails, 0.0, x.size))


def _truth(x: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    return (x.low > 0) | (x.high < 0), (x.low == 0) & (x.high == 0)


def _and(a: Enclosure, b: Enclosure) -> Enclosure:
    (p, q), (r, s) = _truth(a), _truth(b)
    return _known(p & r, q | s)


def _or(a: Enclosure, b: Enclosure) -> Enclosure:
    (p, q), (r, s) = _truth(a), _truth(b)
    return _known(p | r, q & s)


def _not(x: Enclosure) -> Enclosure:
    holds, fails = _truth(x)
    return _known(fails, holds)


_EXACT: dict[int, Callable[..., Enclosure]] = {
    ca.OP_ADD: lambda a, b: Enclosure(a.low + b.low, a.high + b.high, a.size + b.size),
    ca.OP_SUB: lambda a, b: Enclosure(a.low - b.high, a.high - b.low, a.size + b.size),
    ca.OP_NEG: lambda x: Enclosure(-x.high, -x.low, x.size),
    ca.OP_TWICE: lambda x: Enclosure(2 * x.low, 2 * x.high, 2 * x.size),
    ca.OP_MUL: _product,
    ca.OP_DIV: lambda a, b: _product(a, _inverse(b)),
    ca.OP_INV: _inverse,
    ca.OP_SQ: _square,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: lambda x: _of(np.sqrt(np.maximum(x.low, 0)), np.sqrt(x.high)),
    ca.OP_SIN: _sine,
    ca.OP_COS: lambda x: _sine(x, 0.5 * np.pi),
    ca.OP_TAN: _tangent,
    ca.OP_COSH: lambda x: _of(np.cosh(_absolute(x).low), np.cosh(_absolute(x).high)),
    ca.OP_ACOS: lambda x: _of(np.arccos(x.high), np.arccos(x.low)),
    ca.OP_FABS: _absolute,
    ca.OP_FMIN: lambda a, b: Enclosure(
        np.minimum(a.low, b.low), np.minimum(a.high, b.high), np.maximum(a.size, b.size)
    ),
    ca.OP_FMAX: lambda a, b: Enclosure(
        np.maximum(a.low, b.low), np.maximum(a.high, b.high), np.maximum(a.size, b.size)
    ),
    ca.OP_LT: lambda a, b: _known(a.high < b.low, a.low >= b.high),
    ca.OP_LE: lambda a, b: _known(a.high <= b.low, a.low > b.high),
    ca.OP_EQ: lambda a, b: _known((a.low == b.high) & (a.high == b.low), (a.high < b.low) | (a.low > b.high)),
    ca.OP_NE: lambda a, b: _known((a.high < b.low) | (a.low > b.high), (a.low == b.high) & (a.high == b.low)),
    ca.OP_NOT: _not,
    ca.OP_AND: _and,
    ca.OP_OR: _or,
    ca.OP_IF_ELSE_ZERO: _given,
}
_MONOTONIC: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    ca.OP_EXP: np.exp,
    ca.OP_LOG: np.log,
    ca.OP_SIGN: np.sign,
    ca.OP_FLOOR: np.floor,
    ca.OP_CEIL: np.ceil,
    ca.OP_ASIN: np.arcsin,
    ca.OP_ATAN: np.arctan,
    ca.OP_SINH: np.sinh,
    ca.OP_TANH: np.tanh,
    ca.OP_ASINH: np.arcsinh,
    ca.OP_ACOSH: np.arccosh,
    ca.OP_LOG1P: np.log1p,
    ca.OP_EXPM1: np.expm1,
}
"""Operations whose bounds are values at the ends. Those in neither table are unbounded: `atan2`, and those of no expression."""


# -- times at which conditions on time change ----------------------------------------------------------------------------


def located(states: ca.Function, parameters: np.ndarray, known: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Times between `begin` and `end` [s] at which one of several states changes, to round-off: the first times after the changes.

    states: `(t, parameters) -> integers`; those that others depend on come first. known: switch times that are given.

    Raises ArgumentError if there are too many.
    """
    if not end > begin:
        return np.zeros(0)

    def values(times: np.ndarray) -> np.ndarray:
        return np.asarray(states(times[None], parameters))

    switches = np.unique(known[(known > begin) & (known < end)])
    base = np.union1d(np.linspace(begin, end, SEARCH.samples), decided_cells(states, parameters, begin, end, switches))
    before = -1
    for row in range(states.numel_out(0)):
        if len(switches) != before:
            before, times = len(switches), _refined(base, switches)
        switches = np.union1d(switches, _changes(lambda t, row=row: values(t)[row], times))  # type: ignore[misc]
    instant = SEARCH.round_off * max(abs(begin), abs(end))
    # of times that differ by round-off the last is after the change; the begin itself is read after its changes
    switches = switches[np.append(np.diff(switches) > instant, True)] if len(switches) else switches
    return np.asarray(switches[(switches > begin + instant) & (switches < end)])


def _refined(base: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Samples of a span that is divided by switches: on both sides of each and between them."""
    if not len(times):
        return base
    ends = np.concatenate([base[:1], times, base[-1:]])
    inner = ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(SEARCH.between) / SEARCH.between)
    return np.unique(np.concatenate([base, inner.ravel(), times, np.nextafter(times, -np.inf)]))


def _changes(state: Callable[[np.ndarray], np.ndarray], times: np.ndarray) -> np.ndarray:
    """First times after changes of a state that are seen in samples, by bisection of all of them together."""
    values = state(times)
    at = np.flatnonzero(values[1:] != values[:-1])
    low, high, left, right = times[at], times[at + 1], values[at], values[at + 1]
    out: list[np.ndarray] = []
    while len(low):
        if len(low) > SEARCH.most_switches:
            raise ArgumentError(
                f"a condition on t changes more than {SEARCH.most_switches} times, as at t = {low[0]:g} s",
                "simulate a shorter time, or give a smooth function",
            )
        middle = 0.5 * (low + high)
        done = (middle <= low) | (middle >= high)
        out.append(high[done])
        low, high, left, right, middle = (x[~done] for x in (low, high, left, right, middle))
        if not len(low):
            break
        value = state(middle)
        a, b = left != value, value != right
        low, high, left, right = (
            np.concatenate([low[a], middle[b]]),
            np.concatenate([middle[a], high[b]]),
            np.concatenate([left[a], value[b]]),
            np.concatenate([value[a], right[b]]),
        )
    return np.unique(np.concatenate(out)) if out else np.zeros(0)
