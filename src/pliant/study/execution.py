"""Blocks of cases on threads of this process, or on any executor: other processes, a cluster.

A block is transferred as data: an analysis, values, and the pickled equations, that is, their robot; a process restores them once.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pliant.analysis.numerics.status import AnalysisFailed
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError, whole
from pliant.language.message_text import describe
from pliant.study.analyses import CaseAnalysis, Outcome
from pliant.study.structures import Structures, Values

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
                outcomes = _outcomes(future, is_last_try=tries >= TRIES)
                if outcomes is None:
                    lost.append((block, tries))
                    continue
                pace.note(len(block), outcomes.seconds, time.perf_counter())
                for case, outcome in zip(block, outcomes, strict=True):
                    done(case, outcome)
            send()
    finally:
        for future in flying:
            future.cancel()


def _outcomes(future: Any, *, is_last_try: bool) -> Block | None:
    """The outcomes of a task; None if the executor lost it and it can be submitted again."""
    try:
        outcomes: Block = future.result()
    except Exception as reason:  # errors of the executor: an error in a case is its outcome
        if is_last_try or isinstance(reason, BrokenExecutor):
            message = f"the executor lost a task: {type(reason).__name__}: {reason}"
            hint = "finished cases are kept: run the sweep again to continue"
            raise AnalysisFailed(f"{message} ({hint})", None) from reason
        return None
    return outcomes


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
    eqs: Equations = pickle.loads(data)
    return eqs


@dataclass(frozen=True)
class Block:
    """Outcomes of some cases, transferred from another process.

    together: stacked arrays of all cases, by name; a message of few large arrays is faster than one of many. placed: for each
    case, its arrays with the names of their axes. seconds: total time.
    """

    seconds: float
    outcomes: list[Outcome]
    placed: list[dict[str, tuple[str, ...]]]
    together: dict[str, np.ndarray]

    def __iter__(self) -> Iterator[Outcome]:
        for k, (outcome, placed) in enumerate(zip(self.outcomes, self.placed, strict=True)):
            arrays = {name: (axes, self.together[name][k]) for name, axes in placed.items()}
            yield replace(outcome, arrays={**outcome.arrays, **arrays}) if arrays else outcome


def run_block(key: str, data: bytes, analysis: CaseAnalysis, values: Sequence[Values]) -> Block:
    """Run some cases in this process."""
    begin, outcomes = time.perf_counter(), dict[int, Outcome]()
    together: dict[str, np.ndarray] = {}
    places: dict[tuple[int, str], np.ndarray] = {}

    def room(k: int, name: str, axes: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
        whole = together.setdefault(name, np.empty((len(values), *shape)))
        place = whole[k] if whole.shape[1:] == shape else np.empty(shape)
        places[k, name] = place
        return place

    analysis.run(_unpacked(key, data), values, outcomes.__setitem__, lambda: False, room)
    placed = [
        {
            name: axes
            for name, (axes, x) in outcomes[k].arrays.items()
            if x is places.get((k, name)) and x.base is not None
        }
        for k in range(len(values))
    ]
    rest = [
        replace(outcomes[k], arrays={name: x for name, x in outcomes[k].arrays.items() if name not in placed[k]})
        for k in range(len(values))
    ]
    return Block(time.perf_counter() - begin, rest, placed, together)


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
