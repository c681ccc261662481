"""Linearly implicit method of Rosenbrock type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.solve.integrator.base import Adaptive, Trial, error_norm
from pliant.solve.integrator.saddle import handy, saddle_point

if TYPE_CHECKING:
    from pliant.solve.integrator.driver import PythonRun

STAGES = 6
GAMMA = 0.25
A = np.zeros((6, 6))
A[1, :1] = [3]
A[2, :2] = [1.831036793486759, 0.4955183967433795]
A[3, :3] = [2.304376582692669, -0.05249275245743001, -1.176798761832782]
A[4, :4] = [-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401]
A[5, :5] = [*A[4, :4], 1]
G = np.zeros((6, 6))
G[1, :1] = [-12]
G[2, :2] = [-8.791795173947035, -2.207865586973518]
G[3, :3] = [10.81793056857153, 6.780270611428266, 19.5348594464241]
G[4, :4] = [34.19095006749676, 15.49671153725963, 54.7476087596413, 14.16005392148534]
G[5, :5] = [34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095, -5.714285714285717]
NODES = (0, 0.75, 0.21, 0.63, 1, 1)
TIME_WEIGHTS = (0.25, -0.5, -0.023504, -0.0362, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Rosenbrock(Adaptive):
    """For stiff motions, with or without constraints: stiff springs, strong dampers, slender rods.

    Order 4 with an embedded order 3 for the error, L-stable and stiffly accurate: what decays fast or is very stiff
    does not limit the step. One factorization and six evaluations per step, no iterations. The equations are taken as
    they stand, accelerations and multipliers being algebraic unknowns, and configurations as increments of the step's
    start, so rotations need nothing special. Each new state is projected on the constraints.

    Reference: Steinebach, Order-reduction of ROW-methods for DAEs and method of lines applications, TH Darmstadt
    (1995), method RODASP; Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.7 and VI.4.
    """

    name: ClassVar[str] = "implicit"
    code: ClassVar[int] = 1
    order: ClassVar[int] = 4
    error_exponent: ClassVar[int] = 4
    projected: ClassVar[bool] = True
    evaluated: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def describe(self) -> str:
        """The method and its options in words."""
        return f"implicit Rosenbrock method of order 4, {self._stepping()}"

    def take_step(self, run: PythonRun, h: float) -> Trial:
        """One step of size h [s] from the state of the run.

        Unknowns of a stage are changes of (increment x, rate v, acceleration z, multipliers y) in
        dx/dt = B(x) v, dv/dt = z, 0 = r(t, q, v, z, y), 0 = c(t, q, v, z) = J z + gamma, all but the first
        eliminated.
        """
        engine, group, nv = run.engine, run.group, run.group.nv
        s = 1 / (GAMMA * h)
        at = engine.linearized(run.input_time(run.t), run.q, run.v, run.a, run.multipliers)
        c_q, c_v = engine.acceleration_tangent() if engine.m else (np.zeros((0, nv)), np.zeros((0, nv)))
        f, g = _time_derivatives(run, h)
        M, C, K, J = (handy(matrix) for matrix in (at.mass, at.damping, at.stiffness, at.jacobian))
        turn = group.bracket_matrix(run.v, s)
        damped, lower = s * M + C, s * at.jacobian.toarray() + c_v
        solve = saddle_point(damped @ turn + K, J, engine.row_active, lower @ turn + c_q)
        k_x, k_v, k_z = (np.empty((STAGES, nv)) for _ in range(3))
        k_y = np.empty((STAGES, engine.m))
        for i in range(STAGES):
            x, v = A[i, :i] @ k_x[:i], run.v + A[i, :i] @ k_v[:i]
            z, y = run.a + A[i, :i] @ k_z[:i], run.multipliers + A[i, :i] @ k_y[:i]
            run.check_finite(v)
            r, c = _residuals(run, run.input_time(run.t + NODES[i] * h), group.increment(run.q, x), v, z, y)
            b_x = group.increment_rate(x, v) + G[i, :i] @ k_x[:i] / h
            b_z = z + G[i, :i] @ k_v[:i] / h
            w = h * TIME_WEIGHTS[i]
            rows = -r + M @ b_z + damped @ b_x + w * f, -c + J @ b_z + lower @ b_x + w * g
            found = solve(np.concatenate(rows))
            k_x[i], k_y[i] = found[:nv], found[nv:]
            k_v[i] = turn @ k_x[i] - b_x
            k_z[i] = s * k_v[i] - b_z
        # the last stage's own contribution is the error of the embedded method
        x, v, z, y = x + k_x[-1], v + k_v[-1], z + k_z[-1], y + k_y[-1]
        q = group.increment(run.q, x)
        return Trial(q, v, error_norm(run, q, v, k_x[-1], k_v[-1]), a=z, multipliers=y)


def _residuals(
    run: PythonRun, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the equations [nv] and of the constraints' accelerations [m]."""
    r = run.engine.inverse(t, q, v, z)
    if not run.engine.m:
        return r, np.zeros(0)
    _, _, gamma, J = run.engine.constraints(t, q, v)
    return r - J.T @ y, J @ z + gamma


def _time_derivatives(run: PythonRun, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Minus the explicit time derivatives of both residuals; those of the constraints are third derivatives of their
    signals and come from a difference."""
    engine = run.engine
    f, g = np.zeros(engine.nv), np.zeros(engine.m)
    if engine.system.signal_count:
        now = run.input_time(run.t)
        rates, accelerations = engine.signal_rates(now)
        f = -engine.input_tangent(now, run.q, run.v) @ rates - engine.rate_tangent(now, run.q, run.v)
        rows = run.driven_rows
        if len(rows):
            later = run.input_time(run.t + 1e-5 * h)
            change = engine.signal_rates(later)[1] - accelerations
            g[rows] = change[run.row_signals[rows]] / (later - now)
    return f, g
