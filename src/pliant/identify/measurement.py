"""Data of a fit: a recording, and outputs of the model with the recording's columns, in motion or at rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pliant.equations.core import check_names
from pliant.equations.equations import Equations, Values
from pliant.identify.recording import drive, time_slack
from pliant.identify.sensitivity import output_sensitivity, poses_at_rest, rest_sensitivity, why_not
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe
from pliant.language.recording import Recording, RecordingError
from pliant.solve.motion.integrator import Method
from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import Equilibrium

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
    """The samples of a measurement whose columns are all named; raises RecordingError where one is missing."""
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
        raise RecordingError(f"`use` has {len(use)} entries for {len(recording.time)}")
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
