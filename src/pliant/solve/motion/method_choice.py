"""Automatic choice of an integration method: what limits the step, the accuracy of the motion or the stability of the method?

The fastest vibration or decay of the equations limits the step of an explicit method, whether it takes part in the motion or not.
An implicit method steps over what is fast and moves nothing. Where all vibrations take part both need about the same steps, and
those of the explicit method are cheaper and more accurate. Which of the two it is shows in the first steps of the implicit one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant.equations.binding import Binding
from pliant.equations.time_loop import TimeLoop
from pliant.solve.motion.integrator import ExplicitRungeKutta, Method, Rosenbrock
from pliant.solve.saddle import saddle_matrix

STABLE_STEP = 3.3
"""|eigenvalue| times step at which Dormand and Prince's method becomes unstable."""
FEW_STEPS = 300
"""An explicit method that is stable in so few steps is never a bad choice."""
MANY_STEPS = 20_000
"""An explicit method that is stable in no fewer steps than these is never a good one."""
SMALL = 40
"""Rates up to which that holds for robots without any stiffness at the start: larger ones are nets that are slack."""
TRIAL = 50
"""Steps whose mean tells what limits them; as many before them do not count, as starts are special."""
LONGER = 1.5
"""An implicit method whose steps are not longer than the explicit method's by this factor does not pay."""
WITHOUT_END = 3000
"""Steps after which an explicit run is looked at again."""
POWER_ITERATIONS = 25


@dataclass(frozen=True)
class Choice:
    """An integrator, why it was chosen and what another would cost, in a few words; `other` is one to think of once a run has
    shown its steps, and `stable` the largest stable step of an explicit method at the start [s]."""

    method: Method
    why: str
    other: Method | None = None
    stable: float = np.inf


def choose_method(
    bound: Binding, begin: float, end: float, q: np.ndarray, v: np.ndarray, **tolerances: float
) -> Choice:
    """The integrator for a run; `tolerances`: rtol and atol where they are given."""
    explicit, implicit = ExplicitRungeKutta(**tolerances), Rosenbrock(**tolerances)
    system = bound.system
    if not (system.coordinate_forces or system.frame_forces or system.routes):
        return Choice(explicit, "automatic: no springs or dampers")
    rate = fastest_rate(bound, begin, q, v)
    stable = STABLE_STEP / rate if rate > 0 else np.inf
    steps = (end - begin) / stable
    if steps <= FEW_STEPS and (bound.nv <= SMALL or steps >= 10):
        return Choice(explicit, "automatic: not stiff", implicit, stable)
    other = explicit if steps <= MANY_STEPS else None
    if rate == 0:
        return Choice(implicit, "automatic: slack at the start", other, stable)
    needed = f"{_rounded(steps)} steps" if np.isfinite(steps) else "no end of steps"
    return Choice(implicit, f"automatic: stiff, an explicit method would need {needed} to be stable", other, stable)


class BeginAgain(Exception):
    """A run has shown that another method is the better one."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice.why)
        self.choice = choice


class SecondThoughts:
    """Looks at a run now and then, and raises BeginAgain where it shows that the other method is the better one."""

    def __init__(self, choice: Choice, end: float) -> None:
        self.choice, self.end = choice, end
        self._mark: tuple[int, float] | None = None
        self.over = choice.other is None

    def look(self, bound: Binding, run: TimeLoop) -> None:
        """To be called between steps."""
        if self.over or self.choice.other is None:
            return
        implicit = isinstance(self.choice.method, Rosenbrock)
        first = TRIAL if implicit else WITHOUT_END
        if self._mark is None:
            if run.steps >= first:
                self._mark = (run.steps, run.t)
            return
        steps = run.steps - self._mark[0]
        if steps < TRIAL or not run.t > self._mark[1]:
            return
        self.over = True
        mean = (run.t - self._mark[1]) / steps
        if implicit:
            if mean >= LONGER * self.choice.stable:
                return
            raise BeginAgain(Choice(self.choice.other, "automatic: not stiff, all vibrations take part in the motion"))
        # of an explicit run: most of it is still to come, and stability limits its steps now
        rate = fastest_rate(bound, run.t, run.q, run.v)
        if (self.end - run.t) / mean < WITHOUT_END or mean * rate < 0.5 * STABLE_STEP:
            return
        needed = _rounded((self.end - run.t) / mean)
        raise BeginAgain(
            Choice(self.choice.other, f"automatic: stiff, an explicit method would need {needed} steps more")
        )


def fastest_rate(bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> float:
    """Magnitude [1/s] of the fastest vibration or decay about a state, by power iterations; infinite where mass is missing."""
    a, multipliers = bound.forward(t, q, v)
    linear = bound.linearized(t, q, v, a, multipliers)
    try:
        factors = spla.splu(saddle_matrix(linear.mass, linear.jacobian, bound.row_active))
    except RuntimeError:
        return np.inf

    def largest(matrix: sp.csc_matrix) -> float:
        x = np.random.default_rng(0).normal(size=bound.nv)
        size = 0.0
        for _ in range(POWER_ITERATIONS):
            x = factors.solve(np.concatenate([matrix @ x, np.zeros(bound.m)]))[: bound.nv]
            size = float(np.linalg.norm(x))
            if not (size > 0 and np.isfinite(size)):
                return size
            x = x / size
        return size

    return max(float(np.sqrt(largest(linear.stiffness))), largest(linear.damping))


def _rounded(steps: float) -> str:
    """A number of steps in words: two digits."""
    return f"{float(f'{steps:.1e}'):,.0f}" if steps < 1e9 else f"{steps:.0e}"
