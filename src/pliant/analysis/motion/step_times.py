"""Times at which steps of a run have to end, and at which they examine the signals, so that no pulse is stepped over."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.enclosures import SEARCH, Enclosure, enclosures, point, smooth_cells
from pliant.engine.model.inputs import EXPRESSION, SERIES
from pliant.engine.model.model import Model
from pliant.engine.operations import read
from pliant.engine.time_loop import INSTANT
from pliant.language.arrays import distinct
from pliant.language.time_series import TimeSeries

NONE = np.zeros(0)


def stop_times(
    eqs: Equations, bound: Binding, begin: float, end: float, wanted: np.ndarray, pauses: np.ndarray = NONE
) -> np.ndarray:
    """Times at which steps of a run have to end [s]: requested times, pauses, jumps of inputs and signals, and its end."""
    jumps = jump_times(eqs, bound, begin, end)
    if not (len(jumps) or len(pauses) or len(wanted)):
        return np.array([end])
    # the initial state is read after jumps at the start
    inside = jumps[(jumps > begin + SEARCH.round_off * max(abs(begin), abs(end))) & (jumps < end)]
    stops = distinct(np.concatenate([inside, pauses, wanted, [end]]))
    return np.asarray(stops[stops > begin])


def jump_times(eqs: Equations, bound: Binding, begin: float, end: float) -> np.ndarray:
    """Times at which inputs and signals jump or have a kink [s]."""
    switches = eqs.model.switch_times(bound.parameters, begin, end)
    return np.concatenate([switches[np.isfinite(switches)], *(series.breaks for series in bound.series)])


def on_stops(times: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Saved times [s], with those that differ from a stop by round-off set to it: a sample at a jump is the state after it, and all
    quantities computed from it have to read the inputs after it too."""
    nearest = np.searchsorted(stops, times * (1 - np.sign(times) * INSTANT))
    stop = stops[np.minimum(nearest, len(stops) - 1)]
    return np.where(np.abs(stop - times) <= INSTANT * np.abs(times), stop, times)


# -- times at which signals are examined --------------------------------------------------------------------------------

TAME = frozenset(
    getattr(ca, f"OP_{name}")
    for name in "INPUT CONST ADD SUB MUL NEG TWICE SQ SIN COS FABS SIGN FMIN FMAX FLOOR CEIL "
    "LT LE EQ NE NOT AND OR IF_ELSE_ZERO".split()
)
"""Operations of which expressions without short pulses consist: jumps and kinks are located separately."""


def watched_times(model: Model, bound: Binding, begin: float, end: float, jumps: np.ndarray) -> np.ndarray:
    """Times [s] between which signals have no features that are not visible at them: samples of series, and ends of cells in which
    expressions of t are nearly parabolas. `jumps`: known times at which they jump or have a kink."""
    function = model.plan.signals
    if function is None or not end > begin:
        return np.zeros(0)
    used = np.any(model.signal_sources, axis=0)
    groups = [x.time for x, uses in ((_series(bound, i), used[1 + i]) for i in _moving(bound)) if uses]
    if _has_wild_signals(model, bound):
        groups.append(_ends_of_cells(model, bound, begin, end, jumps))
    if not groups:
        return np.zeros(0)
    times = np.unique(np.concatenate(groups))
    return np.asarray(times[(times > begin) & (times < end)])


def _has_wild_signals(model: Model, bound: Binding) -> bool:
    """Whether signals depend on expressions of t that may have short pulses."""
    of_time, of_inputs = _may_pulse(model)
    expressions = np.append([True], bound.input_kind == EXPRESSION)
    varying = np.append([of_time], (of_time or of_inputs) & (bound.input_kind == EXPRESSION))
    return bool(np.any(model.signal_sources & expressions & varying))


def _may_pulse(model: Model) -> tuple[bool, bool]:
    """Whether signals as functions of t and of inputs, and inputs as expressions of t, may have short pulses."""

    def is_wild(function: ca.Function) -> bool:
        return any(operation not in TAME for operation in read(function).ops)

    def made() -> tuple[bool, bool]:
        t, p = ca.SX.sym("t"), ca.SX.sym("p", model.plan.parameter_count)
        inputs, values = model.plan.inputs, model.plan.values
        of_time = values is not None and is_wild(values)
        return of_time, inputs is not None and is_wild(ca.Function("u", [t, p], [inputs(t, p)[0]]))

    return model.once("signals_may_pulse", made)


def _ends_of_cells(model: Model, bound: Binding, begin: float, end: float, jumps: np.ndarray) -> np.ndarray:
    plan, parameters = model.plan, [point(x) for x in bound.parameters]
    expressions = np.flatnonzero(bound.input_kind == EXPRESSION)
    rates = range(3)

    def motion(t: Enclosure, series: np.ndarray) -> list[list[Enclosure]]:
        """Signals, their rates and accelerations, with series that keep these values."""
        inputs = [[point(x) for x in values] for values in (bound.held, 0 * bound.held, 0 * bound.held)]
        for i, values in zip(_moving(bound), series, strict=True):
            inputs[0][i] = point(values)
        if plan.inputs is not None and len(expressions):
            known = enclosures(plan.inputs, [[t], parameters])
            for order in rates:
                for k in expressions:
                    inputs[order][k] = known[order][k]
        assert plan.signals is not None
        return enclosures(plan.signals, [[t], *inputs, parameters])

    def bounds(t: Enclosure, middle: np.ndarray) -> tuple[list[Enclosure], list[Enclosure]]:
        value, _, acceleration = motion(t, np.array([_values(_series(bound, i), middle) for i in _moving(bound)]))
        return value, acceleration

    return smooth_cells(bounds, model.system.signal_count, begin, end, jumps)


def _moving(bound: Binding) -> list[int]:
    """Inputs that follow a series."""
    return [i for i in range(len(bound.input_kind)) if bound.input_kind[i] == SERIES]


def _series(bound: Binding, index: int) -> TimeSeries:
    return bound.series[bound.input_series[index]]


def _values(series: TimeSeries, times: np.ndarray) -> np.ndarray:
    inside = np.clip(times, series.time[0], series.time[-1])
    piece = np.searchsorted(series.time, inside, side="right") - 1
    after = inside - series.time[piece]
    return np.asarray(np.sum(series.poly[piece] * after[:, None] ** np.arange(series.poly.shape[1]), axis=1))
