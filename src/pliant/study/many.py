"""An analysis of one robot in many cases, on all cores: with the results in one dataset, or saved case by case in a folder."""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np

from pliant.analysis.base import Analysis, Runs, analysis
from pliant.analysis.base import analysis as analysis_class
from pliant.analysis.equilibrium import FindEquilibrium
from pliant.analysis.linearize import Linearize
from pliant.analysis.modes import Modes
from pliant.analysis.numerics.netcdf_files import save_dataset
from pliant.analysis.numerics.result import INTERRUPTED, versions
from pliant.analysis.numerics.status import AnalysisFailed
from pliant.analysis.simulate import Simulate
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError, choice, file_name, known_keywords, mapping, name_tuple, whole
from pliant.language.limits import time_is_up
from pliant.language.message_text import describe, suggestion
from pliant.language.provided import analyses
from pliant.language.time_series import TimeSeries
from pliant.study.analyses import CaseAnalysis, Outcome, case_analysis, units
from pliant.study.cases import Cases, cases, read_cases
from pliant.study.folder import FORMAT, RESULTS, OpenSweep, SweepFolder
from pliant.study.results import NOT_RUN, CaseResults
from pliant.study.structures import Robot, Structures, Values, structures, value_units

if TYPE_CHECKING:
    import xarray


LARGEST_BLOCK = 256
"""Number of cases that are started together: quantities that depend on their parameters are computed for all of them."""
TASK_SECONDS = 1.0
"""Target duration of a task in another process: long compared with its transfer, short compared with the loss of a worker."""
WORTH = 4.0
"""Duration of a task as a multiple of the overhead of running it elsewhere, if that is as large as the start of a job."""
LARGEST_TASK = 1024
LOOPBACK = "//127.0.0.1:"
"""Part of the address of a worker on this machine, as those of Dask's local clusters."""
PATIENCE = "10s"
"""Time limit for the answer of a Dask scheduler."""
TRIES, ASK_SECONDS = 3, 0.05
"""Number of attempts for a lost task, and polling interval of futures that cannot be waited for."""
AHEAD = 2
"""Number of pending tasks for each worker of an executor."""

