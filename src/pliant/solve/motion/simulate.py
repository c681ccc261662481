"""Simulation of motions: one function for all integration methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations, InputValues, Values, with_remembered
from pliant.equations.input_values import inputs_over_time
from pliant.equations.layout import RuntimeStatus
from pliant.equations.state import State
from pliant.equations.time_loop import INSTANT, TimeLoop
from pliant.equations.workspace import EvaluationError
from pliant.language.arguments import (
    ArgumentError,
    choice,
    is_number,
    known_keywords,
    name_tuple,
    need_equations,
    number,
    positive,
)
from pliant.language.arrays import distinct
from pliant.language.deadline import time_is_up, time_limit
from pliant.language.message_text import describe
from pliant.model.time_series import TimeSeries
from pliant.solve.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.solve.motion.events import Event, EventMonitor, Now
from pliant.solve.motion.failure_reasons import failure_reason
from pliant.solve.motion.integrator import ExplicitRungeKutta, GeneralizedAlpha, Method, chosen_method, make_run
from pliant.solve.motion.kinematic_inputs import KinematicInputs, take_effect
from pliant.solve.motion.method_choice import MethodChange, MethodChoice, MethodMonitor, after_failure, choose_method
from pliant.solve.motion.plant import model_controllers
from pliant.solve.motion.progress_monitor import ProgressMonitor, fastest
from pliant.solve.motion.reduced_coordinates import simulate_reduced
from pliant.solve.motion.remarks import start_remarks
from pliant.solve.motion.result_builder import build_result
from pliant.solve.motion.sampled_control import Controller, SampledLoop
from pliant.solve.motion.save_times import save_times
from pliant.solve.motion.state_setting import set_state
from pliant.solve.options import SimulateOptions
from pliant.solve.overlaps import overlap_notes
from pliant.solve.result import INTERRUPTED, KEPT, STILL_RUNNING, Result, Timing, keep, said_where
from pliant.solve.state import INITIAL, AssembledState, Start, assemble
from pliant.solve.statics.equilibrium import state_at
from pliant.solve.status import Status, unless_failed

GOING = (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS)
"""Statuses of a run that has not failed: at its end, or paused."""

QUICK_STEPS = 400
"""Steps of a robot with one rate that take a few milliseconds at most: the number of steps before the clock is first checked."""
LEAST_TIMES, FEW_TIMES = 10_000, 16
"""Minimum number of representable times in a run, and in a step or interval."""
MOST_NOTES = 5
"""Maximum number of notes about states that could not be set as requested."""


class Progress(Protocol):
    """Display of the progress of a run."""

    def __call__(self, t: float, end: float, steps: int) -> None: ...


@known_keywords(SimulateOptions.renamed)
def simulate(
    eqs: Equations,
    until: float = 1.0,
    *,
    begin: float = 0.0,
    start: Start = None,
    method: Method | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_every: float | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    save_between: bool = False,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    formulation: Literal["multipliers", "reduced"] = "multipliers",
    independent: Sequence[str] | None = None,
    events: Sequence[Event] = (),
    mid_step: Callable[[Now], None] | None = None,
    controllers: Controller | Sequence[Controller] | bool | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    timeout: float | None = None,
    on_failure: Literal["raise", "return"] = "raise",
) -> Result:
    """Simulate from `begin` to `until` [s]. Raises AnalysisFailed if the run cannot continue; its `result` is the motion so far.

    start: "initial", "equilibrium", a State, an Equilibrium, a Result (continues from its end), coordinates and rates by name, or
        positions at rest; the model's own `start` when None.
    method: an integrator or its name; chosen by constraints and stiffness when None, and named in the result.
    step: fixed step [s]; without a `method`, that of generalized-alpha.
    rtol, atol: tolerances of a method that is given by name or chosen automatically; by default 1e-6 for explicit and 1e-3 for
        implicit methods, and 1e-5 rtol times the size of the robot.
    save_every, save_at: interval of saved states, or times to save, at which steps end exactly [s]; 200 intervals by default.
    save_between: interpolate states at `save_at` within steps instead.
    inputs: by name, each a constant number, a text with a unit or an expression of t ("2 N", "2*sin(3*t) N"), a function of
        the time [s], or `(times, values)`, with "linear" (the default; "cubic" for inputs that prescribe positions or rates),
        "previous" or "cubic" after them. SI units where no unit is written.
    formulation: "multipliers" keeps all coordinates with constraint forces; "reduced" integrates the `independent`
        coordinates only and solves the loops for the others.
    events: zero crossings to locate; mid_step: called after each step with a `Now`, which it may set (state, inputs, parameters).
    controllers: called at their own sample times; their commands are held until the next ones (`solve.motion.sampled_control`).
        A commanded position or rate is interpolated over a sample time. None or True: those of the model; () or False: none.
    out: a netCDF file for the result, written when the run has finished. Until then, and if the run fails or is interrupted by
        Ctrl-C, the results so far are in `NAME.partial.nc` next to it, and an earlier result is not modified. timeout: seconds
        of real time after which the run stops, with the results so far.
    on_failure: "return" returns a failed run, with its status and message, instead of raising.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    request = read_request(
        until, begin=begin, method=method, step=step, rtol=rtol, atol=atol, save_every=save_every, save_at=save_at,
        save_between=save_between, formulation=formulation, independent=independent, events=events, mid_step=mid_step,
        controllers=controllers, progress=progress, out=out,
    )  # fmt: skip
    with time_limit(None if timeout is None else positive("timeout", timeout)):
        return unless_failed(run_request(request, eqs, start, inputs, parameters), on_failure)


