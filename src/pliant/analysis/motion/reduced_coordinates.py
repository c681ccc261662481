"""Explicit reduction of closed loops to independent coordinates, with the branch of each loop tracked.

The independent rates y' are integrated; the loops are solved for the other coordinates by Newton's method from the
last solution, so the chosen branch is kept. With v = G y' the equation of motion is
`G' M G y'' + G' (h + M dG/dt y') = 0`.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.integrators import Method
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.result import Result, RunRecord, RunStart, result_of, timing_of
from pliant.analysis.numerics.independent_coordinates import PartitionError, partition
from pliant.analysis.numerics.result import INTERRUPTED, KEPT
from pliant.analysis.numerics.state import AssembledState
from pliant.analysis.numerics.status import Status
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
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
    eqs: Equations,
    made: AssembledState,
    begin: float,
    end: float,
    times: np.ndarray,
    independent: tuple[str, ...] | None,
    method: Method,
    progress: Any,
) -> Result:
    """Simulate in independent coordinates by an explicit method of order 8."""
    bound = made.bound
    chosen = _independent_rates(eqs, made, begin, independent)
    run = _ReducedRun(_Reduction(bound, made.q, chosen, eqs.rates), begin, end, times, progress)
    start = clock.perf_counter()
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
    timing = timing_of(eqs, bound, clock.perf_counter() - start, run.steps, 0, run.reduction.evaluations)
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
