"""Forward sensitivities of outputs with respect to parameters, along motions and at rest: one column of derivatives per parameter.

A fit has many residuals and few parameters, so forward mode is used: the variational equations along a motion
(`runtime/sensitivity.c`), and the implicit function theorem at rest. For one number that depends on many parameters
see `pliant.gradient`, whose parameter differences are also used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from pliant.equations.differences import difference
from pliant.equations.equations import Equations, Values
from pliant.equations.outputs import output_function, output_names
from pliant.equations.time_loop import TimeLoop
from pliant.equations.workspace import EvaluationError
from pliant.gradient.equilibrium import EquilibriumAdjoint
from pliant.gradient.parameter_derivatives import ParameterTangents, derivative, parameter_changes
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.motion.integrator import Method
from pliant.solve.motion.job import Job
from pliant.solve.motion.simulate import read_request, run_request
from pliant.solve.result import Result
from pliant.solve.state import EQUILIBRIUM
from pliant.solve.statics.equilibrium import Equilibrium, equilibrium


@dataclass(frozen=True)
class OutputSensitivity:
    """A motion and the derivatives of outputs with respect to parameters.

    values: times x components [SI], the outputs concatenated; derivatives: times x components x parameters [SI per unit of the
    parameter], NaN where the motion failed.
    """

    run: Result
    values: np.ndarray
    derivatives: np.ndarray


def why_not(eqs: Equations, outputs: Sequence[str], *, at_rest: bool = False) -> str:
    """Why these outputs have no exact derivatives, along a motion or at rest; empty if they have."""
    if eqs.model.followed or (eqs.model.system.rows and not at_rest):
        return "the model has constraints"
    if eqs.model.system.contacts.laws:
        return "the model has contacts, whose forces depend on their history"
    for output in outputs:
        spec = eqs.model.spec.outputs.get(output)
        if spec is None or not spec.is_of_positions_and_velocities:
            return f"the output '{output}' is not a smooth function of positions and velocities"
    return ""


@on_one_blas_thread
def output_sensitivity(
    eqs: Equations,
    names: Sequence[str],
    t: tuple[float, float],
    *,
    outputs: Sequence[str],
    times: Sequence[float],
    method: Method,
    parameters: Values | None = None,
) -> OutputSensitivity:
    """Simulate from the model's start, with the derivatives of outputs at `times` [s] with respect to the named parameters."""
    _refuse(eqs, outputs)
    eqs = eqs.at(parameters=parameters)
    tangent = _Tangent(eqs, names)
    kept: list[TimeLoop] = []

    def prepare(job: Job, run: TimeLoop) -> None:
        run.follow(parameter_changes(eqs, names, job.begin, job.end), *tangent.start(job.begin, np.array(run.q)))
        kept.append(run)

    request = read_request(t[1], begin=t[0], method=method, save_at=times, save_between=True)
    result = run_request(request, eqs, prepare=prepare)
    values = _side_by_side(result, outputs)
    if result.status != "completed":
        return OutputSensitivity(result, values, np.full((*values.shape, len(names)), np.nan))
    changes = kept[0].sample_X, kept[0].sample_V
    return OutputSensitivity(result, values, tangent.outputs(outputs, result.q, result.v, *changes))


@on_one_blas_thread
def rest_sensitivity(
    eqs: Equations,
    names: Sequence[str],
    times: Sequence[float] | np.ndarray,
    *,
    outputs: Sequence[str],
    parameters: Values | None = None,
    starts: Sequence[np.ndarray] | None = None,
) -> tuple[list[Equilibrium], np.ndarray] | None:
    """Equilibria under the inputs of some times [s], and derivatives of outputs with respect to the named parameters, times x
    components x parameters; None if an equilibrium was not found. starts: initial poses of the searches, one q per time."""
    _refuse(eqs, outputs, at_rest=True)
    eqs = eqs.at(parameters=parameters)
    rests = poses_at_rest(eqs, times, starts)
    if rests is None:
        return None
    tangent = _Tangent(eqs, names)
    X = tangent.rests(rests)
    q, zero = np.array([rest.q for rest in rests]), np.zeros((len(rests), len(eqs.rates)))
    return rests, tangent.outputs(outputs, q, zero, X, np.zeros_like(X))


