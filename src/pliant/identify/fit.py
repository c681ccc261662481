"""Parameter identification: physical parameters from a recording, by bounded least squares with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from pliant.equations.core import check_names
from pliant.equations.equations import Equations, Values
from pliant.equations.outputs import output_units
from pliant.identify.compare import DEFAULT_METHOD
from pliant.identify.recording import Recording, RecordingError, drive, thousandths
from pliant.identify.sensitivity import output_sensitivity, rest_sensitivity, why_not
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.motion.integrator import Method
from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium
from pliant.solve.status import Status

# Without exact derivatives parameters are varied by this share of their value: far above the error of a simulation, far below
# what matters.
DIFFERENCE = 1e-3
# The search ends when a step changes parameters or the sum of squares by less than this share: what they are known to is more.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Fit:
    """Parameters found from a recording.

    Attributes:
        status: converged, or stopped after the most evaluations.
        parameters: values found (SI units).
        start: values before.
        deviations: standard deviations, from the curvature of the fit and the scatter and persistence of what is left over
            (neighbouring samples err alike, so they count as fewer than they are).
        intervals: 95 % confidence intervals.
        correlation: how the errors of two parameters go together, parameters x parameters, from -1 to 1.
        at_bounds: parameters that ended on a bound; their deviations mean little.
        before_mm, after_mm: mean distance over the samples that were fitted [mm; of an output that is no position in thousandths of
            its SI unit, as `unit` says].
        before_test_mm, after_test_mm: the same over the samples that were held out (NaN without any).
        evaluations: simulations (or sets of states at rest) made; those with derivatives count once.
        derivatives: "exact", or why they came from finite differences.
        message: what the solver said.
        unit: of the distances.
    """

    status: Status
    parameters: Mapping[str, float]
    start: Mapping[str, float]
    deviations: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    correlation: np.ndarray
    at_bounds: tuple[str, ...]
    before_mm: float
    after_mm: float
    before_test_mm: float
    after_test_mm: float
    evaluations: int
    derivatives: str
    message: str
    unit: str = "mm"


@on_one_blas_thread
def fit(
    eqs: Equations,
    parameters: Sequence[str],
    recording: Recording,
    *,
    output: str = "tip",
    columns: Sequence[str] = ("x", "y", "z"),
    use: np.ndarray | None = None,
    window: tuple[float, float] | None = None,
    rest_at: Sequence[float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    method: Method | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit parameters so that an output follows the recording.

    use: which samples to fit (True) and which to hold out (False); all by default. rest_at: times [s] under whose inputs states at
    rest are fitted to the recording there, instead of the motion. bounds: per parameter; by default the model's `minimum` and
    `maximum`, and where it has none, a tenth of and ten times the start value.
    """
    check_names("parameter", parameters, eqs.parameters)
    check_names("output", [output], eqs.model.spec.outputs)
    driven, _ = drive(eqs, recording)
    start = np.array([eqs.parameters[name] for name in parameters])
    if np.any(start == 0):
        raise RecordingError("a parameter to fit must not start at zero: its scale is not known")
    samples = _samples(recording, columns, use, window, rest_at)
    if samples.fitted.sum() * samples.measured.shape[1] <= len(start):
        raise RecordingError(f"{samples.fitted.sum()} samples are too few to fit {len(start)} parameters")
    source = (_MotionOutput if rest_at is None else _RestOutput)(
        driven, output, samples.times, method or DEFAULT_METHOD
    )
    problem = _Problem(source, parameters, start, samples.measured, samples.fitted, progress)
    limits = [(bounds or {}).get(name) or _bounds(eqs, name) for name in parameters]
    low, high = (np.array([limit[k] for limit in limits]) / start for k in (0, 1))
    first = problem.values(np.ones(len(start)))
    found = scipy.optimize.least_squares(
        problem.residual, np.ones(len(start)), jac=problem.jacobian, x_scale="jac",
        bounds=(np.minimum(low, high), np.maximum(low, high)), ftol=TOLERANCE, xtol=TOLERANCE, gtol=TOLERANCE,
    )  # fmt: skip
    last = problem.values(found.x)
    deviations, half, correlation = _confidence(found.jac, found.fun.reshape(-1, samples.measured.shape[1]))
    values = found.x * start

    def by_name(x: np.ndarray) -> dict[str, float]:
        return dict(zip(parameters, x.tolist(), strict=True))

    scaled = half * np.abs(start)
    return Fit(
        status=Status.CONVERGED if found.success else Status.STOPPED,
        parameters=by_name(values),
        start=by_name(start),
        deviations=by_name(deviations * np.abs(start)),
        intervals={n: (float(x - d), float(x + d)) for n, x, d in zip(parameters, values, scaled, strict=True)},
        correlation=correlation,
        at_bounds=tuple(name for name, flag in zip(parameters, found.active_mask, strict=True) if flag),
        before_mm=samples.mean_error(first, samples.fitted),
        after_mm=samples.mean_error(last, samples.fitted),
        before_test_mm=samples.mean_error(first, samples.held_out),
        after_test_mm=samples.mean_error(last, samples.held_out),
        evaluations=problem.count,
        derivatives=problem.source.reason or "exact",
        message=str(found.message),
        unit=thousandths(output_units(eqs.model)[output]),
    )


