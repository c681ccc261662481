"""The values and the state of a run, which events, mid-step functions and controllers change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.motion.current_state import set_state
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.kinematic_inputs import KinematicInputs, take_effect
from pliant.analysis.motion.method_choice import MethodChoice
from pliant.analysis.motion.step_times import NONE, on_stops, stop_times, watched_times
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations, Values
from pliant.engine.input_values import expanded_inputs, inputs_over_time
from pliant.engine.time_loop import INSTANT, TimeLoop
from pliant.language.arguments import is_number
from pliant.language.time_series import TimeSeries

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