Prepare: TypeAlias = Callable[["Job", TimeLoop], None]
"""Called with a run after its start and samples are set; again if it restarts with another method."""


def run_request(
    request: Request,
    eqs: Equations,
    start: Start = None,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    *,
    prepare: Prepare | None = None,
) -> Result:
    """A run of a robot with these values, as by `simulate`; its status states whether it failed."""
    need_equations(eqs)
    timed = inputs_over_time(eqs, inputs, parameters, request.begin, request.end)
    here = eqs.at(inputs=timed, parameters=parameters)
    as_placed = start is None and here.model.spec.start == INITIAL
    state = state_at(here, here.model.spec.start if start is None else start, request.begin, where="start")
    return request.run(here, state, request.acting(eqs, parameters), as_placed=as_placed, prepare=prepare)


def acting_controllers(
    given: Controller | Sequence[Controller] | bool | None, eqs: Equations, parameters: Values | None
) -> list[Controller]:
    """The controllers of the option `controllers`: those given, or those of the model, designed for these parameters."""
    if given is None or given is True:
        return model_controllers(eqs, parameters)
    if given is False:
        return []
    return list(given) if isinstance(given, Sequence) else [given]


@dataclass(frozen=True)
class Request:
    """The options of `simulate`, validated; the robot, its values and its start are separate.

    times: when states are saved [s]; exact: whether steps end there; method: the one that the caller chose, if any.
    """

    begin: float
    end: float
    times: np.ndarray
    exact: bool
    method: Method | None
    tolerances: Mapping[str, float]
    formulation: str
    independent: tuple[str, ...] | None
    events: Sequence[Event]
    mid_step: Callable[[Now], None] | None
    controllers: Controller | Sequence[Controller] | bool | None
    progress: Progress | None
    out: str | Path | None

    def acting(self, eqs: Equations, parameters: Values | None) -> list[Controller]:
        """The controllers of a run: those given, or those of the model, designed for these parameters."""
        return acting_controllers(self.controllers, eqs, parameters)

    def run(
        self, eqs: Equations, state: State, acting: list[Controller], *, as_placed: bool, prepare: Prepare | None = None
    ) -> Result:
        """A run of these equations from a state, saved in its file; its status states whether it failed. as_placed: the state is
        the initial state of the model, in which parts should not overlap."""
        result = self._attempts(eqs, state, acting, as_placed=as_placed, prepare=prepare)
        if self.out is None:
            return result
        target = keep(result, self.out)
        return replace(result, message=said_where(result, target)) if result.is_partial else result

    def _attempts(
        self, eqs: Equations, state: State, acting: list[Controller], *, as_placed: bool, prepare: Prepare | None
    ) -> Result:
        motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
        bound = with_remembered(eqs.binding.with_series(motions.series), state)
        made = assemble(eqs, bound, self.begin, state.q, state.v, state.given)
        if self.formulation == "reduced":
            if acting:
                raise ArgumentError(_NOT_REDUCED)
            return self._reduced(eqs, made)
        placed = overlap_notes(made.bound, self.begin, made.q) if as_placed else ()
        notes = (*made.messages, *placed, *motions.notes(made.bound, self.begin))
        if self.method is None:
            chosen = choose_method(made.bound, self.begin, self.end, made.q, made.v, **self.tolerances)
        else:
            chosen = MethodChoice(self.method, "chosen by the caller")

        def attempt(choice: MethodChoice) -> tuple[Result, bool]:
            """A run, and whether another method may do better."""
            motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
            loop = SampledLoop(acting, self.begin, self.end)
            job = Job(
                eqs, made.bound, motions, choice, self.begin, self.end, self.times, self.exact, self.progress, self.out,
                list(notes), prepare=prepare,
            )  # fmt: skip
            result = job.run(made.q, made.v, EventMonitor(job, list(self.events), self.mid_step), loop)
            return result, result.status == Status.FAILED and job.ended not in SAME_FOR_ALL_METHODS

        try:
            result, improvable = attempt(chosen)
        except MethodChange as better:
            result, improvable = attempt(better.choice)
        automatic = self.method is None and not isinstance(chosen.method, GeneralizedAlpha)
        if improvable and automatic and not self.events and self.mid_step is None:
            iterated, _ = attempt(after_failure(chosen))
            result = result if iterated.status == Status.FAILED else iterated
        return result

    def _reduced(self, eqs: Equations, made: AssembledState) -> Result:
        reduced = ExplicitRungeKutta(**self.tolerances)
        return simulate_reduced(eqs, made, self.begin, self.end, self.times, self.independent, reduced, self.progress)


