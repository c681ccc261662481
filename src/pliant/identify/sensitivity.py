"""How an output along a motion changes with parameters: exact derivatives from the variational equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from pliant.equations.equations import Equations, Values
from pliant.equations.outputs import output_function, output_names
from pliant.equations.time_loop import TimeLoop
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.motion.events import EventMonitor
from pliant.solve.motion.integrator import Method
from pliant.solve.motion.kinematic_inputs import KinematicInputs
from pliant.solve.motion.method_choice import Choice
from pliant.solve.motion.sampled_control import SampledLoop
from pliant.solve.motion.saving import save_times
from pliant.solve.motion.simulate import Job
from pliant.solve.result import Result
from pliant.solve.state import INITIAL
from pliant.solve.statics.equilibrium import equilibrium

# Parameters are raised and lowered by this share of their value: the error of a central difference is its square.
SHARE = 1e-5


@dataclass(frozen=True)
class OutputSensitivity:
    """A motion and how one of its outputs changes with parameters.

    values: times x components [SI]; derivatives: times x components x parameters [SI per unit of the parameter].
    """

    run: Result
    values: np.ndarray
    derivatives: np.ndarray


def why_not(eqs: Equations, output: str) -> str:
    """Why this output of this model has no exact derivatives along a motion; empty where it has them."""
    if eqs.model.system.rows or eqs.model.followed:
        return "the model has constraints"
    if eqs.model.system.contacts.laws:
        return "the model has contacts, which remember how they came to where they are"
    if eqs.model.spec.start != INITIAL:
        return "the model starts at rest, and where that is depends on the parameters"
    spec = eqs.model.spec.outputs.get(output)
    if spec is None or not spec.is_of_positions_and_velocities:
        return (
            f"the output '{output}' is no smooth function of positions and velocities, without accelerations and forces"
        )
    return ""


@on_one_blas_thread
def output_sensitivity(
    eqs: Equations,
    names: Sequence[str],
    t: tuple[float, float],
    *,
    output: str,
    times: Sequence[float],
    method: Method,
    parameters: Values | None = None,
) -> OutputSensitivity:
    """Simulate from the model's start, with the derivatives of an output at `times` [s] by the named parameters."""
    reason = why_not(eqs, output)
    if reason:
        raise ValueError(f"no exact derivatives: {reason}")
    begin, end = t
    eqs = eqs.at(parameters=parameters)
    tangent = _Tangent(eqs, names)
    q, v = eqs.initial_state()
    kept: list[TimeLoop] = []

    def prepare(_: Job, run: TimeLoop) -> None:
        run.follow(tangent.constants, tangent.parameters, tangent.span, *tangent.start(q))
        kept.append(run)

    motions = KinematicInputs(eqs, eqs.binding, begin, q, v, end)
    choice = Choice(method, "with derivatives by parameters")
    job = Job(eqs, eqs.binding, motions, choice, begin, end, save_times(begin, end, None, times), False, None, None, [])
    job.prepare = prepare
    result = job.run(q, v, EventMonitor(job, [], None), SampledLoop([], begin, end))
    values = result[output].values.reshape(len(result.time), -1)
    if result.status != "completed":
        return OutputSensitivity(result, values, np.full((*values.shape, len(names)), np.nan))
    states = result.time, result.q, result.v, kept[0].sample_X, kept[0].sample_V
    return OutputSensitivity(result, values, tangent.output(output, *states))


