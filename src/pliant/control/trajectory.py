"""Trajectory optimization: motions to a goal within the bounds of the inputs and around obstacles.

Direct collocation (Hermite-Simpson, order 4) on `M a + h = 0` itself: positions, rates, accelerations and inputs on a grid
and at the middles of its intervals are the unknowns of one sparse nonlinear program, solved by IPOPT.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.state import Start
from pliant.analysis.numerics.status import Status
from pliant.analysis.states import state_at
from pliant.control.limits import Limits, actuator_limits
from pliant.control.task import FrameDirection, FrameOrientation, rotation_matrix
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.state import State
from pliant.language.arguments import flag, listed, mapping, name_tuple, number, of_type, pair, vector, whole


@dataclass(frozen=True)
class Goal:
    """Goal of a motion: coordinates by name [rad or m], positions of frames [m], and whether it ends at rest.

    orientations: of frames in the world, as for `FrameOrientation` (quaternions, matrices, sequences of rotations).
    directions: of the z axes of frames in the world, three numbers of any length.
    """

    coordinates: Mapping[str, float] = field(default_factory=dict)
    positions: Mapping[str, Sequence[float]] = field(default_factory=dict)
    at_rest: bool = True
    orientations: Mapping[str, Any] = field(default_factory=dict)
    directions: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("coordinates", "positions", "orientations", "directions"):
            object.__setattr__(self, what, mapping(f"Goal: {what}", getattr(self, what)))
        for name, value in self.coordinates.items():
            number(f"Goal: {name}", value)
        for name, place in self.positions.items():
            vector(f"Goal: place of {name}", place, 3)
        for name, turned in self.orientations.items():
            rotation_matrix(f"Goal: orientation of {name}", turned)
        for name, direction in self.directions.items():
            FrameDirection(name, direction)
        flag("Goal: at_rest", self.at_rest)

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames of the goal."""
        return tuple(dict.fromkeys((*self.positions, *self.orientations, *self.directions)))

    @property
    def turns(self) -> tuple[FrameOrientation | FrameDirection, ...]:
        """Its orientations and directions as tasks, which are zero at the goal."""
        turned = (FrameOrientation(name, value) for name, value in self.orientations.items())
        return (*turned, *(FrameDirection(name, value) for name, value in self.directions.items()))


@dataclass(frozen=True)
class Sphere:
    """A spherical obstacle of `radius` [m] at `center` [m] in the world for the origins of `frames`.

    frames: names, or names with the radius [m] of the robot around each, which is added to that of the obstacle.
    """

    center: Sequence[float]
    radius: float
    frames: tuple[str, ...] | Mapping[str, float]

    def __post_init__(self) -> None:
        vector("Sphere: center", self.center, 3)
        number("Sphere: radius", self.radius, at_least=0)
        name_tuple(tuple(self.frames) if isinstance(self.frames, Mapping) else self.frames, "Sphere: frames")
        for name, around in self.frames.items() if isinstance(self.frames, Mapping) else ():
            number(f"Sphere: radius around {name}", around, at_least=0)

    @property
    def distances(self) -> dict[str, float]:
        """Smallest allowed distance [m] of each frame's origin from the centre."""
        around = self.frames if isinstance(self.frames, Mapping) else dict.fromkeys(self.frames, 0.0)
        return {name: float(self.radius + x) for name, x in around.items()}

    def clearance(self, eqs: Equations, q: np.ndarray, *, parameters: Values | None = None) -> float:
        """Clearance between the obstacle and the nearest frame (including its radius) in a pose [m]."""
        least, center = self.distances, np.asarray(self.center, dtype=float)
        frames = eqs.frames(q, names=tuple(least), parameters=parameters)
        return min(float(np.linalg.norm(frames[x].position - center)) - least[x] for x in least)


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A planned motion on a grid: times n [s], q n x nq, v and a n x nv, inputs n x m by the order of `input_names`.

    Inputs are linear between the times. `status` is converged or failed, `message` then suggests a fix.
    """

    status: Status
    message: str
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    inputs: np.ndarray
    input_names: tuple[str, ...]
    cost: float
    iterations: int

    def __repr__(self) -> str:
        span = f"{len(self.time)} times from {self.time[0]:g} to {self.time[-1]:g} s"
        return f"Trajectory ({self.status}): {span}, inputs {', '.join(self.input_names)}; cost {self.cost:.6g}"

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and inputs at a time; constant before and after the ends."""
        t = float(np.clip(t, self.time[0], self.time[-1]))
        u = np.array([np.interp(t, self.time, column) for column in self.inputs.T])
        q = scipy.interpolate.CubicHermiteSpline(self.time, self.q, self.v)(t)
        v = scipy.interpolate.CubicHermiteSpline(self.time, self.v, self.a)(t)
        return np.asarray(q), np.asarray(v), u

    @property
    def final(self) -> State:
        """The final state."""
        return State(self.q[-1], self.v[-1], float(self.time[-1]))


