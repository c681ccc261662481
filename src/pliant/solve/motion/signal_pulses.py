"""Short pulses of the inputs and signals of a run, on whose peaks its steps have to end."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.equations.binding import Binding
from pliant.model.inputs import EXPRESSION, SERIES
from pliant.model.model import Model
from pliant.model.pulses import pulse_times
from pliant.model.time_series import TimeSeries, piece_ends

TAME = frozenset(
    getattr(ca, f"OP_{name}")
    for name in "INPUT OUTPUT CONST PARAMETER ASSIGN ADD SUB MUL NEG TWICE SQ SIN COS FABS SIGN FMIN FMAX FLOOR CEIL "
    "LT LE EQ NE NOT AND OR IF_ELSE_ZERO".split()
)
"""Operations of which expressions without short pulses consist: jumps and kinks are located separately."""
MOST_KNOTS = 20_000
"""Series with more pieces in a run are examined at the same times as other signals only."""


def signal_pulses(model: Model, bound: Binding, begin: float, end: float, jumps: np.ndarray) -> np.ndarray:
    """Times [s] of peaks of short pulses of signals that vary in time; `jumps`: known times at which they jump or have a kink."""
    function, count = model.plan.signals, len(bound.input_kind)
    if function is None:
        return np.zeros(0)
    moving = [i for i in range(count) if bound.input_kind[i] == SERIES and len(_series(bound, i).time) > 1]
    pulsed, pulsed_inputs = _may_pulse(model)
    varying = np.zeros(1 + count, dtype=bool)
    varying[0], varying[1:] = pulsed, (pulsed or pulsed_inputs) & (bound.input_kind == EXPRESSION)
    varying[[1 + i for i in moving]] = True
    watched = np.flatnonzero(np.any(model.signal_sources & varying, axis=1))
    if not len(watched):
        return np.zeros(0)

    def inputs(times: np.ndarray) -> np.ndarray:
        found = np.zeros((3, count, len(times)))
        if model.plan.inputs is not None and EXPRESSION in bound.input_kind:
            found[:] = [np.asarray(x) for x in model.plan.inputs(times[None], bound.parameters)]
        found[0, bound.input_kind != EXPRESSION] = bound.held[bound.input_kind != EXPRESSION, None]
        found[1:, bound.input_kind != EXPRESSION] = 0.0
        for i in moving:
            found[:, i] = _over_times(_series(bound, i), times)
        return found

    def values(times: np.ndarray) -> np.ndarray:
        return np.asarray(_values(model)(times[None], inputs(times)[0], bound.parameters))[watched]

    def motion(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value, rate, acceleration = (
            np.asarray(x)[watched] for x in function(times[None], *inputs(times), bound.parameters)
        )
        return value, rate, acceleration

    knots = np.concatenate([np.zeros(0), *(_series(bound, i).time for i in moving)])
    knots = knots[(knots > begin) & (knots < end)]
    return pulse_times(values, motion, begin, end, knots if len(knots) <= MOST_KNOTS else np.zeros(0), jumps)


def _may_pulse(model: Model) -> tuple[bool, bool]:
    """Whether signals as functions of t and of inputs, and inputs as expressions of t, may have short pulses."""

    def is_wild(function: ca.Function) -> bool:
        return any(function.instruction_id(k) not in TAME for k in range(function.n_instructions()))

    def made() -> tuple[bool, bool]:
        t, p = ca.SX.sym("t"), ca.SX.sym("p", model.plan.parameter_count)
        inputs = model.plan.inputs
        return is_wild(_values(model)), inputs is not None and is_wild(ca.Function("u", [t, p], [inputs(t, p)[0]]))

    found: tuple[bool, bool] = model.once("signals_may_pulse", made)
    return found


def _values(model: Model) -> ca.Function:
    """`(t, u, parameters) -> s`."""

    def made() -> ca.Function:
        assert model.plan.signals is not None, "there are signals"
        t, u, p = (ca.SX.sym(name, model.plan.signals.size1_in(i)) for name, i in (("t", 0), ("u", 1), ("p", 4)))
        still = ca.SX.zeros(u.numel())
        return ca.Function("values", [t, u, p], [model.plan.signals(t, u, still, still, p)[0]])

    return model.once("signal_values", made)


def _series(bound: Binding, index: int) -> TimeSeries:
    return bound.series[bound.input_series[index]]


def _over_times(series: TimeSeries, times: np.ndarray) -> np.ndarray:
    """Value, rate and acceleration at n times, 3 x n."""
    inside = np.clip(times, series.time[0], series.time[-1])
    piece = np.searchsorted(series.time, inside, side="right") - 1
    found = np.array(piece_ends(series.poly[piece], inside - series.time[piece])).T
    found[1:, inside != times] = 0.0
    return found
