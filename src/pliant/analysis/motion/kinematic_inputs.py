"""Prescribed motions in a run: positions integrated from rates and accelerations, and commanded positions.

An input that prescribes a position or a rate has to be smooth: its derivatives are those of the motion. Commands of a controller
are sampled, so the input is interpolated from one to the next (`led_to`); any other change that would make a position jump is
rejected. A prescribed acceleration may jump: the position continues from its current value and rate.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.analysis.numerics.state import followed_positions
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import EXPRESSION, SERIES
from pliant.engine.model.sampling import SAMPLING, sampled
from pliant.language.arguments import ArgumentError
from pliant.language.arrays import distinct
from pliant.language.time_series import TimeSeries, integrated, integrated_twice, led_to

FEW_TIMES = 64
"""Series with fewer samples are compared piece by piece, others by their shape."""

JUMP = 1e-8
"""Change of a constraint value that is a jump: of angles [rad], of lengths relative to the extent of the robot."""


class KinematicInputs:
    """The series that inputs of prescribed motions follow in a run, by index of the input.

    They begin at the values of the constraints in the state (q, v) at time t [s], and extend to the end of the run.
    """

    def __init__(self, eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, end: float) -> None:
        self.model, self.end = eqs.model, end
        self.series = followed_positions(eqs.model, bound, t, q, v)
        self.series = self._followed(bound, bound.with_series(self.series), t)

    def lead(self, targets: Mapping[str, float], durations: Mapping[str, float], bound: Binding, t: float) -> None:
        """Interpolate inputs that prescribe positions or rates from their values in `bound` at time t [s] to commanded values."""
        for name, target in targets.items():
            index = self.model.input_names.index(name)
            self.series[index] = led_to(target, bound.input_motion(index, t), t, durations[name])

    def release(self, names: set[str]) -> None:
        """Inputs that follow the caller's values from now on."""
        for name in names:
            self.series.pop(self.model.input_names.index(name), None)

    def applied(self, values: Binding, before: Binding, t: float) -> Binding:
        """New values from time t [s] on, continuing the motions in `before`."""
        if not self.series:
            return values
        named = {i: x for i, x in self.series.items() if i < len(self.model.input_names)}
        self.series = named | self._followed(values.with_series(named), before, t)
        return values.with_series(self.series)

    def _followed(self, values: Binding, before: Binding, t: float) -> dict[int, TimeSeries]:
        """Positions that result from prescribed rates and accelerations from time t on; unchanged motions are continued."""
        out = {}
        for item in self.model.followed:
            inputs = np.flatnonzero(self.model.signal_sources[item.signal, 1:])
            series = before.series[before.input_series[item.input]]
            if len(series.time) > 1 and _same_inputs(values, before, inputs):
                out[item.input] = series
                continue
            value, rate, _ = series.at(t)
            given = self._over_time(values, item.signal, inputs, t)
            out[item.input] = integrated(given, value) if item.order == 1 else integrated_twice(given, value, rate)
        return out

    def _over_time(self, values: Binding, signal: int, inputs: np.ndarray, t: float) -> TimeSeries:
        """A signal that depends on these inputs, from time t to the end of the run."""

        def value(time: float) -> float:
            return float(values.signals(time)[1][signal])

        end = max(self.end, float(np.nextafter(t, np.inf)))
        kinds = values.input_kind[inputs]
        series = [values.series[values.input_series[i]] for i in inputs[kinds == SERIES]]
        if self.model.signal_sources[signal, 0] or np.any(kinds == EXPRESSION):
            jumps = [*self.model.switch_times(values.parameters, t, end), *(x for s in series for x in s.breaks)]
            return sampled(value, t, end, jumps=jumps, name="a prescribed rate or acceleration")
        # constant after the last time of all series
        last = min(end, max((float(s.time[-1]) for s in series), default=t))
        held = TimeSeries(np.array([max(last, t), end]), np.full((2, 1), value(end)))
        if last <= t:
            return held
        times = distinct(np.concatenate([s.time for s in series]))
        few = len(times) < FEW_TIMES
        ends = times if few else np.concatenate([s.breaks for s in series])
        pieces = 1 if few else SAMPLING.first_pieces
        led = sampled(value, t, last, jumps=ends.tolist(), name="a prescribed rate or acceleration", pieces=pieces)
        if last >= end:
            return led
        return TimeSeries(np.concatenate([led.time[:-1], held.time]), np.vstack([led.poly[:-1], held.poly]))


def _same_inputs(values: Binding, before: Binding, inputs: np.ndarray) -> bool:
    """Whether parameters and these inputs are the same in two bindings."""
    if not np.array_equal(values.parameters, before.parameters):
        return False
    for i in inputs:
        if values.input_kind[i] != before.input_kind[i] or values.held[i] != before.held[i]:
            return False
        which = values.input_series[i], before.input_series[i]
        if which[0] >= 0 and values.series[which[0]] is not before.series[which[1]]:
            return False
    return True


def take_effect(
    eqs: Equations, before: Binding, after: Binding, t: float, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, float]:
    """Rates immediately after new values take effect at time t [s], and the work [J] of rates that jump and of springs whose energy
    changes with the new values.

    Raises ArgumentError if a position would have to jump.
    """
    stored = float(after.energies(t, q, v)[1] - before.energies(t, q, v)[1])
    if not after.m:
        return v, stored
    old, new = before.constraints(t, q, v), after.constraints(t, q, v)
    on = after.active_rows
    jumps = np.where(on, np.abs(new[0] - old[0]), 0.0) / after.constraint_sizes(t, q, v)
    worst = int(np.argmax(jumps))
    if jumps[worst] > JUMP:
        raise ArgumentError(_refusal(eqs, before, after, worst, float(new[0][worst] - old[0][worst]), t))
    change = np.where(on, np.abs(new[1] - old[1]), 0.0) / after.constraint_sizes(t, q, v)
    if np.max(change) <= 1e-9 * np.max(np.abs(v / after.sizes(q)[1]), initial=0.0):
        return v, stored
    moved = after.project(t, q, v)[1]
    return moved, stored + float(after.energies(t, q, moved)[0] - after.energies(t, q, v)[0])


def _refusal(eqs: Equations, before: Binding, after: Binding, row: int, jump: float, t: float) -> str:
    name, signal = eqs.constraint_names[row], eqs.model.system.row_signals()[row]
    if signal < 0:
        return (
            f"the new parameters open the constraint '{name}' by {abs(jump):.4g} (m or rad) at t = {t:g} s: parts would have to "
            "jump. Change only parameters that do not affect loops, or start a new run with these values."
        )
    old, new = (x.signals(t)[1][signal] for x in (before, after))
    sources = eqs.model.signal_sources[signal][1:]
    names = [x for x, used in zip(eqs.inputs, sources, strict=False) if used]
    by = f"by {', '.join(map(repr, names))} " if names else ""
    return (
        f"the position that is prescribed {by}for '{name}' jumps from {old:.6g} to {new:.6g} (m or rad) at t = {t:g} s, and no "
        "finite force can follow. Let a controller command it (it is then interpolated between samples), give the input over time "
        "(a function of t, or times and values) so that it continues from its current value, or prescribe an acceleration "
        "instead (a "
        "constraint with `acceleration`)."
    )
