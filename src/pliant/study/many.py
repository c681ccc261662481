"""Many analyses of one robot: the same in all cases, on all cores, with the results in one dataset."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from pliant.analysis.base import Analysis as BaseAnalysis
from pliant.analysis.base import Runs
from pliant.analysis.equilibrium import FindEquilibrium
from pliant.analysis.linearize import Linearize
from pliant.analysis.modes import Modes
from pliant.analysis.numerics.result import INTERRUPTED
from pliant.analysis.numerics.versions import versions
from pliant.language.arguments import known_keywords, name_tuple
from pliant.language.deadline import time_is_up
from pliant.study.analyses import KEPT, Analysis, OneByOne, Outcome, Simulate, units
from pliant.study.case_results import NOT_RUN, CaseResults
from pliant.study.cases import Cases, read_cases
from pliant.study.execution import StudyWork, opened_executor, run_on_executor, run_on_threads
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

    def __init__(self, robot: Robot, cases: CasesGiven, analysis: Analysis) -> None:
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

    def dataset(self, found: CaseResults) -> xarray.Dataset:
        """The outcomes as one dataset, with the varied quantities as coordinates of the cases."""
        first = self.structures.equations[0]
        varied = {name: [row.get(name) for row in self.cases] for name in self.cases.names}
        known = {**units(first), **self.analysis.units(), **value_units(first, self.cases.names)}
        attributes = {
            "model": first.model.spec.name or "robot",
            "model_text": first.model.text,
            "analysis": self.analysis.name,
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
        return found.dataset(varied, known, attributes)


def _run(
    robot: Robot,
    cases: CasesGiven,
    analysis: Analysis,
    workers: int | None,
    executor: Any,
    progress: Progress | bool | None,
) -> xarray.Dataset:
    study = Study(robot, cases, analysis)
    found = study.gathered()
    if study.run(
        lambda case, outcome: study.put(found, case, outcome),
        workers=workers,
        executor=executor,
        progress=progress,
        into=found,
    ):
        found.message[found.status == NOT_RUN] = time_is_up() or INTERRUPTED
    return study.dataset(found)


@known_keywords
def simulate_many(
    robot: Robot,
    cases: CasesGiven,
    until: float = 1.0,
    *,
    keep: Sequence[str] = KEPT,
    workers: int | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
    begin: float = 0.0,
    start: Any = None,
    method: Any = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_every: float | None = None,
    save_at: Any = None,
    save_between: bool = False,
    inputs: Mapping[str, Any] | None = None,
    formulation: str = "multipliers",
    independent: Sequence[str] | None = None,
    controllers: bool | None = None,
) -> xarray.Dataset:
    """Simulate a robot for many cases, on all cores; each run is bitwise identical to `simulate` with the same values.

    robot: equations, a RobotSpec, a model file or the name of a bundled robot.
    cases: a list of mappings from names to values; or one mapping from names to lists of values or texts, for all
        combinations; or the result of `pliant.cases`. A name is that of a parameter, an input, an initial coordinate
        or rate (SI units, or a text with a unit); of a rod, whose value is a rod model ("cosserat:10"); `start` (as
        for `simulate`) or `variant`. Equations are derived once for each set of rod models and variants.
    keep: variables to keep for each run, by their names in the dataset of a result: "q", "v", "a", "multiplier", "u",
        "kinetic", "frame_position", "output.NAME", and "outputs" for all of these. Memory use is that of the kept variables.
    workers: threads; all cores by default.
    executor: where to run instead: a `concurrent.futures` executor, a Dask `Client`, or the address of a Dask scheduler.
    progress: True for a line on the terminal with the remaining time, or a function called after each case.
    The other options are those of `simulate`, for all cases.

    Returns an xarray Dataset over the dimension `case`, with the varied values as its coordinates. A case that fails
    has the `status` "failed", the reason as its `message`, and NaN values; the others continue.
    """
    options = {
        "until": until, "begin": begin, "start": start, "method": method, "step": step, "rtol": rtol, "atol": atol,
        "save_every": save_every, "save_at": save_at, "save_between": save_between, "inputs": inputs,
        "formulation": formulation, "independent": independent, "controllers": controllers,
    }  # fmt: skip
    return _run(robot, cases, Simulate(options, name_tuple(keep, "keep") or ()), workers, executor, progress)


Options = ParamSpec("Options")


def many_of(kind: Callable[Options, Runs[Any]]) -> Callable[Concatenate[Robot, CasesGiven, Options], xarray.Dataset]:
    """The function of an analysis for many cases: `modes_many(robot, cases, count=5)`. Its keywords are those of the analysis, and
    `workers`, `executor` and `progress` as for `simulate_many`."""
    assert isinstance(kind, type)
    assert issubclass(kind, BaseAnalysis)
    made: type[BaseAnalysis] = kind
    both, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    own = [*made.options(), "inputs"]
    fields = [
        inspect.Parameter(name, only, default=made.model_fields[name].get_default(call_default_factory=True))
        for name in own
    ]
    study = [inspect.Parameter(name, only, default=None) for name in ("workers", "executor", "progress")]
    signature = inspect.Signature([inspect.Parameter("robot", both), inspect.Parameter("cases", both), *study, *fields])

    def analyse(*arguments: Any, **options: Any) -> xarray.Dataset:
        given = signature.bind(*arguments, **options).arguments
        robot, cases = given.pop("robot"), given.pop("cases")
        workers, executor, progress = (given.pop(name, None) for name in ("workers", "executor", "progress"))
        return _run(robot, cases, OneByOne(given, made.name), workers, executor, progress)

    analyse.__name__ = analyse.__qualname__ = f"{made.name}_many"
    analyse.__module__ = made.__module__
    analyse.__signature__ = signature  # type: ignore[attr-defined]
    variables = ", ".join(made.result.variables())
    analyse.__doc__ = (
        f"{made.title} for many cases: {variables}.\n\nCases, workers, executor, progress and return value: as for "
        f"`simulate_many`. The other options are those of `{made.name}`."
    )
    return known_keywords(analyse)


equilibrium_many = many_of(FindEquilibrium)
modes_many = many_of(Modes)
linearize_many = many_of(Linearize)
