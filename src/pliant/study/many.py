"""An analysis of one robot in many cases, on all cores: with the results in one dataset, or saved case by case in a folder."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np

from pliant.analysis.base import Analysis, Runs, analysis
from pliant.analysis.base import analysis as analysis_class
from pliant.analysis.equilibrium import FindEquilibrium
from pliant.analysis.linearize import Linearize
from pliant.analysis.modes import Modes
from pliant.analysis.numerics.netcdf_files import save_dataset
from pliant.analysis.numerics.result import INTERRUPTED
from pliant.analysis.numerics.versions import versions
from pliant.analysis.simulate import Simulate
from pliant.language.arguments import ArgumentError, choice, file_name, known_keywords, mapping, name_tuple, whole
from pliant.language.limits import time_is_up
from pliant.language.message_text import suggestion
from pliant.language.provided import analyses
from pliant.language.time_series import TimeSeries
from pliant.study.analyses import CaseAnalysis, Outcome, case_analysis, units
from pliant.study.cases import Cases, cases, read_cases
from pliant.study.execution import StudyWork, opened_executor, run_on_executor, run_on_threads
from pliant.study.folder import FORMAT, RESULTS, OpenSweep, SweepFolder
from pliant.study.results import NOT_RUN, CaseResults
from pliant.study.structures import Robot, Structures, structures, value_units

if TYPE_CHECKING:
    import xarray

CasesGiven = Cases | Sequence[Mapping[str, Any]] | Mapping[str, Any]
Progress = Callable[["StudyProgress"], None]


class StudyProgress:
    """Progress of a study: numbers of completed, failed and all cases; elapsed and remaining time [s]."""

    def __init__(self, total: int, before: int = 0) -> None:
        self.total, self.done, self.failed = total, before, 0
        self._before, self._begin = before, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the start [s]."""
        return time.perf_counter() - self._begin

    @property
    def seconds_left(self) -> float:
        """Remaining time at the current pace [s]; NaN before the first case is completed."""
        here = self.done - self._before
        return self.seconds * (self.total - self.done) / here if here else float("nan")

    def __str__(self) -> str:
        left = self.seconds_left
        rest = f", {_clock(left)} left" if left == left and self.done < self.total else ""
        bad = f" ({self.failed} failed)" if self.failed else ""
        return f"{self.done} of {self.total} cases{bad} in {_clock(self.seconds)}{rest}"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class ProgressLine:
    """Shows the progress of a study on one line of the terminal, a few times per second."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, pulse: StudyProgress) -> None:
        over = pulse.done == pulse.total
        if not sys.stderr.isatty():
            if over:
                print(pulse, file=sys.stderr)
            return
        now = time.perf_counter()
        if over or now - self._last >= 0.2:
            self._last = now
            print(f"\r{pulse}\033[K", end="\n" if over else "", file=sys.stderr, flush=True)


class Study:
    """An analysis in many cases of a robot, ready to be run."""

    def __init__(self, robot: Robot, cases: CasesGiven, analysis: CaseAnalysis) -> None:
        self.cases = read_cases(cases)
        self.structures: Structures = structures(robot, self.cases)
        self.analysis = analysis
        for eqs in self.structures.equations:
            analysis.check(eqs)
        self.labels = [analysis.axes(eqs) for eqs in self.structures.equations]

    def run(
        self,
        done: Callable[[int, Outcome], None],
        *,
        todo: Sequence[int] | None = None,
        workers: int | None = None,
        executor: Any = None,
        progress: Progress | bool | None = None,
        into: CaseResults | None = None,
    ) -> bool:
        """Run the cases, all or some, and call `done` for each when it ends. Returns whether Ctrl-C or a time limit ended it early.

        into: provides arrays in which values are written directly, if given.
        """
        cases = range(len(self.cases)) if todo is None else todo
        pulse = StudyProgress(len(self.cases), len(self.cases) - len(cases))
        show = ProgressLine() if progress is True else progress or None

        def finished(case: int, outcome: Outcome) -> None:
            done(case, outcome)
            pulse.done += 1
            pulse.failed += outcome.status == "failed"
            if show is not None:
                show(pulse)

        for eqs in self.structures.equations:
            _ = eqs.binding  # compiled by one thread, before all threads need it
        work = StudyWork(self.structures, self.analysis, cases)
        try:
            if executor is None:
                run_on_threads(work, workers, finished, None if into is None else partial(self._room, into))
            else:
                with opened_executor(executor) as there:
                    run_on_executor(work, there, workers, finished)
        except KeyboardInterrupt:
            return True
        return False

    def _room(self, into: CaseResults, case: int, *what: Any) -> Any:
        return into.room(self.labels[self.structures.which[case]], case, *what)

    def gathered(self) -> CaseResults:
        """Storage for the outcomes of all cases."""
        return CaseResults(len(self.cases))

    def put(self, into: CaseResults, case: int, outcome: Outcome) -> None:
        """Add the outcome of a case."""
        into.put(case, outcome, self.labels[self.structures.which[case]])

    def dataset(self, results: CaseResults) -> xarray.Dataset:
        """The outcomes as one dataset, with the varied quantities as coordinates of the cases."""
        first = self.structures.equations[0]
        varied = {name: [row.get(name) for row in self.cases] for name in self.cases.names}
        attributes = {
            "model": first.model.spec.name or "robot",
            "model_text": first.model.text,
            "analysis": self.analysis.name,
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
        return results.dataset(varied, self.units(), attributes)

    def units(self) -> dict[str, str]:
        """Units of results and of what varies, by name."""
        first = self.structures.equations[0]
        return {**units(first), **self.analysis.units(), **value_units(first, self.cases.names)}


OF_STUDIES = ("keep", "workers", "executor", "progress")
"""Arguments of studies that are no options of the analysis."""


def option_names(kind: type[Analysis]) -> tuple[str, ...]:
    """Options of an analysis in many cases."""
    return (*kind.options(), "inputs")


def _run(
    robot: Robot, cases: CasesGiven, name: str, options: Mapping[str, Any], *, keep: Any = None,
    workers: int | None = None, executor: Any = None, progress: Progress | bool | None = None,
) -> xarray.Dataset:  # fmt: skip
    study = Study(robot, cases, case_analysis(name, options, name_tuple(keep, "keep")))
    results = study.gathered()
    if study.run(
        lambda case, outcome: study.put(results, case, outcome), workers=workers, executor=executor, progress=progress,
        into=results,
    ):  # fmt: skip
        results.message[results.status == NOT_RUN] = time_is_up() or INTERRUPTED
    return study.dataset(results)


Options = ParamSpec("Options")

TEXT = """{title} for many cases, on all cores; each result is bitwise identical to that of `{name}` with the same values.