@on_one_blas_thread
def rest_sensitivity(
    eqs: Equations,
    names: Sequence[str],
    times: Sequence[float] | np.ndarray,
    *,
    output: str,
    parameters: Values | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """An output at rest under the inputs of some times [s], times x components, and its derivatives by the named parameters,
    times x components x parameters; None where a state at rest was not found."""
    reason = why_not(eqs, output)
    if reason:
        raise ValueError(f"no exact derivatives: {reason}")
    eqs = eqs.at(parameters=parameters)
    tangent = _Tangent(eqs, names)
    zero = np.zeros(len(eqs.rates))
    values, q, X = [], [], []
    for t in times:
        rest = equilibrium(eqs, time=float(t), on_failure="return")
        if rest.status != "converged":
            return None
        values.append(np.atleast_1d(rest.outputs[output]))
        q.append(rest.q)
        R = tangent.residual(float(t), rest.q)
        K = eqs.binding.linearized(float(t), rest.q, zero, zero, np.zeros(0)).stiffness
        X.append(-scipy.sparse.linalg.splu(K.tocsc()).solve(R.T).T)
    rates = np.zeros((len(q), len(eqs.rates)))
    found = tangent.output(output, np.asarray(times, dtype=float), np.array(q), rates, np.array(X), np.zeros_like(X))
    return np.array(values), found


class _Tangent:
    """Constants, parameters, start and outputs as they change with some parameters."""

    def __init__(self, eqs: Equations, names: Sequence[str]) -> None:
        self.eqs, self.names = eqs, names
        model = eqs.model
        here = eqs.given_parameters
        base = model.parameter_vector(here)
        known = model.parameter_names
        self.sides = []
        for name in names:
            value = base[known.index(name)]
            step = SHARE * (abs(value) or 1.0)
            self.sides.append([{**here, name: value + sign * step} for sign in (1, -1)])
        self.parameters = np.array([[model.parameter_vector(side) for side in pair] for pair in self.sides])
        self.constants = np.array([[model.system.constants.values(p) for p in pair] for pair in self.parameters])
        at = [known.index(name) for name in names]
        self.span = np.array([pair[0, k] - pair[1, k] for pair, k in zip(self.parameters, at, strict=True)])
        self.group = ConfigurationGroup(model.system)

    def start(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Changes of the model's start: increments of q and of v, parameters x nv."""
        X, V = [], []
        for pair, span in zip(self.sides, self.span, strict=True):
            (q_up, v_up), (q_down, v_down) = (self.eqs.initial_state(side) for side in pair)
            rate = (q_up - q_down) / span
            X.append(self.group.motion(q, rate, np.zeros_like(rate))[0])
            V.append((v_up - v_down) / span)
        return np.array(X), np.array(V)

    def residual(self, t: float, q: np.ndarray) -> np.ndarray:
        """Changes of the unbalanced force at rest, parameters x nv."""
        zero = np.zeros(len(self.eqs.rates))
        return np.array(
            [
                (
                    self.eqs.at(parameters=up, within_limits=False).binding.inverse(t, q, zero, zero)
                    - self.eqs.at(parameters=down, within_limits=False).binding.inverse(t, q, zero, zero)
                )
                / span
                for (up, down), span in zip(self.sides, self.span, strict=True)
            ]
        )

    def output(
        self, name: str, time: np.ndarray, q: np.ndarray, v: np.ndarray, X: np.ndarray, V: np.ndarray
    ) -> np.ndarray:
        """Derivatives of an output, times x components x parameters, in states that change by X and V (times x parameters x nv)."""
        model, bound = self.eqs.model, self.eqs.binding
        function, count = output_function(model), len(time)
        index = output_names(model).index(name)
        # of the inputs (q, v, a, multipliers, constants, signals ...) only these three enter such outputs
        inputs = [np.zeros((function.size1_in(i), count)) for i in range(function.n_in())]
        inputs[0], inputs[1], inputs[4] = q.T, v.T, np.tile(bound.constants[:, None], (1, count))
        outputs = [np.zeros((function.size1_out(i), count)) for i in range(function.n_out())]
        forward = function.forward(1).map(count)
        columns = []
        for k, pair in enumerate(self.constants):
            dq = np.array([self.group.rates(here, x) for here, x in zip(q, X[:, k], strict=True)]).T
            seeds = [np.zeros_like(x) for x in inputs]
            seeds[0], seeds[1] = dq, V[:, k].T
            seeds[4] = np.tile(((pair[0] - pair[1]) / self.span[k])[:, None], (1, count))
            columns.append(np.asarray(forward.call([*inputs, *outputs, *seeds])[index]).T)
        return np.stack(columns, axis=2)
