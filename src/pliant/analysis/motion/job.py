"""One run of a simulation: the loop around the time loop of the runtime, with events, controllers and saved states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from pliant.analysis.integrators import Method, make_run
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.events import EventMonitor
from pliant.analysis.motion.failure_reasons import failure_reason
from pliant.analysis.motion.kinematic_inputs import KinematicInputs, take_effect
from pliant.analysis.motion.method_choice import MethodChoice, MethodMonitor
from pliant.analysis.motion.progress_monitor import ProgressMonitor, fastest
from pliant.analysis.motion.remarks import missed_remarks, start_remarks, vibration_remarks
from pliant.analysis.motion.result_builder import build_result
from pliant.analysis.motion.sampled_control import SampledLoop
from pliant.analysis.motion.state_setting import set_state
from pliant.analysis.motion.step_resolution import StepResolution
from pliant.analysis.motion.stop_times import NONE, on_stops, stop_times
from pliant.analysis.motion.watched_times import watched_times
from pliant.analysis.numerics.netcdf_files import load_writer
from pliant.analysis.numerics.result import INTERRUPTED, KEPT, STILL_RUNNING, Result, Timing, keep
from pliant.analysis.numerics.status import Status
from pliant.analysis.remarks.contact_remarks import depth_remarks
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations, Values
from pliant.engine.input_values import expanded_inputs, inputs_over_time
from pliant.engine.layout import RuntimeStatus
from pliant.engine.time_loop import INSTANT, TimeLoop
from pliant.engine.workspace import EvaluationError
from pliant.language.arguments import is_number
from pliant.language.limits import time_is_up
from pliant.language.time_series import TimeSeries

GOING = (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS)
"""Statuses of a run that has not failed: at its end, or paused."""

QUICK_STEPS = 400
"""Steps of a robot with one rate that take a few milliseconds at most: the number of steps before the clock is first checked."""
MOST_NOTES = 5
"""Maximum number of notes about states that could not be set as requested."""


class Progress(Protocol):
    """Display of the progress of a run."""

    def __call__(self, t: float, end: float, steps: int) -> None: ...


Prepare: TypeAlias = Callable[["Job", TimeLoop], None]
"""Called with a run after its start and samples are set; again if it restarts with another method."""


@dataclass
class Job:
    """One run: its start and options, and the history of its active values.

    eqs: the equations at the initial values; bound: the active binding; motions: the series of inputs of prescribed motions;
    inputs, parameters: current values that replace the model's.
    """

    eqs: Equations
    bound: Binding
    motions: KinematicInputs
    choice: MethodChoice
    begin: float
    end: float
    times: np.ndarray
    exact: bool
    progress: Progress | None
    out: str | Path | None
    notes: list[str]
    history: list[ActiveBinding] = field(default_factory=list)
    jumps: list[tuple[float, float]] = field(default_factory=list)
    """Times [s] at which events or mid-step functions set the state, and the added energy [J]."""
    prepare: Prepare | None = None
    acted: list[float] = field(default_factory=list)
    """Times [s] of events that changed something or stopped the run."""
    in_given_steps: bool = False
    """Whether steps are those of another run, so that a crossing within one has to be one step away from its beginning."""

    def __post_init__(self) -> None:
        self.inputs: dict[str, Any] = self.eqs.given_inputs
        self.parameters: dict[str, float] = self.eqs.given_parameters
        self._as_given: dict[str, Any] = {}
        self._contradictions: list[str] = []
        self._start: tuple[Any, ...] = ()
        self.ended: int = RuntimeStatus.OK
        """Status of the run at its end."""

    @property
    def method(self) -> Method:
        """The integrator."""
        return self.choice.method

    @property
    def started(self) -> tuple[np.ndarray, np.ndarray]:
        """Initial positions and rates."""
        return self._start[2], self._start[3]

    def run(self, q: np.ndarray, v: np.ndarray, watcher: EventMonitor, loop: SampledLoop) -> Result:
        """The result; raises MethodChange if the first steps show that another method is better."""
        run = make_run(self.bound, self.method)
        self._configure(run, q, v, loop.times)
        if self.prepare is not None:
            self.prepare(self, run)
        self.history = [ActiveBinding(self.begin, self.bound)]
        begin = time.perf_counter()
        stopped = failed = ""
        loop.act(self, run)
        status = run.start()
        self._start = (self.bound, self.begin, run.q.copy(), run.v.copy(), run.a.copy())
        watcher.begin(run)
        saver = _Saver(self, run)
        thoughts = MethodMonitor(self.choice, self.end)
        thoughts.over |= watcher.active  # effects of callers' functions cannot be undone
        quick = QUICK_STEPS // max(1, self.bound.nv)
        monitor = ProgressMonitor(run, self.end, self.method.most_steps, one_by_one=watcher.active, first=quick)
        try:
            while status in GOING and not (
                status == RuntimeStatus.OK and run.t >= self.end * (1 - 1e-15) - 1e-300 and run.steps
            ):
                monitor.begin()
                status = run.advance(min(monitor.chunk, thoughts.steps_to_look(run)))
                if watcher.active and status in GOING:
                    if stopped := watcher.cross(run):
                        break
                    status = RuntimeStatus.MAX_STEPS if run.t < self.end else status  # it may have returned to an event
                if loop.due(run.t) and status in GOING:
                    loop.act(self, run)
                    status = run.start() or status
                if watcher.active and status in GOING:
                    watcher.after(run)
                if status in GOING:
                    thoughts.look(self.bound, run)
                if self.progress is not None:
                    self.progress(run.t, self.end, run.steps)
                saver.save_if_due()
                if status == RuntimeStatus.OK:
                    break
                if stopped := time_is_up():
                    break
                if failed := monitor.check():
                    failed += f". '{fastest(self.eqs, run)}' moves fastest: check forces, stiffness and mass there; or "
                    failed += "use looser tolerances, fixed steps, or a larger max_steps of the method. This was"
                    break
        except KeyboardInterrupt as reason:
            stopped = str(reason) or INTERRUPTED
        except (EvaluationError, MemoryError) as reason:
            failed = str(reason)
        seconds = time.perf_counter() - begin
        timing = Timing(
            self.eqs.derive_seconds + self.bound.program.table_seconds,
            self.bound.program.compile_seconds,
            seconds,
            run.steps,
            run.rejected,
            run.evaluations,
        )
        return self._result(run, status, stopped, failed, timing, [*watcher.notes(), *loop.notes()])

    def _configure(self, run: TimeLoop, q: np.ndarray, v: np.ndarray, pauses: np.ndarray) -> None:
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
        found = set_state(self.eqs, bound, run.t, (run.q.copy(), run.v.copy()), q, v)
        if found is None:
            return False
        if found.note and len(self._contradictions) < MOST_NOTES:
            self._contradictions.append(found.note)
        if not np.array_equal(found.bound.row_active, self.bound.row_active):
            self.bound = found.bound
            self.history.append(ActiveBinding(run.t, found.bound))
            run.rebind(found.bound)
        self.jumps.append((run.t, found.energy))
        run.put_state(found.q, found.v)
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

    def _result(
        self, run: TimeLoop, status: int, stopped: str, failed: str, timing: Timing, found: list[str]
    ) -> Result:
        motion = self.motion(run)
        self.ended = status
        what, message = _verdict(self, run, status, stopped, failed)
        method = f"{self.method.describe()} ({self.choice.why})"
        cure = "a smaller step" if self.method.fixed else "a smaller rtol"
        if run.brief_impacts:
            found = [*found, _brief(run.brief_impacts, cure)]
        found = [*found, *depth_remarks(self.bound, run.deepest_contacts)]
        found += missed_remarks(self.eqs.model, *run.missed_signal, self.method.step)
        finer = (
            "a smaller step"
            if self.method.fixed
            else "the method 'explicit', or a fixed step of a tenth of its period,"
        )
        lost = run.lost_vibrations
        erased = vibration_remarks(self.eqs.model, lost, self.method.relative_tolerance, finer)
        before, after, start = tuple(self.notes), (*self._contradictions, *found), self._start
        seen = StepResolution(self.eqs, tuple(self.history), motion, run.sample_step, self.method)

        def notes() -> tuple[str, ...]:
            unresolved = seen.growth_remarks() or erased or seen.vibration_remarks(lost[..., 0])
            return (*before, *start_remarks(*start), *after, *unresolved)

        return build_result(
            self.eqs, self.history, motion, what, message, timing, method, notes, cure, self.jumps, run.energy_exchanged
        )  # fmt: skip


def _brief(count: int, cure: str) -> str:
    """Remark on impacts that steps have passed over."""
    what = "an impact was" if count == 1 else f"{count} impacts were"
    return f"{what} shorter than a step, so rebounds are too low; use {cure}, or the automatic method"


def end_message(t: float) -> str:
    """The message of a completed run."""
    return f"simulated to t = {t:g} s"


def _verdict(job: Job, run: TimeLoop, status: int, stopped: str, failed: str) -> tuple[Status, str]:
    if stopped or failed:
        message = f"{failed or stopped} at t = {run.t:.6g} s; {KEPT}"
        return Status.FAILED if failed else Status.STOPPED, message
    if status == RuntimeStatus.OK:
        return Status.COMPLETED, end_message(run.t)
    return Status.FAILED, failure_reason(job.eqs, job.bound, job.method, run, status, (job.begin, job.started[0]))


# A file is written again after ten times the duration of writing it, which is taken as at least this [s].
LEAST_SAVE_COST = 0.5


class _Saver:
    """Rewrites the file of a run at intervals that keep the cost low."""

    def __init__(self, job: Job, run: TimeLoop) -> None:
        self.job, self.run = job, run
        if job.out is not None:
            load_writer()
        self.cost, self.last = LEAST_SAVE_COST, time.perf_counter()

    def save_if_due(self) -> None:
        if self.job.out is None or time.perf_counter() - self.last < 10 * self.cost:
            return
        start = time.perf_counter()
        timing = Timing(run_s=start - self.last, steps=self.run.steps)
        keep(self.job._result(self.run, RuntimeStatus.OK, STILL_RUNNING, "", timing, []), self.job.out)
        self.last = time.perf_counter()
        self.cost = max(LEAST_SAVE_COST, self.last - start)
