"""Parameter identification: physical parameters from recordings, by bounded least squares with exact derivatives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import floor, isfinite, log10
from typing import Any

import numpy as np

from pliant.analysis.derivation.derive import derive_with_rods
from pliant.analysis.integrators import Method, Rosenbrock
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.status import Status
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, need_equations
from pliant.engine.model.recorded_inputs import driving_columns
from pliant.engine.outputs import output_units
from pliant.identify.cross_validation import HeldOut, Profile, cross_validate, profile
from pliant.identify.measurement import Measurement, prediction_of, samples_of
from pliant.identify.recording import check_recording, compared_columns, missing_rows, thousandths, undriven
from pliant.identify.search import Search, Solution, Target, Unknowns, least_squares_step, mean_distances
from pliant.language.arguments import ArgumentError, function, listed, mapping, name_tuple, numbers, pair, positive
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.message_text import describe, unit_text
from pliant.language.provided import called, with_remarks
from pliant.language.recording import Recording
from pliant.language.units import parse_unit
from pliant.robot.rod_switch import with_fineness


@dataclass(frozen=True)
class FitThresholds:
    """Numbers that remarks on fits, and the numbers that fits write, depend on."""

    unexplained: float = 0.5
    """Residual above which a fit is reported, relative to the scatter of the measured motion about its mean: the model then
    explains less than three quarters of the variance, where one of the right kind leaves a few per cent."""
    systematic: float = 2.0
    """Residual of a motion relative to the white noise in it (from differences of successive samples) above which it
    is not noise."""
    least_samples: int = 10
    """Fewer samples contain too little information about noise."""
    alike: float = 2.0
    """Sum of squares with finer rods, relative to that of the fit, up to which the first-order change suffices."""
    most_digits: int = 9
    """Digits of a fitted value in a model file: more than any uncertainty supports."""


THRESHOLDS = FitThresholds()

_QUANTITY = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*([^\s].*?)\s*")


@dataclass(frozen=True)
class WrittenUnit:
    """Unit in which the model file writes a parameter. factor: SI value of one unit."""

    name: str
    factor: float

    def number(self, value: float, deviation: float) -> str:
        """A value [SI] in this unit, without its name, to two digits of its standard deviation [SI]."""
        return digits(value / self.factor, deviation / self.factor)

    def plain(self, value: float, form: str = ".6g") -> str:
        """A value [SI] with the unit."""
        return f"{value / self.factor:{form}} {self.name}".strip()

    def value(self, value: float, deviation: float) -> str:
        """A value [SI] with the unit, to two digits of its standard deviation [SI]."""
        return f"{self.number(value, deviation)} {self.name}".strip()

    def interval(self, low: float, high: float, deviation: float) -> str:
        """Both ends of an interval [SI] with the unit, to two digits of the standard deviation [SI]."""
        if not (isfinite(low) or isfinite(high)):
            return "not determined"
        if self.number(low, deviation) == self.number(high, deviation):  # narrower than the digits
            return f"{self.number(0.5 * (low + high), deviation)} ± {self.plain(0.5 * (high - low), '.2g')}"
        return f"{self.number(low, deviation)} to {self.value(high, deviation)}"


def written_units(eqs: Equations, labels: Sequence[str]) -> Mapping[str, WrittenUnit]:
    """Units of fitted parameters by label (`NAME`, or `NAME@RECORDING`): as written in the model file, otherwise SI."""
    return {label: _written(eqs, label.partition("@")[0]) for label in labels}


def _written(eqs: Equations, name: str) -> WrittenUnit:
    parameter = eqs.model.spec.parameters.get(name)
    match = _QUANTITY.fullmatch(parameter.value) if parameter and isinstance(parameter.value, str) else None
    if match:
        try:
            return WrittenUnit(match[1], parse_unit(match[1]).factor)
        except ExpressionError:  # an expression
            pass
    dimension = eqs.model.environment.dimension(name)
    return WrittenUnit(unit_text(dimension), 1.0)


def digits(value: float, deviation: float) -> str:
    """A number to two digits of its standard deviation; zeros at the end are significant."""
    if not (isfinite(value) and isfinite(deviation) and deviation > 0):
        return f"{value:.6g}"
    size = floor(log10(max(abs(value), deviation)))
    count = min(max(size - floor(log10(deviation)) + 2, 2), THRESHOLDS.most_digits)
    return f"{value:.{max(count - 1 - size, 0)}f}" if -5 <= size < 7 else f"{value:.{count - 1}e}"


DEFAULT_METHOD = Rosenbrock(rtol=1e-4)
"""Stricter than in simulations: numerical damping would be attributed to fitted damping coefficients."""


@dataclass(frozen=True)
class OutputError:
    """Error of an output of the model compared with a recording.

    Attributes:
        measurement: label of the measurement.
        output: the output.
        before_rms, after_rms: root of the mean squared distance over the fitted samples [SI unit of the output].
        deviation: standard deviation of a component used in the fit [SI unit of the output].
        unit: of the output.
    """

    measurement: str
    output: str
    before_rms: float
    after_rms: float
    deviation: float
    unit: str


@dataclass(frozen=True)
class FittedPath:
    """An output and its measured values.

    Attributes:
        measurement, output: label of the measurement, and the output.
        in_motion: whether the samples follow each other in time; otherwise they are equilibria.
        time: of the samples (n) [s].
        measured, before, after: what was measured, and what the model predicts with the values before and after the fit
            (n x components) [SI unit of the output].
        fitted: which samples were fitted (n); the others were held out.
    """

    measurement: str
    output: str
    in_motion: bool
    time: np.ndarray
    measured: np.ndarray
    before: np.ndarray
    after: np.ndarray
    fitted: np.ndarray


@dataclass(frozen=True, repr=False)
class Fit:
    """Parameters found from recordings.

    Attributes:
        status: converged, or stopped after the maximum number of evaluations.
        parameters: values found (SI units).
        start: values before.
        deviations: standard deviations, from the curvature of the fit, the priors, and the scatter and
            autocorrelation of the residuals (neighbouring samples have correlated errors and count as fewer samples).
        intervals: 95 % confidence intervals.
        correlation: of the errors of the parameters, parameters x parameters, from -1 to 1.
        at_bounds: parameters that ended on a bound; their deviations are not meaningful.
        before_mm, after_mm: mean distance over the samples that were fitted, all outputs together [mm; for outputs
            other than positions in thousandths of their SI units, see `unit`].
        before_test_mm, after_test_mm: the same over the samples that were held out (NaN without any).
        errors: the same by measurement and output.
        evaluations: number of simulations (or sets of equilibria); those with derivatives count once.
        derivatives: "exact", or why some came from finite differences.
        message: how the search ended.
        unit: of the distances.
        warnings: recorded loads that drive no input, columns without units, rods that are discretized too coarsely, a search that
            has not converged, parameters that the recordings do not determine (their deviations are infinite).
        finer_rods: change of each value with twice as many elements in every rod (SI units): to first order if it is below the
            standard deviations, otherwise from a fit; empty for a robot without rods.
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
    errors: tuple[OutputError, ...]
    evaluations: int
    derivatives: str
    message: str
    unit: str = "mm"
    warnings: tuple[str, ...] = ()
    finer_rods: Mapping[str, float] = field(default_factory=dict)
    _paths: tuple[FittedPath, ...] = field(repr=False, compare=False, kw_only=True)
    _units: Mapping[str, WrittenUnit] = field(repr=False, compare=False, kw_only=True)
    _search: Search = field(repr=False, compare=False, kw_only=True)
    _solution: Solution = field(repr=False, compare=False, kw_only=True)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {self._value(name)}" for name in self.parameters)
        first = f"Fit ({self.status}): {values}; mean error {self.before_mm:.3g} {self.unit} before, {self.after_mm:.3g} after"
        return with_remarks(first, self.warnings)

    def _repr_html_(self) -> str:
        return str(called("Fit.html", self))

    def _value(self, name: str) -> str:
        unit, value, deviation = self._units[name], self.parameters[name], self.deviations[name]
        return f"{unit.number(value, deviation)} ± {unit.plain(deviation, '.2g')}"

    @property
    def units(self) -> Mapping[str, WrittenUnit]:
        """Unit of each parameter as the model file writes it; all numbers of this object are in SI units."""
        return self._units

    @property
    def paths(self) -> tuple[FittedPath, ...]:
        """Measured and predicted values, by measurement and output."""
        return self._paths

    @on_one_blas_thread
    def profile(self, name: str, values: Sequence[float] | np.ndarray | None = None) -> Profile:
        """Profile likelihood of a parameter: the fit with it fixed at other values and all others refitted, for
        confidence intervals of nonlinear problems. values: of the parameter (SI units); default: outward to the ends
        of the interval."""
        check_names("fitted parameter", [name], self.parameters)
        if name in self.at_bounds:
            raise ArgumentError(f"'{name}' ended on a bound: its profile has one side only; widen the bound")
        return profile(self._search, self._solution, name, None if values is None else np.asarray(values, dtype=float))

    @on_one_blas_thread
    def cross_validate(self, folds: int = 4, *, groups: Sequence[np.ndarray] | None = None, seed: int = 0) -> HeldOut:
        """Cross-validation: samples are split into folds, and each fold is predicted by a fit to the others.

        Equilibria are assigned at random (`seed`); motions are cut into segments. groups: a label for each sample of
        each measurement, for samples that stay together, such as loading cycles or entire recordings.
        """
        return cross_validate(self._search, self._solution, folds, groups, seed)

    def data(self) -> dict[str, Any]:
        """All results, for JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if not f.name.startswith("_")}
        return found | {"errors": [dict(error.__dict__) for error in self.errors]}


@on_one_blas_thread
def fit(
    eqs: Equations,
    parameters: Sequence[str],
    measurements: Recording | Measurement | Sequence[Recording | Measurement],
    *,
    output: str = "tip",
    columns: Sequence[str] | None = None,
    use: np.ndarray | None = None,
    window: tuple[float, float] | None = None,
    rest_at: Sequence[float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    method: Method | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit parameters so that outputs follow one or more recordings, in motion and at rest.

    measurements: recordings, compared as given by `output`, `columns`, `use`, `window` and `rest_at`, or
        `Measurement`s with their own settings. columns: by default those named after the output (`tip.x`), or x, y,
        z. use: which samples to fit (True) and which to hold out (False); all by default. rest_at: times [s] at whose
        inputs equilibria are fitted to the recording, instead of the motion. bounds: per parameter; by default the
        model's `minimum` and `maximum`, otherwise a tenth of and ten times the start value (no bound with a prior).
        priors: mean and standard deviation of the prior of a parameter (SI units).
    """
    need_equations(eqs)
    parameters = name_tuple(parameters, "parameters") or ()
    check_names("parameter", parameters, eqs.parameters)
    function("progress", progress)
    if not len(parameters):
        raise ArgumentError("there are no parameters to fit", f"known: {', '.join(eqs.parameters)}")
    listed = [measurements] if isinstance(measurements, Recording | Measurement) else _listed(measurements)
    if not isinstance(output, str):
        raise ArgumentError(f"output must be the name of an output, not {describe(output)}")
    usual = {"outputs": {output: columns}, "use": use, "window": window, "rest_at": rest_at}
    given = [Measurement(one, **usual) if isinstance(one, Recording) else one for one in listed]  # type: ignore[arg-type]
    if not given:
        raise ArgumentError("there is nothing to fit to: give a recording")
    given = [_with_columns(eqs, one) for one in given]
    unknowns, places = _unknowns(eqs, parameters, given, _pairs("bounds", bounds), _pairs("priors", priors))

    def targets_of(eqs: Equations) -> list[Target]:
        return [
            _target(eqs, one, places[k], k, DEFAULT_METHOD if method is None else method) for k, one in enumerate(given)
        ]

    remarks = dict.fromkeys(x for one in given for x in _remarks(eqs, one))
    targets = targets_of(eqs)
    size = sum(int(t.samples.fitted.sum()) * t.samples.measured.shape[1] for t in targets)
    if size + unknowns.with_prior.sum() <= len(unknowns.labels):
        raise ArgumentError(f"{size} measured values are too few to fit {len(unknowns.labels)} parameters")
    search = Search(unknowns, targets, progress)
    before = search.values(unknowns.start)
    found = search.solve(np.clip(unknowns.start, unknowns.low, unknowns.high))
    moved, coarse = discretization_of(eqs, search, found, targets_of)
    result = _result(eqs, search, found, before, (*remarks, *coarse))
    return replace(result, finer_rods=moved)


