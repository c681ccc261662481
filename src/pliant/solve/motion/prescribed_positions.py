"""Prescribed accelerations of constraints: integrated twice into prescribed positions before a run."""

from __future__ import annotations

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations
from pliant.model.inputs import TimeSeries

SAMPLES_PER_RUN = 4001


def prescribed_positions(
    eqs: Equations, bound: Binding, q: np.ndarray, v: np.ndarray, begin: float, end: float
) -> dict[int, TimeSeries]:
    """The positions that prescribed accelerations lead to in a run, by the index of the input that they are read from.

    The positions start from the values and rates that the constraints have in the state (q, v). Accelerations are
    taken as linear between 4,000 points of the run and its switch times; they may depend on time and on inputs, but
    not on what a mid-step function sets.
    """
    prescribed = eqs.model.prescribed_accelerations
    if not prescribed:
        return {}
    jumps = np.asarray(eqs.model.switches(bound.parameters)).ravel()
    inside = jumps[(jumps > begin) & (jumps < end)]
    nearly = inside - 1e-9 * (end - begin)  # the value on the near side of a jump
    grid = np.unique(np.concatenate([np.linspace(begin, end, SAMPLES_PER_RUN), inside, nearly]))
    accelerations = np.array([bound.signals(t)[1] for t in grid])
    value, rate, _, _ = bound.constraints(begin, q, v)
    return {
        item.input: _double_integral(grid, accelerations[:, item.signal], float(value[item.row]), float(rate[item.row]))
        for item in prescribed
    }


def _double_integral(time: np.ndarray, a: np.ndarray, value: float, rate: float) -> TimeSeries:
    """Positions for piecewise linear accelerations: exact piecewise cubics."""
    h, jerk = np.diff(time), np.diff(a) / np.diff(time)
    rates = rate + np.concatenate([[0.0], np.cumsum(h * (a[:-1] + 0.5 * h * jerk))])
    values = value + np.concatenate([[0.0], np.cumsum(h * (rates[:-1] + h * (0.5 * a[:-1] + h * jerk / 6)))])
    poly = np.zeros((len(time), 4))
    poly[:, 0], poly[:, 1], poly[:, 2] = values, rates, 0.5 * a
    poly[:-1, 3] = jerk / 6
    return TimeSeries(time, poly)
