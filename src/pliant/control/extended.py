"""Extended Kalman filter: the state of the nonlinear model from what sensors show, wherever it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.control.discrete import held
from pliant.control.lqr import Weights, weight_matrix
from pliant.equations.core import check_names
from pliant.equations.equations import Equations, Values
from pliant.equations.outputs import evaluate_outputs
from pliant.equations.state import State
from pliant.solve.linear.state_space import StateSpace, linearize
from pliant.solve.motion.integrator import Method
from pliant.solve.motion.simulate import simulate


@dataclass
class ExtendedKalman:
    """Estimates the state of a robot without closed loops from named outputs.

    Attributes:
        equations: the model; its `parameters` may differ from the robot's.
        outputs: names of what is measured, vectors whole.
        start: the state it believes in at first.
        deviation: standard deviation of that state, one for all or one per state (increments of q, then v).
        process: variance that each state gains per second; inputs: variance of what acts like a change of each input.
        noise: variance of the outputs.
        method: integrator between samples; chosen by stiffness when None.
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
        self.reset()

    def reset(self) -> None:
        """Forget all measurements."""
        self.state = self.start
        n = len(self._labels)
        self.covariance = np.diag(np.broadcast_to(np.asarray(self.deviation, dtype=float) ** 2, n))

    def correct(self, y: np.ndarray, t: float, inputs: Values) -> State:
        """The estimate after a measurement y, taken while the inputs are in force."""
        q, v = self.state.q, self.state.v
        about = self._about(t, inputs)
        C = about.C
        R = weight_matrix(self.noise, about.outputs, "output", 1.0)
        bound = self.equations.at(inputs=inputs, parameters=self.parameters).binding
        a, multipliers = bound.forward(t, q, v)
        values = evaluate_outputs(self.equations.model, bound, t, q, v, a, multipliers, 0.0)
        expected = np.concatenate([np.atleast_1d(values[name]) for name in self.outputs])
        P = self.covariance
        gain = np.linalg.solve(C @ P @ C.T + R, C @ P).T
        x = gain @ (y - expected)
        # Joseph's form keeps the covariance positive whatever round-off does to the gain
        keep = np.eye(len(P)) - gain @ C
        self.covariance = keep @ P @ keep.T + gain @ R @ gain.T
        n = len(v)
        self.state = State(bound.increment(q, x[:n]), v + x[n:], t)
        return self.state

    def predict(self, t: float, inputs: Values) -> State:
        """The estimate one sample after time t, with the inputs held."""
        about = self._about(t, inputs)
        A, B = held(about.A, about.B, self.sample_time)
        self.covariance = A @ self.covariance @ A.T + B @ self._inputs @ B.T + self.sample_time * self._process
        end = t + self.sample_time
        run = simulate(
            self.equations, end, begin=t, start=self.state, inputs=inputs, parameters=self.parameters, method=self.method,
            save_at=[end], controllers=(),
        )  # fmt: skip
        self.state = State(run.q[-1], run.v[-1], end)
        return self.state

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