Done = Callable[[int, Outcome], None]
"""Called with the number of a completed case, by one thread at a time."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class StudyWork:
    """The remaining cases of a study, by number, with all data needed to run them."""

    structures: Structures
    analysis: CaseAnalysis
    cases: Sequence[int]

    def blocks(self, size: Callable[[], int]) -> Iterator[list[int]]:
        """Blocks of cases of one structure each, of the current `size`."""
        which = self.structures.which
        order = sorted(self.cases, key=lambda case: which[case])
        begin = 0
        while begin < len(order):
            end = begin + 1
            most = begin + max(1, size())
            while end < min(most, len(order)) and which[order[end]] == which[order[begin]]:
                end += 1
            yield order[begin:end]
            begin = end


Room = Callable[[int, str, tuple[str, ...], tuple[int, ...]], np.ndarray]
"""Provides storage for values of a case, by its number, their name, axes and shape; called by any thread."""


def run_on_threads(work: StudyWork, workers: int | None, done: Done, room: Room | None = None) -> None:
    """Run all cases on threads of this process, by default one per core. Ctrl-C ends it after the current runs."""
    count = cores() if workers is None else whole("workers", workers, least=1)
    lock, stopped = threading.Lock(), threading.Event()
    size = max(1, min(LARGEST_BLOCK, len(work.cases) // (4 * count)))
    blocks = work.blocks(lambda: size)

    def next_block() -> list[int] | None:
        with lock:
            return next(blocks, None)

    def serve() -> None:
        while (block := next_block()) is not None and not stopped.is_set():
            first = work.structures.which[block[0]]

            def finished(k: int, outcome: Outcome, block: list[int] = block) -> None:
                with lock:
                    done(block[k], outcome)

            def room_of_block(k: int, *what: Any, block: list[int] = block) -> np.ndarray:
                return room(block[k], *what)  # type: ignore[misc]

            try:
                values = [work.structures.values[case] for case in block]
                more = () if room is None else (room_of_block,)
                work.analysis.run(work.structures.equations[first], values, finished, stopped.is_set, *more)
            except BaseException:
                stopped.set()
                raise

    if count == 1:
        serve()
        return
    with ThreadPoolExecutor(count, thread_name_prefix="pliant") as pool:
        try:
            futures = [pool.submit(serve) for _ in range(count)]
            for future in futures:
                future.result()
        finally:
            stopped.set()


def run_on_executor(work: StudyWork, executor: Executor, workers: int | None, done: Done) -> None:
    """Run all cases on an executor, in tasks of about a second, or longer if each is a job with a large overhead.

    workers: number of concurrent tasks, if known.

    A lost task, for example of a worker that was killed, is submitted again a few times.
    """
    at_once = whole("workers", workers, least=1) if workers is not None else _workers_of(executor)
    pace = _TaskSize(len(work.cases), at_once, time.perf_counter())
    robots = [packed(eqs) for eqs in work.structures.equations]
    blocks = work.blocks(pace.size)
    lost: list[tuple[list[int], int]] = []
    flying: dict[Any, tuple[list[int], int]] = {}

    def send() -> None:
        while len(flying) < AHEAD * at_once:
            if lost:
                block, tries = lost.pop()
            elif (fresh := next(blocks, None)) is not None:
                block, tries = fresh, 0
            else:
                return
            values = [work.structures.values[case] for case in block]
            key, data = robots[work.structures.which[block[0]]]
            flying[executor.submit(run_block, key, data, work.analysis, values)] = block, tries + 1

    try:
        send()
        while flying:
            for future in _landed(list(flying)):
                block, tries = flying.pop(future)
                try:
                    seconds, outcomes = future.result()
                except Exception as reason:  # errors of the executor: an error in a case is its outcome
                    _check_loss(reason, tries)
                    lost.append((block, tries))
                    continue
                pace.note(len(block), seconds, time.perf_counter())
                for case, outcome in zip(block, outcomes, strict=True):
                    done(case, outcome)
            send()
    finally:
        for future in flying:
            future.cancel()


def _check_loss(reason: Exception, tries: int) -> None:
    """Raise AnalysisFailed if a task that the executor lost cannot be submitted again."""
    if tries >= TRIES or isinstance(reason, BrokenExecutor):
        message = f"the executor lost a task: {type(reason).__name__}: {reason}"
        hint = "finished cases are kept: run the sweep again to continue"
        raise AnalysisFailed(f"{message} ({hint})", None) from reason


def _landed(flying: Sequence[Any]) -> Sequence[Any]:
    """The finished tasks; waits for the first. Futures of other packages, such as submitit's jobs, are polled."""
    if all(isinstance(future, Future) for future in flying):
        return tuple(wait(flying, return_when=FIRST_COMPLETED).done)
    while not (landed := [future for future in flying if future.done()]):
        time.sleep(ASK_SECONDS)
    return landed