SAME_FOR_ALL_METHODS = (RuntimeStatus.OUT_OF_MEMORY, RuntimeStatus.POSITION_JUMPS)
"""Causes of failures that no other method avoids."""

_NOT_REDUCED = "the reduced formulation runs without controllers, events and mid-step functions"


def read_request(
    until: float,
    *,
    begin: float = 0.0,
    method: Method | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_every: float | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    save_between: bool = False,
    formulation: str = "multipliers",
    independent: Sequence[str] | None = None,
    events: Sequence[Event] = (),
    mid_step: Callable[[Now], None] | None = None,
    controllers: Controller | Sequence[Controller] | bool | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
) -> Request:
    """The options of `simulate`, checked."""
    begin, end = _span(begin, until)
    names = name_tuple(independent)
    for event in events:
        if not isinstance(event, Event):
            raise ArgumentError(f"an event cannot be {describe(event)}", "write Event(function of now, or an output)")
    choice("formulation", formulation, ("multipliers", "reduced"))
    given = chosen_method(method, step=step, rtol=rtol, atol=atol)
    tolerances = {name: x for name, x in (("rtol", rtol), ("atol", atol)) if x is not None}
    times = save_times(begin, end, save_every, save_at)
    _told_apart("save_every", save_every, begin, end)
    _told_apart("step", None if given is None else given.step, begin, end)
    if formulation == "reduced":
        if events or mid_step is not None:
            raise ArgumentError(_NOT_REDUCED)
        if given is not None:
            raise ArgumentError(
                "the reduced formulation has its own method", "omit the method and its step; rtol and atol are used"
            )
    elif names is not None:
        raise ArgumentError(
            "independent coordinates apply to the formulation 'reduced' only", "choose it, or omit them"
        )
    exact = save_at is not None and not save_between
    return Request(
        begin, end, times, exact, given, tolerances, formulation, names, events, mid_step, controllers, progress, out
    )  # fmt: skip


