"""Events and mid-step functions, evaluated after each step of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsFloat

import numpy as np
import scipy

from pliant.equations.contacts import Contacts
from pliant.equations.core import check_names
from pliant.equations.workspace import EvaluationError, check
from pliant.language.arguments import ArgumentError, choice
from pliant.language.message_text import describe
from pliant.solve.motion.current_state import Now
from pliant.solve.motion.integrator import make_run

if TYPE_CHECKING:
    from pliant.solve.motion.job import Job

__all__ = ["Event", "EventMonitor", "Now"]

SHORTEST, TIMES = 1e-6, 3
"""An event that occurs this many times in succession within this fraction of the run accumulates: the run cannot proceed."""
MOST_NOTES = 20
"""Number of times of an event that are recorded individually."""
FINEST = 20
"""Number of subdivisions of a step in which a function that is zero at its start is searched for a crossing."""


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
        self.active = bool(events) or mid_step is not None
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
        if self.active:
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
            found = outputs[event.value]
        else:
            found = event.value(now)
        if np.size(found) != 1 or not isinstance(found, SupportsFloat) or np.isnan(float(found)):
            raise ArgumentError(
                f"the value of the event '{event.name}' is {describe(found)} at t = {now.t:g} s",
                "give one number that passes through zero; of a vector one component",
            )
        return float(found)

    def notes(self) -> list[str]:
        """Times of the events; for frequent events the first times, and their number."""
        out = []
        for event, times in zip(self.events, self.happened, strict=True):
            out += [(t, f"{event.name} at t = {t:.9g} s") for t in times[:MOST_NOTES]]
            if len(times) > MOST_NOTES:
                out.append((times[-1], f"{event.name} {len(times)} times in total, last at t = {times[-1]:.9g} s"))
        return [text for _, text in sorted(out, key=lambda item: item[0])]

    # -- events --------------------------------------------------------------------------------------------------------

    def cross(self, run: Any) -> str:
        """Locate events inside the last step; the run returns to the first event that has an effect. Returns the reason to stop,
        or an empty string."""
        if not self.events:
            return ""
        now = self._now(run.t, _place(run), "the value of an event")
        values = [self._value(event, now) for event in self.events]
        hits = [hit for i, new in enumerate(values) if (hit := self._hit(i, new, run)) is not None]
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

    def _hit(self, index: int, new: float, run: Any) -> _Hit | None:
        """The crossing of an event in the last step, if there is one; `new`: its value at the end."""
        event, old, rest = self.events[index], self.values[index], self.rests[index]
        states = {self.before[0]: self.before[1], run.t: _place(run)}
        begin = self.before[0]
        if abs(old) > rest:
            if not event.passed(old, new):
                return None
        else:  # it begins at zero: find its first sign
            if not (event.passed(1.0, new) or event.passed(-1.0, new)):
                return None
            for k in range(1, FINEST + 1):
                begin = self.before[0] + (run.t - self.before[0]) * 0.25**k
                there = self._value_at(event, begin, states)
                if abs(there) > rest and event.passed(there, new):
                    break
            else:
                return None
            if not self._leaves(event, begin, rest, states):
                return None
        root, found = self._locate(event, begin, run.t, states)
        return _Hit(root, states[root], abs(found), index)

    def _leaves(self, event: Event, t: float, rest: float, states: dict[float, _StepState]) -> bool:
        """Whether the value, zero at the start of the step, has really changed sign until t, not just by round-off: it then grows
        in proportion to time."""
        t0 = self.before[0]
        late, early = (self._value_at(event, t0 + share * (t - t0), states) for share in (0.25, 0.0625))
        return abs(late) > rest and 0.15 < early / late < 0.45

    def _value_at(self, event: Event, t: float, states: dict[float, _StepState]) -> float:
        """The value at a time in the last step, by integration from its start; the state is added to `states`."""
        if t not in states:
            job, (t0, (q0, v0, contacts)) = self.job, self.before
            trial = make_run(job.bound.with_contacts(contacts.rows), job.method)
            longest = t - t0 if job.in_given_steps or not job.method.step else job.method.step
            trial.configure(
                t=t0, q=q0, v=v0, stops=np.array([t]), samples=np.array([t]), step=min(longest, t - t0),
                fixed=job.method.fixed or job.in_given_steps, rtol=job.method.relative_tolerance,
                atol=job.method.absolute_tolerance, max_step=t - t0,
            )  # fmt: skip
            trial.start()
            trial.advance(100000)
            states[t] = _place(trial)
        return self._value(event, self._now(t, states[t], "the value of an event"))

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
        short = hit.t - self.last[i] < SHORTEST * (job.end - job.begin)
        self.quick[i] = self.quick[i] + 1 if short else 0
        self.last[i] = hit.t
        if self.quick[i] >= TIMES:
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

    def _call(self, function: Callable[[Now], None], run: Any) -> None:
        """Call a function at the current time and apply the values that it sets."""
        now = self._now(run.t, _place(run))
        before = run.q.copy(), run.v.copy()
        function(now)
        self.memory = now.memory
        changed = self.job.rebind(run, now.inputs, now.parameters)
        q = np.where(now.q == before[0], run.q, now.q)
        v = np.where(now.v == before[1], run.v, now.v)
        if self.job.set_state(run, np.asarray(q), np.asarray(v)) or changed:
            check(run.start())


def _place(run: Any) -> _StepState:
    """The current state of a run."""
    return _StepState(run.q.copy(), run.v.copy(), run.contacts)