class _TaskSize:
    """Number of cases of a task: one at first, then so that it takes about a second; fewer towards the end, so that all workers
    end at the same time. More if tasks return much later than their duration, like jobs of a queue."""

    def __init__(self, cases: int, workers: int, now: float) -> None:
        self.left, self.workers, self.latest = cases, workers, now
        self.seconds = 0.0
        """Duration of one case."""
        self.overhead: float | None = None
        """Overhead of one task [s]."""

    def note(self, cases: int, seconds: float, now: float) -> None:
        """Record the number of cases of a task, its duration and the time of its return [s]."""
        latest, overhead = seconds / cases, self.workers * (now - self.latest) - seconds
        self.seconds = latest if not self.seconds else 0.5 * (self.seconds + latest)
        self.overhead = overhead if self.overhead is None else 0.5 * (self.overhead + overhead)
        self.latest = now

    def size(self) -> int:
        """Number of cases of the next task."""
        size = 1
        if self.seconds:
            overhead = max(0.0, self.overhead or 0.0)
            size = int(max(TASK_SECONDS, WORTH * overhead) / self.seconds)
            size = min(size, max(self.left // (4 * self.workers), min(self.left, int(overhead / self.seconds))))
        size = max(1, min(LARGEST_TASK, size))
        self.left -= size
        return size


def _workers_of(executor: Any) -> int:
    """Number of concurrent tasks of an executor, if known."""
    for name in ("_max_workers", "max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    client = getattr(executor, "_client", None)
    if client is not None:  # Dask's
        return max(1, sum(client.nthreads().values()))
    return cores()


def packed(eqs: Equations) -> tuple[str, bytes]:
    """Equations as data, and a key that is equal for equal ones."""
    data = pickle.dumps(eqs)
    return hashlib.sha256(data).hexdigest(), data


@lru_cache(maxsize=16)
def _unpacked(key: str, data: bytes) -> Equations:
    return pickle.loads(data)


def run_block(key: str, data: bytes, analysis: CaseAnalysis, values: Sequence[Values]) -> tuple[float, list[Outcome]]:
    """Run some cases in this process: the time that it took [s], and the outcomes."""
    begin, outcomes = time.perf_counter(), dict[int, Outcome]()
    analysis.run(_unpacked(key, data), values, outcomes.__setitem__, lambda: False)
    return time.perf_counter() - begin, [outcomes[k] for k in range(len(values))]


def is_executor(given: Any) -> bool:
    """Whether tasks can be submitted to it."""
    return callable(getattr(given, "submit", None))


@contextmanager
def opened_executor(given: Any) -> Iterator[Executor]:
    """An executor from an argument: an executor, a Dask client, or the address of a Dask scheduler, whose client is
    closed afterwards."""
    if isinstance(given, str) and ":" in given:
        try:
            client = _dask().Client(given, timeout=PATIENCE, set_as_default=False)
        except OSError as reason:
            raise ArgumentError(
                f"there is no Dask scheduler at '{given}': {reason}", "start one: dask scheduler"
            ) from None
        with client, _directly(client):
            yield client.get_executor(pure=False)
    elif hasattr(given, "get_executor"):
        with _directly(given):
            yield given.get_executor(pure=False)
    elif is_executor(given):
        yield given
    else:
        hint = "give a concurrent.futures executor, a Dask client, or the address of a Dask scheduler (tcp://host:8786)"
        raise ArgumentError(f"an executor cannot be {describe(given)}", hint)


@contextmanager
def _directly(client: Any) -> Iterator[None]:
    """Results of Dask workers on this machine are transferred directly, not through the scheduler, unless the client
    is configured otherwise."""
    own = client.direct_to_workers
    addresses = client.nthreads()
    if own is None and addresses and all(LOOPBACK in address for address in addresses):
        client.direct_to_workers = True
    try:
        yield
    finally:
        client.direct_to_workers = own


def _dask() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise ArgumentError("Dask is not installed", "pip install 'pliant[dask]'") from None
    return distributed


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
        self, done: Callable[[int, Outcome], None], *, todo: Sequence[int] | None = None, workers: int | None = None,
        executor: Any = None, progress: Progress | bool | None = None, into: CaseResults | None = None,
    ) -> bool:  # fmt: skip
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
    robot: Robot, vary: Mapping[str, Any], folder: str | os.PathLike[str], *, sample: str | None = None,
    seed: int = 0, analysis: str = "simulate", keep: Sequence[str] | None = None, workers: int | None = None,
    executor: Any = None, progress: Progress | bool | None = None, **options: Any,
) -> xarray.Dataset:  # fmt: skip
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
