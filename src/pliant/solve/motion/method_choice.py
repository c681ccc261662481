"""Automatic choice of an integration method: what limits the step, the accuracy of the motion or the stability of the method?

The fastest vibration or decay of the equations limits the step of an explicit method, whether it takes part in the motion or not.
An implicit method steps over what is fast and moves nothing. Where all vibrations take part both need about the same steps, and
those of the explicit method are cheaper and more accurate. Where what is very stiff turns, steps that are iterated are longer than
linearized ones. Which of these it is shows in the first steps of a run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pliant.contact.law import LawNumbers
from pliant.equations.binding import Binding
from pliant.equations.layout import RuntimeStatus
from pliant.equations.time_loop import TimeLoop
from pliant.solve.motion.integrator import ExplicitRungeKutta, GeneralizedAlpha, Method, Rosenbrock, make_run
from pliant.solve.motion.integrator.base import Adaptive

STABLE_STEP = 3.3
"""|eigenvalue| times step at which Dormand and Prince's method becomes unstable."""
FEW_STEPS = 300
"""An explicit method that is stable in so few steps is never a bad choice."""
MANY_STEPS = 20_000
"""An explicit method that is stable in no fewer steps than these is never a good one."""
SLACK = 10
"""A large robot that is stable in fewer steps than these has no stiffness yet: a net or a cloth that will become taut."""
SMALL = 40
"""Rates of a robot that is not large."""
TRIAL = 50
"""Steps whose mean tells what limits them; as many before them do not count, as starts are special."""
LONGER = 1.5
"""Factor by which steps of one method have to be longer than those of another, which cost less or are more accurate, to pay."""
WITHOUT_END = 3000
"""Steps after which an explicit run is looked at again."""
CONTACT_TOLERANCE = 1e-4
"""Relative tolerance of small robots with contacts: small errors of an impact grow in the flight after it."""
CROWD = 60
"""Bodies with surfaces from which on their impacts come too fast to be followed one by one."""
CROWD_TOLERANCE = 0.05
"""Relative tolerance of a crowd, of single bodies in single steps: chance decides which body comes to lie where."""
DEAD = 10.0
"""Dissipation [s/m] from which on things hardly rebound: what is left of an impact is slower than a tenth of a metre per second."""


@dataclass(frozen=True)
class MethodChoice:
    """An integrator, why it was chosen and what another would cost, in a few words.

    open: whether to think again once a run has shown its steps; stable: largest stable step of an explicit method at the start
    [s]; tolerances: rtol and atol where they are given.
    """

    method: Method
    why: str
    open: bool = False
    stable: float = np.inf
    tolerances: dict[str, float] = field(default_factory=dict)


def choose_method(
    bound: Binding,
    begin: float,
    end: float,
    q: np.ndarray,
    v: np.ndarray,
    *,
    rate: float | None = None,
    **tolerances: float,
) -> MethodChoice:
    """The integrator for a run; `tolerances`: rtol and atol where they are given; `rate`: the fastest one at the start [1/s], if it
    is known."""
    system = bound.system
    if system.contacts.laws and not tolerances and _is_crowd(bound):
        crowd = {"rtol": CROWD_TOLERANCE}
        why = "automatic: many contacts, so individual impacts are not resolved"
        return MethodChoice(GeneralizedAlpha(**crowd), why, False, 0.0, crowd)
    if system.contacts.laws:
        tighter = {"rtol": CONTACT_TOLERANCE, **tolerances} if bound.nv <= SMALL else dict(tolerances)
        return MethodChoice(_made(Rosenbrock, **tighter), "automatic: contacts are stiff", False, 0.0, tighter)
    if not (system.coordinate_forces or system.frame_forces or system.routes):
        return MethodChoice(_made(ExplicitRungeKutta, **tolerances), "automatic: no springs or dampers")
    rate = bound.fastest_rate(begin, q, v) if rate is None else rate
    stable = STABLE_STEP / rate if rate > 0 else np.inf
    steps = (end - begin) / stable
    if steps <= FEW_STEPS and (bound.nv <= SMALL or steps >= SLACK):
        return MethodChoice(_made(ExplicitRungeKutta, **tolerances), "automatic: not stiff", True, stable, tolerances)
    implicit = _made(Rosenbrock, **tolerances)
    if steps < FEW_STEPS:
        return MethodChoice(implicit, "automatic: slack at the start", True, stable, tolerances)
    needed = f"{_rounded(steps)} steps" if np.isfinite(steps) else "infinitely many steps"
    why = f"automatic: stiff, an explicit method would need {needed} to be stable"
    return MethodChoice(implicit, why, True, stable, tolerances)