def _span(begin: Any, until: Any) -> tuple[float, float]:
    """Begin and end [s] of a run."""
    hint = "write until=5, and begin=1 if it does not start at 0" if np.ndim(until) else ""
    begin, end = number("begin", begin), number("until", until, hint=hint)
    if not end > begin:
        raise ArgumentError(f"the time span must go forward; it goes from {begin:g} to {end:g} s")
    apart = float(np.spacing(max(abs(begin), abs(end))))
    if end - begin < LEAST_TIMES * apart:
        raise ArgumentError(
            f"a span of {end - begin:.3g} s is too short so far from zero: times around {begin:g} s are {apart:.2g} s apart as "
            "numbers",
            "start closer to 0, and shift everything that depends on time",
        )
    return begin, end


def _told_apart(what: str, interval: float | None, begin: float, end: float) -> None:
    """Reject steps and intervals [s] that are too small to advance the time."""
    apart = float(np.spacing(max(abs(begin), abs(end))))
    if interval is not None and 0 < interval < FEW_TIMES * apart:
        raise ArgumentError(
            f"{what}={interval:g} s is too short so far from zero: times around {end:g} s are {apart:.2g} s apart as numbers",
            "start closer to 0, and shift everything that depends on time",
        )


@dataclass
class Job:
    """One run: its start and options, and the history of its active values.

    eqs: the equations at the initial values; bound: the active binding; motions: the series of inputs of prescribed motions;
    inputs,
    parameters: current values that replace the model's.
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
        periods, positions = periods or {}, self.eqs.model.smooth_inputs
        changed = {name for name, value in inputs.items() if self._is_new(name, value)}
        targets = {name: float(inputs[name]) for name in periods if name in positions}
        if not changed and not targets and parameters == self.parameters:
            return False
        as_given = {name: inputs[name] for name in changed}
        given = inputs_over_time(self.eqs, as_given, parameters, run.t, self.end) or {}
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
        return True

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
        before, after, start = tuple(self.notes), (*self._contradictions, *found), self._start

        def notes() -> tuple[str, ...]:
            return (*before, *start_remarks(*start), *after)

        return build_result(
            self.eqs, self.history, motion, what, message, timing, method, notes, cure, self.jumps
        )  # fmt: skip


NONE = np.zeros(0)


def stop_times(
    eqs: Equations, bound: Binding, begin: float, end: float, wanted: np.ndarray, pauses: np.ndarray = NONE
) -> np.ndarray:
    """Times at which steps of a run have to end [s]: requested times, pauses, jumps of inputs and signals, and its end."""
    switches = eqs.model.switch_times(bound.parameters)
    if not (len(switches) or bound.series or len(pauses) or len(wanted)):
        return np.array([end])
    jumps = np.concatenate([switches, *(series.breaks for series in bound.series)])
    inside = jumps[(jumps > begin) & (jumps < end)]
    stops = distinct(np.concatenate([inside, pauses, wanted, [end]]))
    return np.asarray(stops[stops > begin])


def on_stops(times: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Saved times [s], with those that differ from a stop by round-off set to it: a sample at a jump is the state after it, and all
    quantities computed from it have to read the inputs after it too."""
    nearest = np.searchsorted(stops, times * (1 - np.sign(times) * INSTANT))
    stop = stops[np.minimum(nearest, len(stops) - 1)]
    return np.where(np.abs(stop - times) <= INSTANT * np.abs(times), stop, times)


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
        self.cost, self.last = LEAST_SAVE_COST, time.perf_counter()

    def save_if_due(self) -> None:
        if self.job.out is None or time.perf_counter() - self.last < 10 * self.cost:
            return
        start = time.perf_counter()
        timing = Timing(run_s=start - self.last, steps=self.run.steps)
        keep(self.job._result(self.run, RuntimeStatus.OK, STILL_RUNNING, "", timing, []), self.job.out)
        self.last = time.perf_counter()
        self.cost = max(LEAST_SAVE_COST, self.last - start)
