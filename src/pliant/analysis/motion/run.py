"""One run of a motion: attempts with one or two methods, the loop around the time loop of the runtime, and why a run ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol

import numpy as np
import scipy

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.integrators import ExplicitRungeKutta, GeneralizedAlpha, Method, make_run
from pliant.analysis.motion.current_state import Now
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.events import Event, EventMonitor
from pliant.analysis.motion.job import Job, KinematicInputs, Prepare
from pliant.analysis.motion.method_choice import MethodChange, MethodChoice, MethodMonitor, after_failure, choose_method
from pliant.analysis.motion.result import Result, RunRecord, RunStart, StepRecord, result_of, timing_of
from pliant.analysis.motion.sampled_control import Controller, SampledLoop, model_controllers
from pliant.analysis.numerics.law_ranges import law_range_texts
from pliant.analysis.numerics.netcdf_files import load_writer
from pliant.analysis.numerics.result import INTERRUPTED, KEPT, STILL_RUNNING
from pliant.analysis.numerics.saddle import PartitionError, partition
from pliant.analysis.numerics.state import INITIAL, AssembledState, assemble, given_state, prescribed_half_turn
from pliant.analysis.numerics.status import Status
from pliant.analysis.states import state_at
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, InputValues, Values, with_remembered
from pliant.engine.input_values import inputs_over_time
from pliant.engine.layout import RuntimeStatus
from pliant.engine.program import EvaluationError
from pliant.engine.state import State
from pliant.engine.time_loop import TimeLoop
from pliant.language.arguments import ArgumentError
from pliant.language.limits import time_is_up


@dataclass(frozen=True)
class Thresholds:
    """Numbers of the solution of loops."""

    condition: float = 1e10
    """Condition of the dependent block from which two branches meet: half of the digits are lost in its solutions."""
    reach: float = 0.05
    """Largest change of independent coordinates, relative to their sizes, between two solutions of the loops, so that no other
    branch is found."""
    furthest: float = 20.0
    """The same change in a trial of a step from which the trial is refused: three turns of a joint."""
    newton: float = 1e-13
    """Constraint values, relative to their sizes, at which loops are closed: round-off."""
    smallest: float = 1e-2
    """Absolute error per step, relative to the sizes of coordinates, as a fraction of rtol."""


LOOPS = Thresholds()


class TooFarError(Exception):
    """A trial of a step goes too far to follow the loops there."""


class _Reduction:
    """The loops' dependent coordinates and their derivatives as functions of the independent ones."""

    def __init__(self, bound: Binding, q: np.ndarray, independent: list[int], names: tuple[str, ...]) -> None:
        self.bound, self.names = bound, names
        self.on = bound.active_rows
        self.independent = independent
        self.dependent = [i for i in range(bound.nv) if i not in independent]
        self.q = q.copy()
        self.sizes = bound.sizes(q)[1][independent]
        self.evaluations = 0

    def close(self, t: float, y: np.ndarray) -> np.ndarray:
        """Full coordinates for independent values y, on the branch of the last call."""
        q = self.q.copy()
        zero = np.zeros(self.bound.nv)
        # follow the tangent in steps, so that a large change does not end on another branch
        change = y - q[self.independent]
        largest = float(np.abs(change / self.sizes).max(initial=0.0))
        if not largest <= LOOPS.furthest:
            raise TooFarError
        pieces = max(1, math.ceil(largest / LOOPS.reach))
        for piece in range(pieces):
            goal = self.q[self.independent] + change * (piece + 1) / pieces
            q = self._correct(t, q + self._tangent(t, q) @ (goal - q[self.independent]), goal, zero)
        self.q = q
        return q

    def _tangent(self, t: float, q: np.ndarray) -> np.ndarray:
        """G: derivative of all coordinates with respect to the independent ones."""
        dense = self.bound.constraints(t, q, np.zeros(self.bound.nv))[3].toarray()[self.on]
        G = np.zeros((self.bound.nv, len(self.independent)))
        G[self.independent] = np.eye(len(self.independent))
        G[self.dependent] = -np.linalg.solve(dense[:, self.dependent], dense[:, self.independent])
        return G

    def _correct(self, t: float, q: np.ndarray, y: np.ndarray, zero: np.ndarray) -> np.ndarray:
        """Newton's method for the dependent coordinates."""
        q[self.independent] = y
        for _ in range(50):
            phi, _, _, J = self.bound.constraints(t, q, zero)
            error = np.abs(phi / self.bound.constraint_sizes(t, q, zero))[self.on].max(initial=0.0)
            block = J.toarray()[self.on][:, self.dependent]
            if error <= LOOPS.newton:
                break
            step = np.zeros(self.bound.nv)
            step[self.dependent] = -np.linalg.solve(block, phi[self.on])
            q = self.bound.increment(q, step)
            q[self.independent] = y
        else:
            raise PartitionError(f"the loop could not be closed at t = {t:.6g} s: the mechanism is in a dead position")
        if np.linalg.cond(block) > LOOPS.condition:
            chosen = ", ".join(self.names[i] for i in self.independent)
            raise PartitionError(
                f"at t = {t:.6g} s the mechanism is in a dead position for {chosen}: two branches meet. Choose other "
                "independent coordinates, or use the multiplier formulation."
            )
        return q

    def rates(self, t: float, q: np.ndarray, y_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and G at a closed configuration."""
        G = self._tangent(t, q)
        _, rate, _, J = self.bound.constraints(t, q, np.zeros(self.bound.nv))
        v = G @ y_dot
        # prescribed signals also move the dependent coordinates
        v[self.dependent] -= np.linalg.solve(J.toarray()[self.on][:, self.dependent], rate[self.on])
        return v, G

    def acceleration(self, t: float, y: np.ndarray, y_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Full q, v, a."""
        q = self.close(t, y)
        v, G = self.rates(t, q, y_dot)
        _, _, gamma, J = self.bound.constraints(t, q, v)
        drift = np.zeros(self.bound.nv)  # dG/dt y': the acceleration with y'' = 0
        drift[self.dependent] = -np.linalg.solve(J.toarray()[self.on][:, self.dependent], gamma[self.on])
        M = self.bound.mass_matrix(q)
        h = self.bound.inverse(t, q, v, drift)
        y_ddot = -np.linalg.solve(G.T @ (M @ G), G.T @ h)
        self.evaluations += 1
        return q, v, G @ y_ddot + drift


def simulate_reduced(
    eqs: Equations, made: AssembledState, begin: float, end: float, times: np.ndarray,
    independent: tuple[str, ...] | None, method: Method, progress: Any,
) -> Result:  # fmt: skip
    """Simulate in independent coordinates by an explicit method of order 8."""
    bound = made.bound
    chosen = _independent_rates(eqs, made, begin, independent)
    run = _ReducedRun(_Reduction(bound, made.q, chosen, eqs.rates), begin, end, times, progress)
    start = time.perf_counter()
    status, message = run.integrate(np.concatenate([made.q[chosen], made.v[chosen]]), method)
    saved_t, states = np.array(run.saved_times), run.saved
    sizes = (bound.nq, bound.nv, bound.nv)
    q, v, a = (np.array([s[k] for s in states]).reshape(len(states), size) for k, size in enumerate(sizes))
    multipliers = np.array([bound.forward(t, qi, vi)[1] for t, qi, vi in zip(saved_t, q, v, strict=True)])
    work, nothing = (
        _work(bound, saved_t, q, v),
        Contacts(times=saved_t, begins=np.zeros(len(saved_t) + 1, dtype=np.int32)),
    )
    motion = SavedStates(saved_t, q, v, a, multipliers.reshape(len(states), bound.m), work, nothing)
    timing = timing_of(eqs, bound, time.perf_counter() - start, run.steps, 0, run.reduction.evaluations)
    names = ", ".join(eqs.rates[i] for i in chosen)
    record = RunRecord(eqs, RunStart(begin, end, made), motion, (ActiveBinding(begin, bound),))
    return result_of(record, status, message, timing, f"reduced to {names}, explicit Runge-Kutta of order 8")


def _independent_rates(
    eqs: Equations, made: AssembledState, begin: float, independent: tuple[str, ...] | None
) -> list[int]:
    """Indices of the independent rates; raises an error if the formulation does not suit the robot."""
    check_names("coordinate", independent or (), eqs.rates)
    if not made.bound.m:
        raise ArgumentError(
            "the reduced formulation solves closed loops, and this robot has none", "omit the formulation"
        )
    if eqs.model.system.contacts.laws:
        raise ArgumentError(
            "the reduced formulation does not support contacts, and this robot has some", "omit the formulation"
        )
    if eqs.model.system.quaternions():
        raise PartitionError("the reduced formulation needs plain coordinates; this robot has free rotations")
    jacobian = made.bound.constraints(begin, made.q, made.v)[3].toarray()[made.bound.active_rows]
    wanted = None if independent is None else [eqs.rates.index(name) for name in independent]
    return partition(jacobian, wanted, eqs.rates, made.bound.sizes(made.q)[1])[0]


class _ReducedRun:
    """Integrates the independent coordinates, and stores full states (q, v, a) at the requested times."""

    def __init__(self, reduction: _Reduction, begin: float, end: float, times: np.ndarray, progress: Any) -> None:
        self.reduction, self.begin, self.end, self.progress = reduction, begin, end, progress
        self.waiting = list(times)
        self.saved_times: list[float] = []
        self.saved: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.steps = 0

    def integrate(self, x0: np.ndarray, method: Method) -> tuple[Status, str]:
        """Run to the end from independent positions and rates x0; returns status and message."""
        rtol = method.relative_tolerance
        # absolute tolerance of rates, from their effect over the entire run
        least = max(LOOPS.smallest * rtol, 1e-14) * self.reduction.sizes
        atol = method.absolute_tolerance + np.concatenate([least, least / (self.end - self.begin)])
        solver = None
        try:
            solver = scipy.integrate.DOP853(self._rate, self.begin, x0, self.end, rtol=max(rtol, 1e-13), atol=atol)
            self._save(self.begin, lambda t: x0)
            while solver.status == "running":
                if late := time_is_up():
                    return Status.STOPPED, f"{late} at t = {solver.t:.6g} s; {KEPT}"
                here = self.reduction.close(solver.t, solver.y[: len(x0) // 2])
                problem = solver.step()
                if solver.status == "failed":
                    return Status.FAILED, f"{problem} at t = {solver.t:.6g} s"
                self.steps += 1
                between = solver.dense_output()
                self.reduction.q = here
                self._save(solver.t, between)
        except KeyboardInterrupt as reason:
            reached = self.begin if solver is None else solver.t
            return Status.STOPPED, f"{str(reason) or INTERRUPTED} at t = {reached:.6g} s; {KEPT}"
        except (PartitionError, np.linalg.LinAlgError) as reason:
            return Status.FAILED, str(reason)
        return Status.COMPLETED, f"simulated to t = {self.end:g} s"

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        if self.progress is not None:
            self.progress(t, self.end, self.reduction.evaluations)
        f = len(x) // 2
        try:
            _, _, a = self.reduction.acceleration(t, x[:f], x[f:])
        except TooFarError:
            return np.full_like(x, np.nan)  # the step is rejected, and tried again with a shorter one
        return np.concatenate([x[f:], a[self.reduction.independent]])

    def _save(self, until: float, at: Callable[[float], np.ndarray]) -> None:
        """Store the states at the times up to `until`."""
        while self.waiting and self.waiting[0] <= until:
            t = self.waiting.pop(0)
            y, rates = np.split(at(t), 2)
            self.saved.append(self.reduction.acceleration(t, y, rates))
            self.saved_times.append(t)


def _work(bound: Binding, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Dissipated and supplied energy [J] by the trapezoidal rule over the saved times."""
    power = np.array([bound.energies(t, qi, vi)[2:4] for t, qi, vi in zip(times, q, v, strict=True)])
    out = np.zeros((len(times), 2))
    if len(times) > 1:
        out[1:] = np.cumsum(0.5 * np.diff(times)[:, None] * (power[1:] + power[:-1]), axis=0)
    return out


GOING = (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS)
"""Statuses of a run that has not failed: at its end, or paused."""
SAME_FOR_ALL_METHODS = (RuntimeStatus.OUT_OF_MEMORY, RuntimeStatus.POSITION_JUMPS)
"""Causes of failures that no other method avoids."""
MECHANICAL = (
    RuntimeStatus.SINGULAR,
    RuntimeStatus.NOT_FINITE,
    RuntimeStatus.NO_CONVERGENCE,
    RuntimeStatus.STEP_TOO_SMALL,
    RuntimeStatus.PROJECTION,
)
"""Failures that a mechanism at a dead point causes, depending on the method."""


class Progress(Protocol):
    """Display of the progress of a run."""

    def __call__(self, t: float, end: float, steps: int) -> None: ...


@dataclass(frozen=True)
class Request:
    """What is asked of a motion, apart from the robot, its values and its start.

    times: when states are saved [s]; exact: whether steps end there; method: the one that the caller chose, if any. controllers:
    those of the model if None or True. out: file that is rewritten with the results so far.
    """

    begin: float
    end: float
    times: np.ndarray
    exact: bool
    method: Method | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    formulation: str = "multipliers"
    independent: tuple[str, ...] | None = None
    events: Sequence[Event] = ()
    mid_step: Callable[[Now], None] | None = None
    controllers: Controller | Sequence[Controller] | bool | None = None
    progress: Progress | None = None
    out: str | PathLike[str] | None = None

    def run(
        self, eqs: Equations, start: Any, inputs: InputValues | None, parameters: Values | None,
        prepare: Prepare | None = None,
    ) -> Result:  # fmt: skip
        """The motion of a robot with these values from a start as in `simulate`."""
        timed = inputs and inputs_over_time(eqs, inputs, parameters, self.begin, self.end)
        here = eqs.at(inputs=timed, parameters=parameters)
        asked = here.model.spec.start if start is None else start
        as_placed = start is None and asked == INITIAL
        if as_placed:
            state = given_state(here, "initial", self.begin, where="start")
        else:
            state = state_at(here, asked, self.begin, where="start")
        rest = start if isinstance(start, Equilibrium) else None
        acting = acting_controllers(self.controllers, eqs, parameters)
        return self.run_from(here, state, acting, as_placed=as_placed, rest=rest, prepare=prepare)

    def run_from(
        self, eqs: Equations, state: State, acting: Sequence[Controller], *, as_placed: bool,
        rest: Equilibrium | None = None, prepare: Prepare | None = None,
    ) -> Result:  # fmt: skip
        """The motion of these equations from a state; its status states whether it failed.

        as_placed: the state is the initial one of the model, in which parts should not overlap. rest: the equilibrium that the
        caller gave as the start.
        """
        motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
        bound = with_remembered(eqs.binding.with_series(motions.series), state)
        made = assemble(eqs, bound, self.begin, state.q, state.v, state.given)
        if self.formulation == "reduced":
            if acting:
                raise ArgumentError(NOT_REDUCED)
            method = ExplicitRungeKutta(**self.tolerances)
            return simulate_reduced(
                eqs, made, self.begin, self.end, self.times, self.independent, method, self.progress
            )
        start = RunStart(self.begin, self.end, made, as_placed, rest, tuple(acting))
        if self.method is None:
            chosen = choose_method(made.bound, self.begin, self.end, made.q, made.v, **self.tolerances)
        else:
            chosen = MethodChoice(self.method, "chosen by the caller")

        def attempt(choice: MethodChoice) -> tuple[Result, bool]:
            """A run, and whether another method may do better."""
            motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
            job = Job(eqs, made.bound, motions, choice, self.begin, self.end, self.times, self.exact)
            going = _Attempt(self, job, start, prepare)
            result = going.run()
            return result, result.status == Status.FAILED and going.status not in SAME_FOR_ALL_METHODS

        try:
            result, improvable = attempt(chosen)
        except MethodChange as better:
            result, improvable = attempt(better.choice)
        automatic = self.method is None and not isinstance(chosen.method, GeneralizedAlpha)
        if improvable and automatic and not self.events and self.mid_step is None:
            iterated, _ = attempt(after_failure(chosen))
            result = result if iterated.status == Status.FAILED else iterated
        return result


NOT_REDUCED = "the reduced formulation runs without controllers, events and mid-step functions"


def acting_controllers(
    given: Controller | Sequence[Controller] | bool | None, eqs: Equations, parameters: Values | None
) -> list[Controller]:
    """The controllers of the option `controllers`: those given, or those of the model, designed for these parameters."""
    if given is None or given is True:
        return model_controllers(eqs, parameters) if eqs.model.spec.control else []
    if given is False:
        return []
    return list(given) if isinstance(given, Sequence) else [given]


class _Attempt:
    """A run with one method. status: that of the time loop at the end."""

    def __init__(self, request: Request, job: Job, start: RunStart, prepare: Prepare | None) -> None:
        self.request, self.job, self.start, self.prepare = request, job, start, prepare
        self.status: int = RuntimeStatus.OK
        acts = request.events or request.mid_step is not None
        self.watcher = EventMonitor(job, list(request.events), request.mid_step) if acts else None
        self.control = SampledLoop(start.controllers, job.begin, job.end) if start.controllers else None

    def run(self) -> Result:
        """The result; raises MethodChange if the first steps show that another method is better."""
        job, control = self.job, self.control
        self.loop = loop = make_run(job.bound, job.method)
        q, v = self.start.assembled.q, self.start.assembled.v
        job.configure(loop, q, v) if control is None else job.configure(loop, q, v, control.times)
        if self.prepare is not None:
            self.prepare(job, loop)
        begin = time.perf_counter()
        if control is not None:
            control.act(job, loop)
        self.status = loop.start()
        job.start = (job.bound, job.begin, loop.q.copy(), loop.v.copy(), loop.a.copy())
        if self.watcher is not None:
            self.watcher.begin(loop)
        stopped = failed = ""
        try:
            stopped, failed = self._steps()
        except KeyboardInterrupt as reason:
            stopped = str(reason) or INTERRUPTED
        except (EvaluationError, MemoryError) as reason:
            failed = str(reason)
        seconds = time.perf_counter() - begin
        return self.result(*_verdict(job, loop, self.status, stopped, failed), seconds)

    def _steps(self) -> tuple[str, str]:
        """Step to the end; returns the reason to stop and that of a failure, or empty texts."""
        job, loop, watcher, progress = self.job, self.loop, self.watcher, self.request.progress
        file = None if self.request.out is None else _PartialFile(self, self.request.out)
        thoughts = MethodMonitor(job.choice, job.end)
        thoughts.over |= watcher is not None  # effects of callers' functions cannot be undone
        first = PACE.quick_steps // max(1, job.bound.nv)
        monitor = ProgressMonitor(loop, job.end, job.method.most_steps, one_by_one=watcher is not None, first=first)
        while self.status in GOING and not self._is_at_end():
            monitor.begin()
            self.status = loop.advance(min(monitor.chunk, thoughts.steps_to_look(loop)))
            if stopped := self._act():
                return stopped, ""
            if self.status in GOING:
                thoughts.look(job.bound, loop)
            if progress is not None:
                progress(loop.t, job.end, loop.steps)
            if file is not None:
                file.save_if_due()
            if self.status == RuntimeStatus.OK:
                break
            if stopped := time_is_up():
                return stopped, ""
            if failed := monitor.check():
                failed += f". '{fastest(job.eqs, loop)}' moves fastest: check forces, stiffness and mass there; or "
                return "", failed + "use looser tolerances, fixed steps, or a larger max_steps of the method. This was"
        return "", ""

    def _is_at_end(self) -> bool:
        loop = self.loop
        is_done = self.status == RuntimeStatus.OK and loop.t >= self.job.end * (1 - 1e-15) - 1e-300
        return bool(is_done and loop.steps)

    def _act(self) -> str:
        """Let events and controllers act after some steps; returns the reason to stop, or an empty text."""
        job, loop, watcher, control = self.job, self.loop, self.watcher, self.control
        if watcher is not None and self.status in GOING:
            if stopped := watcher.cross(loop):
                return stopped
            # it may have returned to an event
            self.status = RuntimeStatus.MAX_STEPS if loop.t < job.end else self.status
        if control is not None and self.status in GOING and control.due(loop.t):
            control.act(job, loop)
            self.status = loop.start() or self.status
        if watcher is not None and self.status in GOING:
            watcher.after(loop)
        return ""

    def result(self, status: Status, message: str, seconds: float) -> Result:
        """The motion so far."""
        job, loop, watcher = self.job, self.loop, self.watcher
        steps = StepRecord(
            job.method, job.start, loop.sample_step, loop.lost_vibrations, loop.deepest_contacts, loop.missed_signal,
            loop.brief_impacts, loop.energy_exchanged,
        )  # fmt: skip
        events = {} if watcher is None else watcher.times()
        said = () if self.control is None else self.control.remarks()
        made = RunRecord(
            job.eqs, self.start, job.motion(loop), tuple(job.history), steps, tuple(job.jumps), tuple(job.contradictions),
            events, said,
        )  # fmt: skip
        method = f"{job.method.describe()} ({job.choice.why})"
        timing = timing_of(job.eqs, job.bound, seconds, loop.steps, loop.rejected, loop.evaluations)
        return result_of(made, status, message, timing, method)


# -- progress ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pace:
    """Numbers of the checks between steps."""

    quick_steps: int = 400
    """Steps of a robot with one rate that take a few milliseconds at most: the steps before the clock is first checked."""
    short: float = 0.05
    """Real time between two checks below which more steps are taken [s]: a check takes microseconds."""
    long: float = 0.2
    """Real time between two checks above which fewer steps are taken [s]: Ctrl-C should take less than that."""
    most_at_once: int = 1 << 20
    """Largest number of steps between two checks."""
    judged: int = 20_000
    """Steps over which the pace of a run is measured, so that short difficult intervals (an impact, a switch) have no effect."""
    least_save_cost: float = 0.5
    """A file is written again after ten times the duration of writing it, which is taken as at least this [s]."""


PACE = Pace()


class RunProgress(Protocol):
    """Time [s] and numbers of accepted and rejected steps of a run."""

    @property
    def t(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def rejected(self) -> int: ...


class ProgressMonitor:
    """Monitors a run until its end [s]; a run that would need more than `most_steps` is abandoned. first: number of steps that
    are known to take negligible time."""

    def __init__(
        self, run: RunProgress, end: float, most_steps: float, *, one_by_one: bool = False, first: int = 1
    ) -> None:
        self.run, self.end, self.most_steps, self.one_by_one = run, end, most_steps, one_by_one
        self.chunk = 1 if one_by_one else max(1, first)
        self._begun = time.perf_counter()
        self._mark = (0, float(run.t))

    def begin(self) -> None:
        """Called before `chunk` steps."""
        self._begun = time.perf_counter()

    def check(self) -> str:
        """Called after them: adapts `chunk`, and returns the reason to abandon the run, or an empty string."""
        elapsed = time.perf_counter() - self._begun
        if not self.one_by_one and elapsed < PACE.short:
            self.chunk = min(2 * self.chunk, PACE.most_at_once)
        elif elapsed > PACE.long:
            self.chunk = max(1, self.chunk // 2)
        tried, t = self.run.steps + self.run.rejected, float(self.run.t)
        steps, way = tried - self._mark[0], t - self._mark[1]
        if steps < PACE.judged:
            return ""
        self._mark = (tried, t)
        if self.end <= t or steps * (self.end - t) <= self.most_steps * way:
            return ""
        more = (
            f"the rest would take {steps * (self.end - t) / way:.1g} more" if way > 0 else "the end cannot be reached"
        )
        return f"the steps became too small to continue: the last {steps} of them advanced by {way:.2g} s, {more}"


def fastest(eqs: Equations, run: Any) -> str:
    """Name of the largest rate, as a hint for finding the cause of a divergence."""
    return str(eqs.rates[int(np.argmax(np.abs(run.v)))]) if len(run.v) else ""


class _PartialFile:
    """The file of a run with the results so far, rewritten at intervals that keep the cost low."""

    def __init__(self, attempt: _Attempt, path: str | PathLike[str]) -> None:
        self.attempt, self.path = attempt, path
        load_writer()
        self.cost, self.last = PACE.least_save_cost, time.perf_counter()

    def save_if_due(self) -> None:
        """Save if that has not been done for some time."""
        if time.perf_counter() - self.last < 10 * self.cost:
            return
        start = time.perf_counter()
        message = f"{STILL_RUNNING} at t = {self.attempt.loop.t:.6g} s; {KEPT}"
        self.attempt.result(Status.STOPPED, message, start - self.last).keep(self.path)
        self.last = time.perf_counter()
        self.cost = max(PACE.least_save_cost, self.last - start)


# -- why a run ends ----------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class DeadPoint:
    """Numbers that decide whether a mechanism is at a dead point."""

    dependent: float = 1e-3
    """Smallest singular value of the constraints, relative to its initial value: steps become too small at about this distance."""
    most_rows: int = 2000
    """Number of constraints whose singular values can be computed in a second."""
    involved: float = 0.2
    """Fraction of the largest weight above which a constraint is named."""


DEAD_POINT = DeadPoint()


def failure_reason(
    eqs: Equations, bound: Binding, method: Method, run: TimeLoop, status: int, start: tuple[float, np.ndarray]
) -> str:
    """The message of a run that ended with this status.

    start: initial time [s] and coordinates.
    """
    at = f"at t = {run.t:.6g} s"
    q = np.array(run.q)
    texts = law_range_texts(eqs.model, bound, [q])
    beyond = "".join(f" There, {text}." for text in texts)
    turned = prescribed_half_turn(eqs, bound, q) if status in MECHANICAL else ""
    if turned:
        return (
            f"the constraint '{turned}' has turned its frames by 180 deg against each other {at}, the limit of rotations that a "
            "constraint prescribes. For further turns let a revolute joint turn the frame, and prescribe its angle (`motion`)."
        )
    dependent = dependent_constraints(eqs, bound, start, (run.t, q)) if status in MECHANICAL else []
    if dependent:
        what = f"constraint{'' if len(dependent) == 1 else 's'} {', '.join(dependent)}"
        return (
            f"the mechanism reaches a dead point {at}: the {what} can no longer be satisfied with finite "
            "speeds and forces. Change the prescribed motions, lengths or initial values so that it stays clear of this pose."
            + beyond
        )
    if status == RuntimeStatus.NOT_FINITE:
        # a step that failed internally does not identify a rate: take the one that diverged most
        known = 0 <= run.where < len(eqs.rates)
        name = eqs.rates[run.where] if known else fastest(eqs, run)
        return (
            f"the rate of '{name}' is no longer a finite number {at}. The motion diverges: use a smaller step"
            f"{' or an implicit method' if method.explicit else ''}, or check stiffness, mass and input values near that "
            "coordinate." + beyond
        )
    if status == RuntimeStatus.SINGULAR and method.explicit and method.fixed:
        return (
            f"the mass matrix became singular {at}, which indicates a diverging motion: the step of {method.step:g} s is too "
            "long for the fastest vibration. Use a smaller step or an implicit method." + beyond
        )
    return f"{at}: {RuntimeStatus(status).meaning}{beyond}"


def dependent_constraints(
    eqs: Equations, bound: Binding, start: tuple[float, np.ndarray], now: tuple[float, np.ndarray]
) -> list[str]:
    """Names of constraints, including prescribed motions, that have become dependent since the start, or have no effect any more;
    empty if all are as independent as at the start."""
    rows = np.flatnonzero(bound.active_rows)
    if not 0 < len(rows) <= DEAD_POINT.most_rows or not np.all(np.isfinite(now[1])):
        return []
    (_, before), (weights, after) = (_scaled(bound, rows, *state) for state in (start, now))
    if not after[-1] < DEAD_POINT.dependent * before[-1]:
        return []
    share = np.abs(weights[:, -1])
    names = [eqs.constraint_names[i] for i in rows[share > DEAD_POINT.involved * share.max()]]
    return [f"'{name}'" for name in names]


def _scaled(bound: Binding, rows: np.ndarray, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values of the constraints, with values and coordinates relative to their sizes."""
    rest = np.zeros(bound.nv)
    jacobian = bound.constraint_jacobian(t, q, rest)[rows] * bound.sizes(q)[1]
    found = np.linalg.svd(jacobian / bound.constraint_sizes(t, q, rest)[rows, None], full_matrices=False)
    return np.asarray(found[0]), np.asarray(found[1])