def _is_crowd(bound: Binding) -> bool:
    """Whether many rigid bodies touch, and none of them rebounds."""
    contacts = bound.system.contacts
    if len({shape.node for shape in contacts.shapes if shape.node > 0}) < CROWD:
        return False
    at = LawNumbers.place("dissipation")  # zero where a coefficient of restitution is given
    return all(bound.constants[law.constants + at] >= DEAD for law in contacts.laws)


@lru_cache(maxsize=64)
def _made(kind: type[Adaptive], **tolerances: float) -> Method:
    """A method with these tolerances; they are frozen, and many runs choose the same one."""
    return kind(**tolerances)


def after_failure(choice: MethodChoice) -> MethodChoice:
    """What to try where the methods chosen first cannot continue: steps that are iterated and damp what is fast."""
    damped = GeneralizedAlpha(**choice.tolerances, spectral_radius=0.2)
    return MethodChoice(damped, "automatic: other methods failed")


class MethodChange(Exception):
    """A run has shown that another method is the better one."""

    def __init__(self, choice: MethodChoice) -> None:
        super().__init__(choice.why)
        self.choice = choice


class MethodMonitor:
    """Looks at an automatic run now and then, and raises MethodChange where its steps show that another method is better."""

    def __init__(self, choice: MethodChoice, end: float) -> None:
        self.choice, self.end = choice, end
        self.over = not choice.open
        self._implicit = isinstance(choice.method, Rosenbrock)
        self._next = TRIAL if self._implicit else WITHOUT_END
        self._mark: float | None = None

    def steps_to_look(self, run: TimeLoop) -> int:
        """Steps until the run is to be looked at: the same on every machine."""
        return sys.maxsize if self.over else max(1, self._next - run.steps)

    @property
    def most_unseen(self) -> int:
        """Steps within which a run ends without being looked at."""
        return sys.maxsize if self.over else self._next + TRIAL - 1

    def look(self, bound: Binding, run: TimeLoop) -> None:
        """To be called between steps."""
        if self.over or run.steps < self._next:
            return
        if self._mark is None:
            self._mark, self._next = run.t, self._next + TRIAL
            return
        mean = (run.t - self._mark) / TRIAL
        left = (self.end - run.t) / mean if mean > 0 else np.inf
        rate = bound.fastest_rate(run.t, run.q, run.v)
        self._mark, self._next = None, 4 * self._next - TRIAL
        if self._implicit:
            self._after_implicit_steps(bound, run, mean, left, rate)
        elif left > WITHOUT_END and mean * rate > 0.5 * STABLE_STEP:
            # most of it is still to come, and stability limits its steps now
            why = f"automatic: stiff, an explicit method would need {_rounded(left)} more steps"
            raise MethodChange(MethodChoice(self._other(Rosenbrock), why))

    def _after_implicit_steps(self, bound: Binding, run: TimeLoop, mean: float, left: float, rate: float) -> None:
        stable = min(self.choice.stable, STABLE_STEP / max(rate, 1e-300))
        if mean < LONGER * stable and (self.end - run.t) / stable < MANY_STEPS:
            why = "automatic: not stiff, all vibrations contribute to the motion"
            raise MethodChange(MethodChoice(self._other(ExplicitRungeKutta), why))
        # linearized steps are short where what is very stiff turns, as steel links in absolute coordinates and in loops do
        iterated = self._other(GeneralizedAlpha)
        if left > 2 * TRIAL and _mean_step(bound, iterated, run, self.end) > LONGER * mean:
            why = f"automatic: stiff and rotating, a linearly implicit method would need {_rounded(left)} more steps"
            raise MethodChange(MethodChoice(iterated, why))

    def _other(self, kind: type[Adaptive]) -> Method:
        return kind(**self.choice.tolerances)


def _mean_step(bound: Binding, method: Method, run: TimeLoop, end: float) -> float:
    """Mean of the steps [s] of another method from the run's state on; 0 where it fails."""
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
        status = trial.advance(TRIAL // 2)
        marks.append((trial.steps, trial.t))
    (first, begin), (last, now) = marks
    return (now - begin) / (last - first) if last > first else np.inf


def _rounded(steps: float) -> str:
    """A number of steps in words: two digits."""
    return f"{float(f'{steps:.1e}'):,.0f}" if steps < 1e9 else f"{steps:.0e}"
