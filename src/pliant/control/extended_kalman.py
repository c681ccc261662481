"""Extended Kalman filter: estimates the state of the nonlinear model from measured outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.analysis.integrators import Method, make_run
from pliant.analysis.linearize import StateSpace, linearize
from pliant.analysis.motion.method_choice import choose_method
from pliant.analysis.simulate import simulate
from pliant.control.discrete import held
from pliant.control.lqr import Weights, weight_matrix
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.layout import RuntimeStatus
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import State

MOST_STEPS = 100_000
"""Maximum number of steps of a prediction over one sample."""


@dataclass
class ExtendedKalman:
    """Estimates the state of a robot without closed loops from named outputs.

    Attributes:
        equations: the model; its `parameters` may differ from the robot's.
        outputs: names of the measured outputs; vectors with all components.
        start: the initial estimate.
        deviation: standard deviation of that state, one for all or one per state (increments of q, then v).
        process: variance of the change of each state per second; inputs: variance of a disturbance of each input.
        noise: variance of the outputs.
        method: integrator between samples; None: chosen by stiffness.
        disturbances: unknown inputs of the model (such as contact forces). They are estimated along with the state, as random
            walks: `drift` is the variance of the change of each per second, `disturbance_deviation` its initial standard deviation.
            The estimate is `disturbance`, in the order of the names; in the covariance they follow the states.
    """

    equations: Equations
    outputs: tuple[str, ...]
    start: State
    sample_time: float
    deviation: np.ndarray | float = 1.0
    process: Weights = 0.0
    inputs: Weights = 0.0
    noise: Weights = 1.0
    parameters: Values | None = None
    method: Method | None = None
    disturbances: tuple[str, ...] = ()
    drift: Weights = 1.0
    disturbance_deviation: np.ndarray | float = 0.0

    def __post_init__(self) -> None:
        eqs = self.equations
        if eqs.model.system.rows:
            raise ValueError(
                "the extended Kalman filter is for robots without closed loops; design `kalman` about a state"
            )
        check_names("output", self.outputs, eqs.model.spec.outputs)
        rates = eqs.rates
        self._labels = rates + tuple(f"d({x})/dt" for x in rates)
        self._process = weight_matrix(self.process, self._labels, "state", 0.0)
        self._inputs = weight_matrix(self.inputs, eqs.inputs, "input", 0.0)
        check_names("input", self.disturbances, eqs.inputs)
        self._chosen: Method | None = None
        self._drift = weight_matrix(self.drift, self.disturbances, "disturbance", 0.0)
        self.reset()

    def reset(self) -> None:
        """Discard all measurements."""
        self.state = self.start
        n, k = len(self._labels), len(self.disturbances)
        self.disturbance = np.zeros(k)
        spreads = ((self.deviation, n), (self.disturbance_deviation, k))
        self.covariance = np.diag(
            np.concatenate([np.broadcast_to(np.asarray(x, dtype=float) ** 2, size) for x, size in spreads])
        )

    def _in_force(self, inputs: Values) -> dict[str, float]:
        """The inputs with the estimated disturbances."""
        return dict(inputs) | dict(zip(self.disturbances, self.disturbance.tolist(), strict=True))

    def correct(self, y: np.ndarray, t: float, inputs: Values) -> State:
        """The estimate after a measurement y with these inputs."""
        q, v = self.state.q, self.state.v
        inputs = self._in_force(inputs)
        about = self._about(t, inputs)
        C = np.hstack([about.C, about.D[:, self._columns]])
        R = weight_matrix(self.noise, about.outputs, "output", 1.0)
        bound = self.equations.at(inputs=inputs, parameters=self.parameters).binding
        a, multipliers = bound.forward(t, q, v)
        values = evaluate_outputs(self.equations.model, bound, t, q, v, a, multipliers, 0.0)
        expected = np.concatenate([np.atleast_1d(values[name]) for name in self.outputs])
        P = self.covariance
        gain = np.linalg.solve(C @ P @ C.T + R, C @ P).T
        x = gain @ (y - expected)
        # Joseph's form keeps the covariance positive despite round-off of the gain
        keep = np.eye(len(P)) - gain @ C
        self.covariance = keep @ P @ keep.T + gain @ R @ gain.T
        n = len(v)
        self.state = State(bound.increment(q, x[:n]), v + x[n : 2 * n], t)
        self.disturbance = self.disturbance + x[2 * n :]
        return self.state

    @property
    def _columns(self) -> list[int]:
        return [self.equations.inputs.index(name) for name in self.disturbances]

    def predict(self, t: float, inputs: Values) -> State:
        """The estimate one sample after time t, with constant inputs."""
        inputs = self._in_force(inputs)
        about = self._about(t, inputs)
        A, B = held(about.A, about.B, self.sample_time)
        n, k = len(A), len(self.disturbances)
        F = np.block([[A, B[:, self._columns]], [np.zeros((k, n)), np.eye(k)]])
        self.covariance = F @ self.covariance @ F.T
        self.covariance[:n, :n] += B @ self._inputs @ B.T + self.sample_time * self._process
        self.covariance[n:, n:] += self.sample_time * self._drift
        self.state = self._moved(t, t + self.sample_time, inputs)
        return self.state

    def _moved(self, t: float, end: float, inputs: Values) -> State:
        """The predicted state at a later time [s], with constant inputs."""
        q, v = self.state
        bound = self.equations.at(inputs=inputs, parameters=self.parameters).binding
        switching = self.equations.model.switch_times(bound.parameters, t, end).size
        if bound.m or bound.series or switching or self.equations.model.motion_inputs:
            run = simulate(
                self.equations, end, begin=t, start=self.state, inputs=inputs, parameters=self.parameters,
                method=self.method, save_at=[end], controllers=(),
            )  # fmt: skip
            return State(run.q[-1], run.v[-1], end)
        # a short separate run, without a result
        if self._chosen is None:
            self._chosen = self.method or choose_method(bound, t, end, q, v).method
        method, trial = self._chosen, make_run(bound, self._chosen)
        trial.configure(
            t=t, q=q, v=v, stops=np.array([end]), samples=np.array([end]), step=min(method.step or end - t, end - t),
            fixed=method.fixed, rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=end - t,
        )  # fmt: skip
        status = trial.start() or trial.advance(MOST_STEPS)
        if status:
            raise ValueError(f"the prediction from t = {t:g} s failed: {RuntimeStatus(status).meaning}")
        return State(trial.q.copy(), trial.v.copy(), end)

    def _about(self, t: float, inputs: Values) -> StateSpace:
        linear = linearize(
            self.equations,
            at=self.state,
            time=t,
            inputs=inputs,
            parameters=self.parameters,
            independent=self.equations.rates,
        )
        return linear.select(None, self.outputs)
