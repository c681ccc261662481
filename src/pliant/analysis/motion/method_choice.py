"""Automatic choice of an integration method: is the step limited by the accuracy of the motion or by the stability of the method?

The fastest vibration or decay of the equations limits the step of an explicit method, whether or not it is excited. An implicit
method steps over fast modes that are not excited. If all vibrations are excited, both need a similar number of steps, and those of
the explicit method are cheaper and more accurate. If very stiff parts rotate, iterated implicit steps are longer than linearized
ones. The first steps of a run show which case applies.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pliant.analysis.integrators import ExplicitRungeKutta, GeneralizedAlpha, Method, Rosenbrock, make_run
from pliant.analysis.integrators.base import Adaptive
from pliant.engine.binding import Binding
from pliant.engine.layout import RuntimeStatus
from pliant.engine.time_loop import TimeLoop
from pliant.parts.contact import LawNumbers


@dataclass(frozen=True)
class Thresholds:
    """Numbers that decide which method a run gets."""

    stable_step: float = 3.3
    """|eigenvalue| times step at the stability limit of the method of Dormand and Prince, on the real axis."""
    few_steps: int = 300
    """An explicit method that is stable with fewer steps than this is always acceptable: they take milliseconds."""
    many_steps: int = 20_000
    """An explicit method that needs more steps than this for stability is never chosen: an implicit one takes less time even if it
    resolves all vibrations."""
    slack: int = 10
    """A large robot that is stable with fewer steps than this is not stiff yet: a net or a cloth that will become taut."""
    small: int = 40
    """Maximum number of rates of a robot that is not large: up to here, the cost of a step is that of the call."""
    trial: int = 50
    """Number of steps over which their mean is evaluated, after as many that are ignored because they are special; steps that
    become longer meanwhile are recognized by its two halves."""
    longer: float = 1.5
    """Factor by which steps of one method have to be longer than those of a cheaper or more accurate one: their costs."""
    without_end: int = 3000
    """Number of steps after which an explicit run is examined again: a tenth of a second for small robots."""
    contact_tolerance: float = 1e-4
    """Relative tolerance of small robots with contacts: small errors of an impact grow in the flight after it."""
    loop_tolerance: float = 5e-4
    """Relative tolerance of stiff robots with loops: errors in the phase of a linkage grow where it swings fast, to 1.5 % of the
    motion of a four-bar at twice this."""
    turning_tolerance: float = 2e-4
    turning_loop_tolerance: float = 1e-4
    """Relative tolerance of generalized-alpha for stiff and rotating parts, without and with loops: of second order, its errors in
    phase add up to ten times those of other methods at the same tolerance."""
    crowd: int = 60
    """Number of bodies with surfaces above which individual impacts are not resolved: there are several in every step."""
    crowd_tolerance: float = 0.05
    """Relative tolerance of a crowd: the final position of a single body is chaotic in any case."""
    dead: float = 10.0
    """Dissipation [s/m] above which rebounds are negligible: the velocity after an impact is below 0.1 m/s."""


CHOICE = Thresholds()


@dataclass(frozen=True)
class MethodChoice:
    """An integrator, the reason for its choice, and the estimated cost of another.

    open: whether the choice is reconsidered after the first steps of a run; stable: largest stable step of an explicit method at
    the start [s]; tolerances: rtol and atol if given.
    """

    method: Method
    why: str
    open: bool = False
    stable: float = np.inf
    tolerances: dict[str, float] = field(default_factory=dict)


def choose_method(
    bound: Binding, begin: float, end: float, q: np.ndarray, v: np.ndarray, *, rate: float | None = None,
    **tolerances: float,
) -> MethodChoice:  # fmt: skip
    """The integrator for a run; `tolerances`: rtol and atol if given; `rate`: the fastest one at the start [1/s], if known."""
    system = bound.system
    if system.contacts.laws and not tolerances and _is_crowd(bound):
        crowd = {"rtol": CHOICE.crowd_tolerance}
        why = "automatic: many contacts, so individual impacts are not resolved"
        return MethodChoice(GeneralizedAlpha(**crowd), why, False, 0.0, crowd)
    if system.contacts.laws:
        tighter = {"rtol": CHOICE.contact_tolerance, **tolerances} if bound.nv <= CHOICE.small else dict(tolerances)
        return MethodChoice(_made(Rosenbrock, **tighter), "automatic: contacts are stiff", False, 0.0, tighter)
    if not (system.coordinate_forces or system.frame_forces or system.routes):
        return MethodChoice(_made(ExplicitRungeKutta, **tolerances), "automatic: no springs or dampers")
    rate = bound.fastest_rate(begin, q, v) if rate is None else rate
    stable = CHOICE.stable_step / rate if rate > 0 else np.inf
    steps = (end - begin) * rate / CHOICE.stable_step  # the stable step of an infinite rate is zero
    if steps <= CHOICE.few_steps and (bound.nv <= CHOICE.small or steps >= CHOICE.slack):
        return MethodChoice(_made(ExplicitRungeKutta, **tolerances), "automatic: not stiff", True, stable, tolerances)
    implicit = _made(Rosenbrock, **_of_loops(bound, tolerances))
    if steps < CHOICE.few_steps:
        return MethodChoice(implicit, "automatic: slack at the start", True, stable, tolerances)
    needed = f"{_rounded(steps)} steps" if np.isfinite(steps) else "infinitely many steps"
    why = f"automatic: stiff, an explicit method would need {needed} to be stable"
    return MethodChoice(implicit, why, True, stable, tolerances)


def _of_loops(bound: Binding, tolerances: Mapping[str, float]) -> dict[str, float]:
    """The tolerances of implicit steps, if none are given those for loops where the robot has some."""
    return {"rtol": CHOICE.loop_tolerance, **tolerances} if bound.m else dict(tolerances)


def _is_crowd(bound: Binding) -> bool:
    """Whether many rigid bodies are in contact, without rebounds."""
    contacts = bound.system.contacts
    if len({shape.node for shape in contacts.shapes if shape.node > 0}) < CHOICE.crowd:
        return False
    at = LawNumbers.place("dissipation")  # zero if a coefficient of restitution is given
    return all(bound.constants[law.constants + at] >= CHOICE.dead for law in contacts.laws)


@lru_cache(maxsize=64)
def _made(kind: type[Adaptive], **tolerances: float) -> Method:
    """A method with these tolerances; instances are immutable and shared."""
    return kind(**tolerances)


def after_failure(choice: MethodChoice) -> MethodChoice:
    """The method to try if the first choice cannot continue: iterated implicit steps with numerical damping."""
    damped = GeneralizedAlpha(**choice.tolerances, spectral_radius=0.2)
    return MethodChoice(damped, "automatic: other methods failed")


class MethodChange(Exception):
    """A run has shown that another method is better."""

    def __init__(self, choice: MethodChoice) -> None:
        super().__init__(choice.why)
        self.choice = choice


class MethodMonitor:
    """Examines an automatic run at intervals, and raises MethodChange if its steps show that another method is better."""

    def __init__(self, choice: MethodChoice, end: float) -> None:
        self.choice, self.end = choice, end
        self.over = not choice.open
        self._implicit = isinstance(choice.method, Rosenbrock)
        self._next = CHOICE.trial if self._implicit else CHOICE.without_end
        self._marks: list[float] = []

    def steps_to_look(self, run: TimeLoop) -> int:
        """Number of steps until the next examination, independent of the machine."""
        return sys.maxsize if self.over else max(1, self._next - run.steps)

    @property
    def most_unseen(self) -> int:
        """Number of steps within which a run ends without an examination."""
        return sys.maxsize if self.over else self._next + CHOICE.trial - CHOICE.trial // 2 * len(self._marks) - 1

    def look(self, bound: Binding, run: TimeLoop) -> None:
        """Called between steps."""
        if self.over or run.steps < self._next:
            return
        if len(self._marks) < 2:
            self._marks.append(run.t)
            self._next += CHOICE.trial // 2
            return
        first, middle = self._marks
        mean, lengthening = (run.t - first) / CHOICE.trial, run.t - middle > middle - first
        left = (self.end - run.t) / mean if mean > 0 else np.inf
        rate = bound.fastest_rate(run.t, run.q, run.v)
        self._marks, self._next = [], 4 * self._next - CHOICE.trial
        if self._implicit:
            self._after_implicit_steps(bound, run, mean, left, rate, lengthening)
        elif left > CHOICE.without_end and mean * rate > 0.5 * CHOICE.stable_step:
            # most of the run remains, and its steps are limited by stability
            why = f"automatic: stiff, an explicit method would need {_rounded(left)} more steps"
            raise MethodChange(MethodChoice(_made(Rosenbrock, **_of_loops(bound, self.choice.tolerances)), why))

    def _after_implicit_steps(
        self, bound: Binding, run: TimeLoop, mean: float, left: float, rate: float, lengthening: bool
    ) -> None:
        stable = min(self.choice.stable, CHOICE.stable_step / max(rate, 1e-300))
        if mean < CHOICE.longer * stable and (self.end - run.t) / stable < CHOICE.many_steps:
            why = "automatic: not stiff, all vibrations contribute to the motion"
            raise MethodChange(MethodChoice(_made(ExplicitRungeKutta, **self.choice.tolerances), why))
        # linearized steps are short if very stiff parts rotate, as steel links in absolute coordinates and in loops; steps that
        # become longer are those of a transient that decays
        usual = CHOICE.turning_loop_tolerance if bound.m else CHOICE.turning_tolerance
        tolerances = {"rtol": usual, **self.choice.tolerances}
        iterated = _made(GeneralizedAlpha, **tolerances)
        if (
            not lengthening
            and left > 2 * CHOICE.trial
            and _mean_step(bound, iterated, run, self.end) > CHOICE.longer * mean
        ):
            why = f"automatic: stiff and rotating, a linearly implicit method would need {_rounded(left)} more steps"
            raise MethodChange(MethodChoice(iterated, why))


def _mean_step(bound: Binding, method: Method, run: TimeLoop, end: float) -> float:
    """Mean step [s] of another method from the current state of the run; 0 if it fails."""
    trial = make_run(bound, method)
    trial.configure(
        t=run.t, q=run.q, v=run.v, stops=np.array([end]), samples=np.zeros(0), step=None, fixed=False,
        rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=method.largest_step(end - run.t),
    )  # fmt: skip
    marks = []
    status = trial.start()
    for _ in range(2):
        if status not in (RuntimeStatus.OK, RuntimeStatus.MAX_STEPS):
            return 0.0
        status = trial.advance(CHOICE.trial // 2)
        marks.append((trial.steps, trial.t))
    (first, begin), (last, now) = marks
    return (now - begin) / (last - first) if last > first else np.inf


def _rounded(steps: float) -> str:
    """A number of steps as text, with two digits."""
    return f"{float(f'{steps:.1e}'):,.0f}" if steps < 1e9 else f"{steps:.0e}"
