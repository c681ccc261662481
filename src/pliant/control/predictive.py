"""Model predictive control: at every sample the optimal inputs over a horizon are computed, and the first is used.

The model is linearized about the current state at every sample (exact derivatives, then exact discrete equations for
a zero-order hold), which turns the search into a quadratic program with bounds on inputs and their rates.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from pliant.analysis.linearize import linearize
from pliant.analysis.motion.events import Now
from pliant.control.discrete import held
from pliant.control.limits import Limits, Shortfalls, actuator_limits, named
from pliant.control.task import CheckedValues
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.state import State
from pliant.language.arguments import number

Reference = Callable[[float], Sequence[float]]


@dataclass(frozen=True)
class StepTimes:
    """Computation times of commands: `median` and `worst` of a run, and `setup` before its first sample [s]."""

    median: float
    worst: float
    setup: float

    def __str__(self) -> str:
        median, worst, setup = 1e3 * self.median, 1e3 * self.worst, 1e3 * self.setup
        return f"{median:.1f} ms per command (median), {worst:.1f} ms at worst; set up in {setup:.0f} ms"


@dataclass
class Predictive:
    """Controller that makes outputs follow a reference.

    Attributes:
        equations: the model; the robot may differ from it.
        outputs: names of outputs of the model; vectors with all components.
        reference: their values at a time [s], with the components of vectors concatenated.
        horizon: number of samples.
        output_weight, effort, change: weights on errors, on inputs against `preferred`, and on their changes; per square
            of their units.
        correction: fraction of each prediction error that is added to later predictions, 0 to 1; removes the steady-state error
            of an inexact model.
        parameters: those of the model that differ from the robot's.
        seconds: computation time of each command of the last run [s]; see `step_times`.
    """

    equations: Equations
    outputs: tuple[str, ...]
    reference: Reference
    sample_time: float = 0.02
    horizon: int = 10
    output_weight: float = 1.0
    effort: float = 0.0
    change: float = 1e-8
    correction: float = 0.2
    limits: Limits | None = None
    preferred: np.ndarray | None = None
    inputs: tuple[str, ...] | None = None
    parameters: Values | None = None
    name: str = "predictive"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inputs = self.inputs or self.equations.model.actuators
        check_names("output", self.outputs, self.equations.model.spec.outputs)
        if self.horizon < 1:
            raise ValueError(f"the horizon must be at least one sample, not {self.horizon}")
        for weight in ("output_weight", "effort", "change", "correction"):
            number(f"{named(self)}: {weight}", getattr(self, weight), at_least=0)
        self._limits = actuator_limits(self.equations, self._inputs, self.limits)
        self._shortfalls = Shortfalls(self.equations, self._inputs, self._limits)
        self.setup_seconds = 0.0

    def start(self, now: Now) -> None:
        """Reset the controller; one prediction is computed and discarded, so that one-time setup is not in the loop."""
        begin = time.perf_counter()
        values = dict(zip(self.equations.inputs, self.equations.input_vector(), strict=True)) | now.inputs
        self._last = np.array([values[name] for name in self._inputs])
        self._missing: np.ndarray | None = None
        self._expected: np.ndarray | None = None
        self._shortfalls.reset()
        self.seconds.clear()
        response, free, _ = self._predicted(now)
        self._wanted = CheckedValues(self.reference, free.shape[1], f"{named(self)}: the reference")
        self._program(response.reshape(free.size, -1), np.zeros(free.size))
        self.setup_seconds = time.perf_counter() - begin

    @property
    def step_times(self) -> StepTimes:
        """Median and worst time of the commands of the last run, and the setup time before the first one."""
        if not self.seconds:
            raise ValueError("no command was computed yet; simulate with this controller first")
        return StepTimes(float(np.median(self.seconds)), max(self.seconds), self.setup_seconds)

    def command(self, now: Now) -> dict[str, float]:
        """The first of the optimal inputs over the horizon."""
        begin = time.perf_counter()
        N, T = self.horizon, self.sample_time
        response, free, y0 = self._predicted(now)
        wanted = np.array([self._wanted(now.t + (i + 1) * T) for i in range(N)])
        free += np.outer(np.arange(1, N + 1), self._learn(y0))
        u = self._program(response.reshape(free.size, -1), (wanted - y0 - free).ravel())
        first = response[0, :, 0]
        lost, size = (float(np.linalg.norm(first @ x)) for x in (self._beyond, u + self._beyond - self._last))
        # inputs that change because a later sample or another input is limited are not saturated themselves
        cut = lost / size if size and np.any(self._binding) else 0.0
        self._shortfalls.add(now.t, u, self._binding, cut)
        self._expected = y0 + free[0] + response[0, :, 0] @ (u - self._last)
        self._last = u
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(self._inputs, u.tolist(), strict=True))

    def _predicted(self, now: Now) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of the outputs over the horizon with respect to the inputs of each sample (N x k x N x m), and their change
        with constant inputs (N x k); current outputs (k)."""
        m, N, T = len(self._inputs), self.horizon, self.sample_time
        present = now.inputs | dict(zip(self._inputs, self._last.tolist(), strict=True))
        linear = linearize(
            self.equations, at=State(now.q, now.v), inputs=present, parameters=self.parameters, time=now.t
        ).select(self._inputs, self.outputs)
        drift = self._drift(now, present, linear.independent)
        A, B = held(linear.A, np.hstack([linear.B, drift[:, None]]), T)
        B, constant = B[:, :m], B[:, m]
        k, n = len(linear.C), len(A)
        free, x = np.zeros((N, k)), np.zeros(n)
        response = np.zeros((N, k, N, m))
        columns = np.zeros((N, n, m))
        for i in range(N):
            x = A @ x + constant
            free[i] = linear.C @ x
            columns[:i] = np.einsum("ab,jbm->jam", A, columns[:i])
            columns[i] = B
            # inputs of sample j act on the outputs after sample i >= j
            response[i, :, : i + 1] = np.einsum("ka,jam->kjm", linear.C, columns[: i + 1])
        return response, free, now.measure(self.outputs)

    def _learn(self, y: np.ndarray) -> np.ndarray:
        """Prediction error of the model over one sample."""
        if self._missing is None or self._expected is None:
            self._missing = np.zeros(len(y))
        else:
            self._missing = self._missing + self.correction * (y - self._expected)
        return self._missing

    def _drift(self, now: Now, present: Values, independent: tuple[str, ...]) -> np.ndarray:
        """Rate of the states (v, a) in the current state with the current inputs."""
        a, _ = self.equations.forward_dynamics(now.q, now.v, t=now.t, inputs=present, parameters=self.parameters)
        rows = [self.equations.rates.index(name) for name in independent]
        return np.concatenate([now.v[rows], a[rows]])

    def _program(self, response: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The first input of the optimal sequence; unknowns are the differences from the current inputs."""
        m, N, u0 = len(self._inputs), self.horizon, self._last
        lower, upper = self._limits.bounds(self._inputs)
        rows, targets = [np.sqrt(self.output_weight) * response], [np.sqrt(self.output_weight) * wanted]
        if self.effort:
            rest = np.zeros(m) if self.preferred is None else self.preferred
            rows.append(np.sqrt(self.effort) * np.eye(N * m))
            targets.append(np.sqrt(self.effort) * np.tile(rest - u0, N))
        changes = np.eye(N * m) - np.eye(N * m, k=-m)
        rows.append(np.sqrt(self.change) * changes)
        targets.append(np.zeros(N * m))
        low, high = np.tile(lower - u0, N), np.tile(upper - u0, N)
        # rate limits apply to the first change; later ones are limited at the next sample
        first_low, first_high = self._limits.within(self._inputs, u0, self.sample_time)
        low[:m], high[:m] = np.maximum(low[:m], first_low - u0), np.minimum(high[:m], first_high - u0)
        low, high = np.minimum(low, high), np.maximum(low, high) + 1e-300
        M, b = np.vstack(rows), np.concatenate(targets)
        free = asked = np.linalg.lstsq(M, b, rcond=None)[0]
        if np.any(free < low) or np.any(free > high):
            free = scipy.optimize.lsq_linear(M, b, (low, high), method="bvls", tol=1e-10, max_iter=200).x
        self._beyond = asked[:m] - free[:m]
        room = 1e-9 * (1 + np.abs(u0 + free[:m]))
        at_limit = (free[:m] <= low[:m] + room) | (free[:m] >= high[:m] - room)
        self._binding = at_limit & (np.abs(self._beyond) > room)
        return np.asarray(u0 + free[:m])

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        return self._shortfalls.remarks(named(self))
