"""One robot, several rod models, one recording: comparison of accuracy and cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from pliant.analysis.base import Analysis, Option, Seconds, SignalNames, function_of
from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.integrators import Method, Rosenbrock
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations, InputValues
from pliant.engine.input_values import inputs_over_time
from pliant.engine.outputs import output_units
from pliant.identify.recording import (
    LEAST_REST,
    check_not_driven,
    check_recording,
    compared_columns,
    drive,
    missing_rows,
    plateaus,
    thousandths,
    time_slack,
    undriven,
    window_of,
)
from pliant.language.arguments import ArgumentError, numbers, pair, positive
from pliant.language.base import InPython, OneOrList
from pliant.language.faults import SpecError
from pliant.language.names import canonical
from pliant.language.provided import with_remarks
from pliant.language.recording import Recording, read_recording
from pliant.robot.reader import load_text
from pliant.robot.rod_switch import parse_rod_model, rods_named, with_rod_model

# A recording is compared to a fraction of a millimetre: smaller steps change the tip of the bundled arm by some micrometres.
DEFAULT_METHOD = Rosenbrock()


@dataclass(frozen=True, repr=False)
class Comparison:
    """Comparison of one rod model with a recording (or the last model).

    Attributes:
        rod: `kind:number`, with the number of elements of the rod: more than requested if frames and eyelets along it need them;
            `name=kind:number name=kind:number` if several rods change; "model" for a robot as it is whose rods have different
            models, or that has none.
        states: number of coordinates and rates.
        derive_s, compile_s, static_s, run_s: wall times [s]: derivation, compilation (or loading compiled code), all
            equilibria together, and the motion.
        code_kb: size of the C code derived for the robot's types of elements [kB, 1000 bytes]. Elements of one type share
            it, so it does not grow with their number.
        memory_kb: memory of an evaluation: tables, constants and workspace [kB].
        realtime_factor: simulated over wall time [-].
        mean_error_mm, max_error_mm: distance of the compared point from the reference over the window [mm; of an output that is
            not a position in thousandths of its SI unit, see `unit`].
        static_mean_error_mm: the same between equilibria under the inputs of `static_times` and the reference there; NaN
            if there are none or one of them was not found.
        mean_error_percent: the mean relative to the point's initial distance from the origin [%].
        mean_error_percent_of_rod: the mean relative to the rod's length [%].
        time, path, measured: times [s], the point's path and the reference (times x components) [m].
        static_times, static_path: times [s] and points at rest [m].
        remarks: remarks for the user.
        unit: of errors. output, output_unit: the compared output, and the SI unit of the path.
        reference: what it is compared with: "recording", or the rod model (`rod` of the last row).
        status: "completed", or "failed" if the robot cannot be computed with this rod model: a remark states why, numbers are NaN.
    """

    rod: str
    time: np.ndarray
    path: np.ndarray
    measured: np.ndarray
    static_times: np.ndarray
    static_path: np.ndarray
    states: int = 0
    derive_s: float = np.nan
    compile_s: float = np.nan
    static_s: float = np.nan
    run_s: float = np.nan
    realtime_factor: float = np.nan
    mean_error_mm: float = np.nan
    max_error_mm: float = np.nan
    static_mean_error_mm: float = np.nan
    mean_error_percent: float = np.nan
    mean_error_percent_of_rod: float = np.nan
    code_kb: float = np.nan
    memory_kb: float = np.nan
    remarks: tuple[str, ...] = ()
    unit: str = "mm"
    output: str = "output"
    output_unit: str = "m"
    reference: str = "recording"
    status: Status = Status.COMPLETED

    @property
    def is_reference(self) -> bool:
        """Whether the other rows are compared with this one."""
        return self.rod == self.reference

    def __repr__(self) -> str:
        if self.status == Status.FAILED:
            return f"Comparison of {self.rod} (failed): {'; '.join(self.remarks)}"
        return with_remarks(
            f"Comparison of {self.rod}: {self.states} states, mean error {self.mean_error_mm:.3g} {self.unit}, "
            f"largest {self.max_error_mm:.3g} {self.unit}, {self.realtime_factor:.3g} times real time",
            self.remarks,
        )


ARRAYS = ("time", "path", "measured", "static_times", "static_path")
"""Attributes of a comparison that are not a single number or text."""


NUMBERS = tuple(x.name for x in fields(Comparison) if x.type in ("float", "int"))
"""Names of the numbers of a comparison."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparisons(AnalysisResult):
    """Comparisons of rod models: a sequence of `Comparison`s, one for each.

    Attributes:
        models, numbers, statuses, remarks_on_rows: models; their `NUMBERS`, models x numbers; completed or failed; texts.
        time, measured, paths: times [s], the reference (times x components) and the path with each model.
        static_times, static_paths: times [s], and points at rest with each model.
        unit: of errors. output, output_unit: the compared output, and the SI unit of the paths.
        reference: what they are compared with: "recording", or the last model. against: the same as a file or a rod model.
    """

    plots = ("compare",)

    models: Annotated[tuple[str, ...], Along("model", labels=True)]
    numbers: Annotated[np.ndarray, Along("model", "number")]
    statuses: Annotated[tuple[str, ...], Along("model")]
    remarks_on_rows: Annotated[tuple[str, ...], Along("model")]
    time: Annotated[np.ndarray, Along("time", unit="s")]
    measured: Annotated[np.ndarray, Along("time", "component")]
    paths: Annotated[np.ndarray, Along("model", "time", "component")]
    static_times: Annotated[np.ndarray, Along("rest", unit="s")]
    static_paths: Annotated[np.ndarray, Along("model", "rest", "component")]
    unit: str
    output: str
    output_unit: str
    reference: str
    against: str
    equations: Equations
    status: Status = Status.COMPLETED
    message: str = ""

    @classmethod
    def of(cls, rows: Sequence[Comparison], eqs: Equations, against: str) -> Comparisons:
        """Rows as one result."""
        first = rows[0]
        failed = any(row.status == Status.FAILED for row in rows)
        return cls(
            tuple(row.rod for row in rows), np.array([[getattr(row, x) for x in NUMBERS] for row in rows], dtype=float),
            tuple(str(row.status) for row in rows), tuple("\n".join(row.remarks) for row in rows), first.time, first.measured,
            np.array([row.path for row in rows]), first.static_times, np.array([row.static_path for row in rows]),
            first.unit, first.output, first.output_unit, first.reference, against, eqs,
            Status.STOPPED if failed else Status.COMPLETED,
            f"compared with the {'recording' if first.reference == 'recording' else f'{first.reference} model'}",
        )  # fmt: skip

    @cached_property
    def rows(self) -> tuple[Comparison, ...]:
        """The comparison of each model."""
        made = []
        for k, rod in enumerate(self.models):
            numbers: dict[str, Any] = dict(zip(NUMBERS, self.numbers[k].tolist(), strict=True))
            numbers["states"] = int(numbers["states"])
            made.append(
                Comparison(
                    rod, self.time, self.paths[k], self.measured, self.static_times, self.static_paths[k], **numbers,
                    remarks=tuple(filter(None, self.remarks_on_rows[k].split("\n"))), unit=self.unit, output=self.output,
                    output_unit=self.output_unit, reference=self.reference, status=Status(self.statuses[k]),
                )
            )  # fmt: skip
        return tuple(made)

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Comparison:
        return self.rows[index]

    def labels(self) -> dict[str, Sequence[str]]:
        """Names of the numbers."""
        return {"number": NUMBERS}

    def sheets(self) -> tuple[Sheet, ...]:
        """Accuracy and speed, and the cost of deriving the equations."""
        what = "model" if set(self.models) == {"model"} else "rod"
        errors: list[tuple[str, ...]] = []
        costs: list[tuple[str, ...]] = []
        for row in self:
            name = "as it is" if row.rod == "model" else row.rod
            if row.status == Status.FAILED:
                errors.append((name, "failed", *[""] * 7))
                continue
            static = f"{row.static_s:.2g}" if len(row.static_times) else "-"
            speed = f"{row.realtime_factor:.0f}" if row.realtime_factor >= 10 else f"{row.realtime_factor:.2g}"
            numbers = (row.mean_error_mm, row.mean_error_percent, row.max_error_mm, row.static_mean_error_mm)
            shown = ("-" if x != x else f"{x:.3g}" for x in numbers)
            errors.append((name, str(row.states), static, f"{row.run_s:.2g}", speed, *shown))
            sizes = (f"{row.code_kb:.0f}", f"{row.memory_kb:.0f}")
            costs.append((name, str(row.states), f"{row.derive_s:.2g}", f"{row.compile_s:.2g}", *sizes))
        unit = f"[{self.unit}]"
        head = ("static [s]", "run [s]", "times real-time", f"mean {unit}", "mean [%]", f"max {unit}", f"rest {unit}")
        return (
            Sheet((what, "states", *head), tuple(errors)),
            Sheet((what, "states", "derive [s]", "compile [s]", "code [kB]", "memory [kB]"), tuple(costs)),
        )

    def as_json(self) -> dict[str, Any]:
        """One row for each model."""
        names = [x.name for x in fields(Comparison) if x.name not in ARRAYS]
        return {
            "status": "failed" if Status.FAILED in self.statuses else "ok", "against": self.against,
            "rest_at": self.static_times, "rows": [{name: getattr(row, name) for name in names} for row in self],
        }  # fmt: skip


