"""Quasi-static control of soft robots: equilibrium inputs for the reference of the task, with feedback of the error.

The model's equilibrium follows the reference: gravity and elasticity are compensated at the reference pose, damping and
inertia of the motion along it as loads, and errors are fed back through the derivative of the task with respect to the inputs at
equilibrium. `plan_slow` computes the inputs of a path in advance.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from pliant.analysis.motion.events import Now
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.status import Status
from pliant.control.limits import Limits, Shortfalls, actuator_limits, closest_inputs, named
from pliant.control.static_model import StaticModel
from pliant.control.task import Coordinates, FramePosition, Reference, Several, Task, TaskState, typical_size
from pliant.control.trajectory import Goal, Sphere, Trajectory, check_plan
from pliant.engine.binding import Binding
from pliant.engine.contact_sums import STEP, contact_sums, indexed_questions
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.language.arguments import ArgumentError, flag, number
from pliant.parts.assembly.contact_shapes import ContactLaw, ContactShape
from pliant.parts.contact import LawNumbers
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery


@dataclass
class StaticControl:
    """Controller that makes a task follow a path slowly: the inputs of the model's equilibrium there, plus feedback.

    Feedback `proportional` [-], `integral` [1/s] and `derivative` [s] of the task's error acts through the change of the
    task per input at equilibrium. If there are more inputs than the task needs, those nearest to the initial ones are used. A
    path that starts out of reach within the limits of the inputs is an error, unless `least_squares` is set. See
    `ConstraintControl` for fast motions. `seconds` is the computation time of each command [s].
    """

    equations: Equations
    task: Task
    path: Reference
    sample_time: float = 0.02
    proportional: float = 0.0
    integral: float = 2.0
    derivative: float = 0.0
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    least_squares: bool = False
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "static control"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for gain in ("proportional", "integral", "derivative"):
            setattr(self, gain, number(f"the {gain} gain of {named(self)}", getattr(self, gain)))
        flag("least_squares", self.least_squares)
        self._model = StaticModel(self.equations, self.task, self.inputs, self.limits, self.parameters)
        self._shortfalls = Shortfalls(self.equations, self._model.inputs, self._model.limits)
        self._path = self.path.checked(self.task.size, named(self))

    def start(self, now: Now) -> None:
        """Reset the internal state; the model starts from its own equilibrium."""
        self._model.reset(now.inputs)
        self._model.enter(self._path.value(now.t), nearest=self.least_squares, title=named(self))
        self._sum = np.zeros(self.task.size)
        self._last = self._model.u
        self._far, self._missed = 0.0, 0
        self._shortfalls.reset()
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The inputs at this sample."""
        begin = time.perf_counter()
        model, limits = self._model, self._model.limits
        ahead = now.t + 0.5 * self.sample_time
        wanted = self._path.value(ahead)
        missed = model.move(wanted, steps=2)
        motion = self.task.motion(now.equations, now.q, now.v, None, now.parameters)
        error, slip = self._path.value(now.t) - motion.value, self._path.rate(now.t) - motion.rate
        correction = self.proportional * error + self.integral * self._sum + self.derivative * slip
        _, gain, _ = model.sensitivity()
        correction = correction + model.lag(self._path.rate(ahead), self._path.acceleration(ahead))
        lower, upper = limits.within(model.inputs, self._last, self.sample_time)
        wish = gain @ model.u + correction
        w = model.weights
        closest = closest_inputs(w[:, None] * gain, w * wish, lower, upper, preferred=model.u, regularization=1e-10)
        short = self._shortfalls.add(now.t, closest.inputs, closest.binding, closest.cut)
        if missed > 1e-3 * max(1e-6, float(np.linalg.norm(w * wanted)), typical_size(self.task)):
            self._missed += 1
            self._far = max(self._far, missed)
        elif not short:
            self._sum = self._sum + self.sample_time * error
        self._last = closest.inputs
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(model.inputs, closest.inputs.tolist(), strict=True))

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        texts = self._shortfalls.remarks(named(self))
        if self._missed:
            at = ""
            if np.any(self._model.binding):
                at = f"; at the end {self._shortfalls.standing(self._model.u, self._model.binding)}"
            texts.append(
                f"{named(self)}: the path could not be reached within the inputs' limits at {self._missed} of "
                f"{self._shortfalls.samples} samples (by up to {self._far:.3g} m or rad{at})"
            )
        return texts