@on_one_blas_thread
def plan(
    eqs: Equations, duration: float | tuple[float, float], goal: Goal, *, start: Start = "initial",
    intervals: int = 30, limits: Limits | None = None, effort: Mapping[str, float] | float = 1.0,
    time_weight: float = 0.0, obstacles: Sequence[Sphere] = (), guess: Trajectory | None = None,
    parameters: Values | None = None, iterations: int = 500,
) -> Trajectory:  # fmt: skip
    """The motion of least effort (integral of weight * input^2, plus `time_weight` * duration) to a goal.

    start: the initial state, as for `simulate`. duration: [s], or its minimum and maximum.
    effort: weight of each input by name, or one for all, per square of its unit.
    limits: of the inputs; by default those of the model. Inputs of `loads` keep the model's values.
    """
    check_plan(eqs, duration, goal, intervals, obstacles, guess)
    iterations, time_weight = whole("iterations", iterations, least=1), number("time_weight", time_weight)
    q0, v0 = state_at(eqs.at(parameters=parameters), start, 0.0, where="start")
    problem = _Problem(eqs, intervals, parameters)
    problem.dynamics(duration)
    problem.ends(q0, v0, goal)
    problem.bounds(actuator_limits(eqs, eqs.inputs, limits))
    for sphere in obstacles:
        problem.avoid(sphere)
    problem.objective(effort, time_weight)
    return problem.solve(q0, v0, goal, duration, guess, iterations)


def check_plan(
    eqs: Equations, duration: float | tuple[float, float], goal: Goal, intervals: int, obstacles: Sequence[Sphere],
    guess: Trajectory | None = None,
) -> None:  # fmt: skip
    """Reject robots with closed loops, and invalid goals and durations [s]."""
    need_equations(eqs)
    of_type("goal", goal, Goal, "write pliant.control.Goal(coordinates={...})")
    for sphere in listed(obstacles):
        of_type("an obstacle", sphere, Sphere, "write obstacles=[pliant.control.Sphere(...)]")
    if guess is not None:
        of_type("guess", guess, Trajectory, "give the result of an earlier plan")
    if eqs.model.system.rows or eqs.model.system.quaternions():
        raise ValueError("plans are for robots without closed loops and free rotations; this one has some")
    if not eqs.inputs:
        raise ValueError("the robot has no input to plan; mark parameters as inputs in the model")
    whole("intervals", intervals, least=2, most=1_000_000)
    low, high = pair(
        "duration", duration if isinstance(duration, tuple) else (duration, duration), example="duration=2.0"
    )
    if not (0 < low <= high < np.inf):
        raise ValueError(f"the duration must be above zero and finite; it is {low:g} to {high:g} s")
    check_names("coordinate", goal.coordinates, eqs.coordinates)
    check_names("frame", (*goal.frames, *(name for sphere in obstacles for name in sphere.frames)), eqs.frame_names)


