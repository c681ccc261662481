"""Quasi-static motion planning: a sequence of equilibria to a goal, within the bounds of the inputs and around obstacles.

Soft arms have many states and few inputs, and one equilibrium for given inputs. A plan for them is a curve of inputs (a cubic
B-spline, so that bounds on its coefficients bound the curve), found by sequential quadratic programming on the robot's exact
equilibria and their derivatives; it costs little more for a fine model than for a coarse one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.status import Status
from pliant.control.limits import Limits, actuator_limits
from pliant.control.static_model import StaticModel
from pliant.control.task import Coordinates, FramePosition, Several
from pliant.control.trajectory import Goal, Sphere, Trajectory, check_plan
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values


@dataclass(frozen=True)
class PlanNumbers:
    """Numbers of the optimization of slow motions."""

    degree: int = 3
    """Degree of the splines."""
    length: float = 0.1
    """Distances are scaled by this length [m]; it affects only the tolerance of the search."""
    approach: int = 12
    """Number of steps towards the goal for an initial guess."""
    size: float = 0.1
    """Weight of the inputs themselves relative to that of their changes along the path."""


NUMBERS = PlanNumbers()


@on_one_blas_thread
def plan_slow(
    eqs: Equations,
    duration: float,
    goal: Goal,
    *,
    start: Values | None = None,
    inputs: Sequence[str] | None = None,
    limits: Limits | None = None,
    obstacles: Sequence[Sphere] = (),
    knots: int = 6,
    stations: int = 16,
    intervals: int = 60,
    guess: Trajectory | None = None,
    parameters: Values | None = None,
    iterations: int = 60,
) -> Trajectory:
    """A path of equilibria to a goal in `duration` [s], with smooth ends and minimal change of the inputs.

    start: the inputs of the initial equilibrium (unnamed ones: those of the model). inputs: those to use, all but
    those of `loads` by default.
    knots: number of sets of inputs that define the path; stations: number of poses checked for obstacles; intervals: those
    of the trajectory. limits: of the inputs; default: those of the model. A dynamic robot stays close to it
    if it moves slowly; follow it with `Tracking`.
    """
    names = tuple(inputs) if inputs is not None else eqs.model.actuators
    check_plan(eqs, duration, goal, intervals, obstacles)
    if not goal.at_rest:
        raise ValueError("a slow plan ends at rest; use `plan` for a goal with nonzero speed")
    if knots < 2 or stations < knots:
        raise ValueError(f"a slow plan needs 2 knots or more, and as many stations; not {knots} and {stations}")
    held = actuator_limits(eqs, names, limits)
    search = _Search(eqs, goal, names, held, obstacles, (knots, stations), parameters)
    search.begin(start or {}, guess)
    coefficients, message, count = search.solve(iterations)
    trajectory = search.trajectory(coefficients, duration, intervals, message, count)
    if trajectory.status == "converged":
        _check_rates(trajectory, held)
    return trajectory


def _check_rates(trajectory: Trajectory, limits: Limits) -> None:
    """Reject a plan that exceeds the rate limit of an actuator; the path itself is independent of its duration."""
    for name, rate in limits.rate.items():
        used = np.abs(
            np.diff(trajectory.inputs[:, trajectory.input_names.index(name)]) / np.diff(trajectory.time)
        ).max()
        if used > (1 + 1e-6) * rate:
            raise ValueError(
                f"the plan changes the input '{name}' at {used:.4g} per second, above its rate of {rate:.4g}; "
                f"give it {trajectory.time[-1] * used / rate:.3g} s or more"
            )


class _Search:
    """The program: the unknowns are the coefficients of the B-spline after the first, k x m, in units of the scale of each
    input."""

    def __init__(
        self,
        eqs: Equations,
        goal: Goal,
        names: tuple[str, ...],
        limits: Limits,
        obstacles: Sequence[Sphere],
        size: tuple[int, int],
        parameters: Values | None,
    ) -> None:
        places = tuple(FramePosition(name) for name in goal.positions)
        angles = (Coordinates(tuple(goal.coordinates)),) if goal.coordinates else ()
        self.task = Several((*places, *angles, *goal.turns))
        values = [*goal.positions.values(), list(goal.coordinates.values()), np.zeros(sum(x.size for x in goal.turns))]
        self.target = np.concatenate([np.asarray(x, dtype=float) for x in values])
        self.model = StaticModel(eqs, self.task, names, limits, parameters)
        self.eqs, self.names, self.obstacles, self.parameters = eqs, names, obstacles, parameters
        self.knots, self.stations = size
        self.lower, self.upper = limits.bounds(names)
        inner = (
            np.linspace(0, 1, self.knots + 2 - NUMBERS.degree) if self.knots >= NUMBERS.degree else np.array([0.0, 1.0])
        )
        degree = min(NUMBERS.degree, self.knots)
        self.breaks, self.degree = np.concatenate([np.zeros(degree), inner, np.ones(degree)]), degree
        self.basis = self._basis(np.linspace(0, 1, self.stations + 1)[1:])
        self.known: tuple[bytes, Any] = (b"", None)

    def _basis(self, s: np.ndarray) -> np.ndarray:
        """Weights of the coefficients at positions s along the path, n x (knots + 1)."""
        return np.asarray(scipy.interpolate.BSpline.design_matrix(s, self.breaks, self.degree).toarray())

    def begin(self, start: Values, guess: Trajectory | None) -> None:
        """Initial poses: along a guess, or straight toward the goal."""
        model = self.model
        model.reset(start)
        self.u0, self.first = model.u, (model.q, model.multipliers, model.values)
        for name, u, low, high in zip(self.names, self.u0, self.lower, self.upper, strict=True):
            if not low <= u <= high:
                raise ValueError(
                    f"input '{name}' starts at {u:g}, outside its bounds {low:g} to {high:g}; change `start`"
                )
        if guess is not None:
            check_names("input of the guess", self.names, guess.input_names)
            columns = [guess.input_names.index(name) for name in self.names]
            path = np.array([guess.at(t)[2][columns] for t in np.linspace(0, guess.time[-1], NUMBERS.approach + 1)])
        else:
            here = self._task_value()
            path = np.zeros((NUMBERS.approach + 1, len(self.names)))
            for k, share in enumerate(np.linspace(0, 1, NUMBERS.approach + 1)):
                model.move(here + share * (self.target - here))
                path[k] = model.u
        ranges = self.upper - self.lower
        self.scale = np.where(np.isfinite(ranges) & (ranges > 0), ranges, np.abs(path).max(axis=0) + 1e-300)
        weights = self._basis(np.linspace(0, 1, NUMBERS.approach + 1))
        fitted = np.linalg.lstsq(weights[:, 1:], path - weights[:, :1] * self.u0, rcond=None)[0]
        self.guess = np.clip(fitted, self.lower, self.upper)
        self.poses = [self.first] * self.stations

    def _task_value(self) -> np.ndarray:
        model = self.model
        return self.task.motion(model.eqs, model.q, np.zeros(len(model.eqs.rates)), None, self.parameters).value

    def solve(self, iterations: int) -> tuple[np.ndarray, str, int]:
        """Coefficients (knots + 1) x m, the reason for a failure (empty if none), and the number of iterations."""
        m = len(self.names)
        # changes between stations, and with a small weight the inputs themselves
        rows = np.vstack([self._basis(np.zeros(1)), self.basis])
        changes = np.sqrt(self.stations) * np.diff(rows, axis=0)
        weigh = np.vstack([changes, np.sqrt(NUMBERS.size / self.stations) * rows])
        first = np.outer(weigh[:, 0], self.u0 / self.scale)

        def cost(w: np.ndarray) -> tuple[float, np.ndarray]:
            left = weigh[:, 1:] @ w.reshape(-1, m) + first
            return float(np.sum(left**2)), (2 * weigh[:, 1:].T @ left).ravel()

        goal = {"type": "eq", "fun": lambda w: self._walk(w)[0], "jac": lambda w: self._walk(w)[1]}
        clear = {"type": "ineq", "fun": lambda w: self._walk(w)[2], "jac": lambda w: self._walk(w)[3]}
        bounds = list(
            zip(np.tile(self.lower / self.scale, self.knots), np.tile(self.upper / self.scale, self.knots), strict=True)
        )
        minimum = scipy.optimize.minimize(
            cost, (self.guess / self.scale).ravel(), jac=True, method="SLSQP", bounds=bounds,
            constraints=[goal, clear] if self.obstacles else [goal], options={"maxiter": iterations, "ftol": 1e-6},
        )  # fmt: skip
        u = np.clip(minimum.x.reshape(-1, m) * self.scale, self.lower, self.upper)
        message = "" if minimum.success else str(minimum.message)
        return np.vstack([self.u0, u]), message, int(minimum.nit)

    def _walk(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Distance to the goal and clearance of the obstacles [size of the robot], with their derivatives."""
        if self.known[0] == w.tobytes():
            return self.known[1]
        model, m = self.model, len(self.names)
        path = self.basis @ np.vstack([self.u0, w.reshape(-1, m) * self.scale])
        gaps, slopes = [np.zeros(0)], [np.zeros((0, w.size))]
        for k, u in enumerate(path):
            model.q, model.multipliers, model.values = self.poses[k]
            model.settle(u)
            self.poses[k] = model.q, model.multipliers, model.values
            by_input, gain, _ = model.sensitivity()
            for sphere in self.obstacles:
                gap, slope = self._gaps(sphere, by_input)
                gaps.append(gap)
                slopes.append(np.einsum("fm,k->fkm", slope * self.scale, self.basis[k, 1:]).reshape(len(gap), -1))
        last = (self._task_value() - self.target) / NUMBERS.length
        by_last = np.einsum("fm,k->fkm", gain * self.scale, self.basis[-1, 1:]).reshape(len(last), -1) / NUMBERS.length
        self.known = (
            w.tobytes(),
            (last, by_last, np.concatenate(gaps) / NUMBERS.length, np.vstack(slopes) / NUMBERS.length),
        )
        return self.known[1]

    def _gaps(self, sphere: Sphere, by_input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances from the obstacle [m] of its frames in the current pose, and their derivatives with respect to the inputs."""
        model, least = self.model, sphere.distances
        frames = model.eqs.frames(model.q, names=tuple(least), parameters=self.parameters)
        gaps, slopes = np.zeros(len(least)), np.zeros((len(least), by_input.shape[1]))
        for i, name in enumerate(least):
            away = frames[name].position - np.asarray(sphere.center, dtype=float)
            distance = float(np.linalg.norm(away)) + 1e-12
            J = model.eqs.frame_jacobian(name, model.q, parameters=self.parameters)[:3]
            gaps[i], slopes[i] = distance - least[name], away / distance @ J @ by_input
        return gaps, slopes

    def trajectory(
        self, coefficients: np.ndarray, duration: float, intervals: int, message: str, count: int
    ) -> Trajectory:
        """The path over time: it starts and ends with zero rate and acceleration."""
        time = np.linspace(0.0, duration, intervals + 1)
        x = time / duration
        inputs = self._basis(10 * x**3 - 15 * x**4 + 6 * x**5) @ coefficients
        model = self.model
        model.q, model.multipliers, model.values = self.first
        q = np.array([self._settled(u) for u in inputs])
        curve = scipy.interpolate.CubicSpline(time, q, bc_type="clamped")
        v, a = curve(time, 1), curve(time, 2)
        cost = float(np.sum((np.diff(inputs, axis=0) / self.scale) ** 2) * intervals / duration)
        status = Status.FAILED if message else Status.CONVERGED
        advice = (
            f"the search ended with '{message}': allow more time, other bounds, more knots, or give a different `guess`"
        )
        return Trajectory(
            status, advice if message else "planned", time, q, v, a, inputs, self.names, cost, count
        )  # fmt: skip

    def _settled(self, u: np.ndarray) -> np.ndarray:
        self.model.settle(u)
        return self.model.q
