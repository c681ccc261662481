"""Data of a fit: a recording, and outputs of the model with the recording's columns, in motion or at rest.

Forward sensitivities of outputs with respect to parameters, along motions and at rest: one column of derivatives per parameter.

A fit has many residuals and few parameters, so forward mode is used: the variational equations along a motion
(`runtime/sensitivity.c`), and the implicit function theorem at rest. For one number that depends on many parameters
see `pliant.gradient`, whose parameter differences are also used here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol

import numpy as np

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.integrators import Method
from pliant.analysis.motion.job import Job
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.state import EQUILIBRIUM
from pliant.analysis.simulate import Simulate, simulate
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.outputs import output_function, output_names
from pliant.engine.program import EvaluationError
from pliant.engine.time_loop import TimeLoop
from pliant.gradient.equilibrium import EquilibriumChange
from pliant.gradient.parameter_derivatives import ParameterTangents, derivative, parameter_changes
from pliant.identify.recording import drive, time_slack
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe
from pliant.language.recording import Recording


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
    eqs: Equations, names: Sequence[str], t: tuple[float, float], *, outputs: Sequence[str], times: Sequence[float],
    method: Method, parameters: Values | None = None,
) -> OutputSensitivity:  # fmt: skip
    """Simulate from the model's start, with the derivatives of outputs at `times` [s] with respect to the named parameters."""
    _refuse(eqs, outputs)
    eqs = eqs.at(parameters=parameters)
    tangent = _Tangent(eqs, names)
    kept: list[TimeLoop] = []

    def prepare(job: Job, run: TimeLoop) -> None:
        run.follow(parameter_changes(eqs, names, job.begin, job.end), *tangent.start(job.begin, np.array(run.q)))
        kept.append(run)

    asked = Simulate(until=t[1], begin=t[0], method=method, save_at=np.asarray(times), save_between=True)
    result = asked.motion(eqs, prepare)
    values = np.concatenate([result[name].values.reshape(len(result.time), -1) for name in outputs], axis=1)
    if result.status != "completed":
        return OutputSensitivity(result, values, np.full((*values.shape, len(names)), np.nan))
    changes = kept[0].sample_X, kept[0].sample_V
    return OutputSensitivity(result, values, tangent.outputs(outputs, result.q, result.v, *changes))


@on_one_blas_thread
def rest_sensitivity(
    eqs: Equations, names: Sequence[str], times: Sequence[float] | np.ndarray, *, outputs: Sequence[str],
    parameters: Values | None = None, starts: Sequence[np.ndarray] | None = None,
) -> tuple[list[Equilibrium], np.ndarray] | None:  # fmt: skip
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
    poses_at_rest = []
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
        poses_at_rest.append(rest)
    return poses_at_rest


def _refuse(eqs: Equations, outputs: Sequence[str], *, at_rest: bool = False) -> None:
    reason = why_not(eqs, outputs, at_rest=at_rest)
    if reason:
        raise ValueError(f"no exact derivatives: {reason}")


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
            X = self._poses([EquilibriumChange(eqs.binding, begin, q0, np.zeros(0), eqs.rates)])[0]
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
            EquilibriumChange(rest.equations.binding, rest.time, rest.q, rest.multipliers, eqs.rates) for rest in rests
        ]
        return self._poses(poses)

    def _poses(self, poses: Sequence[EquilibriumChange]) -> np.ndarray:
        columns = []
        for name in self.names:
            moved, step = cache(partial(self.changes.moved, name)), self.changes.step(name)
            columns.append([at.by(moved, step)[0] for at in poses])
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


POSES = 32
"""Number of parameter values for which equilibria are cached."""
TIP: Mapping[str, Sequence[str] | None] = {"tip": None}


@dataclass(frozen=True)
class Measurement:
    """One recording of a fit, and its comparison with the model.

    Attributes:
        recording: inputs and outputs over time. Its columns named like inputs drive the model.
        outputs: outputs of the model, with the recording's columns of each; None for those named after it (`tip.x`), or x, y, z.
        rest_at: times [s] at whose inputs equilibria are compared, instead of the motion.
        use: which samples of the recording to fit (True) and which to hold out (False); all by default.
        window: begin and end of the time window [s].
        parameters: values for this recording only (SI units), such as a known payload.
        own: fitted parameters with a separate value in this recording, such as the angles of a mount that was removed in
            between. They are named `NAME@LABEL` in the fit. As a mapping from parameters to labels, recordings with the same label
            share the value: `{"tilt": "monday"}` is `tilt@monday`.
        deviations: standard deviation of the residuals per output [SI unit of the output], which weights them relative to
            priors and other outputs. Default: estimated from the fit.
        label: name in results; by default its number, from 1.
    """

    recording: Recording
    outputs: Mapping[str, Sequence[str] | None] = field(default_factory=lambda: dict(TIP))
    rest_at: Sequence[float] | np.ndarray | None = None
    use: np.ndarray | None = None
    window: tuple[float, float] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    own: Sequence[str] | Mapping[str, str] = ()
    deviations: Mapping[str, float] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True)
class Samples:
    """Times (n) [s], measured values (n x components, outputs concatenated), which of them are fitted and which are
    held out, and the components of each output."""

    times: np.ndarray
    measured: np.ndarray
    fitted: np.ndarray
    held_out: np.ndarray
    blocks: Mapping[str, slice]


