"""Explicit Runge-Kutta method of Dormand and Prince."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.solve.integrator.base import Adaptive, Trial

if TYPE_CHECKING:
    from pliant.solve.integrator.driver import PythonRun

A = np.zeros((7, 7))
A[1, :1] = [1 / 5]
A[2, :2] = [3 / 40, 9 / 40]
A[3, :3] = [44 / 45, -56 / 15, 32 / 9]
A[4, :4] = [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]
A[5, :5] = [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]
A[6, :6] = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
NODES = (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@dataclass(frozen=True, kw_only=True)
class ExplicitRungeKutta(Adaptive):
    """For motions that are not stiff: rigid robots, soft springs, tight tolerances.

    Order 5 with an embedded order 4 for the error; six evaluations of the equations per step. Its step is limited by
    the fastest decay or oscillation, |eigenvalue| * step < 3.3 or so, resolved or not. Constraints enter through
    accelerations, and each new state is projected on them. Quaternions are integrated as they stand and normalized.

    Reference: Dormand and Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980).
    """

    name: ClassVar[str] = "explicit"
    code: ClassVar[int] = 0
    order: ClassVar[int] = 5
    error_exponent: ClassVar[int] = 5
    projected: ClassVar[bool] = True
    evaluated: ClassVar[bool] = True
    follows_equations: ClassVar[bool] = True

    def describe(self) -> str:
        """The method and its options in words."""
        return f"explicit Runge-Kutta of order 5, {self._stepping()}"

    def take_step(self, run: PythonRun, h: float) -> Trial:
        """One step of size h [s] from the state of the run."""
        group, nq, nv = run.group, run.group.nq, run.group.nv
        k_q, k_v, k_work = np.empty((7, nq)), np.empty((7, nv)), np.zeros((7, 2))
        q, v = run.q, run.v
        for s in range(7):
            if s == 0:
                k_v[0], k_work[0] = run.a, run.power
            else:
                q, v = run.q + h * (A[s, :s] @ k_q[:s]), run.v + h * (A[s, :s] @ k_v[:s])
                run.check_finite(v)
                t = run.input_time(run.t + NODES[s] * h)
                k_v[s], multipliers = run.engine.forward(t, q, v)
                k_work[s] = run.power_at(t, q, v, multipliers)
            k_q[s] = group.rates(q, v)
        trial = Trial(q, v, work=run.work + h * (A[6] @ k_work))
        if not run.engine.m and not len(group.rotation_q):
            # nothing will be projected or normalized: the last stage is the new state
            trial.a, trial.multipliers, trial.power = k_v[6], np.zeros(0), k_work[6]
        scale = np.ones(nq)  # components of a quaternion are measured against its length
        scale[group.plain_q] = np.maximum(np.abs(run.q), np.abs(q))[group.plain_q]
        x = h * (ERROR @ k_q) / (run.atol + run.rtol * scale)
        y = h * (ERROR @ k_v) / (run.atol + run.rtol * np.maximum(np.abs(run.v), np.abs(v)))
        trial.error = float(np.sqrt(np.mean(np.concatenate([x, y]) ** 2)))
        return trial
