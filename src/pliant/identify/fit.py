"""Parameter identification: physical parameters from recordings, by bounded least squares with exact derivatives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import floor, isfinite, log10
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool

from pliant.analysis.base import Analysis, AnyNumber, Option, Seconds, SignalNames, function_of, named_values
from pliant.analysis.derivation.derive import derive_with_rods
from pliant.analysis.integrators import Method, Rosenbrock
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_units
from pliant.identify.measurement import Measurement, prediction_of, samples_of
from pliant.identify.recording import (
    LEAST_REST,
    check_recording,
    compared_columns,
    driving_columns,
    missing_rows,
    plateaus,
    thousandths,
    undriven,
    window_of,
    with_inputs_of,
)
from pliant.identify.search import Search, Solution, Target, Unknowns, least_squares_step, mean_distances
from pliant.language.arguments import ArgumentError, function, listed, mapping, name_tuple, numbers, pair, positive
from pliant.language.base import InPython, OneOrList, Problem
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.message_text import describe, unit_text
from pliant.language.recording import Recording, read_recording
from pliant.language.units import parse_unit
from pliant.robot.rod_switch import with_fineness

# A profile extends outward by quarters of the interval of a linear problem until its rise is sufficient, at most to this distance.
MOST_STEPS = 16


@dataclass(frozen=True, repr=False)
class HeldOut:
    """Errors on withheld samples, each predicted by a fit to the others.

    Attributes:
        rms: root of the mean squared distance, by output [SI unit of the output].
        distances: of every sample, by measurement and output [SI]; NaN for samples that were never withheld.
        predicted: concatenated outputs, times x components, for each measurement [SI].
        parameters: values found without each fold (SI units).
        spread: standard deviation of the parameters over the folds: small if no few samples dominate.
    """

    rms: Mapping[str, float]
    distances: Mapping[str, Mapping[str, np.ndarray]]
    predicted: Sequence[np.ndarray]
    parameters: Sequence[Mapping[str, float]]
    spread: Mapping[str, float]

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {x:.3g}" for name, x in self.rms.items())
        spread = ", ".join(f"{name} {x:.2g}" for name, x in self.spread.items())
        return f"HeldOut: {len(self.parameters)} folds; root mean square error (SI): {errors}; spread: {spread}"


@dataclass(frozen=True, repr=False)
class Profile:
    """Profile of a fit: one parameter fixed, all others refitted.

    Attributes:
        name: the parameter.
        values: at which it was fixed (SI units), increasing.
        rise: of the sum of squares above the best fit's, in units of the deviations (twice the drop of the log-likelihood).
        interval: 95 % confidence interval, where the rise reaches the quantile; infinite on a side where it is not
            reached within the values.
    """

    name: str
    values: np.ndarray
    rise: np.ndarray
    interval: tuple[float, float]

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Profile of {self.name}: 95 % interval {low:.6g} to {high:.6g}, from {len(self.values)} fits"


def folds_of(search: Search, folds: int, groups: Sequence[np.ndarray] | None, seed: int) -> list[np.ndarray]:
    """The fold of every sample of each target; -1 where it is not fitted.

    Equilibria are assigned at random, and motions are cut into segments, because neighbouring samples have correlated
    errors. groups: labels per sample of each measurement; samples of one label stay together, also across measurements.
    """
    if groups is not None and len(groups) != len(search.targets):
        raise ArgumentError(f"give groups for each of the {len(search.targets)} measurements")
    rng = np.random.default_rng(seed)
    fitted = [target.samples.fitted for target in search.targets]
    if groups is not None:
        for target, labels in zip(search.targets, groups, strict=True):
            if len(labels) != len(target.samples.fitted):
                samples = f"{len(target.samples.fitted)} samples of {target.label}"
                raise ArgumentError(f"{len(labels)} groups are given for the {samples}")
        names, index = np.unique(np.concatenate([np.asarray(labels) for labels in groups]), return_inverse=True)
        dealt = np.split((rng.permutation(len(names)) % folds)[index], np.cumsum([len(mask) for mask in fitted])[:-1])
        return [np.where(mask, fold, -1) for mask, fold in zip(fitted, dealt, strict=True)]
    poses = rng.permutation(sum(int(t.samples.fitted.sum()) for t in search.targets if not t.is_motion)) % folds
    chosen, next_pose = [], 0
    for target, mask in zip(search.targets, fitted, strict=True):
        count = int(mask.sum())
        fold = np.full(len(mask), -1)
        if target.is_motion:
            fold[mask] = np.arange(count) * folds // max(count, 1)
        else:
            fold[mask] = poses[next_pose : next_pose + count]
            next_pose += count
        chosen.append(fold)
    return chosen


def cross_validate(
    search: Search, best: Solution, folds: int, groups: Sequence[np.ndarray] | None, seed: int
) -> HeldOut:
    """Fit without each fold, and predict it."""
    if folds < 2:
        raise ArgumentError("a cross-validation needs at least two folds")
    fold = folds_of(search, folds, groups, seed)
    if any(not any(np.any(f == k) for f in fold) for k in range(folds)):
        raise ArgumentError(f"there are too few samples for {folds} folds")
    predicted = [np.full_like(t.samples.measured, np.nan) for t in search.targets]
    values = []
    for k in range(folds):
        chosen = [(f >= 0) & (f != k) for f in fold]
        x = search.solve(best.x, chosen=chosen).x
        values.append(x)
        for path, whole, f in zip(search.values(x), predicted, fold, strict=True):
            whole[f == k] = path[f == k]
    distances: dict[str, dict[str, np.ndarray]] = {}
    by_output: dict[str, list[np.ndarray]] = {}
    for target, path in zip(search.targets, predicted, strict=True):
        for output, block in target.samples.blocks.items():
            far = np.linalg.norm((path - target.samples.measured)[:, block], axis=1)
            distances.setdefault(target.label, {})[output] = far
            by_output.setdefault(output, []).append(far[np.isfinite(far)])
    rms = {name: float(np.sqrt(np.mean(np.concatenate(far) ** 2))) for name, far in by_output.items()}
    by_name = search.unknowns.by_name
    spread = np.std(values, axis=0, ddof=1)
    return HeldOut(rms, distances, predicted, [by_name(x) for x in values], by_name(spread))


def profile(search: Search, best: Solution, name: str, values: np.ndarray | None) -> Profile:
    """Fix one parameter at values around the best, and fit the others; deviations are those of the best fit."""
    k = search.unknowns.labels.index(name)
    place = list(best.free).index(k)
    at, deviation = float(best.x[k]), float(np.sqrt(best.covariance[place, place]))
    free = np.delete(best.free, place)
    found = {at: 0.0}
    for side in (1, -1):
        x = best.x
        for value in _outward(search, k, at, side * best.reach * deviation / 4, values):
            x = x.copy()
            x[k] = value
            held = search.solve(x, free=free, deviations=best.deviations)
            x, found[value] = held.x, max(held.cost - best.cost, 0.0)
            if values is None and found[value] > (1.05 * best.reach) ** 2:
                break
    held_at = np.array(sorted(found))
    rise = np.array([found[value] for value in held_at])
    return Profile(name, held_at, rise, _interval(held_at, rise, int(np.argmax(held_at == at)), best.reach))


def _outward(search: Search, k: int, at: float, step: float, values: np.ndarray | None) -> list[float]:
    """Values of a parameter on one side of its best value, the nearest first."""
    if values is not None:
        side = values[(values - at) * step > 0]
        return [float(value) for value in side[np.argsort(np.abs(side - at))]]
    steps = at + step * np.arange(1, MOST_STEPS + 1)
    return [float(value) for value in steps if search.unknowns.low[k] <= value <= search.unknowns.high[k]]


def _interval(values: np.ndarray, rise: np.ndarray, middle: int, reach: float) -> tuple[float, float]:
    """Where the root of the rise, which is straight for a linear problem, reaches a number of deviations."""
    root = np.sqrt(rise)
    sides = []
    for way in (slice(middle, None, -1), slice(middle, None)):
        far, value = np.maximum.accumulate(root[way]), values[way]
        beyond = np.flatnonzero(far >= reach)
        if not len(beyond):
            sides.append(np.inf)
            continue
        j = int(beyond[0])
        share = (reach - far[j - 1]) / (far[j] - far[j - 1])
        sides.append(float(value[j - 1] + share * (value[j] - value[j - 1])))
    return (-np.inf if sides[0] == np.inf else sides[0]), sides[1]


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


@dataclass(frozen=True)
class FitProgress:
    """Progress of a fit. stage: what is done; error: mean error of the latest evaluation [unit]."""

    stage: str
    count: int
    error: float
    unit: str


@dataclass(frozen=True, repr=False, eq=False)
class Fit(AnalysisResult):
    """Parameters found from recordings; all numbers are in SI units.

    Attributes:
        names, values, first, standard_deviations, low, high: the parameters (`NAME`, or `NAME@RECORDING`), the values found, those
            before, their standard deviations, and the ends of their 95 % confidence intervals; by name in `parameters`, `start`,
            `deviations` and `intervals`. Deviations come from the curvature of the fit, the priors, and the scatter and
            autocorrelation of the residuals (neighbouring samples have correlated errors and count as fewer samples); they are
            infinite for parameters that the recordings do not determine.
        correlation: of the errors of the parameters, parameters x parameters, from -1 to 1.
        on_bound: whether each parameter ended on a bound (`at_bounds`); its deviation is not meaningful.
        finer: change of each value with twice as many elements in every rod: to first order if it is below the standard deviations,
            otherwise from a fit; NaN without rods (`finer_rods`). unchecked: why it could not be computed.
        before_mm, after_mm: mean distance over the samples that were fitted, all outputs together [mm; for outputs other than
            positions in thousandths of their SI units, see `unit`].
        before_test_mm, after_test_mm: the same over the samples that were held out (NaN without any).
        errors: the same by measurement and output.
        evaluations: number of simulations (or sets of equilibria); those with derivatives count once.
        derivatives: "exact", or why some came from finite differences.
        status, message: converged, or stopped after the maximum number of evaluations; how the search ended.
        unit: of the distances.
        held_out, profiles: results of the cross-validation and of the profiles that were requested.
        equations: those before the fit.
    """

    plots = ("fit",)

    names: Annotated[tuple[str, ...], Along("parameter", labels=True)]
    values: Annotated[np.ndarray, Along("parameter")]
    first: Annotated[np.ndarray, Along("parameter")]
    standard_deviations: Annotated[np.ndarray, Along("parameter")]
    low: Annotated[np.ndarray, Along("parameter")]
    high: Annotated[np.ndarray, Along("parameter")]
    correlation: Annotated[np.ndarray, Along("parameter", "other_parameter")]
    on_bound: Annotated[np.ndarray, Along("parameter")]
    finer: Annotated[np.ndarray, Along("parameter")]
    before_mm: Annotated[float, Along()]
    after_mm: Annotated[float, Along()]
    before_test_mm: Annotated[float, Along()]
    after_test_mm: Annotated[float, Along()]
    evaluations: int
    derivatives: str
    equations: Equations
    unit: str = "mm"
    unchecked: str = ""
    status: Status = Status.CONVERGED
    message: str = ""
    errors: tuple[OutputError, ...] = ()
    paths: tuple[FittedPath, ...] = field(repr=False, default=())
    given: tuple[Measurement, ...] = field(repr=False, default=())
    held_out: HeldOut | None = None
    profiles: tuple[Profile, ...] = ()
    _search: Search | None = field(repr=False, default=None)
    _solution: Solution | None = field(repr=False, default=None)

    def _by_name(self, values: np.ndarray) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))

    @property
    def parameters(self) -> dict[str, float]:
        """Values found, by name."""
        return self._by_name(self.values)

    @property
    def start(self) -> dict[str, float]:
        """Values before, by name."""
        return self._by_name(self.first)

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations, by name."""
        return self._by_name(self.standard_deviations)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % confidence intervals, by name."""
        return dict(zip(self.names, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Parameters that ended on a bound."""
        return tuple(name for name, flag in zip(self.names, self.on_bound, strict=True) if flag)

    @property
    def finer_rods(self) -> dict[str, float]:
        """Change of each value with twice as many elements in every rod, by name; empty for a robot without rods."""
        return {name: x for name, x in self._by_name(self.finer).items() if isfinite(x)}

    @cached_property
    def model_units(self) -> Mapping[str, WrittenUnit]:
        """Unit of each parameter as the model file writes it."""
        return written_units(self.equations, self.names)

    def sheets(self) -> list[Sheet]:
        """Parameters, their correlations, errors, and what the checks found."""
        exact = "exact derivatives" if self.derivatives == "exact" else f"finite differences ({self.derivatives})"
        counted = f"{self.evaluations} evaluation{'s' * (self.evaluations > 1)} with {exact}"
        made = [self._values_sheet(counted)]
        if len(self.names) > 1:
            rows = tuple((n, *(f"{x:+.3f}" for x in row)) for n, row in zip(self.names, self.correlation, strict=True))
            made.append(Sheet(("", *self.names), rows, title="correlations of the errors"))
        errors = [("fitted samples", f"{self.before_mm:.3f}", f"{self.after_mm:.3f}")]
        if isfinite(self.after_test_mm):
            errors.append(("held-out samples", f"{self.before_test_mm:.3f}", f"{self.after_test_mm:.3f}"))
        made.append(Sheet((f"mean error [{self.unit}]", "before", "after"), tuple(errors)))
        by_output = [
            (x.measurement, f"{x.output} [{x.unit}]", *(f"{y:.4g}" for y in (x.before_rms, x.after_rms, x.deviation)))
            for x in self.errors
        ]
        columns = ("measurement", "output", "root mean square before", "after", "assumed standard deviation")
        made.append(Sheet(columns, tuple(by_output), where="page"))
        return [*made, *self._held_out_sheets(), *self._profile_sheets()]

    def _values_sheet(self, counted: str) -> Sheet:
        rows: list[tuple[str, ...]] = []
        for name, value in self.parameters.items():
            unit, deviation = self.model_units[name], self.deviations[name]
            bound = " (at its bound)" if name in self.at_bounds else ""
            interval = unit.interval(*self.intervals[name], deviation)
            finer = unit.plain(self.finer_rods[name], "+.2g") if name in self.finer_rods else ""
            rows.append(
                (name, unit.plain(self.first[len(rows)]), f"{unit.value(value, deviation)}{bound}", interval, finer)
            )
        head = ("parameter", "before", "found", "95 % interval", "finer rods" if self.finer_rods else "")
        return Sheet(head, tuple(rows), title=counted)

    def _held_out_sheets(self) -> list[Sheet]:
        prediction = self.held_out
        if prediction is None:
            return []
        units = {error.output: error.unit for error in self.errors}
        errors = tuple((f"{name} [{units[name]}]", f"{rms:.4g}") for name, rms in prediction.rms.items())
        title = f"held out and predicted, in {len(prediction.parameters)} folds"
        head = ("parameter", *(f"without fold {k + 1}" for k in range(len(prediction.parameters))), "spread")
        rows = tuple(
            (name, *(self.model_units[name].value(x[name], spread) for x in prediction.parameters),
             self.model_units[name].plain(spread, ".2g"))
            for name, spread in prediction.spread.items()
        )  # fmt: skip
        return [Sheet(("output", "root mean square error"), errors, title=title), Sheet(head, rows)]

    def _profile_sheets(self) -> list[Sheet]:
        rows = tuple(
            (x.name, self.model_units[x.name].interval(*x.interval, self.deviations[x.name])) for x in self.profiles
        )
        return [Sheet(("parameter", "95 % interval by its profile"), rows)] if rows else []

    def figures(self) -> tuple[str, ...]:
        """Measurements beside the model, and the profiles."""
        return ("fit",) * bool(self.paths) + ("likelihoods",) * bool(self.profiles)

    def as_json(self) -> dict[str, Any]:
        """All results."""
        names = (
            "message", "parameters", "start", "deviations", "intervals", "correlation", "at_bounds", "before_mm", "after_mm",
            "before_test_mm", "after_test_mm", "evaluations", "derivatives", "unit", "finer_rods", "remarks",
        )  # fmt: skip
        made = {"status": str(self.status), **{name: getattr(self, name) for name in names}}
        made["errors"] = [asdict(error) for error in self.errors]
        if (prediction := self.held_out) is not None:
            made["held_out"] = {
                "folds": len(prediction.parameters),
                **{x: getattr(prediction, x) for x in ("rms", "spread", "parameters")},
            }
        return made | ({"profiles": [asdict(one) for one in self.profiles]} if self.profiles else {})

    def _internals(self) -> tuple[Search, Solution]:
        if self._search is None or self._solution is None:
            raise ArgumentError("a fit that was read from a file cannot be repeated", "call pliant.fit again")
        return self._search, self._solution

    @on_one_blas_thread
    def profile(self, name: str, values: Sequence[float] | np.ndarray | None = None) -> Profile:
        """Profile likelihood of a parameter: the fit with it fixed at other values and all others refitted, for
        confidence intervals of nonlinear problems. values: of the parameter (SI units); default: outward to the ends
        of the interval."""
        check_names("fitted parameter", [name], self.parameters)
        if name in self.at_bounds:
            raise ArgumentError(f"'{name}' ended on a bound: its profile has one side only; widen the bound")
        return profile(*self._internals(), name, None if values is None else np.asarray(values, dtype=float))

    @on_one_blas_thread
    def cross_validate(self, folds: int = 4, *, groups: Sequence[np.ndarray] | None = None, seed: int = 0) -> HeldOut:
        """Cross-validation: samples are split into folds, and each fold is predicted by a fit to the others.

        Equilibria are assigned at random (`seed`); motions are cut into segments. groups: a label for each sample of
        each measurement, for samples that stay together, such as loading cycles or entire recordings.
        """
        return cross_validate(*self._internals(), folds, groups, seed)


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
    outputs = {x: compared_columns(eqs.model, given.recording, x, columns) for x, columns in given.outputs.items()}
    return replace(given, outputs=outputs, parameters=parameters, own=own, deviations=deviations)


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
    eqs: Equations, search: Search, solution: Solution, before: Sequence[np.ndarray], given: Sequence[Measurement], unit: str,
    moved: Mapping[str, float], unchecked: str,
) -> Fit:  # fmt: skip
    unknowns, after = search.unknowns, search.values(solution.x)
    deviation = np.sqrt(np.diag(solution.covariance))
    safe = np.where(deviation > 0, deviation, 1.0)
    deviation = np.where(solution.undetermined, np.inf, deviation)
    half = solution.reach * deviation
    fitted, held_out = ([getattr(t.samples, which) for t in search.targets] for which in ("fitted", "held_out"))
    return Fit(
        names=unknowns.labels, values=solution.x, first=unknowns.start, standard_deviations=deviation, low=solution.x - half,
        high=solution.x + half, correlation=solution.covariance / np.outer(safe, safe), on_bound=np.asarray(solution.on_bound),
        finer=np.array([moved.get(name, np.nan) for name in unknowns.labels]),
        before_mm=mean_distances(search.targets, before, fitted), after_mm=mean_distances(search.targets, after, fitted),
        before_test_mm=mean_distances(search.targets, before, held_out),
        after_test_mm=mean_distances(search.targets, after, held_out),
        errors=_errors(search, solution, before, after, output_units(eqs.model)), evaluations=search.count,
        derivatives=search.reason or "exact", equations=eqs, unit=unit, unchecked=unchecked,
        status=Status.CONVERGED if solution.success else Status.STOPPED, message=solution.message,
        paths=_paths(search, before, after), given=tuple(given), _search=search, _solution=solution,
    )  # fmt: skip


