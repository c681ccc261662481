"""Slow control of soft robots: inputs that hold the task where it should be, with feedback of what the model misses.

The model's own equilibrium is carried along the path: gravity and elasticity are compensated at the wanted pose, damping and
inertia of the motion along the path as loads on it, and errors are fed back through the change of the task with the inputs at rest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from pliant.control.limits import Limits, allocate
from pliant.control.task import Path, Task
from pliant.equations.equations import Equations, UnknownName, Values
from pliant.solve.equilibrium import equilibrium
from pliant.solve.watch import Now

# Inputs that cannot be followed in stages of this share of their change have no equilibrium nearby.
SHORTEST_STAGE = 1 / 64


class StaticModel:
    """An equilibrium of a model that is moved by its inputs so that a task takes given values."""

    def __init__(
        self,
        eqs: Equations,
        task: Task,
        inputs: tuple[str, ...] | None,
        limits: Limits | None,
        parameters: Values | None,
    ) -> None:
        task.check(eqs)
        self.eqs, self.task, self.parameters = eqs.twin(), task, parameters
        self.inputs = inputs or eqs.inputs
        for name in self.inputs:
            if name not in eqs.inputs:
                raise UnknownName("input", name, eqs.inputs)
        self.limits = limits or Limits()
        self.limits.bounds(self.inputs)

    def reset(self, inputs: Values) -> None:
        """Begin from the equilibrium with these inputs (the model's own where unnamed)."""
        values = dict(zip(self.eqs.inputs, self.eqs.input_vector(), strict=True)) | dict(inputs)
        self.values = {name: float(values[name]) for name in self.eqs.inputs}
        rest = equilibrium(self.eqs, inputs=self.values, parameters=self.parameters)
        if rest.status != "converged":
            raise ValueError(f"the model has no equilibrium to begin from: {rest.message}")
        self.q, self.multipliers = rest.q, rest.multipliers

    @property
    def u(self) -> np.ndarray:
        """The inputs in use (m)."""
        return np.array([self.values[name] for name in self.inputs])

    def sensitivity(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Change of the pose per input at rest (nv x m), of the task (k x m), and what the pose lacks to equilibrium (nv)."""
        engine = self.eqs.bind(self.values, self.parameters)
        zero = np.zeros(engine.nv)
        linear = engine.linearized(0.0, self.q, zero, zero, self.multipliers)
        on = engine.row_active.astype(bool)
        J = linear.jacobian.toarray()[on]
        n, m = engine.nv, len(J)
        kkt = np.block([[linear.stiffness.toarray(), -J.T], [J, np.zeros((m, m))]])
        columns = [self.eqs.inputs.index(name) for name in self.inputs]
        force = -self.eqs.input_derivative(self.q, zero, inputs=self.values, parameters=self.parameters)[:, columns]
        right = np.column_stack(
            [np.vstack([force, np.zeros((m, len(columns)))]), -np.concatenate([linear.residual, linear.phi[on]])]
        )
        solved = np.linalg.solve(kkt, right)
        T = self.task.jacobian(self.eqs, self.q, self.parameters)
        by_input, lack = solved[:n, :-1], solved[:n, -1]
        self._multiplier_change = solved[n:], on
        self._moving = kkt, linear.damping, linear.mass, T, by_input
        return by_input, T @ by_input, lack

    def lag(self, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """How far the task (k) stays behind its place at rest when it moves with this rate and acceleration (k each).

        Damping and inertia of that motion bend the pose as loads do; at the pose of the last `sensitivity`.
        """
        kkt, damping, mass, T, by_input = self._moving
        motion = by_input @ np.linalg.lstsq(T @ by_input, np.column_stack([rate, acceleration]), rcond=None)[0]
        load = damping @ motion[:, 0] + mass @ motion[:, 1]
        return np.asarray(T @ np.linalg.solve(kkt, np.concatenate([load, np.zeros(len(kkt) - len(load))]))[: len(load)])

    def settle(self, u: np.ndarray) -> None:
        """The equilibrium with the inputs u (m), reached from the present one in as many stages as it takes."""
        first, done, stage = self.u, 0.0, 1.0
        while done < 1.0:
            before = self.q, self.multipliers, dict(self.values)
            share = min(1.0, done + stage)
            if self._newton(first + share * (u - first)):
                done, stage = share, 2 * stage
                continue
            self.q, self.multipliers, self.values = before
            stage /= 2
            if stage < SHORTEST_STAGE:
                raise ValueError(
                    f"no equilibrium was found on the way to the inputs {dict(zip(self.inputs, u.tolist(), strict=True))}; "
                    "bound the inputs more closely"
                )

    def _newton(self, u: np.ndarray) -> bool:
        """Newton's steps to the equilibrium with the inputs u; whether they got there."""
        for _ in range(12):
            du = u - self.u
            by_input, _, lack = self.sensitivity()
            change = by_input @ du + lack
            if not np.all(np.isfinite(change)):
                return False
            self._step(du, change)
            # the error left is of the order of this step's square
            if np.linalg.norm(change) < 1e-7 * (1 + np.linalg.norm(self.q)):
                return True
        return False

    def _step(self, du: np.ndarray, change: np.ndarray) -> None:
        """Change inputs and pose, and the multipliers with them."""
        self.q = self.eqs.engine.increment(self.q, change)
        by, on = self._multiplier_change
        if by.size:
            self.multipliers = self.multipliers.copy()
            self.multipliers[on] += by[:, :-1] @ du + by[:, -1]
        self.values = self.values | dict(zip(self.inputs, (self.u + du).tolist(), strict=True))

    def move(self, target: np.ndarray, *, steps: int = 20, tolerance: float = 1e-9) -> float:
        """Newton's steps towards the equilibrium whose task is nearest to `target`; returns what is missed [m or rad]."""
        lower, upper = self.limits.bounds(self.inputs)
        missed = np.inf
        for _ in range(steps):
            by_input, gain, lack = self.sensitivity()
            zero = np.zeros(len(self.eqs.rates))
            here = self.task.motion(self.eqs, self.q, zero, None, self.parameters).value
            T_lack = self.task.jacobian(self.eqs, self.q, self.parameters) @ lack
            u = self.u
            # the least inputs that reach the target; a little cost on them chooses among many
            new, _ = allocate(gain, target - here - T_lack + gain @ u, lower, upper, regularization=1e-12)
            du = new - u
            self._step(du, by_input @ du + lack)
            after = self.task.motion(self.eqs, self.q, zero, None, self.parameters).value
            missed = float(np.linalg.norm(target - after))
            if np.linalg.norm(by_input @ du + lack) < tolerance:
                break
        return missed


@dataclass
class StaticControl:
    """Makes a task follow a path slowly: the inputs of the model's equilibrium there, plus feedback.

    Feedback `proportional` [-], `integral` [1/s] and `derivative` [s] of the task's error acts through the change of the
    task per input at rest. More inputs than the task needs: the least ones. See `ConstraintControl` for quick motions.
    `seconds` says how long each command took to compute [s].
    """

    equations: Equations
    task: Task
    path: Path
    sample_time: float = 0.02
    proportional: float = 0.0
    integral: float = 2.0
    derivative: float = 0.0
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "static control"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._model = StaticModel(self.equations, self.task, self.inputs, self.limits, self.parameters)

    def start(self, now: Now) -> None:
        """Forget the last run; the model starts from its own equilibrium."""
        self._model.reset(now.inputs)
        self._model.move(self.path.value(now.t))
        self._sum = np.zeros(len(self.path.value(now.t)))
        self._last = self._model.u
        self._missed = self._samples = 0
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The inputs at this sample."""
        begin = time.perf_counter()
        model, limits = self._model, self._model.limits
        wanted = self.path.value(now.t + 0.5 * self.sample_time)
        missed = model.move(wanted, steps=2)
        motion = self.task.motion(now.equations, now.q, now.v, None, now.parameters)
        error, slip = self.path.value(now.t) - motion.value, self.path.rate(now.t) - motion.rate
        correction = self.proportional * error + self.integral * self._sum + self.derivative * slip
        _, gain, _ = model.sensitivity()
        ahead = now.t + 0.5 * self.sample_time
        correction = correction + model.lag(self.path.rate(ahead), self.path.acceleration(ahead))
        lower, upper = limits.within(model.inputs, self._last, self.sample_time)
        u, short = allocate(gain, gain @ model.u + correction, lower, upper, preferred=model.u, regularization=1e-10)
        self._samples += 1
        if short > 1e-3 or missed > 1e-3 * max(1e-6, float(np.linalg.norm(wanted))):
            self._missed += 1
        else:
            self._sum = self._sum + self.sample_time * error
        self._last = u
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(model.inputs, u.tolist(), strict=True))

    def notes(self) -> list[str]:
        """What a user should know after a run."""
        if not self._missed:
            return []
        return [f"the path could not be reached within the inputs' limits at {self._missed} of {self._samples} samples"]