def poses_at_rest(
    eqs: Equations, times: Sequence[float] | np.ndarray, starts: Sequence[np.ndarray] | None = None
) -> list[Equilibrium] | None:
    """Equilibria under the inputs of some times [s]; None if one was not found. A search that fails from the given start
    is repeated from that of the model."""
    found = []
    for k, t in enumerate(times):
        begin: list[Any] = ["initial"] if starts is None else [starts[k], "initial"]
        for start in begin:
            try:
                rest = equilibrium(eqs, time=float(t), start=start, on_failure="return")
            except EvaluationError:  # the pose of other values, which no law of these values allows
                continue
            if rest.status == "converged":
                break
        else:
            return None
        found.append(rest)
    return found


def _refuse(eqs: Equations, outputs: Sequence[str], *, at_rest: bool = False) -> None:
    reason = why_not(eqs, outputs, at_rest=at_rest)
    if reason:
        raise ValueError(f"no exact derivatives: {reason}")


def _side_by_side(result: Result, outputs: Sequence[str]) -> np.ndarray:
    return np.concatenate([result[name].values.reshape(len(result.time), -1) for name in outputs], axis=1)


class _Tangent:
    """Derivatives of starts, equilibria and outputs with respect to some parameters."""

    def __init__(self, eqs: Equations, names: Sequence[str]) -> None:
        self.eqs, self.names = eqs, names
        self.group = ConfigurationGroup(eqs.model.system)
        self.changes = ParameterTangents(eqs)

    def start(self, begin: float, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the model's start: increments of q and of v, parameters x nv."""
        eqs = self.eqs
        if eqs.model.spec.start == EQUILIBRIUM:
            X = self._poses([EquilibriumAdjoint(eqs.binding, begin, q0, np.zeros(0), eqs.rates)])[0]
            return X, np.zeros_like(X)

        def placed(values: dict[str, float]) -> np.ndarray:
            state = eqs.initial_state(values, t=begin)
            return np.concatenate([self.group.difference(q0, state.q), state.v])

        both = np.array([derivative(placed, eqs, name) for name in self.names])
        count = len(eqs.rates)
        return both[:, :count], both[:, count:]

    def rests(self, rests: Sequence[Equilibrium]) -> np.ndarray:
        """Derivatives of equilibria: increments of q, poses x parameters x nv."""
        eqs = self.eqs
        poses = [
            EquilibriumAdjoint(rest.equations.binding, rest.time, rest.q, rest.multipliers, eqs.rates) for rest in rests
        ]
        return self._poses(poses)

    def _poses(self, poses: Sequence[EquilibriumAdjoint]) -> np.ndarray:
        columns = []
        for name in self.names:
            moved = cache(partial(self.changes.moved, name))
            step = self.changes.step(name)
            columns.append(
                [at.change(difference(lambda x: at.unbalanced(moved(x)), step)) for at in poses]  # noqa: B023
            )
        return np.array(columns).swapaxes(0, 1)

    def outputs(self, names: Sequence[str], q: np.ndarray, v: np.ndarray, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Derivatives of outputs, times x components x parameters, in states with derivatives X and V (times x parameters x nv)."""
        model, bound = self.eqs.model, self.eqs.binding
        function, count = output_function(model), len(q)
        indices = [output_names(model).index(name) for name in names]
        # of the inputs (q, v, a, multipliers, constants, signals ...) such outputs depend only on these three
        inputs = [np.zeros((function.size1_in(i), count)) for i in range(function.n_in())]
        inputs[0], inputs[1], inputs[4] = q.T, v.T, np.tile(bound.constants[:, None], (1, count))
        outputs = [np.zeros((function.size1_out(i), count)) for i in range(function.n_out())]
        forward = model.once("output_forward", lambda: function.forward(1)).map(count)
        columns = []
        for k, name in enumerate(self.names):
            seeds = [np.zeros_like(x) for x in inputs]
            seeds[0] = np.array([self.group.rates(here, x) for here, x in zip(q, X[:, k], strict=True)]).T
            seeds[1] = V[:, k].T
            seeds[4] = np.tile(self.changes.constants(name)[:, None], (1, count))
            found = forward.call([*inputs, *outputs, *seeds])
            columns.append(np.concatenate([np.asarray(found[i]).T for i in indices], axis=1))
        return np.stack(columns, axis=2)