robot: equations, a RobotSpec, a model file or the name of a bundled robot.
cases: a list of mappings from names to values; or one mapping from names to lists of values or texts, for all combinations; or the
    result of `pliant.cases`. A name is that of a parameter, an input, an initial coordinate or rate (SI units, or a text with a
    unit); of a rod, whose value is a rod model ("cosserat:10"); `start` (the state of the analysis) or `variant`. Equations are
    derived once for each set of rod models and variants.
keep: variables to keep for each case; by default {kept}. Memory use is that of the kept variables.
workers: threads; all cores by default.
executor: where to run instead: a `concurrent.futures` executor, a Dask `Client`, or the address of a Dask scheduler.
progress: True for a line on the terminal with the remaining time, or a function called after each case.
The other options are those of `{name}`, for all cases.

Returns an xarray Dataset over the dimension `case`, with the varied values as its coordinates. A case that fails has the `status`
"failed", the reason as its `message`, and NaN values; the others continue.
"""


def many_of(kind: Callable[Options, Runs[Any]]) -> Callable[Concatenate[Robot, CasesGiven, Options], xarray.Dataset]:
    """The function of an analysis for many cases: `modes_many(robot, cases, count=5)`. Its keywords are those of the analysis, and
    `keep`, `workers`, `executor` and `progress`."""
    assert isinstance(kind, type)
    assert issubclass(kind, Analysis)
    made: type[Analysis] = kind
    both, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY

    def parameter(name: str, way: Any) -> inspect.Parameter:
        field = made.model_fields[name]
        default = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
        return inspect.Parameter(name, way, default=default)

    signature = inspect.Signature([
        inspect.Parameter("robot", both), inspect.Parameter("cases", both), *(parameter(x, both) for x in made.first),
        *(inspect.Parameter(x, only, default=None) for x in OF_STUDIES),
        *(parameter(x, only) for x in option_names(made) if x not in made.first),
    ])  # fmt: skip

    def analyse(*arguments: Any, **options: Any) -> xarray.Dataset:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        given = bound.arguments
        robot, cases = given.pop("robot"), given.pop("cases")
        study = {name: given.pop(name) for name in OF_STUDIES}
        return _run(robot, cases, made.name, given, **study)

    analyse.__name__ = analyse.__qualname__ = f"{made.name}_many"
    analyse.__module__ = made.__module__
    analyse.__signature__ = signature  # type: ignore[attr-defined]
    analyse.__doc__ = TEXT.format(title=made.title, name=made.name, kept=", ".join(made.kept) or "all")
    return known_keywords(analyse)


simulate_many = many_of(Simulate)
equilibrium_many = many_of(FindEquilibrium)
modes_many = many_of(Modes)
linearize_many = many_of(Linearize)


def __getattr__(name: str) -> Any:
    """The functions of all other analyses for many cases."""
    of, many, rest = name.partition("_many")
    if many and not rest and of in analyses():
        globals()[name] = many_of(analysis(of))
        return globals()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@dataclass(frozen=True)
class SweepEnd:
    """End of a sweep: number of cases, completed before, completed now, failed; whether Ctrl-C ended it; and its folder."""

    folder: Path
    cases: int
    before: int
    done: int
    failed: int
    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether all cases are completed."""
        return self.before + self.done == self.cases