def _listed(measurements: Any) -> list[Recording | Measurement]:
    if isinstance(measurements, str | os.PathLike):
        check_recording(measurements)  # the name of a file is no list of letters
    given = list(listed(measurements))
    for one in given:
        if not isinstance(one, Measurement):
            check_recording(one)
        if one is None:
            raise ArgumentError("a recording cannot be None", "read a file with pliant.read_recording")
    return given


def _pairs(where: str, given: Any) -> dict[str, tuple[float, float]]:
    """Bounds or priors: two numbers by name."""
    return {
        name: pair(f"{where}: '{name}'", value, example=f"{where}={{'{name}': (1.0, 2.0)}}")
        for name, value in mapping(where, given).items()
    }


def _remarks(eqs: Equations, given: Measurement) -> list[str]:
    driving = driving_columns(eqs.model, given.recording).values()
    compared = [name for columns in given.outputs.values() for name in columns or ()]
    return [*undriven(eqs.model, given.recording, [*driving, *compared]), *missing_rows(given.recording, compared)]


def _with_columns(eqs: Equations, given: Measurement) -> Measurement:
    """A measurement whose outputs all have columns, checked."""
    if not mapping("outputs", given.outputs):
        raise ArgumentError("a measurement compares no outputs", "write outputs={'tip': None}")
    if not isinstance(given.recording, Recording):
        raise ArgumentError(f"a recording cannot be {describe(given.recording)}")
    parameters = mapping("parameters of a measurement", given.parameters)
    deviations = mapping("deviations", given.deviations)
    for name, value in deviations.items():
        positive(f"deviations: '{name}'", value)
    own = given.own if isinstance(given.own, Mapping) else name_tuple(given.own, "own") or ()
    if not isinstance(given.label, str):
        raise ArgumentError(f"the label of a measurement must be a text, not {describe(given.label)}")
    if given.window is not None:
        pair("window", given.window, example="window=(0.5, 2.0)")
    if given.rest_at is not None:
        numbers("rest_at", given.rest_at)
    found = {x: compared_columns(eqs.model, given.recording, x, columns) for x, columns in given.outputs.items()}
    return replace(given, outputs=found, parameters=parameters, own=own, deviations=deviations)


