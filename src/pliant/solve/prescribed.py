"""Prescribed accelerations of constraints: integrated twice into prescribed positions before a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.equations.equations import Engine, Equations
from pliant.model.inputs import SERIES, TimeSeries

SAMPLES_PER_RUN = 4001


def with_prescribed_accelerations(
    eqs: Equations, engine: Engine, q: np.ndarray, v: np.ndarray, begin: float, end: float
) -> Engine:
    """The engine for a run: the same one, or one that knows the positions its prescribed accelerations lead to.

    The positions start from the values and rates that the constraints have in the state (q, v). Accelerations are
    taken as linear between 4,000 points of the run and its switch times; they may depend on time and on inputs, but
    not on what a mid-step function sets.
    """
    prescribed = eqs.model.prescribed_accelerations
    if not prescribed:
        return engine
    jumps = np.asarray(eqs.model.switches(engine.parameters)).ravel()
    inside = jumps[(jumps > begin) & (jumps < end)]
    nearly = inside - 1e-9 * (end - begin)  # the value on the near side of a jump
    grid = np.unique(np.concatenate([np.linspace(begin, end, SAMPLES_PER_RUN), inside, nearly]))
    accelerations = np.array([engine.signals(t)[1] for t in grid])
    value, rate, _, _ = engine.constraints(begin, q, v)
    kinds, which, table = list(engine.plan.kinds), list(engine.plan.series), list(engine.plan.table)
    for item in prescribed:
        kinds[item.input], which[item.input] = SERIES, len(table)
        table.append(
            _double_integral(grid, accelerations[:, item.signal], float(value[item.row]), float(rate[item.row]))
        )
    plan = replace(engine.plan, kinds=tuple(kinds), series=tuple(which), table=tuple(table))
    follower = type(engine)(engine.system, plan)
    follower.theta[:], follower.parameters[:], follower.held[:] = engine.theta, engine.parameters, engine.held
    count = len(eqs.inputs)
    follower.input_kind[:count] = engine.input_kind[:count]
    follower.row_active[:] = engine.row_active
    return follower


def _double_integral(time: np.ndarray, a: np.ndarray, value: float, rate: float) -> TimeSeries:
    """Positions for piecewise linear accelerations: exact piecewise cubics."""
    h, jerk = np.diff(time), np.diff(a) / np.diff(time)
    rates = rate + np.concatenate([[0.0], np.cumsum(h * (a[:-1] + 0.5 * h * jerk))])
    values = value + np.concatenate([[0.0], np.cumsum(h * (rates[:-1] + h * (0.5 * a[:-1] + h * jerk / 6)))])
    poly = np.zeros((len(time), 4))
    poly[:, 0], poly[:, 1], poly[:, 2] = values, rates, 0.5 * a
    poly[:-1, 3] = jerk / 6
    return TimeSeries(time, poly)
