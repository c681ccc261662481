"""The values and the state of a run, which events, mid-step functions and controllers change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.motion.current_state import set_state
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.method_choice import MethodChoice
from pliant.analysis.motion.step_times import NONE, on_stops, stop_times, watched_times
from pliant.analysis.numerics.state import followed_positions
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations, Values
from pliant.engine.input_values import expanded_inputs, inputs_over_time
from pliant.engine.model.inputs import EXPRESSION, SERIES
from pliant.engine.model.sampling import SAMPLING, sampled
from pliant.engine.time_loop import INSTANT, TimeLoop
from pliant.language.arguments import ArgumentError, is_number
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


Prepare: TypeAlias = Callable[["Job", TimeLoop], None]
"""Called with a run after its start and samples are set; again if it restarts with another method."""


@dataclass
class Job:
    """One run: its start and options, and the history of its active values.

    eqs: the equations at the initial values; bound: the active binding; motions: the series of inputs of prescribed motions;
    times: when states are saved [s]; exact: whether steps end there. inputs, parameters: current values that replace the model's.
    """

    eqs: Equations
    bound: Binding
    motions: KinematicInputs
    choice: MethodChoice
    begin: float
    end: float
    times: np.ndarray
    exact: bool
    in_given_steps: bool = False
    """Whether steps are those of another run, so that a crossing within one has to be one step away from its beginning."""
    jumps: list[tuple[float, float]] = field(default_factory=list)
    """Times [s] at which events or mid-step functions set the state, and the added energy [J]."""
    acted: list[float] = field(default_factory=list)
    """Times [s] of events that changed something or stopped the run."""
    contradictions: list[tuple[float, dict[str, tuple[float, float]]]] = field(default_factory=list)
    """Times [s] at which the state was set to values that contradict the constraints: those given and those used, by name."""

    def __post_init__(self) -> None:
        self.inputs: dict[str, Any] = self.eqs.given_inputs
        self.parameters: dict[str, float] = self.eqs.given_parameters
        self.history = [ActiveBinding(self.begin, self.bound)]
        self._as_given: dict[str, Any] = {}
        self.start: tuple[Binding, float, np.ndarray, np.ndarray, np.ndarray] = (
            self.bound,
            self.begin,
            NONE,
            NONE,
            NONE,
        )
        """The start of the run: binding, time [s], positions, rates and accelerations."""

    @property
    def method(self) -> Method:
        """The integrator."""
        return self.choice.method

    @property
    def started(self) -> tuple[np.ndarray, np.ndarray]:
        """Initial positions and rates."""
        return self.start[2], self.start[3]

    def configure(self, run: TimeLoop, q: np.ndarray, v: np.ndarray, pauses: np.ndarray = NONE) -> None:
        """Set the start of the time loop, and the times at which it saves and pauses [s]."""
        stops = stop_times(self.eqs, self.bound, self.begin, self.end, self.times if self.exact else NONE, pauses)
        self.times = on_stops(self.times, stops)
        method = self.method
        run.configure(
            t=self.begin, q=q, v=v, stops=stops, samples=self.times, step=method.step, fixed=method.fixed,
            rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=method.largest_step(self.end - self.begin),
        )  # fmt: skip
        run.watch(watched_times(self.eqs.model, self.bound, self.begin, self.end, stops))

    def rebind(
        self,
        run: TimeLoop,
        inputs: Mapping[str, Any],
        parameters: Values,
        *,
        periods: Mapping[str, float] | None = None,
    ) -> bool:
        """Set inputs and current parameters from the current time on; the run's `start` must be called afterwards.

        periods: of inputs that a controller commands, the time until its next command [s]. Returns whether anything changed.
        """
        inputs = expanded_inputs(self.eqs.model, inputs)
        periods, positions = periods or {}, self.eqs.model.smooth_inputs
        changed = {name for name, value in inputs.items() if self._is_new(name, value)}
        targets = {name: float(inputs[name]) for name in periods if name in positions}
        if not changed and not targets and parameters == self.parameters:
            return False
        as_given = {name: inputs[name] for name in changed}
        given = inputs_over_time(self.eqs, as_given, parameters, run.t, self.end) or {}
        moved = parameters != self.parameters
        self.inputs, self.parameters = self.inputs | given, dict(parameters)
        self._as_given |= as_given
        values = self.eqs.at(inputs=self.inputs, parameters=parameters).binding
        self.motions.release(changed - targets.keys())
        self.motions.lead(targets, periods, self.bound, run.t)
        bound = self.motions.applied(values, self.bound, run.t).with_rows(self.bound.row_active)
        if bound.same_values(self.bound):
            return False
        run.v[:], work = take_effect(self.eqs, self.bound, bound, run.t, run.q.copy(), run.v.copy())
        run.work[1] += work
        self.bound = bound
        self.history.append(ActiveBinding(run.t, bound))
        run.rebind(bound)
        later = [x for value in given.values() if isinstance(value, TimeSeries) for x in value.breaks]
        run.add_stops(np.array([x for x in later if run.t < x < self.end]))
        if moved or any(isinstance(x, TimeSeries) for x in given.values()) or self._scales_signals(changed):
            run.watch(watched_times(self.eqs.model, bound, run.t, self.end, np.array(later)))
        return True

    def _scales_signals(self, inputs: set[str]) -> bool:
        """Whether some signal depends on one of these inputs and on time itself."""
        sources = self.eqs.model.signal_sources
        columns = [1 + self.eqs.model.input_names.index(name) for name in inputs]
        return bool(np.any(sources[:, :1] & sources[:, columns]))

    def set_state(self, run: TimeLoop, q: np.ndarray, v: np.ndarray) -> bool:
        """Set another state at the current time, projected on the constraints; the run's `start` must be called afterwards.

        Returns whether anything changed.
        """
        bound = self.bound.with_contacts(run.contacts.rows)
        new = set_state(self.eqs, bound, run.t, (run.q.copy(), run.v.copy()), q, v)
        if new is None:
            return False
        if new.changed:
            self.contradictions.append((run.t, new.changed))
        if not np.array_equal(new.bound.row_active, self.bound.row_active):
            self.bound = new.bound
            self.history.append(ActiveBinding(run.t, new.bound))
            run.rebind(new.bound)
        self.jumps.append((run.t, new.energy))
        run.put_state(new.q, new.v)
        return True

    def _is_new(self, name: str, value: Any) -> bool:
        """Whether an input is set to a different value."""
        if value is self._as_given.get(name, self) or (name in self.inputs and value is self.inputs[name]):
            return False
        before = self.inputs.get(name)
        return not (is_number(value) and is_number(before) and value == before)

    def motion(self, run: TimeLoop) -> SavedStates:
        """The saved states so far, including the current one."""
        n = run.sampled
        parts = (self.times, run.sample_q, run.sample_v, run.sample_a, run.sample_multipliers, run.sample_work)
        # filled rows are not modified; copying them would double the memory of a large run
        time_, q, v, a, multipliers, work = parts if n == len(self.times) else (np.array(x[:n]) for x in parts)
        contacts = run.sample_contacts
        if (
            n < len(self.times)
            and (n == 0 or run.t > time_[-1] + INSTANT * abs(time_[-1]))
            and np.all(np.isfinite(run.q))
        ):
            time_ = np.append(time_, run.t)
            q, v, a = (np.vstack([x, y]) for x, y in ((q, run.q), (v, run.v), (a, run.a)))
            multipliers = np.vstack([multipliers, run.multipliers])
            work = np.vstack([work, run.work])
            contacts = contacts.followed_by(run.contacts)
        return SavedStates(time_, q, v, a, multipliers, work, contacts)