NEVER_AT_REST = (
    f"no equilibria are compared: the recording has no {LEAST_REST:g} s in which all inputs are constant and one of them is "
    "above a tenth of its range. Give their times (`rest_at`, --rest-at)"
)
"""Note for recordings without an interval of constant inputs under load, as with force sensors."""

FREE_MOTION = (
    "no equilibria are compared: the recording drives no input, so it does not tell when the robot rests. Give the times "
    "(`rest_at`, --rest-at)"
)
"""Note for recordings of a free motion, or of a robot without inputs."""


@dataclass(frozen=True)
class _Failed:
    """A rod model with which the robot cannot be computed."""

    kind: str
    reason: SpecError | ValueError

    @property
    def words(self) -> str:
        """The reason on one line."""
        faults = self.reason.faults if isinstance(self.reason, SpecError) else [self.reason]
        return "; ".join(str(fault) for fault in faults)


def _choices(rods: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """The rod models of each row by rod; none for the robot as it is."""
    if not rods:
        return [{}]
    count = max(map(len, rods.values()))
    if any(len(models) not in (1, count) for models in rods.values()):
        listed = ", ".join(f"{name} {len(models)}" for name, models in rods.items())
        raise ArgumentError(
            f"rods have different numbers of models to compare: {listed}",
            "the first of each are compared, then the second of each, and so on; give as many for each, or one for all",
        )
    return [{name: models[k] if len(models) > 1 else models[0] for name, models in rods.items()} for k in range(count)]


def _driven(
    eqs: Equations, recording: Recording | None, inputs: InputValues | None, times: np.ndarray
) -> tuple[Equations, tuple[str, ...]]:
    """Equations with given and recorded inputs, and the columns that drive them."""
    eqs = eqs.at(inputs=inputs_over_time(eqs, inputs, None, float(times[0]), float(times[-1])))
    if recording is None:
        return eqs, ()
    check_not_driven(eqs.model, recording, inputs or {})
    return drive(eqs, recording)


def _compared_times(
    recording: Recording | None, until: float | None, window: tuple[float, float] | None,
    rest_at: Sequence[float] | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Times of the motion [s], and which of them are in the window; raises if a window or an equilibrium is outside."""
    if recording is not None and until is not None:
        raise ArgumentError("the recording determines the duration", "omit until; use a window to select a part")
    duration = 1.0 if until is None else positive("until", until)
    times = np.linspace(0.0, duration, 201) if recording is None else recording.time
    begin, end = (times[0], times[-1]) if window is None else pair("window", window, example="window=(0.5, 2.0)")
    slack = time_slack(times)
    if not times[0] - slack <= begin < end <= times[-1] + slack:
        raise ArgumentError(
            f"the window from {begin:g} to {end:g} s does not lie within the {'recording' if recording else 'motion'}, "
            f"which lasts from {times[0]:g} to {times[-1]:g} s"
        )
    inside = (times >= begin - slack) & (times <= end + slack)
    if not inside.any():
        raise ArgumentError(f"there is no sample between {begin:g} and {end:g} s")
    for t in () if rest_at is None else numbers("rest_at", rest_at):
        if not times[0] <= t <= times[-1]:
            raise ArgumentError(f"t = {t:g} s of an equilibrium is outside {times[0]:g} to {times[-1]:g} s")
    return times, inside


def _truly(models: Mapping[str, str], eqs: Equations) -> str:
    """`kind:number` without aliases and with the number of elements of the rod; for a robot as it is, that of its rods if all have
    the same model."""
    made = eqs.model.rod_elements
    if not models:
        found = {
            f"{one.model.kind}:{made.get(name, getattr(one.model, one.model.fineness, ''))}".rstrip(":")
            for name, one in eqs.model.spec.rods.items()
        }
        return found.pop() if len(found) == 1 else "model"
    return _words(models, {rod: next((n for x, n in made.items() if rods_named([x], rod)), None) for rod in models})


def _words(models: Mapping[str, str], made: Mapping[str, int | None] | None = None) -> str:
    """Rod models as text, without aliases and with the number of elements that were made; with the rods' names if there are
    several."""
    words = {}
    for rod, model in models.items():
        name, _, number = model.strip().partition(":")
        count = (made or {}).get(rod) or number
        words[rod] = canonical(name) + (f":{count}" if count else "")
    return next(iter(words.values())) if len(words) == 1 else " ".join(f"{rod}={x}" for rod, x in words.items())


def _run(
    kind: str, eqs: Equations, output: str, times: np.ndarray, rest_at: Sequence[float], method: Method
) -> Comparison:
    """The equilibria and the motion with one rod model, without errors."""
    program, start = eqs.binding.program, time.perf_counter()
    static, remarks = [], []
    for t in rest_at:
        rest = equilibrium(eqs, time=t, on_failure="return")
        static.append(np.atleast_1d(rest.outputs[output]))
        if rest.status != "converged":
            remarks.append(f"{kind} at t = {t:g} s: {rest.message}")
            static[-1] = np.full_like(static[-1], np.nan)
    static_s = time.perf_counter() - start
    run = simulate(
        eqs,
        float(times[-1]),
        begin=float(times[0]),
        method=method,
        save_at=times,
        save_between=True,
        on_failure="return",
    )
    if run.interrupted:
        raise KeyboardInterrupt
    if run.status != "completed":
        raise ArgumentError(f"the simulation with {kind} failed: {run.message}")
    path = run[output].values.reshape(len(run.time), -1)
    run_s, unit = run.timing.run_s, output_units(eqs.model)[output]
    return Comparison(
        kind, times, path, path, np.asarray(rest_at, dtype=float), np.array(static).reshape(len(rest_at), path.shape[1]),
        len(eqs.coordinates) + len(eqs.rates), eqs.derive_seconds + program.table_seconds, program.compile_seconds, static_s,
        run_s, float((times[-1] - times[0]) / run_s), code_kb=program.code_size / 1e3,
        memory_kb=program.memory(eqs.binding) / 1e3, remarks=tuple(remarks), unit=thousandths(unit), output=output,
        output_unit=unit,
    )  # fmt: skip


def _compared(
    eqs: Equations, row: Comparison, changed: Sequence[str], measured: np.ndarray, inside: np.ndarray, static: np.ndarray,
    reference: str,
) -> Comparison:  # fmt: skip
    """A row with its errors."""
    there = np.all(np.isfinite(measured), axis=1)
    if not np.any(inside & there):
        raise ArgumentError("no row within the window has numbers in all compared columns")
    distance = 1e3 * np.linalg.norm(row.path - measured, axis=1)[inside & there]
    at_rest = 1e3 * np.linalg.norm(row.static_path - static, axis=1)[np.all(np.isfinite(static), axis=1)]
    mean, reach = float(distance.mean()), float(1e3 * np.linalg.norm(measured[there][0]))
    rods = eqs.model.spec.rods
    # errors relative to the length of the rod, if it is one
    named = rods_named(rods, changed[0]) if len(changed) == 1 else [*rods] if len(rods) == 1 else []
    length = 1e3 * float(eqs.model.environment.value(rods[named[0]].length)) if named else np.nan
    return replace(
        row, measured=measured, reference=reference, mean_error_mm=mean, max_error_mm=float(distance.max()),
        static_mean_error_mm=float(at_rest.mean()) if at_rest.size else np.nan,
        mean_error_percent=100 * mean / reach if reach else np.nan,
        mean_error_percent_of_rod=100 * mean / length if row.unit == "mm" else np.nan,
    )  # fmt: skip


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark(
    "a model fails, does not come to rest, or the recording does not say when it rests", "such rows have no numbers"
)
def remarks_on_models(eqs: Equations, result: Comparisons) -> str | None:
    """What rows lack, and what the recording does not tell."""
    return "; ".join(dict.fromkeys(text for row in result for text in row.remarks)) or None


class Compare(Analysis):
    """Compare a model, or several rod models, with a recording or with each other: accuracy and cost.

    An output (a point) is compared with the columns of a recording that drives the inputs; without a recording, the last rod model
    is the reference, over `until` seconds from the start of the model, and at equilibrium under the initial inputs.
    """

    name: ClassVar[str] = "compare"
    title: ClassVar[str] = "Comparison"
    result = Comparisons
    remarks = (remarks_on_models,)
    first: ClassVar[tuple[str, ...]] = ("rods", "recording")
    flags: ClassVar[Mapping[str, str]] = {"begin": "--from", "end": "--to"}

    rods: Annotated[dict[str, Annotated[tuple[str, ...], OneOrList()]] | None, Option("NAME=KIND:N,...")] = None
    """Rods and their models, such as `arm=pcs:3,cosserat:10`: the first of each rod are compared, then the second, and so on; one
    model applies to all rows. Default: the model as it is."""
    recording: Annotated[Recording | None, InPython()] = None
    """The recording."""
    against: Annotated[str | None, Option("FILE")] = None
    """File with the recording: .csv, .parquet or .mat with columns t [s], p1 [Pa], ..."""
    output: str = "tip"
    """Output of the model to compare."""
    columns: SignalNames | None = None
    """Columns of that output in the recording; default: those named after it (`tip.x`, `tip.y`, `tip.z`), or x, y, z."""
    begin: Seconds | None = None
    """Start of the time window [s]."""
    end: Seconds | None = None
    """End of the time window [s]."""
    rest_at: Annotated[tuple[Seconds, ...], OneOrList()] | None = None
    """Times at whose inputs equilibria are compared [s]; default: near the ends of intervals of constant inputs."""
    until: Seconds | None = None
    """Duration without a recording [s]; default 1 s."""
    method: Annotated[Method | None, InPython()] = None
    """Integrator of the motions."""

    def run(self, eqs: Equations) -> Comparisons:
        """Simulate the robot with each rod model, and measure the distance of the output from the reference."""
        check_recording(self.recording)
        recording = read_recording(self.against) if self.against is not None else self.recording
        robot, output, columns = eqs.model.spec, self.output, self.columns
        self._refuse(eqs, recording)
        if output not in robot.outputs:
            raise ArgumentError(f"the model has no output '{output}'; it has {', '.join(robot.outputs) or 'none'}")
        choices = _choices(self.rods or {})
        for kind in {kind for models in choices for kind in models.values()}:
            parse_rod_model(kind)  # misspelled ones are errors, not rows
        if recording is None and len(choices) < 2:
            raise ArgumentError("without a recording the last rod model is the reference: give at least two")
        times, inside = _compared_times(recording, self.until, window_of(self.begin, self.end), self.rest_at)
        rest_at: Sequence[float] | None = self.rest_at
        runs: list[tuple[Equations, Comparison] | _Failed] = []
        remarks: list[str] = []
        for models in choices:
            try:
                here, driven = _driven(_changed(eqs, models), recording, self.inputs, times)
                if output not in here.model.spec.outputs:
                    raise ArgumentError(f"the robot has no output '{output}' with this rod model")
                if recording is not None and not remarks:
                    columns = compared_columns(here.model, recording, output, columns)
                    remarks += undriven(here.model, recording, [*driven, *columns])
                    remarks += missing_rows(recording, columns)
                if rest_at is None:
                    rest_at = [0.0] if recording is None else plateaus(recording, driven) if driven else []
                    if not rest_at:
                        remarks.append(NEVER_AT_REST if driven else FREE_MOTION)
                method = self.method or DEFAULT_METHOD
                runs.append((here, _run(_truly(models, here), here, output, times, rest_at, method)))
            except (SpecError, ValueError) as reason:
                runs.append(_Failed(_words(models), reason))
        rows = _rows(runs, recording, columns, times, inside, np.asarray(rest_at, dtype=float), [*choices[0]])
        rows = [replace(rows[0], remarks=(*remarks, *rows[0].remarks)), *rows[1:]]
        named = list(self.rods or {})
        against = rows[-1].rod if len(named) != 1 else f"{named[0]}={rows[-1].rod}"
        return Comparisons.of(rows, eqs, against if recording is None else self.against or recording.file)

    def _refuse(self, eqs: Equations, recording: Recording | None) -> None:
        """Reject options that do not belong together."""
        if recording is not None:
            return
        if self.columns is not None:
            raise ArgumentError("columns apply to recordings only", "give one with --against FILE")
        if not self.rods:
            rods = eqs.model.spec.rods
            example = f"--rods {next(iter(rods), 'arm').partition('[')[0]}=pcs:3,cosserat:5"
            more = f", or rod models to compare with each other with {example}" if rods else ""
            raise ArgumentError("there is nothing to compare with", f"give a recording with --against FILE{more}")


compare = function_of(Compare)


def _changed(eqs: Equations, models: Mapping[str, str]) -> Equations:
    """The equations with other rod models."""
    if not models:
        return eqs
    robot = load_text(eqs.model.text)
    for name, kind in models.items():
        robot = with_rod_model(robot, name, kind)
    return derive(robot).at(inputs=eqs.given_inputs, parameters=eqs.given_parameters)


def _rows(
    runs: Sequence[tuple[Equations, Comparison] | _Failed], recording: Recording | None, columns: Sequence[str] | None,
    times: np.ndarray, inside: np.ndarray, rests: np.ndarray, changed: Sequence[str],
) -> list[Comparison]:  # fmt: skip
    """The comparison of each run with the recording, or with the last run."""
    failed = [run for run in runs if isinstance(run, _Failed)]
    if failed and len(failed) == len(runs):
        raise failed[0].reason
    if recording is None:
        last = runs[-1]
        if isinstance(last, _Failed):
            raise ArgumentError(f"the reference {last.kind}, the last rod model, cannot be computed: {last.words}")
        measured, static, reference = last[1].path, last[1].static_path, last[1].rod
    else:
        measured = np.stack([recording.measured(name) for name in columns or ()], axis=1)
        static = np.stack([np.interp(rests, times, column) for column in measured.T], axis=1)
        reference = "recording"
    like = next(run[1] for run in runs if not isinstance(run, _Failed))
    return [
        Comparison(
            run.kind, times, np.full_like(measured, np.nan), measured, rests, np.full_like(like.static_path, np.nan),
            remarks=(f"{run.kind}: {run.words}",), unit=like.unit, output=like.output, output_unit=like.output_unit,
            reference=reference, status=Status.FAILED,
        )
        if isinstance(run, _Failed)
        else _compared(*run, changed, measured, inside, static, reference)
        for run in runs
    ]  # fmt: skip