def samples_of(given: Measurement) -> Samples:
    """The samples of a measurement whose columns are all named; raises ArgumentError where one is missing."""
    recording = given.recording
    times = recording.time if given.rest_at is None else np.asarray(given.rest_at, dtype=float)
    listed = {name: columns or () for name, columns in given.outputs.items()}
    names = [name for columns in listed.values() for name in columns]
    measured = np.stack([np.interp(times, recording.time, recording.measured(name)) for name in names], axis=1)
    there = np.all(np.isfinite(measured), axis=1)
    times, measured = times[there], measured[there]
    begin, end = (recording.time[0], recording.time[-1]) if given.window is None else given.window
    slack = time_slack(recording.time)
    inside = (times >= begin - slack) & (times <= end + slack)
    use = given.use
    if use is not None and not isinstance(use, list | tuple | np.ndarray):
        raise ArgumentError(f"`use` must have True or False for each sample, not be {describe(use)}")
    if use is not None and np.asarray(use, dtype=object).shape != recording.time.shape:
        raise ArgumentError(f"`use` has {len(use)} entries for {len(recording.time)}")
    wanted = np.ones(len(recording.time), dtype=bool) if use is None else np.asarray(use, dtype=bool)
    nearest = np.clip(np.searchsorted(recording.time, times), 0, len(recording.time) - 1)
    fitted = inside & wanted[nearest]
    ends = np.cumsum([0, *(len(columns) for columns in listed.values())])
    blocks = {name: slice(int(ends[k]), int(ends[k + 1])) for k, name in enumerate(given.outputs)}
    return Samples(times, measured, fitted, inside & ~fitted, blocks)


class Prediction(Protocol):
    """Outputs of the model at some times for parameter values, concatenated, and their exact derivatives if available;
    None if the model cannot be simulated. reason: why exact derivatives are unavailable."""

    reason: str

    def values(self, parameters: Values) -> np.ndarray | None: ...

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None: ...


def prediction_of(eqs: Equations, given: Measurement, samples: Samples, method: Method) -> Prediction:
    """The prediction of a measurement by the model."""
    check_names("output", list(given.outputs), eqs.model.spec.outputs)
    check_names("parameter", list(given.parameters), eqs.parameters)
    driven, _ = drive(eqs, given.recording)
    if given.parameters:
        driven = driven.at(parameters=dict(given.parameters))
    outputs = tuple(given.outputs)
    if given.rest_at is not None:
        return EquilibriumPrediction(driven, outputs, samples.times)
    begin = float(given.recording.time[0])  # also if the first samples are missing
    return MotionPrediction(driven, outputs, samples.times, method, begin)


class MotionPrediction:
    """Outputs along the motion under recorded inputs."""

    def __init__(self, eqs: Equations, outputs: Sequence[str], times: np.ndarray, method: Method, begin: float) -> None:
        self.eqs, self.outputs, self.times, self.method = eqs, outputs, times, method
        self.span = begin, float(times[-1])
        self.reason = why_not(eqs, outputs)

    def values(self, parameters: Values) -> np.ndarray | None:
        begin, end = self.span
        run = simulate(
            self.eqs, end, begin=begin, method=self.method, save_at=self.times, save_between=True, parameters=parameters,
            on_failure="return",
        )  # fmt: skip
        if run.interrupted:
            raise KeyboardInterrupt
        if run.status != "completed":
            return None
        return np.concatenate([run[name].values.reshape(len(run.time), -1) for name in self.outputs], axis=1)

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        found = output_sensitivity(
            self.eqs, names, self.span, outputs=self.outputs, times=self.times.tolist(), method=self.method,
            parameters=parameters,
        )  # fmt: skip
        if found.run.interrupted:
            raise KeyboardInterrupt
        return (found.values, found.derivatives) if found.run.status == "completed" else None


class EquilibriumPrediction:
    """Outputs at rest under the inputs of some times. Searches begin at the poses of the closest earlier values, so that a
    robot with several equilibria stays in the same ones, also after a rejected step to others."""

    def __init__(self, eqs: Equations, outputs: Sequence[str], times: np.ndarray) -> None:
        self.eqs, self.outputs, self.times = eqs, outputs, times
        self.reason = why_not(eqs, outputs, at_rest=True)
        self._found: deque[tuple[np.ndarray, list[np.ndarray]]] = deque(maxlen=POSES)

    def values(self, parameters: Values) -> np.ndarray | None:
        rests = poses_at_rest(self.eqs.at(parameters=parameters), self.times, self._starts(parameters))
        return None if rests is None else self._noted(parameters, rests)

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        found = rest_sensitivity(
            self.eqs, names, self.times, outputs=self.outputs, parameters=parameters, starts=self._starts(parameters)
        )
        return None if found is None else (self._noted(parameters, found[0]), found[1])

    def _starts(self, parameters: Values) -> list[np.ndarray] | None:
        """The poses of the closest values, relative to their size."""
        if not self._found:
            return None
        here = _vector(parameters)
        sizes = np.max(np.abs([here, *(values for values, _ in self._found)]), axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        return min(self._found, key=lambda known: float(np.sum(((known[0] - here) / sizes) ** 2)))[1]

    def _noted(self, parameters: Values, rests: Sequence[Equilibrium]) -> np.ndarray:
        self._found.append((_vector(parameters), [rest.q for rest in rests]))
        return np.array(
            [np.concatenate([np.atleast_1d(rest.outputs[name]) for name in self.outputs]) for rest in rests]
        )


def _vector(parameters: Values) -> np.ndarray:
    return np.array([float(x) for x in parameters.values()])