def sweep(
    robot: Robot,
    vary: Mapping[str, Any],
    folder: str | os.PathLike[str],
    *,
    sample: str | None = None,
    seed: int = 0,
    analysis: str = "simulate",
    keep: Sequence[str] | None = None,
    workers: int | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Run an analysis of a robot for many cases and save each finished case immediately; after an interruption, the
    same call runs the missing cases.

    robot, keep, workers, executor, progress: as for `simulate_many`. vary, sample, seed: as for `cases`.
    folder: folder of the results; it must not contain another sweep or be in use by another process.
    analysis: name of any analysis, such as "simulate" or "modes", with its options as further arguments.

    Returns the dataset of all cases, as `pliant.load_sweep(folder)` does at any time; it is also written as `results.nc`.
    """
    run_sweep(
        robot, vary, folder, sample=sample, seed=seed, analysis=analysis, keep=keep, workers=workers, executor=executor,
        progress=progress, options=options,
    )  # fmt: skip
    return SweepFolder.open(folder).dataset()


def run_sweep(
    robot: Robot, vary: Mapping[str, Any], folder: str | os.PathLike[str], *, sample: str | None, seed: int,
    analysis: str, keep: Sequence[str] | None, workers: int | None, executor: Any, progress: Progress | bool | None,
    options: Mapping[str, Any],
) -> SweepEnd:  # fmt: skip
    """Run the remaining cases of a sweep; see `sweep`."""
    kept, vary = name_tuple(keep, "keep"), mapping("vary", vary)
    seed = whole("seed", seed, least=0)
    file_name("folder", folder)
    choice("analysis", analysis, tuple(analyses()))
    known = option_names(analysis_class(analysis))
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            hint = suggestion(option, known, f"known: {', '.join(known)}")
            raise ArgumentError(f"the analysis '{analysis}' has no option '{option}'", hint)
    study = Study(robot, cases(vary, sample, seed=seed), case_analysis(analysis, given, kept))
    asked = {
        "analysis": analysis,
        "vary": {name: _written(given) for name, given in vary.items()},
        "sample": sample,
        "seed": seed,
        "options": {name: _written(x) for name, x in given.items()},
        "keep": list(study.analysis.keep) or None,
        "units": study.units(),
    }
    there = OpenSweep(folder, study.cases, study.structures, study.labels, asked)
    try:
        before = len(there.journal.done)
        todo = [case for case in range(len(study.cases)) if case not in there.journal.done]

        def done(case: int, outcome: Outcome) -> None:
            there.journal.append(case, outcome)

        stopped = bool(todo) and study.run(done, todo=todo, workers=workers, executor=executor, progress=progress)
        now = len(there.journal.done) - before
    finally:
        there.close()
    dataset = SweepFolder.open(folder).dataset()
    save_dataset(dataset, Path(folder) / RESULTS, FORMAT)
    failed = int((dataset["status"].values == "failed").sum())
    return SweepEnd(Path(folder), len(study.cases), before, now, failed, stopped)


def read_value(value: Any) -> Any:
    """An input from the manifest."""
    if isinstance(value, Mapping):
        return TimeSeries(np.array(value["time"]), np.array(value["poly"]))
    return value


def _written(value: Any) -> Any:
    """A value as stored in the manifest."""
    if isinstance(value, TimeSeries):
        return {"time": value.time.tolist(), "poly": value.poly.tolist()}
    if isinstance(value, Mapping):
        return {str(name): _written(x) for name, x in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence):
        return [_written(x) for x in value]
    return repr(value)