def _unknowns(
    eqs: Equations, parameters: Sequence[str], given: Sequence[Measurement], bounds: Mapping[str, tuple[float, float]],
    priors: Mapping[str, tuple[float, float]],
) -> tuple[Unknowns, list[dict[str, int]]]:  # fmt: skip
    """The unknowns of the fit, and for each measurement the indices of its parameters among them."""
    check_names("fitted parameter", [*bounds, *priors], parameters)
    labels: list[str] = []
    origin: list[str] = []
    places: list[dict[str, int]] = []
    for k, one in enumerate(given):
        check_names("fitted parameter", list(one.own), parameters)
        own = one.own if isinstance(one.own, Mapping) else dict.fromkeys(one.own, _label(one, k))
        place = {}
        for name in parameters:
            if name in one.parameters:
                raise ArgumentError(f"'{name}' is fitted, but a measurement also gives it a value; remove one of them")
            label = f"{name}@{own[name]}" if name in own else name
            if label not in labels:
                labels.append(label)
                origin.append(name)
            place[name] = labels.index(label)
        places.append(place)
    start = np.array([eqs.parameters[name] for name in origin])
    mean, deviation = np.array([priors.get(name, (0.0, np.inf)) for name in origin]).T
    if np.any(deviation <= 0):
        raise ArgumentError("the deviation of a prior must be above zero; to fix a parameter, do not fit it")
    if np.any((start == 0) & ~np.isfinite(deviation)):
        raise ArgumentError("a parameter to fit must not start at zero: its scale is not known. Give it a prior")
    scale = np.where(np.isfinite(deviation), deviation, np.abs(start))
    limits = np.array([bounds.get(name) or _bounds(eqs, name, name in priors) for name in origin])
    low, high = limits.min(axis=1), limits.max(axis=1)
    return Unknowns(tuple(labels), start, scale, low, high, mean, deviation), places