class _Problem:
    """The nonlinear program, assembled step by step. Column 2k of the unknowns is grid point k, odd columns are midpoints."""

    def __init__(self, eqs: Equations, intervals: int, parameters: Values | None) -> None:
        self.eqs, self.n = eqs, intervals
        self.parameters = eqs.model.parameter_vector(parameters)
        size, points = len(eqs.rates), 2 * intervals + 1
        self.q, self.v, self.a = (ca.MX.sym(name, size, points) for name in "qva")
        # inputs are linear between grid points
        self.u_grid = ca.MX.sym("u", len(eqs.inputs), intervals + 1)
        self.T = ca.MX.sym("T")
        middles = 0.5 * (self.u_grid[:, :-1] + self.u_grid[:, 1:])
        columns = [self.u_grid[:, 0]]
        for k in range(intervals):
            columns += [middles[:, k], self.u_grid[:, k + 1]]
        self.u = ca.horzcat(*columns)
        self.constraints: list[tuple[Any, float, float]] = []
        self.lower: dict[str, np.ndarray] = {}
        self.upper: dict[str, np.ndarray] = {}

    def dynamics(self, duration: float | tuple[float, float]) -> None:
        low, high = duration if isinstance(duration, tuple) else (duration, duration)
        self.lower["T"], self.upper["T"] = np.array([low]), np.array([high])
        residual = self.eqs.casadi("inverse_dynamics")
        points = 2 * self.n + 1
        times = ca.horzcat(*[self.T * i / (points - 1) for i in range(points)])
        p = ca.repmat(ca.DM(self.parameters), 1, points)
        self._equal(residual.map(points)(times, self.q, self.v, self.a, self.u, p))
        h = self.T / self.n
        for x, rate in ((self.q, self.v), (self.v, self.a)):
            begin, middle, end = slice(0, -2, 2), slice(1, None, 2), slice(2, None, 2)
            r0, r1, r2 = rate[:, begin], rate[:, middle], rate[:, end]
            self._equal(x[:, end] - x[:, begin] - h / 6 * (r0 + 4 * r1 + r2))
            self._equal(x[:, middle] - 0.5 * (x[:, begin] + x[:, end]) - h / 8 * (r0 - r2))

    def ends(self, q0: np.ndarray, v0: np.ndarray, goal: Goal) -> None:
        self._equal(self.q[:, 0] - q0)
        self._equal(self.v[:, 0] - v0)
        for name, value in goal.coordinates.items():
            self._equal(self.q[self.eqs.coordinates.index(name), -1] - float(value))
        for name, place in goal.positions.items():
            self._equal(self._position(name)(self.q[:, -1], self.parameters)[1] - np.asarray(place, dtype=float))
        for task in goal.turns:
            self._equal(task.symbolic(self._position(task.frame)(self.q[:, -1], self.parameters)[0]))
        if goal.at_rest:
            self._equal(self.v[:, -1])

    def bounds(self, limits: Limits) -> None:
        lower, upper = limits.bounds(self.eqs.inputs)
        for index, name in enumerate(self.eqs.inputs):
            if name not in self.eqs.model.actuators:  # loads are not actuators
                lower[index] = upper[index] = self.eqs.input_vector()[index]
        self.lower["u"], self.upper["u"] = (np.tile(x, self.n + 1) for x in (lower, upper))
        for name, rate in limits.rate.items():
            row = self.u_grid[self.eqs.inputs.index(name), :]
            change = (row[:, 1:] - row[:, :-1]) / (self.T / self.n)
            self.constraints.append((ca.vec(change), -float(rate), float(rate)))

    def avoid(self, sphere: Sphere) -> None:
        for name, least in sphere.distances.items():
            where = self._position(name).map(2 * self.n + 1)
            p = ca.repmat(ca.DM(self.parameters), 1, 2 * self.n + 1)
            gap = where(self.q, p)[1] - np.asarray(sphere.center, dtype=float)
            self.constraints.append((ca.vec(ca.sum1(gap**2)) / least**2, 1.0, np.inf))

    def objective(self, effort: Mapping[str, float] | float, time_weight: float) -> None:
        names = self.eqs.inputs
        if isinstance(effort, Mapping):
            check_names("input", effort, names)
            weights = np.array([number(f"effort of '{name}'", effort.get(name, 0.0)) for name in names])
        else:
            weights = np.full(len(names), number("effort", effort))
        simpson = np.ones(2 * self.n + 1)
        simpson[1::2], simpson[2:-1:2] = 4, 2
        power = ca.sum1(ca.DM(weights) * self.u**2)
        self.cost = self.T / (6 * self.n) * ca.mtimes(power, ca.DM(simpson)) + time_weight * self.T

    def solve(
        self, q0: np.ndarray, v0: np.ndarray, goal: Goal, duration: Any, guess: Trajectory | None, iterations: int
    ) -> Trajectory:
        parts = {"q": self.q, "v": self.v, "a": self.a, "u": self.u_grid, "T": self.T}
        x = ca.vertcat(*[ca.vec(part) for part in parts.values()])
        g = ca.vertcat(*[c for c, _, _ in self.constraints])
        low = np.concatenate([np.full(c.numel(), b) for c, b, _ in self.constraints])
        high = np.concatenate([np.full(c.numel(), b) for c, _, b in self.constraints])
        first = self._first(q0, v0, goal, duration, guess)
        lower = np.concatenate([self.lower.get(k, np.full(part.numel(), -np.inf)) for k, part in parts.items()])
        upper = np.concatenate([self.upper.get(k, np.full(part.numel(), np.inf)) for k, part in parts.items()])
        options: Any = {
            "print_time": False,
            "ipopt": {"print_level": 0, "sb": "yes", "max_iter": iterations, "tol": 1e-8},
        }
        program: Any = {"x": x, "f": self.cost, "g": g}
        solver = ca.nlpsol("plan", "ipopt", program, options)
        solution = solver(x0=first, lbx=lower, ubx=upper, lbg=low, ubg=high)
        q, v, a, u, T = ca.Function("parts", [x], list(parts.values()))(solution["x"])
        stats = solver.stats()
        status = Status.CONVERGED if stats["success"] else Status.FAILED
        message = "planned" if stats["success"] else _advice(stats["return_status"])
        every = slice(None, None, 2)
        time = np.linspace(0.0, float(T), self.n + 1)
        qs, vs, accelerations = (np.asarray(m).T[every] for m in (q, v, a))
        return Trajectory(
            status, message, time, qs, vs, accelerations, np.asarray(u).T, self.eqs.inputs, float(solution["f"]),
            int(stats["iter_count"]),
        )  # fmt: skip

    def _first(self, q0: np.ndarray, v0: np.ndarray, goal: Goal, duration: Any, guess: Trajectory | None) -> np.ndarray:
        points = 2 * self.n + 1
        low, high = duration if isinstance(duration, tuple) else (duration, duration)
        if guess is not None:
            times = np.linspace(0, guess.time[-1], points)
            states = [guess.at(t) for t in times]
            q, v = (np.array([s[i] for s in states]).T for i in (0, 1))
            a = np.gradient(v, times, axis=1)
            u = np.array([s[2] for s in states]).T[:, ::2]
            return np.concatenate([*(x.ravel(order="F") for x in (q, v, a, u)), [guess.time[-1]]])
        target = q0.copy()
        for name, value in goal.coordinates.items():
            target[self.eqs.coordinates.index(name)] = value
        share = np.linspace(0, 1, points)
        q = q0[:, None] + (target - q0)[:, None] * share
        T = 0.5 * (low + high)
        v = np.repeat((target - q0)[:, None] / T, points, axis=1)
        u = np.repeat(self.eqs.input_vector()[:, None], self.n + 1, axis=1)
        u = np.clip(u, *(self.lower["u"].reshape(-1, u.shape[0]).T, self.upper["u"].reshape(-1, u.shape[0]).T))
        return np.concatenate([*(x.ravel(order="F") for x in (q, v, np.zeros_like(v), u)), [T]])

    def _position(self, frame: str) -> ca.Function:
        return self.eqs.casadi(f"frame:{frame}")

    def _equal(self, expression: Any) -> None:
        self.constraints.append((ca.vec(expression), 0.0, 0.0))


def _advice(status: str) -> str:
    reasons = {
        "Infeasible_Problem_Detected": "no motion within these bounds reaches the goal: allow more time, stronger inputs or "
        "fewer obstacles, or give a `guess` on another way around",
        "Maximum_Iterations_Exceeded": "the search ran out of iterations: allow more, or start with a coarser plan as `guess`",
    }
    return reasons.get(status, f"the search ended with {status}: try another `guess`, duration or number of intervals")