@dataclass(frozen=True)
class _Samples:
    """Times (n) [s], what was measured at them (n x k), and which of them are fitted and which are held out."""

    times: np.ndarray
    measured: np.ndarray
    fitted: np.ndarray
    held_out: np.ndarray

    def mean_error(self, path: np.ndarray, which: np.ndarray) -> float:
        """Mean distance from the chosen samples [mm]; not a number where there are none."""
        return float(1e3 * np.linalg.norm(path - self.measured, axis=1)[which].mean()) if which.any() else float("nan")


def _samples(
    recording: Recording, columns: Sequence[str], use: np.ndarray | None, window: tuple[float, float] | None,
    rest_at: Sequence[float] | None,
) -> _Samples:  # fmt: skip
    times = recording.time if rest_at is None else np.asarray(rest_at, dtype=float)
    measured = np.stack([np.interp(times, recording.time, recording.column(name)) for name in columns], axis=1)
    begin, end = window or (recording.time[0], recording.time[-1])
    inside = (times >= begin - 1e-9) & (times <= end + 1e-9)
    wanted = np.ones(len(recording.time), dtype=bool) if use is None else np.asarray(use, dtype=bool)
    nearest = np.clip(np.searchsorted(recording.time, times), 0, len(recording.time) - 1)
    fitted = inside & wanted[nearest]
    return _Samples(times, measured, fitted, inside & ~fitted)


def _bounds(eqs: Equations, name: str) -> tuple[float, float]:
    start, declared = eqs.parameters[name], eqs.declared_bounds(name)
    usual = sorted((0.1 * start, 10 * start))
    low, high = (d if np.isfinite(d) else u for d, u in zip(declared, usual, strict=True))
    return low, high


class _Output(Protocol):
    """Something that gives an output at some times for parameter values, and its derivatives where it can."""

    reason: str

    def values(self, parameters: Values) -> np.ndarray | None: ...

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None: ...


class _MotionOutput:
    """The output along the motion under recorded inputs."""

    def __init__(self, eqs: Equations, output: str, times: np.ndarray, method: Method) -> None:
        self.eqs, self.output, self.times, self.method = eqs, output, times, method
        self.span = float(times[0]), float(times[-1])
        self.reason = why_not(eqs, output)

    def values(self, parameters: Values) -> np.ndarray | None:
        begin, end = self.span
        run = simulate(
            self.eqs, end, begin=begin, method=self.method, save_at=self.times, save_between=True, parameters=parameters,
            on_failure="return",
        )  # fmt: skip
        if run.interrupted:
            raise KeyboardInterrupt
        return run[self.output].values.reshape(len(run.time), -1) if run.status == "completed" else None

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        found = output_sensitivity(
            self.eqs,
            names,
            self.span,
            output=self.output,
            times=self.times.tolist(),
            method=self.method,
            parameters=parameters,
        )
        if found.run.interrupted:
            raise KeyboardInterrupt
        return (found.values, found.derivatives) if found.run.status == "completed" else None