def _bounds(eqs: Equations, name: str, has_prior: bool) -> tuple[float, float]:
    start, declared = eqs.parameters[name], eqs.declared_bounds(name)
    usual = (-np.inf, np.inf) if has_prior else sorted((0.1 * start, 10 * start))
    low, high = (d if np.isfinite(d) else u for d, u in zip(declared, usual, strict=True))
    return low, high


def _label(given: Measurement, index: int) -> str:
    return given.label or str(index + 1)


def _target(eqs: Equations, given: Measurement, place: Mapping[str, int], index: int, method: Method) -> Target:
    check_names("output", list(given.deviations), given.outputs)
    samples = samples_of(given)
    prediction = prediction_of(eqs, given, samples, method)
    where = np.array(list(place.values()))
    return Target(_label(given, index), samples, prediction, tuple(place), where, given.deviations)


def _result(
    eqs: Equations, search: Search, found: Solution, before: Sequence[np.ndarray], warnings: tuple[str, ...]
) -> Fit:
    unknowns, after = search.unknowns, search.values(found.x)
    deviation = np.sqrt(np.diag(found.covariance))
    safe = np.where(deviation > 0, deviation, 1.0)
    lost = found.undetermined
    deviation = np.where(lost, np.inf, deviation)
    half = found.reach * deviation
    warnings = (*warnings, *_outcome(found, [name for name, flag in zip(unknowns.labels, lost, strict=True) if flag]))
    fitted, held_out = ([getattr(t.samples, which) for t in search.targets] for which in ("fitted", "held_out"))
    units = output_units(eqs.model)
    warnings = (*warnings, *_unexplained(search, after, units))
    named = {units[name] for target in search.targets for name in target.samples.blocks}
    return Fit(
        status=Status.CONVERGED if found.success else Status.STOPPED,
        parameters=unknowns.by_name(found.x),
        start=unknowns.by_name(unknowns.start),
        deviations=unknowns.by_name(deviation),
        intervals={n: (float(x - d), float(x + d)) for n, x, d in zip(unknowns.labels, found.x, half, strict=True)},
        correlation=found.covariance / np.outer(safe, safe),
        at_bounds=tuple(name for name, flag in zip(unknowns.labels, found.on_bound, strict=True) if flag),
        before_mm=mean_distances(search.targets, before, fitted),
        after_mm=mean_distances(search.targets, after, fitted),
        before_test_mm=mean_distances(search.targets, before, held_out),
        after_test_mm=mean_distances(search.targets, after, held_out),
        errors=_errors(search, found, before, after, units),
        evaluations=search.count,
        derivatives=search.reason or "exact",
        message=found.message,
        unit=thousandths(named.pop()) if len(named) == 1 else "1e-3 of the outputs' units",
        warnings=warnings,
        _paths=_paths(search, before, after),
        _units=written_units(eqs, unknowns.labels),
        _search=search,
        _solution=found,
    )