LEAST_SLOPE = 0.5
"""Fraction of the stiffness that a search uses if the contact is open or has just closed, so that it finds the surface."""
UNIT_FORCE = 1.0
"""Force at which a stiffness that depends on the depth is evaluated for a search [N]."""


def _law(eqs: Equations, contact: str) -> ContactLaw:
    return next(law for law in eqs.model.system.contacts.laws if law.name == contact)


def _check_contact(eqs: Equations, contact: str) -> None:
    check_names("contact", [contact], [law.name for law in eqs.model.system.contacts.laws])


@dataclass(frozen=True)
class ContactForce:
    """Total normal force of a contact [N].

    For `StaticControl` and `rest_with`: the model also contains the contact, and the search can start outside of it.
    Friction is not included.
    """

    contact: str
    at_rest_only = True

    @property
    def size(self) -> int:
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"force of {self.contact}",)

    def check(self, eqs: Equations) -> None:
        _check_contact(eqs, self.contact)

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        bound = eqs.at(parameters=parameters).binding
        force = self._force_and_gap(eqs, bound, q[None], v[None])[0, :1]
        return TaskState(force, self._derivatives(eqs, bound, q)[:1] @ v, None)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        return self._derivatives(eqs, eqs.at(parameters=parameters).binding, q)[:1]

    def searched(
        self, eqs: Equations, q: np.ndarray, parameters: Values | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, derivative (1 x nv) and weight (1) for a search at rest, extended outside of the surface as if it were adhesive.

        The weight converts a force to a depth, which is comparable with lengths.
        """
        bound = eqs.at(parameters=parameters).binding
        force, gap = self._force_and_gap(eqs, bound, q[None], np.zeros((1, bound.nv)))[0]
        if not np.isfinite(gap):
            raise ArgumentError(f"the distance between the parts of the contact '{self.contact}' is unknown")
        by_force, by_gap = self._derivatives(eqs, bound, q)
        stiffness = self._stiffness(eqs, bound)
        slope = -float(by_force @ by_gap) / max(float(by_gap @ by_gap), 1e-300)
        if slope < LEAST_SLOPE * stiffness:
            by_force = by_force - (LEAST_SLOPE * stiffness - slope) * by_gap
        value = force - stiffness * max(gap, 0.0)
        return np.array([value]), by_force[None], np.array([1 / stiffness])

    def _stiffness(self, eqs: Equations, bound: Binding) -> float:
        """Force per depth [N/m], at a force of one newton if it is not constant."""
        at = _law(eqs, self.contact).constants
        k, p = (float(bound.constants[at + LawNumbers.place(x)]) for x in ("stiffness", "exponent"))
        return p * k * (UNIT_FORCE / k) ** ((p - 1) / p)

    def _force_and_gap(self, eqs: Equations, bound: Binding, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Sum of the normal forces [N] and smallest gap [m] in states, n x 2."""
        asked = indexed_questions(eqs.model.system.contacts, [ContactQuery(self.contact, (), True)])
        found = contact_sums(bound.with_contacts(None), asked, np.zeros(len(q)), q, v)[:, 0]
        return found[:, [CONTACT_SUMS["normal_force"][0], CONTACT_SUMS["gap"][0]]]

    def _derivatives(self, eqs: Equations, bound: Binding, q: np.ndarray) -> np.ndarray:
        """Derivatives of force and gap at rest with respect to increments of the robot, 2 x nv, by central differences."""
        n = bound.nv
        steps = STEP * np.eye(n)
        moved = np.array([bound.increment(q, x) for x in (*steps, *-steps)])
        found = self._force_and_gap(eqs, bound, moved, np.zeros((2 * n, n)))
        return np.asarray((found[:n] - found[n:]).T / (2 * STEP))


@dataclass(frozen=True)
class PlanePosition:
    """Position of a frame's origin along a plane: two components [m] relative to the plane's origin, in its axes.

    contact: a contact with a plane. The first axis is the x axis of the plane's `parent` (y if the normal is close to x) along the
    plane, the second completes a right-handed system with the normal; both move with the plane.
    """

    frame: str
    contact: str

    @property
    def size(self) -> int:
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"place {k} of {self.frame} on {self.contact}" for k in (1, 2))

    def check(self, eqs: Equations) -> None:
        check_names("frame", [self.frame], eqs.frame_names)
        _check_contact(eqs, self.contact)
        planes = self._planes(eqs)
        if len(planes) != 1:
            has = f"planes {', '.join(x.name for x in planes)}" if planes else "no plane"
            raise ArgumentError(
                f"the contact '{self.contact}' has {has}, but positions along a surface need exactly one plane",
                "use a contact with one plane, or components of a frame's position",
            )

    def _planes(self, eqs: Equations) -> list[ContactShape]:
        law, shapes = _law(eqs, self.contact), eqs.model.system.contacts.shapes
        return [shapes[k] for k in sorted(law.first | law.second) if shapes[k].form == "plane"]

    def _place(self, eqs: Equations, bound: Binding) -> tuple[int, np.ndarray, np.ndarray]:
        """Node of the plane, its origin and its two axes (2 x 3) there."""
        (plane,) = self._planes(eqs)
        (corner,) = plane.vertices
        origin, normal = (np.array(bound.constants[at : at + 3]) for at in (corner.constants, plane.constants))
        normal = normal / np.linalg.norm(normal)
        first = np.eye(3)[0 if abs(normal[0]) < 0.9 else 1]
        first = first - normal * (normal @ first)
        first /= np.linalg.norm(first)
        return corner.node, origin, np.array([first, np.cross(normal, first)])

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        bound = eqs.at(parameters=parameters).binding
        base, origin, axes = self._place(eqs, bound)
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        assert frame.velocity is not None, "rates are given"
        R, p = (x[base] for x in bound.node_poses(q))
        twist = bound.node_twists(q, v)[base]
        E, away = axes @ R.T, frame.position - p - R @ origin
        rate = E @ (frame.velocity - twist[:3] - np.cross(twist[3:], frame.position))
        acceleration = None
        if a is not None:
            assert frame.acceleration is not None
            moving = bound.node_accelerations(0.0, q, v, a)[base]
            w, at, relative = (
                twist[3:],
                frame.position,
                frame.velocity - twist[:3] - np.cross(twist[3:], frame.position),
            )
            # of the plane's point there, and the Coriolis term
            drag = moving[:3] + np.cross(moving[3:], at) + np.cross(w, twist[:3] + np.cross(w, at))
            acceleration = E @ (frame.acceleration - drag - 2 * np.cross(w, relative))
        return TaskState(E @ away, rate, acceleration)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        bound = eqs.at(parameters=parameters).binding
        base, _, axes = self._place(eqs, bound)
        at = eqs.frame(self.frame, q, parameters=parameters).position
        own: Any = bound.node_jacobian(q, base)
        plane = own[:3] + np.cross(own[3:].T, at).T
        R = bound.node_poses(q)[0][base]
        return np.asarray(axes @ R.T @ (eqs.frame_jacobian(self.frame, q, parameters=parameters)[:3] - plane))


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
    eqs: Equations, duration: float, goal: Goal, *, start: Values | None = None, inputs: Sequence[str] | None = None,
    limits: Limits | None = None, obstacles: Sequence[Sphere] = (), knots: int = 6, stations: int = 16,
    intervals: int = 60, guess: Trajectory | None = None, parameters: Values | None = None, iterations: int = 60,
) -> Trajectory:  # fmt: skip
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
        self, eqs: Equations, goal: Goal, names: tuple[str, ...], limits: Limits, obstacles: Sequence[Sphere],
        size: tuple[int, int], parameters: Values | None,
    ) -> None:  # fmt: skip
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