def _paths(search: Search, before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> tuple[FittedPath, ...]:
    paths_of_outputs = []
    for target, first, last in zip(search.targets, before, after, strict=True):
        samples = target.samples
        for name, block in samples.blocks.items():
            values = (samples.measured[:, block], first[:, block], last[:, block])
            paths_of_outputs.append(
                FittedPath(target.label, name, target.is_motion, samples.times, *values, fitted=samples.fitted)
            )
    return tuple(paths_of_outputs)


def _errors(
    search: Search,
    solution: Solution,
    before: Sequence[np.ndarray],
    after: Sequence[np.ndarray],
    units: Mapping[str, str],
) -> tuple[OutputError, ...]:
    errors = []
    for k, target in enumerate(search.targets):
        samples = target.samples
        for name, block in samples.blocks.items():
            rms = [
                float(np.sqrt(np.mean(np.sum((path - samples.measured)[samples.fitted][:, block] ** 2, axis=1))))
                for path in (before[k], after[k])
            ]
            errors.append(OutputError(target.label, name, rms[0], rms[1], solution.deviations[k, name], units[name]))
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


def moved_by(search: Search, solution: Solution, finer: Sequence[Target]) -> np.ndarray | None:
    """Change of the free unknowns if the targets are predicted by the finer model [SI], or None if that cannot be simulated there.

    The difference of the predictions is fitted with the derivatives of the best fit. If it is not small, this is only the
    start of a fit to the finer predictions: an error in frequency is no longer linear in the modulus after a radian, and
    would be attributed to damping.
    """
    other = Search(search.unknowns, finer, None)
    paths = [target.prediction.values(other.values_for(target, solution.x)) for target in finer]
    if any(path is None for path in paths):
        return None
    left = search.residual_of(paths, solution)
    inside = ~solution.on_bound  # values at a bound stay there
    moved = np.zeros(len(solution.free))
    moved[inside] = -least_squares_step(solution.jacobian[:, inside], left - solution.residual)
    rest = left + solution.jacobian @ moved
    if np.all(np.abs(moved) <= np.sqrt(np.diag(solution.covariance))) and rest @ rest <= THRESHOLDS.alike * max(
        solution.cost, 1.0
    ):
        return moved
    start = solution.x.copy()
    start[solution.free] += moved
    start = np.clip(start, search.unknowns.low, search.unknowns.high)
    there = [target.prediction.values(other.values_for(target, start)) for target in finer]
    if any(path is None for path in there) or np.sum(search.residual_of(there, solution) ** 2) > left @ left:
        start = solution.x
    refitted = other.solve(start, free=solution.free, deviations=solution.deviations)
    return np.asarray((refitted.x - solution.x)[solution.free]) if refitted.success else moved


def discretization_of(
    eqs: Equations, search: Search, solution: Solution, targets: Callable[[Equations], Sequence[Target]]
) -> tuple[dict[str, float], str]:
    """Change of each fitted value with finer rods [SI], or why it was not computed. targets: those of the fit, by equations."""
    if not eqs.model.spec.rods:
        return {}, ""
    try:
        moved = moved_by(search, solution, targets(finer_rods(eqs)[0]))
    except (SpecError, ValueError) as reason:
        return {}, str(reason)
    if moved is None:
        return {}, "with twice as many the model cannot be simulated at the fitted values"
    return dict(zip([search.unknowns.labels[k] for k in solution.free], moved.tolist(), strict=True)), ""


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("a load in a recording drives no input, a unit is not stated, or rows have no number", "the user's table")
def recordings_used_in_part(eqs: Equations, result: Fit) -> str | None:
    """Columns and rows of the recordings that are not used, and assumed units."""
    return "; ".join(dict.fromkeys(text for one in result.given for text in _remarks(eqs, one))) or None


@remark(
    "a value changes by more than its standard deviation with twice as many elements", "the interval omits this error"
)
def rods_too_coarse(eqs: Equations, result: Fit) -> str | None:
    """Rods that are divided too coarsely for the precision of the fit."""
    if result.unchecked:
        return f"the dependence of the fit on the number of rod elements was not checked: {result.unchecked}"
    moved, units = result.finer_rods, result.model_units
    far = [name for name, x in moved.items() if abs(x) > result.deviations[name]]
    if not far:
        return None
    values = ", ".join(
        f"{name} from {units[name].number(result.parameters[name], result.deviations[name])} to about "
        f"{units[name].value(result.parameters[name] + moved[name], result.deviations[name])}"
        for name in far
    )
    rods = " ".join(f"--rod {name}={model}" for name, model in finer_rods(eqs)[1].items())
    return (
        f"the intervals do not include the discretization error of the rods: with twice as many elements the fit would change"
        f" {values}, by more than the standard deviation. Fit a finer model ({rods})"
    )


@remark("the maximum number of evaluations, or no step lowers the error", "the search ended before it converged")
def search_not_converged(eqs: Equations, result: Fit) -> str | None:
    """The fit has not converged."""
    return None if result.status == Status.CONVERGED else f"the fit has not converged: {result.message}"


@remark("an infinite standard deviation", "the derivatives of all residuals by a combination of parameters vanish")
def parameters_not_determined(eqs: Equations, result: Fit) -> str | None:
    """Parameters that the recordings do not determine."""
    lost = ", ".join(f"'{name}'" for name, deviation in result.deviations.items() if not isfinite(deviation))
    return lost and (
        f"the recordings do not determine {lost}: the compared outputs do not depend on it, or only on a combination with "
        "other parameters. Check that the model moves as recorded (inputs, times), or do not fit it"
    )


@remark(
    f"a residual above {THRESHOLDS.unexplained:g} of the motion about its mean and {THRESHOLDS.systematic:g} times its noise",
    "a model of the right kind leaves a few per cent",
)
def motion_not_described(eqs: Equations, result: Fit) -> str | None:
    """Outputs whose motion the fitted model does not describe."""
    units, texts = output_units(eqs.model), []
    for path in result.paths:
        if not path.in_motion or path.fitted.sum() < THRESHOLDS.least_samples:
            continue
        measured = path.measured[path.fitted]
        residual = path.after[path.fitted] - measured
        size, scatter = (
            float(np.sqrt(np.mean(np.sum(x**2, axis=1)))) for x in (residual, measured - measured.mean(axis=0))
        )
        noise = float(np.sqrt(np.mean(np.sum(np.diff(residual, axis=0) ** 2, axis=1)) / 2))
        if size > THRESHOLDS.unexplained * scatter and size > THRESHOLDS.systematic * noise:
            texts.append(
                f"the fitted model does not describe '{path.output}': the residual is {size / scatter:.0%} of the measured motion "
                f"about its mean ({1e3 * size:.3g} of {1e3 * scatter:.3g} {thousandths(units[path.output])}, root mean squares). "
                "Check the start, the inputs and the axes of the recording; another parameter may have to be fitted"
            )
    return "; ".join(texts) or None


# -- the analysis ------------------------------------------------------------------------------------------------------


class Identification(Analysis):
    """Identify physical parameters from recordings, by bounded least squares with exact derivatives.

    Outputs follow one or more recordings, in motion and at rest. Recordings are compared as the options say; a `Measurement`, in
    Python, has settings of its own.
    """

    name: ClassVar[str] = "fit"
    title: ClassVar[str] = "Fit"
    result = Fit
    remarks = (
        recordings_used_in_part, rods_too_coarse, search_not_converged, parameters_not_determined, motion_not_described,
    )  # fmt: skip
    first: ClassVar[tuple[str, ...]] = ("parameters", "measurements")
    flags: ClassVar[Mapping[str, str]] = {"begin": "--from", "end": "--to", "priors": "--prior"}

    parameters: SignalNames  # type: ignore[assignment]
    """Parameters to fit."""
    measurements: Annotated[Any, InPython()] = ()
    """Recordings or `Measurement`s: one, or a list."""
    against: Annotated[tuple[str, ...], OneOrList(), Option("FILE", repeated=True)] = ()
    """Files with recordings."""
    rests: Annotated[tuple[str, ...], OneOrList(), Option("FILE", repeated=True)] = ()
    """Files with recordings whose equilibria are fitted along with the motions of the others: at constant inputs, or, without a
    column of times, all rows."""
    output: Annotated[tuple[str, ...], OneOrList(), Option("NAME=COLUMNS", repeated=True)] = ("tip",)
    """Outputs of the model, with the columns of the recordings for each: `p1=p1_x,p1_y,p1_z`; default tip."""
    columns: SignalNames | None = None
    """Columns of an output that is given without them; default: those named after it (`tip.x`, `tip.y`, `tip.z`), or x, y, z."""
    begin: Seconds | None = None
    """Start of the time window [s]."""
    end: Seconds | None = None
    """End of the time window [s]."""
    use: Annotated[np.ndarray | None, InPython()] = None
    """Samples to fit (True) and to hold out (False); default: all are fitted."""
    hold_out: Literal["even", "odd"] | None = None
    """Loading cycles to hold out for testing: even or odd."""
    at_rest: StrictBool = False
    """Fit equilibria instead of the motion: near the ends of intervals of constant inputs."""
    rest_at: Annotated[tuple[Seconds, ...], OneOrList()] | None = None
    """Times at whose inputs equilibria are fitted, instead of the motion [s]."""
    bounds: Annotated[dict[str, tuple[AnyNumber, AnyNumber]] | None, Option("NAME=LOW,HIGH")] = None
    """Bounds of parameters; default: `minimum` and `maximum` in the model, otherwise a tenth of and ten times the start value (none
    with a prior)."""
    priors: Annotated[dict[str, tuple[AnyNumber, AnyNumber]] | None, Option("NAME=MEAN,DEVIATION")] = None
    """Priors of parameters, mean and standard deviation: `density=1200,50 kg/m^3`."""
    folds: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Number of folds of a cross-validation: each is predicted by a fit to the others."""
    profile: SignalNames | None = None
    """Parameters whose confidence intervals are computed from their profile likelihood, too."""
    method: Annotated[Method | None, InPython()] = None
    """Integrator of the motions."""
    progress: Annotated[Callable[[FitProgress], None] | None, InPython()] = None
    """Called after each evaluation."""

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """The stage, and the error of an evaluation."""
        (one,) = report
        return one.stage, f"mean error {one.error:.4g} {one.unit}", None

    def faults(self, model: Model) -> Iterator[Problem]:
        """Units of bounds and priors."""
        known = {name: model.environment.dimension(name) for name in model.parameter_names}
        for what in ("bounds", "priors"):
            for name, values in (getattr(self, what) or {}).items():
                for value in values:
                    yield from named_values((what,), {name: value}, known, "parameter", model)

    def run(self, eqs: Equations) -> Fit:
        """Fit, and make the requested checks."""
        function("progress", self.progress)
        names = self.parameters
        check_names("parameter", names, eqs.parameters)
        if not names:
            raise ArgumentError("there are no parameters to fit", f"known: {', '.join(eqs.parameters)}")
        check_names("fitted parameter", self.profile or (), names)
        recorded = self._recordings()
        if not recorded:
            raise ArgumentError("there is nothing to fit to: give a recording (against=FILE, --against FILE)")
        eqs = with_inputs_of(eqs, self.inputs, None, [one for one, _ in recorded], names)
        given = [_with_columns(eqs, self._measurement(eqs, one, rests)) for one, rests in recorded]
        unknowns, places = _unknowns(eqs, names, given, self.bounds or {}, self.priors or {})

        def targets_of(eqs: Equations) -> list[Target]:
            return [_target(eqs, one, places[k], k, self.method or DEFAULT_METHOD) for k, one in enumerate(given)]

        targets = targets_of(eqs)
        size = sum(int(t.samples.fitted.sum()) * t.samples.measured.shape[1] for t in targets)
        if size + unknowns.with_prior.sum() <= len(unknowns.labels):
            raise ArgumentError(f"{size} measured values are too few to fit {len(unknowns.labels)} parameters")
        units = output_units(eqs.model)
        named = {units[name] for target in targets for name in target.samples.blocks}
        unit, stage = thousandths(named.pop()) if len(named) == 1 else "1e-3 of the outputs' units", ["fit"]

        def tell(count: int, error: float) -> None:
            if self.progress is not None:
                self.progress(FitProgress(stage[-1], count, error, unit))

        search = Search(unknowns, targets, tell)
        before = search.values(unknowns.start)
        solution = search.solve(np.clip(unknowns.start, unknowns.low, unknowns.high))
        moved, unchecked = discretization_of(eqs, search, solution, targets_of)
        result = _result(eqs, search, solution, before, given, unit, moved, unchecked)
        if self.folds is not None:
            stage.append(f"cross-validation in {self.folds} folds")
            result = replace(result, held_out=result.cross_validate(self.folds))
        profiles = []
        for name in self.profile or ():
            stage.append(f"profile of {name}")
            profiles.append(result.profile(name))
        return replace(result, profiles=tuple(profiles))

    def _recordings(self) -> list[tuple[Recording | Measurement, bool]]:
        """The recordings, and whether their equilibria are fitted."""
        given = self.measurements
        listed = [given] if isinstance(given, Recording | Measurement) else _listed(given)
        files = [(read_recording(file), False) for file in self.against]
        return [*((x, False) for x in listed), *files, *((read_recording(x, poses=True), True) for x in self.rests)]

    def _measurement(self, eqs: Equations, one: Recording | Measurement, rests: bool) -> Measurement:
        """The settings of a recording."""
        if isinstance(one, Measurement):
            return one
        window, outputs = window_of(self.begin, self.end), self._outputs()
        if not one.timed:
            if self.hold_out is not None or window is not None:
                hint = "leave out --from, --to and --hold-out, or add a column t_s"
                raise ArgumentError(f"the poses of {one.file} have no times", hint)
            return Measurement(one, outputs, rest_at=one.time)
        driven, use, rest_at = list(driving_columns(eqs.model, one).values()), self.use, None if rests else self.rest_at
        detect = rests or (self.at_rest and rest_at is None)
        if not driven and (self.hold_out is not None or detect):
            what = "equilibria" if self.hold_out is None else "loading cycles"
            times = ", or give the times of equilibria with --rest-at" if self.hold_out is None else ""
            raise ArgumentError(
                f"no column of {one.file} is an input of the model, so {what} cannot be detected",
                f"name a column like an input{times}",
            )
        if self.hold_out is not None:
            use = cycles(one, driven) % 2 == (1 if self.hold_out == "even" else 0)
        if detect:
            rest_at = tuple(plateaus(one, driven))
            if not rest_at:
                raise ArgumentError(
                    f"{one.file} has no {LEAST_REST:g} s in which all inputs are constant under load",
                    "give the times of equilibria with --rest-at",
                )
        return Measurement(one, outputs, use=use, window=window, rest_at=rest_at)

    def _outputs(self) -> dict[str, Sequence[str] | None]:
        """Outputs with their columns, from NAME or NAME=COLUMN,COLUMN."""
        columns_by_output: dict[str, Sequence[str] | None] = {}
        for word in self.output:
            name, equals, columns = (x.strip() for x in word.partition("="))
            if equals and self.columns is not None:
                raise ArgumentError("columns apply to a single output without its own columns")
            columns_by_output[name] = tuple(x.strip() for x in columns.split(",")) if equals else self.columns
        return columns_by_output


fit = function_of(Identification)