def _outcome(found: Solution, undetermined: Sequence[str]) -> list[str]:
    """Remarks on a search that did not converge, and on parameters that the recordings do not determine."""
    remarks = [] if found.success else [f"the fit has not converged: {found.message}"]
    if undetermined:
        names = ", ".join(f"'{name}'" for name in undetermined)
        remarks.append(
            f"the recordings do not determine {names}: the compared outputs do not depend on it, or only on a combination with "
            "other parameters. Check that the model moves as recorded (inputs, times), or do not fit it"
        )
    return remarks


def _unexplained(search: Search, after: Sequence[np.ndarray], units: Mapping[str, str]) -> list[str]:
    """A remark on each output whose motion the fitted model does not describe."""
    remarks = []
    for target, path in zip(search.targets, after, strict=True):
        samples = target.samples
        if not target.is_motion or samples.fitted.sum() < THRESHOLDS.least_samples:
            continue
        for name, block in samples.blocks.items():
            measured = samples.measured[samples.fitted][:, block]
            residual = path[samples.fitted][:, block] - measured
            size, scatter = (
                float(np.sqrt(np.mean(np.sum(x**2, axis=1)))) for x in (residual, measured - measured.mean(axis=0))
            )
            noise = float(np.sqrt(np.mean(np.sum(np.diff(residual, axis=0) ** 2, axis=1)) / 2))
            if size > THRESHOLDS.unexplained * scatter and size > THRESHOLDS.systematic * noise:
                remarks.append(
                    f"the fitted model does not describe '{name}': the residual is {size / scatter:.0%} of the measured motion "
                    f"about its mean ({1e3 * size:.3g} of {1e3 * scatter:.3g} {thousandths(units[name])}, root mean squares). "
                    "Check the start, the inputs and the axes of the recording; another parameter may have to be fitted"
                )
    return remarks


