"""Events and mid-step functions, evaluated after each step of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, SupportsFloat

import numpy as np
import scipy

from pliant.analysis.integrators import make_run
from pliant.analysis.motion.current_state import Now
from pliant.analysis.motion.job import Job
from pliant.engine.contacts import Contacts
from pliant.engine.core import check_names
from pliant.engine.program import EvaluationError, check
from pliant.engine.time_loop import TimeLoop
from pliant.language.arguments import ArgumentError, choice
from pliant.language.message_text import describe

__all__ = ["Event", "EventMonitor", "Now"]


@dataclass(frozen=True)
class Thresholds:
    """Numbers of the location of events."""

    shortest: float = 1e-6
    """Fraction of the run below which the interval between two events is short: flights of an accumulating bounce become shorter
    without end."""
    times: int = 3
    """An event that recurs this many times in succession after short intervals accumulates: the run cannot proceed."""
    inside: tuple[float, ...] = (1e-4, 0.02, 0.15, 0.35, 0.5, 0.65, 0.85, 0.98, 0.9999)
    """Fractions of a step at which values are also computed: a value can pass through zero twice in a step. Those next to its ends
    show in which direction the value leaves and arrives, hence extrema close to the ends of long steps."""
    deeper: float = 4.0
    """An extremum is searched for if this many times the depth of the parabola through three values reaches zero: parabolas are
    crude in long steps."""
    finest: int = 20
    """Number of subdivisions of a step, each by four, in which a function that is zero at its start is searched for a crossing:
    down to round-off."""


LOCATION = Thresholds()


@dataclass(frozen=True)
class Event:
    """An event: `value(now)` passes through zero.

    `value` is a function of a `Now`, or the name of an output. `direction`: "rising", "falling" or "both". `then`: a
    function of a `Now` that is called at the crossing and may set the state, inputs and parameters (for an impact).
    `stop`: end the run there; by default if there is no `then`. `Event.touch("grip")` and `Event.release("grip")`
    are events of contacts.
    """

    value: Callable[[Now], float] | str
    direction: Literal["rising", "falling", "both"] = "both"
    stop: bool | None = None
    name: str = "event"
    then: Callable[[Now], None] | None = None

    def __post_init__(self) -> None:
        choice("direction of an event", self.direction, ("rising", "falling", "both"))
        if not isinstance(self.value, str) and not callable(self.value):
            hint = "or give the name of an output"
            raise ArgumentError(f"the value of an event must be a function of now, not {describe(self.value)}", hint)
        if self.then is not None and not callable(self.then):
            raise ArgumentError(f"`then` of an event must be a function of now, not {describe(self.then)}")

    @property
    def stops(self) -> bool:
        """Whether the run ends at it."""
        return self.then is None if self.stop is None else self.stop

    @classmethod
    def touch(
        cls, contact: str, *, of: Sequence[str] = (), stop: bool | None = None, then: Callable[[Now], None] | None = None,
        name: str = "",
    ) -> Event:  # fmt: skip
        """The parts of a contact, or two of them (`of=("finger", "ball")`), start to touch."""
        return cls(_Gap(contact, tuple(of)), "falling", stop, name or f"touch of {contact}", then)

    @classmethod
    def release(
        cls, contact: str, *, of: Sequence[str] = (), stop: bool | None = None, then: Callable[[Now], None] | None = None,
        name: str = "",
    ) -> Event:  # fmt: skip
        """The parts of a contact, or two of them, separate completely."""
        return cls(_Gap(contact, tuple(of)), "rising", stop, name or f"release of {contact}", then)

    def passed(self, old: float, new: float) -> bool:
        """Whether the value has crossed zero in the specified direction."""
        rising, falling = old < 0 <= new, old > 0 >= new
        return {"rising": rising, "falling": falling, "both": rising or falling}[self.direction]


@dataclass(frozen=True)
class _Gap:
    """The smallest distance of the surfaces of a contact, or of two of its parts [m]."""

    contact: str
    of: tuple[str, ...]

    def __call__(self, now: Now) -> float:
        return now.gap(self.contact, self.of)


class _StepState(NamedTuple):
    """A state within a step, and its contacts."""

    q: np.ndarray
    v: np.ndarray
    contacts: Contacts


@dataclass(frozen=True)
class _Hit:
    """A crossing: its time [s], state and remaining value."""

    t: float
    place: _StepState
    rest: float
    index: int


class EventMonitor:
    """Calls mid-step functions and locates events after each step."""

    def __init__(self, job: Job, events: list[Event], mid_step: Callable[[Now], None] | None) -> None:
        self.job, self.events, self.mid_step = job, events, mid_step
        self.happened: list[list[float]] = [[] for _ in events]
        self.memory: dict[str, Any] = {}
        self.before = 0.0, _StepState(np.zeros(0), np.zeros(0), Contacts())
        self.values: list[float] = []
        self.rests = np.zeros(len(events))
        """Tolerance below which the value of an event that has just occurred is zero."""
        self.last = np.full(len(events), -np.inf)
        self.quick = np.zeros(len(events), dtype=int)

    def begin(self, run: Any) -> None:
        """Evaluate events at the start of the run."""
        self._look(run)

    def _look(self, run: Any) -> None:
        """Store the state at which the next step begins."""
        place = _place(run)
        now = self._now(run.t, place, "the value of an event")
        self.before = run.t, place
        self.values = [self._value(event, now) for event in self.events]
        self.bound = self.job.bound

    def _now(self, t: float, place: _StepState, reader: str = "") -> Now:
        job = self.job
        return Now(
            t, place.q, place.v, job.eqs, dict(job.inputs), dict(job.parameters), self.memory,
            motions=job.motions.series, reader=reader, contacts=place.contacts,
        )  # fmt: skip

    def _value(self, event: Event, now: Now) -> float:
        if isinstance(event.value, str):
            outputs = now.outputs
            check_names("output", [event.value], outputs)
            value = outputs[event.value]
        else:
            value = event.value(now)
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        if isinstance(value, np.ndarray) or not isinstance(value, SupportsFloat) or np.isnan(float(value)):
            raise ArgumentError(
                f"the value of the event '{event.name}' is {describe(value)} at t = {now.t:g} s",
                "give one number that passes through zero; of a vector one component",
            )
        return float(value)

    def times(self) -> dict[str, np.ndarray]:
        """Times at which events have occurred [s], by name; events of one name together."""
        times_by_name: dict[str, list[float]] = {}
        for event, times in zip(self.events, self.happened, strict=True):
            times_by_name[event.name] = sorted([*times_by_name.get(event.name, []), *times])
        return {name: np.array(times) for name, times in times_by_name.items()}

    # -- events --------------------------------------------------------------------------------------------------------

    def cross(self, run: Any) -> str:
        """Locate events inside the last step; the run returns to the first event that has an effect. Returns the reason to stop,
        or an empty string."""
        if not self.events:
            return ""
        now = self._now(run.t, _place(run), "the value of an event")
        values = [self._value(event, now) for event in self.events]
        inside = self._inside(run)
        hits = [hit for i, new in enumerate(values) for hit in self._hits(i, new, run, inside)]
        hits.sort(key=lambda hit: hit.t)
        acting = [hit.t for hit in hits if self.events[hit.index].stops or self.events[hit.index].then]
        until = acting[0] + 1e-12 * max(abs(run.t), run.t - self.before[0]) if acting else np.inf
        self.rests[:] = 0.0
        stop, back = "", False
        for hit in hits:
            if hit.t > until:
                break  # it is located again from there, if it still occurs
            event = self.events[hit.index]
            self.happened[hit.index].append(hit.t)
            if not (event.stops or event.then):
                continue
            if not back:
                check(run.go_to(hit.t, hit.place.q, hit.place.v))
                self.job.acted.append(hit.t)
                back = True
            self.rests[hit.index] = 8 * hit.rest + 1e-14 * abs(self.values[hit.index])
            if event.then is not None:
                self._refuse_accumulation(hit)
                self._call(event.then, run)
            stop = stop or (event.name if event.stops else "")
        return stop

    def _inside(self, run: Any) -> dict[float, _StepState]:
        """States within the last step, by time: those of the method's interpolation."""
        t0, span = self.before[0], run.t - self.before[0]
        times = np.array([t0 + x * span for x in LOCATION.inside])
        if not np.all(np.diff([t0, *times, run.t]) > 1e-14 * abs(run.t)):
            return {}
        trial = self._repeat(run.t, times)
        if trial.sampled < len(times):
            return {}
        contacts = trial.sample_contacts
        return {
            float(t): _StepState(trial.sample_q[k].copy(), trial.sample_v[k].copy(), contacts.sample(k))
            for k, t in enumerate(times)
        }

    def _hits(self, index: int, new: float, run: Any, inside: dict[float, _StepState]) -> list[_Hit]:
        """The crossings of an event in the last step, in order of time; `new`: its value at the end, `inside`: states within."""
        event, old, rest = self.events[index], self.values[index], self.rests[index]
        states = {self.before[0]: self.before[1], run.t: _place(run)}
        nodes = [(t, value) for t, place in inside.items() if (value := self._try(event, t, place)) is not None]
        nodes.append((run.t, new))
        if abs(old) > rest:
            nodes.insert(0, (self.before[0], old))
        else:  # it begins at zero: find its first sign
            first = self._first_sign(event, rest, nodes[0], states)
            nodes = [*([first] if first else []), *(node for node in nodes if abs(node[1]) > rest or node[0] == run.t)]
        hits: list[_Hit] = []
        for a, b in pairwise(self._with_extrema(event, nodes, states)):
            if event.passed(a[1], b[1]):
                # interpolated values differ slightly from those of integration, which the crossing is located with
                begin, end = (self._value_at(event, t, states) for t in (a[0], b[0]))
                if event.passed(begin, end):
                    root, left = self._locate(event, a[0], b[0], states)
                    hits.append(_Hit(root, states[root], abs(left), index))
        if not hits and abs(old) > rest and event.passed(old, new):
            root, left = self._locate(event, self.before[0], run.t, states)
            hits.append(_Hit(root, states[root], abs(left), index))
        return hits

    def _first_sign(
        self, event: Event, rest: float, node: tuple[float, float], states: dict[float, _StepState]
    ) -> tuple[float, float] | None:
        """A time and value shortly after the start of the step, where the value is zero, of the sign opposite to that at a node
        if it really has this sign first."""
        t, new = node
        if not (event.passed(1.0, new) or event.passed(-1.0, new)):
            return None
        for k in range(1, LOCATION.finest + 1):
            begin = self.before[0] + (t - self.before[0]) * 0.25**k
            there = self._value_at(event, begin, states)
            if abs(there) > rest and event.passed(there, new):
                return (begin, there) if self._leaves(event, begin, rest, states) else None
        return None

    def _with_extrema(
        self, event: Event, nodes: list[tuple[float, float]], states: dict[float, _StepState]
    ) -> list[tuple[float, float]]:
        """Times and values, with the extrema beyond zero that lie between values of one sign."""
        extended = list(nodes)
        for a, b, c in zip(nodes, nodes[1:], nodes[2:], strict=False):
            sign = float(np.sign(b[1]))
            same = sign != 0 and sign * a[1] > 0 and sign * c[1] > 0
            if not same or not (sign * b[1] <= sign * a[1] and sign * b[1] <= sign * c[1]):
                continue
            if sign * b[1] - LOCATION.deeper * _depth(a, b, c) > 0:
                continue
            extremum = self._extremum(event, sign, a[0], c[0], states)
            if sign * extremum[1] <= 0:
                extended.append(extremum)
        return sorted(extended)

    def _extremum(
        self, event: Event, sign: float, begin: float, end: float, states: dict[float, _StepState]
    ) -> tuple[float, float]:
        """The time and value of the extremum toward zero between two times; a value beyond zero ends the search."""
        best = begin, np.inf

        def value(t: float) -> float:
            nonlocal best
            signed = sign * self._value_at(event, float(t), states)
            best = min(best, (float(t), signed), key=lambda item: item[1])
            if signed < 0:
                raise StopIteration
            return signed

        with suppress(StopIteration):
            options = {"xatol": 1e-8 * (end - begin), "maxiter": 60}
            scipy.optimize.minimize_scalar(value, bounds=(begin, end), method="bounded", options=options)
        return best[0], sign * best[1]

    def _try(self, event: Event, t: float, place: _StepState) -> float | None:
        """The value in an interpolated state; None if it has none there."""
        try:
            return self._value(event, self._now(t, place, "the value of an event"))
        except (ArgumentError, EvaluationError):
            return None

    def _leaves(self, event: Event, t: float, rest: float, states: dict[float, _StepState]) -> bool:
        """Whether the value, zero at the start of the step, has really changed sign until t, not just by round-off: it then grows
        in proportion to time."""
        t0 = self.before[0]
        late, early = (self._value_at(event, t0 + share * (t - t0), states) for share in (0.25, 0.0625))
        return abs(late) > rest and 0.15 < early / late < 0.45

    def _value_at(self, event: Event, t: float, states: dict[float, _StepState]) -> float:
        """The value at a time in the last step, by integration from its start; the state is added to `states`."""
        if t not in states:
            trial = self._repeat(t, np.array([t]))
            states[t] = _place(trial)
        return self._value(event, self._now(t, states[t], "the value of an event"))

    def _repeat(self, t: float, samples: np.ndarray) -> TimeLoop:
        """The run from the start of the last step to a time within it, with samples."""
        job, (t0, (q0, v0, contacts)) = self.job, self.before
        trial = make_run(job.bound.with_contacts(contacts.rows), job.method)
        longest = t - t0 if job.in_given_steps or not job.method.step else job.method.step
        trial.configure(
            t=t0, q=q0, v=v0, stops=np.array([t]), samples=samples, step=min(longest, t - t0),
            fixed=job.method.fixed or job.in_given_steps, rtol=job.method.relative_tolerance,
            atol=job.method.absolute_tolerance, max_step=t - t0,
        )  # fmt: skip
        trial.start()
        trial.advance(100000)
        return trial

    def _locate(self, event: Event, begin: float, end: float, states: dict[float, _StepState]) -> tuple[float, float]:
        """The crossing between two times at which the value has opposite signs, and the value there."""
        known: dict[float, float] = {}

        def value(t: float) -> float:
            if t not in known:
                known[t] = self._value_at(event, t, states)
            return known[t]

        if value(end) == 0:
            return end, 0.0
        width = 1e-14 * (end - begin) + 4e-16 * abs(end)
        root = float(scipy.optimize.brentq(value, begin, end, xtol=width, rtol=1e-15, maxiter=200))
        return root, value(root)

    def _refuse_accumulation(self, hit: _Hit) -> None:
        i, job = hit.index, self.job
        short = hit.t - self.last[i] < LOCATION.shortest * (job.end - job.begin)
        self.quick[i] = self.quick[i] + 1 if short else 0
        self.last[i] = hit.t
        if self.quick[i] >= LOCATION.times:
            raise EvaluationError(
                f"'{self.events[i].name}' recurs at ever shorter intervals, and no step gets past it. Let its"
                " function end the repetition (for example by a parameter that fixes the part), let it stop the run, or"
                " define a contact in the model. This was"
            )

    # -- functions of callers -----------------------------------------------------------------------------------------------

    def after(self, run: Any) -> None:
        """Call the mid-step function after a step."""
        if self.mid_step is not None:
            self._call(self.mid_step, run)
        self._look(run)

    def _call(self, function: Callable[[Now], object], run: Any) -> None:
        """Call a function at the current time and apply the values that it sets."""
        now = self._now(run.t, _place(run))
        before = run.q.copy(), run.v.copy()
        returned = function(now)
        if isinstance(returned, Mapping):  # as a controller returns commands
            raise ArgumentError(
                f"a function that is called during a run returned {describe(returned)}, which would have no effect",
                "set now.inputs[name], now.parameters[name], now.q[name] or now.v[name] instead",
            )
        self.memory = now.memory
        changed = self.job.rebind(run, now.inputs, now.parameters)
        q = np.where(now.q == before[0], run.q, now.q)
        v = np.where(now.v == before[1], run.v, now.v)
        if self.job.set_state(run, np.asarray(q), np.asarray(v)) or changed:
            check(run.start())


def _place(run: Any) -> _StepState:
    """The current state of a run."""
    return _StepState(run.q.copy(), run.v.copy(), run.contacts)


def _depth(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """How far the extremum of the parabola through three points lies beyond the value at the middle one."""
    left, right = (b[1] - a[1]) / (b[0] - a[0]), (c[1] - b[1]) / (c[0] - b[0])
    curvature = (right - left) / (c[0] - a[0])
    slope = left + curvature * (b[0] - a[0])
    return abs(0.25 * slope * slope / curvature) if curvature else 0.0