class _RestOutput:
    """The output at rest under the inputs of some times."""

    def __init__(self, eqs: Equations, output: str, times: np.ndarray, method: Method) -> None:
        self.eqs, self.output, self.times = eqs, output, times
        self.reason = why_not(eqs, output)

    def values(self, parameters: Values) -> np.ndarray | None:
        rests = [equilibrium(self.eqs, time=t, parameters=parameters, on_failure="return") for t in self.times]
        if any(rest.status != "converged" for rest in rests):
            return None
        return np.array([np.atleast_1d(rest.outputs[self.output]) for rest in rests])

    def derivatives(self, parameters: Values, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        return rest_sensitivity(self.eqs, names, self.times, output=self.output, parameters=parameters)


class _Problem:
    """Residuals [mm] and their derivatives by parameters in units of their start values."""

    def __init__(
        self,
        source: _Output,
        names: Sequence[str],
        start: np.ndarray,
        measured: np.ndarray,
        chosen: np.ndarray,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.source, self.names, self.start = source, names, start
        self.measured, self.chosen, self.progress = measured, chosen, progress
        self.count = 0
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray | None]] = {}

    def values(self, x: np.ndarray) -> np.ndarray:
        """The output at all times, for parameters x in units of their start."""
        return self._evaluated(x)[0]

    def _evaluated(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Values, and their derivatives where the source has them: most steps are accepted, so that these will be needed."""
        key = x.tobytes()
        if key not in self._known:
            values = dict(zip(self.names, (x * self.start).tolist(), strict=True))
            if self.source.reason:
                self._known[key] = self._checked(self.source.values(values)), None
            else:
                path, slopes = self.source.derivatives(values, self.names) or (None, None)
                self._known[key] = self._checked(path), slopes
        return self._known[key]

    def residual(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(1e3 * (self.values(x) - self.measured)[self.chosen]).ravel()

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        if self.source.reason:
            columns = []
            for k in range(len(x)):
                step = np.zeros(len(x))
                step[k] = DIFFERENCE * abs(x[k])
                columns.append((self.residual(x + step) - self.residual(x - step)) / (2 * step[k]))
            return np.stack(columns, axis=1)
        slopes = self._evaluated(x)[1]
        if slopes is None:
            values = ", ".join(f"{n} = {v:.4g}" for n, v in zip(self.names, x * self.start, strict=True))
            raise RecordingError(
                f"the model cannot be simulated with {values}; change these values or narrow the bounds"
            )
        return np.asarray(1e3 * (slopes * self.start)[self.chosen]).reshape(-1, len(x))

    def _checked(self, path: np.ndarray | None) -> np.ndarray:
        self.count += 1
        if path is not None and path.shape != self.measured.shape:
            raise RecordingError(
                f"the output has {path.shape[1]} components and {self.measured.shape[1]} columns of the recording are given"
            )
        if path is None:
            # worse than any simulation that does not break down
            return np.full_like(self.measured, 1e3)
        if self.progress is not None:
            self.progress(self.count, float(1e3 * np.linalg.norm(path - self.measured, axis=1)[self.chosen].mean()))
        return path


def _confidence(J: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard deviations, half widths of 95 % intervals, and correlations; residual: samples x components."""
    left = residual - residual.mean(axis=0)
    power = np.sum(left * left)
    persistence = 1.0
    for lag in range(1, len(left)):
        share = np.sum(left[lag:] * left[:-lag]) / power if power > 0 else 0.0
        if share <= 0:
            break
        persistence += 2 * share
    independent = max(residual.size / persistence - J.shape[1], 1.0)
    variance = np.sum(residual**2) / max(1, residual.size - J.shape[1]) * persistence
    covariance = np.linalg.pinv(J.T @ J) * variance
    deviation = np.sqrt(np.diag(covariance))
    safe = np.where(deviation > 0, deviation, 1.0)
    return deviation, deviation * float(scipy.special.stdtrit(independent, 0.975)), covariance / np.outer(safe, safe)


def cycles(recording: Recording, inputs: Sequence[str], *, share: float = 0.05) -> np.ndarray:
    """Number of the loading cycle each sample belongs to (from 1): a cycle begins when an input rises after all were low."""
    values = np.array([recording.columns[name] for name in inputs])
    loaded = np.any(np.abs(values) > share * np.abs(values).max(), axis=0)
    starts = loaded & ~np.concatenate([[False], loaded[:-1]])
    return np.maximum(1, np.cumsum(starts))