def _paths(search: Search, before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> tuple[FittedPath, ...]:
    found = []
    for target, first, last in zip(search.targets, before, after, strict=True):
        samples = target.samples
        for name, block in samples.blocks.items():
            values = (samples.measured[:, block], first[:, block], last[:, block])
            found.append(
                FittedPath(target.label, name, target.is_motion, samples.times, *values, fitted=samples.fitted)
            )
    return tuple(found)


def _errors(
    search: Search, found: Solution, before: Sequence[np.ndarray], after: Sequence[np.ndarray], units: Mapping[str, str]
) -> tuple[OutputError, ...]:
    errors = []
    for k, target in enumerate(search.targets):
        samples = target.samples
        for name, block in samples.blocks.items():
            rms = [
                float(np.sqrt(np.mean(np.sum((path - samples.measured)[samples.fitted][:, block] ** 2, axis=1))))
                for path in (before[k], after[k])
            ]
            errors.append(OutputError(target.label, name, rms[0], rms[1], found.deviations[k, name], units[name]))
    return tuple(errors)


def cycles(recording: Recording, inputs: Sequence[str], *, share: float = 0.05) -> np.ndarray:
    """Number of the loading cycle each sample belongs to (from 1): a cycle begins when an input rises after all were low."""
    values = np.array([recording.columns[name] for name in inputs])
    loaded = np.any(np.abs(values) > share * np.abs(values).max(), axis=0)
    starts = loaded & ~np.concatenate([[False], loaded[:-1]])
    return np.maximum(1, np.cumsum(starts))


def finer_rods(eqs: Equations) -> tuple[Equations, dict[str, str]]:
    """Equations whose rods have twice as many elements each (or twice the order), and their models by rod."""
    models, words = {}, {}
    for name, rod in eqs.model.spec.rods.items():
        count = 2 * int(eqs.model.rod_elements.get(name) or getattr(rod.model, rod.model.fineness))
        if stated := [x for x in eqs.model.stated if x.startswith((f"{name}.", f"d({name}."))]:
            raise ArgumentError(f"the start of '{stated[0]}' is given for its present number of elements")
        models[name], words[name] = with_fineness(rod.model, count), f"{rod.model.kind}:{count}"
    return derive_with_rods(eqs, models), words


def moved_by(search: Search, found: Solution, finer: Sequence[Target]) -> np.ndarray | None:
    """Change of the free unknowns if the targets are predicted by the finer model [SI], or None if that cannot be simulated there.

    The difference of the predictions is fitted with the derivatives of the best fit. If it is not small, this is only the
    start of a fit to the finer predictions: an error in frequency is no longer linear in the modulus after a radian, and
    would be attributed to damping.
    """
    other = Search(search.unknowns, finer, None)
    paths = [target.prediction.values(other.values_for(target, found.x)) for target in finer]
    if any(path is None for path in paths):
        return None
    left = search.residual_of(paths, found)
    inside = ~found.on_bound  # values at a bound stay there
    moved = np.zeros(len(found.free))
    moved[inside] = -least_squares_step(found.jacobian[:, inside], left - found.residual)
    rest = left + found.jacobian @ moved
    if np.all(np.abs(moved) <= np.sqrt(np.diag(found.covariance))) and rest @ rest <= THRESHOLDS.alike * max(
        found.cost, 1.0
    ):
        return moved
    start = found.x.copy()
    start[found.free] += moved
    start = np.clip(start, search.unknowns.low, search.unknowns.high)
    there = [target.prediction.values(other.values_for(target, start)) for target in finer]
    if any(path is None for path in there) or np.sum(search.residual_of(there, found) ** 2) > left @ left:
        start = found.x
    refitted = other.solve(start, free=found.free, deviations=found.deviations)
    return np.asarray((refitted.x - found.x)[found.free]) if refitted.success else moved


def discretization_of(
    eqs: Equations, search: Search, found: Solution, targets: Callable[[Equations], Sequence[Target]]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Change of each fitted value with finer rods [SI], and a remark if it exceeds its standard deviation.

    targets: those of the fit for other equations.
    """
    if not eqs.model.spec.rods:
        return {}, ()
    labels = [search.unknowns.labels[k] for k in found.free]
    try:
        finer, models = finer_rods(eqs)
        moved = moved_by(search, found, targets(finer))
    except (SpecError, ValueError) as reason:
        return {}, (f"the dependence of the fit on the number of rod elements was not checked: {reason}",)
    if moved is None:
        return {}, ("the dependence of the fit on the number of rod elements was not checked: with twice as many "
                    "the model cannot be simulated at the fitted values",)  # fmt: skip
    deviation = np.sqrt(np.diag(found.covariance))
    far = [k for k in range(len(labels)) if abs(moved[k]) > deviation[k]]
    if not far:
        return dict(zip(labels, moved.tolist(), strict=True)), ()
    units, x = written_units(eqs, labels), found.x[found.free]
    values = ", ".join(
        f"{labels[k]} from {units[labels[k]].number(x[k], deviation[k])} to about "
        f"{units[labels[k]].value(x[k] + moved[k], deviation[k])}"
        for k in far
    )
    rods = " ".join(f"--rod {name}={model}" for name, model in models.items())
    remark = (
        f"the intervals do not include the discretization error of the rods: with twice as many elements the fit would change"
        f" {values}, by more than the standard deviation. Fit a finer model ({rods})"
    )
    return dict(zip(labels, moved.tolist(), strict=True)), (remark,)
