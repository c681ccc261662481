"""Semi-implicit Euler method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.language.arguments import positive
from pliant.solve.integrator.base import Method, Trial
from pliant.solve.integrator.saddle import handy, saddle_point

if TYPE_CHECKING:
    from pliant.solve.integrator.driver import PythonRun


@dataclass(frozen=True, kw_only=True)
class SemiImplicit(Method):
    """For fast loops with a fixed step: controllers, previews, hardware in the loop.

    Order 1. Rates are implicit in stiffness, damping and constraints, positions follow from them: one linear solve per
    step, no iterations, the same work in every step. Stable for any step where forces are linear; it damps, the more
    the larger the step. Each new state is projected on the constraints.

    Attributes:
        step: step [s]; the run is cut into equal steps of at most this size.

    Reference: Baraff and Witkin, Large steps in cloth simulation, SIGGRAPH (1998).
    """

    step: float

    name: ClassVar[str] = "semi_implicit"
    code: ClassVar[int] = 3
    order: ClassVar[int] = 1
    error_exponent: ClassVar[int] = 2
    projected: ClassVar[bool] = True
    evaluated: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("SemiImplicit: step", self.step)

    def describe(self) -> str:
        """The method and its options in words."""
        return f"semi-implicit Euler, fixed step {self.step:g} s"

    def take_step(self, run: PythonRun, h: float) -> Trial:
        """One step of size h [s] from the state of the run.

        (M + h C + h^2 K) dv - J' p = -h (r + h K v),   J (v + dv) = -phi(q, t + h) / h - h (dJ/dt v - s''/2)

        Signals s are read at the step's end, so that phi carries the way a prescribed position goes during the step;
        the last term makes the new rates fit the constraints of the new configuration, and so p / h a multiplier.
        """
        engine, group, nv, m = run.engine, run.group, run.group.nv, run.engine.m
        t = run.input_time(run.t + h)
        at = engine.linearized(t, run.q, run.v, np.zeros(nv), np.zeros(m))
        M, C, K, J = (handy(matrix) for matrix in (at.mass, at.damping, at.stiffness, at.jacobian))
        rows = np.zeros(m)
        if m:
            turning = engine.constraints(t, run.q, run.v)[2]
            driven = run.driven_rows
            turning[driven] += 0.5 * engine.signal_rates(t)[1][run.row_signals[driven]]
            rows = -J @ run.v - at.phi / h - h * turning
        solve = saddle_point(M + h * C + h * h * K, J, engine.row_active)
        found = solve(np.concatenate([-h * (at.residual + h * (K @ run.v)), rows]))
        v = run.v + found[:nv]
        return Trial(group.increment(run.q, h * v), v, a=found[:nv] / h, multipliers=found[nv:] / h)
