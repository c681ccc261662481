"""The time loop in Python: the twin of runtime/integrate.c, for any engine."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.equations.compiled import EvaluationError
from pliant.solve.integrator.base import Method, StepFailure, Trial
from pliant.solve.integrator.group import Group
from pliant.solve.integrator.interpolation import Ends, interpolate, interpolate_work
from pliant.solve.integrator.status import Status

if TYPE_CHECKING:
    from pliant.equations.equations import Engine

EPSILON = sys.float_info.epsilon
PROJECTION_TOLERANCE = 1e-12
JUMP_TOLERANCE = 1e-8
MAX_HALVINGS = 6  # of a fixed step that Newton's method cannot solve
CALM_STEPS = 16  # steps after which a longer one is tried again


class PythonRun:
    """One run: a state that advances and samples it leaves behind. The same interface as CompiledRun.

    `configure` sets the start, `start` evaluates it, `advance` takes steps. State: time `t` [s], positions `q`, rates
    `v`, accelerations `a`, `multipliers`, energies dissipated and supplied since the start `work` [J].
    """

    def __init__(self, engine: Engine, method: Method) -> None:
        self.engine, self.method = engine, method
        self.group = Group(engine.system)
        self.row_signals = np.array(engine.system.row_signals(), dtype=int)
        self.driven_rows = np.flatnonzero(self.row_signals >= 0)
        system = engine.system
        self._powered = bool(system.coordinate_forces or system.frame_forces or system.routes or system.signal_count)
        self.steps = self.rejected = self._halvings = self._calm = 0
        self.where = -1
        self.work, self.power = np.zeros(2), np.zeros(2)

    def configure(
        self,
        *,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        stops: np.ndarray,
        samples: np.ndarray,
        step: float | None,
        fixed: bool,
        rtol: float,
        atol: float,
        max_step: float,
        min_step: float,
    ) -> None:
        """Set the start, the times a step must end on, and the times to sample."""
        self.t, self.fixed, self.step = t, fixed, step or 0.0
        self.rtol, self.atol, self._max_step, self._min_step = rtol, atol, max_step, min_step
        self.q, self.v = np.array(q, dtype=float), np.array(v, dtype=float)
        self._stops = [float(x) for x in stops]
        self._samples = np.array(samples, dtype=float)
        self._next_stop = self.sampled = 0
        self._pause = np.inf
        count, nv, m = len(self._samples), self.engine.nv, self.engine.m
        self.sample_q, self.sample_work = np.zeros((count, self.engine.nq)), np.zeros((count, 2))
        self.sample_v, self.sample_a = np.zeros((count, nv)), np.zeros((count, nv))
        self.sample_multipliers = np.zeros((count, max(1, m)))

    def pause_at(self, t: float) -> None:
        """Make `advance` return on reaching this time [s], which must be one of the stops (infinity for none)."""
        self._pause = t

    # -- what steps need ---------------------------------------------------------------------------------------------

    def input_time(self, t: float) -> float:
        """The time to read inputs at: t, but on this side of jumps at both ends of the step."""
        return min(max(t, self._floor), self._cap)

    def power_at(self, t: float, q: np.ndarray, v: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Dissipated and supplied power [W] in a state."""
        if not self._powered:
            return np.zeros(2)
        power = self.engine.energies(t, q, v)[2:4].copy()
        if len(self.driven_rows):
            rates = self.engine.signal_rates(t)[0]
            power[1] += multipliers[self.driven_rows] @ rates[self.row_signals[self.driven_rows]]
        return power

    def violation(self, t: float, q: np.ndarray) -> float:
        """Largest constraint error [m or rad] of positions."""
        phi = self.engine.constraints(t, q, np.zeros(self.engine.nv))[0]
        return float(np.max(np.abs(phi) * self.engine.row_active, initial=0.0))

    def check_finite(self, v: np.ndarray) -> None:
        """Refuse a step through rates or accelerations that are not finite. Numbers whose fourth power overflows count:
        forces and inertias of such a state are no longer finite."""
        bad = np.flatnonzero(~(np.abs(v) < 1e75))
        self.where = int(bad[0]) if len(bad) else -1
        if len(bad):
            raise StepFailure(Status.NOT_FINITE)

    # -- start and restart -------------------------------------------------------------------------------------------

    def start(self) -> int:
        """Accelerations at the start, a first step, samples at the start; returns a status.

        To be called again between advances when inputs or constants have been changed.
        """
        with np.errstate(all="ignore"):
            status = self._refresh()
            if status:
                return status
            self._previous_error = 1.0
            if not self.fixed:
                if not self.step > 0 and self._next_stop < len(self._stops) and self._stops[self._next_stop] > self.t:
                    self.step = self._first_step()
                self.step = min(self.step, self._max_step)
            self._sample_state()
            return Status.OK

    def _refresh(self) -> Status:
        """Accelerations and powers of the state, with nothing remembered from steps before it."""
        self._cap = np.inf
        t = self._pass_jump()
        try:
            self.a, self.multipliers = self.engine.forward(t, self.q, self.v)
        except EvaluationError:
            return Status.SINGULAR
        self.lead, self.a_before, self.h_before = np.zeros_like(self.a), np.zeros_like(self.a), 0.0
        try:
            self.check_finite(self.a)
        except StepFailure as failure:
            return failure.status
        self.power = self.power_at(t, self.q, self.v, self.multipliers)
        return Status.OK

    def _pass_jump(self) -> float:
        """From here on inputs are read as they are after the state's time; the time to read them at."""
        left = self._stops[self._next_stop] - self.t if self._next_stop < len(self._stops) else 0.0
        self._floor = self.t + _instant(self.t, left)
        return self._floor

    def _first_step(self) -> float:
        """From the sizes of the state and of its first two derivatives (Hairer, Norsett and Wanner, Solving ODEs I,
        section II.4)."""
        scale = self.group.scale(self.q, self.q)
        weights = np.concatenate([self.atol + self.rtol * scale, self.atol + self.rtol * np.abs(self.v)])

        def norm(x: np.ndarray, y: np.ndarray) -> float:
            return float(np.sqrt(np.mean((np.concatenate([x, y]) / weights) ** 2)))

        d0, d1 = norm(scale, self.v), norm(self.v, self.a)
        span = self._stops[self._next_stop] - self.t
        guess = min(span, 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1)
        self._cap = self.t + 0.999 * span
        try:
            q = self.group.increment(self.q, guess * self.v)
            a, _ = self.engine.forward(self.input_time(self.t + guess), q, self.v + guess * self.a)
        except EvaluationError:
            return guess
        if not np.all(np.isfinite(a)):
            return guess
        largest = max(d1, norm(guess * self.a, a - self.a) / guess)
        if largest <= 1e-15:
            return min(100 * guess, max(1e-6, 1e-3 * guess))
        return float(min(100 * guess, (0.01 / largest) ** (1 / self.method.error_exponent)))

    def go_to(self, t: float, q: np.ndarray, v: np.ndarray) -> int:
        """Return to a state inside the last step (an event, say): later samples are dropped; returns a status."""
        if self.steps:
            ends = self._before.work, self.work, self._before.power, self.power
            self.work = interpolate_work(*ends, self._h_last, 1 + (t - self.t) / self._h_last)
        self.t, self.q, self.v = t, np.array(q, dtype=float), np.array(v, dtype=float)
        self.sampled = int(np.searchsorted(self._samples[: self.sampled], t, side="right"))
        return self._refresh()

    def _cross_stop(self) -> Status:
        """On to the other side of a stop. Where inputs have jumped, prescribed velocities take effect at once;
        prescribed positions cannot."""
        status, t = Status.OK, self._pass_jump()
        if self.engine.system.signal_count and self._signals_jump():
            if np.any(self.engine.row_active[self.driven_rows]):
                if self.violation(t, self.q) > JUMP_TOLERANCE:
                    return Status.POSITION_JUMPS
                before = self.engine.energies(t, self.q, self.v)[0]
                try:
                    self.q, self.v = self.engine.project(t, self.q, self.v, PROJECTION_TOLERANCE)
                except EvaluationError:
                    return Status.PROJECTION
                self.work[1] += self.engine.energies(t, self.q, self.v)[0] - before
            status = self._refresh()
        # whoever paused here may change inputs before going on: `start` then samples the state
        if not status and self.t < self._pause:
            self._sample_state()
        return status

    def _signals_jump(self) -> bool:
        """Whether signals differ between just before the state's time and after it; of prescribed motions also their
        rates."""
        between = 4 * (self._floor - self._cap)
        times = (self._cap, self._floor)
        left, right = ((self.engine.signals(t)[1], *self.engine.signal_rates(t)) for t in times)

        def differ(level: int, chosen: np.ndarray | slice, slack: np.ndarray | float) -> bool:
            x, y = left[level][chosen], right[level][chosen]
            return bool(np.any(np.abs(x - y) > 1e-9 * (np.abs(x) + np.abs(y)) + slack))

        moved = self.row_signals[self.driven_rows]
        slack = [between * (np.abs(x) + np.abs(y)) for x, y in zip(left, right, strict=True)]
        return differ(0, slice(None), slack[1]) or differ(1, moved, slack[2][moved]) or differ(2, moved, 0.0)

    # -- samples -----------------------------------------------------------------------------------------------------

    def _sample_state(self) -> None:
        while self.sampled < len(self._samples) and self._samples[self.sampled] <= self.t + 1e-13 * abs(self.t):
            self._store(self.q, self.v, self.a, self.multipliers, self.work)

    def _store(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray, work: np.ndarray) -> None:
        n = self.sampled
        self.sample_q[n], self.sample_v[n], self.sample_a[n], self.sample_work[n] = q, v, a, work
        self.sample_multipliers[n, : self.engine.m] = multipliers
        self.sampled += 1

    def _sample_step(self, h: float, new: Ends, *, with_end: bool) -> None:
        """Samples within the step of size h to `new`."""
        old = self._state()
        while self.sampled < len(self._samples):
            t = float(self._samples[self.sampled])
            x = (t - self.t) / h
            if x > 1 + 1e-10 or (not with_end and x >= 1 - 1e-10):
                break
            if x <= 1e-10 or x >= 1 - 1e-10:
                end = new if x >= 1 - 1e-10 else old
                self._store(end.q, end.v, end.a, end.multipliers, end.work)
                continue
            q, v, a = interpolate(self.group, old, new, h, x)
            if not (self.method.smooth or self.method.follows_equations):
                # second derivatives of the polynomial are no better than a straight line, and that does not overshoot
                a = (1 - x) * old.a + x * new.a
            multipliers = (1 - x) * old.multipliers + x * new.multipliers
            t = self.input_time(t)
            if self.engine.m:
                q, v = self.engine.project(t, q, v, PROJECTION_TOLERANCE)
            if self.method.follows_equations:
                a, multipliers = self.engine.forward(t, q, v)
            self._store(q, v, a, multipliers, interpolate_work(old.work, new.work, old.power, new.power, h, x))

    def _state(self) -> Ends:
        return Ends(self.q, self.v, self.a, self.multipliers, self.work, self.power)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _attempt(self, h: float) -> tuple[Status, Trial | None, Ends | None]:
        """A step of size h, and its end on the constraints unless its error is too large anyway."""
        try:
            trial = self.method.take_step(self, h)
            self.check_finite(trial.v)
            if not np.isfinite(trial.error):
                self.where = 0
                raise StepFailure(Status.NOT_FINITE)
            if not self.fixed and trial.error > 1:
                return Status.OK, trial, None
            end = self._end(trial, h)
            self.check_finite(end.a)
        except StepFailure as failure:
            return failure.status, None, None
        except EvaluationError:
            return Status.SINGULAR, None, None
        return Status.OK, trial, end

    def _end(self, trial: Trial, h: float) -> Ends:
        """The end of a step: what the step has left open of constraints, accelerations, powers and energies."""
        t = self.input_time(self.t + h)
        q, v, a, multipliers, power = trial.q, trial.v, trial.a, trial.multipliers, trial.power
        if power is None:
            q = self.group.normalized(q)
            if self.method.projected and self.engine.m:
                try:
                    q, v = self.engine.project(t, q, v, PROJECTION_TOLERANCE)
                except EvaluationError:
                    raise StepFailure(Status.PROJECTION) from None
            if self.method.evaluated:
                a, multipliers = self.engine.forward(t, q, v)
        assert a is not None, "a step that is not evaluated gives accelerations"
        assert multipliers is not None, "a step that is not evaluated gives multipliers"
        if power is None:
            power = self.power_at(t, q, v, multipliers)
        end = Ends(q, v, a, multipliers, self.work, power)
        if not self._powered:
            return end
        return replace(end, work=self._work(end, h) if trial.work is None else trial.work)

    def _work(self, end: Ends, h: float) -> np.ndarray:
        """Energies after the step: Simpson's rule for both powers, with the interpolated middle."""
        if self.method.order == 1:
            return self.work + 0.5 * h * (self.power + end.power)
        t = self.input_time(self.t + 0.5 * h)
        q, v, _ = interpolate(self.group, self._state(), end, h, 0.5)
        multipliers = 0.5 * (self.multipliers + end.multipliers)
        if self.method.smooth and np.any(self.engine.row_active[self.driven_rows]):
            multipliers = self.engine.forward(t, q, v)[1]  # to the method's own order
        return self.work + h / 6 * (self.power + 4 * self.power_at(t, q, v, multipliers) + end.power)

    def _accept(self, end: Ends, lead: np.ndarray | None, h: float, t: float) -> None:
        self._before, self.a_before, self.h_before, self._h_last = self._state(), self.a, h, h
        self.q, self.v, self.a, self.multipliers = end.q, end.v, end.a, end.multipliers
        self.work, self.power = end.work.copy(), end.power
        self.lead = np.zeros_like(self.a) if lead is None else lead
        self.t = t
        self.steps += 1

    def advance(self, max_steps: int) -> int:
        """Up to `max_steps` steps towards the last stop; returns a status."""
        with np.errstate(all="ignore"):
            return self._advance(max_steps)

    def _advance(self, max_steps: int) -> Status:
        last, failures = self.steps + max_steps, 0
        while self._next_stop < len(self._stops):
            stop = self._stops[self._next_stop]
            left = stop - self.t
            if left <= 1e-13 * max(abs(stop), abs(self.t)):
                self._next_stop += 1
                continue
            if self.steps >= last or self.t >= self._pause:
                return Status.MAX_STEPS
            h, lands = self._next_step(left)
            self._cap = stop - _instant(stop, left) if lands else np.inf
            status, trial, end = self._attempt(h)
            if trial is None or end is None:
                self.rejected += 1
                failures += 1
                if self.fixed:
                    # what Newton's method cannot solve at once is done in shorter steps for a while
                    if status != Status.NO_CONVERGENCE or self._halvings == MAX_HALVINGS:
                        return status
                    self._halvings, self._calm = self._halvings + 1, 0
                    continue
                shrink = 0.25 if trial is None else max(0.2, 0.9 * trial.error ** (-1 / self.method.error_exponent))
                self.step = h * shrink
                if self.step < max(self._min_step, 16 * EPSILON * (abs(self.t) + left)):
                    return status or Status.STEP_TOO_SMALL
                continue
            more_stops = self._next_stop + 1 < len(self._stops)
            try:
                # a sample on a jump shows what follows it
                self._sample_step(h, end, with_end=not (lands and more_stops))
            except EvaluationError:
                return Status.PROJECTION
            self._accept(end, trial.lead, h, stop if lands else self.t + h)
            if not self.fixed:
                self._control(h, trial.error, failures)
            elif self._halvings:
                self._calm += 1
                if self._calm == CALM_STEPS:
                    self._halvings, self._calm = self._halvings - 1, 0
            failures = 0
            if lands:
                self._next_stop += 1
                if more_stops and (status := self._cross_stop()):
                    return status
        return Status.OK

    def _next_step(self, left: float) -> tuple[float, bool]:
        """The step to try and whether it lands on the stop that is `left` away: the way there is cut into equal steps
        rather than leaving a sliver, which would spoil accelerations."""
        if self.fixed:
            parts = max(1.0, np.ceil(left / self.step * 2**self._halvings - 1e-6))
            return left / parts, parts == 1
        if self.step >= left * (1 - 1e-9):
            return left, True
        return (0.5 * left if 2 * self.step > left else self.step), False

    def _control(self, h: float, error: float, failures: int) -> None:
        """Proportional-integral control of the step size."""
        exponent = self.method.error_exponent
        factor = 0.9 * max(error, 1e-10) ** (-0.7 / exponent) * self._previous_error ** (0.4 / exponent)
        factor = min(1.0 if failures else 5.0, max(0.2, factor))
        # a step cut short by a stop says nothing against the longer one planned
        longer = h * factor if factor < 1 or failures else max(self.step, h * factor)
        self.step = min(self._max_step, longer)
        self._previous_error = max(error, 1e-4)


def _instant(t: float, span: float) -> float:
    """A few units in the last place of times around t, the width of a jump [s]."""
    return 8 * EPSILON * max(abs(t), abs(span))
