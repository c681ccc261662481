"""Cases run in separate processes, which are monitored: no foreign exception, no hang, no unlimited memory, no crash."""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import select
import signal
import struct
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from fuzz_targets import Case, Pieces, Target
from messages import BadMessage

BYTES = 2**30
"""Most memory that a worker may take beyond what it starts with."""
CASES_OF_A_WORKER = 2000
WALL = 20.0
"""Most seconds by the clock, in multiples of the processor's: the machine may have more to do."""
TELLING = 0.1
"""Seconds between messages of a worker."""
PLACE = struct.Struct("q")
"""Where a worker says which of its cases it is at."""
HERE = str(Path(__file__).parent)


@dataclass(frozen=True)
class Problem:
    """The failure of a case: its kind (an exception, `hang`, `memory` or a signal), its location in the package, and the full
    text."""

    kind: str
    place: str
    text: str

    @property
    def signature(self) -> str:
        """The same for all cases that fail in the same way."""
        return f"{self.kind} in {self.place}" if self.place else self.kind


@dataclass(frozen=True)
class Outcome:
    """What went wrong with a case, if anything; seconds of the processor that it took."""

    number: int
    problem: Problem | None
    seconds: float


def attempt(target: Target, case: Case, folder: Path) -> Problem | None:
    """Run one case in this process."""
    try:
        target.run(case, folder)
    except (KeyboardInterrupt, SystemExit):
        raise
    except MemoryError as error:
        return Problem("memory", _place(error), traceback.format_exc())
    except Exception as error:
        return Problem(type(error).__name__, _place(error), traceback.format_exc())
    return None


def _place(error: BaseException) -> str:
    """The innermost function of the package that an exception came through; else the innermost of all but these tests."""
    if isinstance(error, BadMessage) and error.__context__ is not None:
        error = error.__context__
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if f"{os.sep}pliant{os.sep}" in frame.filename]
    outside = [frame for frame in frames if not frame.filename.startswith(HERE)]
    chosen = (inside or outside or frames)[-1]
    return f"{Path(chosen.filename).name}:{chosen.name}"


def outcomes(target: Target, case: Callable[[int], Case], numbers: range, folder: Path) -> Iterator[Outcome]:
    """Run cases by number, one after another in watched workers; a worker that is lost is replaced by another."""
    while numbers:
        done = 0
        for outcome in _one_worker(target, case, numbers[:CASES_OF_A_WORKER], folder):
            done += 1
            yield outcome
        numbers = numbers[done:]


def _one_worker(target: Target, case: Callable[[int], Case], numbers: range, folder: Path) -> Iterator[Outcome]:
    """Outcomes until the batch is done or the worker is lost, which is the outcome of the case that it was at."""
    reading, writing = os.pipe()
    trace, at = folder / "trace.txt", mmap.mmap(-1, PLACE.size)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _work(target, case, numbers, folder, writing, trace, at)
    os.close(writing)
    told = 0
    try:
        with os.fdopen(reading, "r", encoding="utf-8") as messages:
            while told < len(numbers):
                said, seconds, killed = _next_message(messages, pid, at, target.seconds)
                for problem, took in said:
                    yield Outcome(numbers[told], None if problem is None else Problem(*problem), took)
                    told += 1
                if not said:
                    lost = PLACE.unpack_from(at)[0]
                    for number in numbers[told:lost]:  # done, but not yet reported
                        yield Outcome(number, None, 0.0)
                    problem = _loss(pid, killed, trace)
                    told = len(numbers) + 1
                    yield Outcome(numbers[lost], problem, seconds)
    finally:
        if told == len(numbers):
            os.waitpid(pid, 0)
        elif told < len(numbers):
            _end(pid)


def _work(
    target: Target, case: Callable[[int], Case], numbers: range, folder: Path, writing: int, trace: Path, at: mmap.mmap
) -> None:
    """The life of a worker. What it says of its cases it says ten times a second, and at once where something is wrong."""
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        faulthandler.disable()  # pytest's, which would speak of crashes
        faulthandler.register(signal.SIGUSR1, trace.open("w"), all_threads=False)
        warnings.filterwarnings("error", category=RuntimeWarning, module="pliant")  # no user is to read NumPy's
        limit = _data_bytes() + BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(writing, "w", encoding="utf-8") as messages:
            unsaid: list[Any] = []
            last = time.monotonic()
            for k, number in enumerate(numbers):
                PLACE.pack_into(at, 0, k)
                start = time.process_time()
                problem = attempt(target, case(number), folder)
                told = None if problem is None else [problem.kind, problem.place, problem.text]
                unsaid.append([told, time.process_time() - start])
                if told is not None or time.monotonic() > last + TELLING or k == len(numbers) - 1:
                    print(json.dumps(unsaid), file=messages, flush=True)
                    unsaid, last = [], time.monotonic()
        code = 0
    finally:
        os._exit(code)


def _next_message(messages: TextIO, pid: int, at: mmap.mmap, limit: float) -> tuple[list[Any], float, bool]:
    """The next message of a worker, None if it is lost; seconds of its last case, and whether it was ended by the time limit."""
    case, start, begin = -1, 0.0, 0.0
    while True:
        ready, _, _ = select.select([messages], [], [], TELLING)
        if ready:
            line = messages.readline()
            return (json.loads(line) if line.endswith("\n") else []), 0.0, False
        now = PLACE.unpack_from(at)[0]
        if now != case:
            case, start, begin = now, time.monotonic(), _processor_seconds(pid)
        used = _processor_seconds(pid) - begin
        if used > limit or time.monotonic() - start > WALL * limit:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.2)
            return [], used, True


def _loss(pid: int, killed: bool, trace: Path) -> Problem:
    if killed:
        _end(pid, reap=False)
        _, status = os.waitpid(pid, 0)
        text = trace.read_text(encoding="utf-8", errors="replace") if trace.exists() else ""
        inside = [line.strip() for line in text.splitlines() if f"{os.sep}pliant{os.sep}" in line]
        place = "" if not inside else f"{Path(inside[0].split(chr(34))[1]).name}:{inside[0].rpartition(' in ')[2]}"
        return Problem("hang", place, text)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Problem(signal.Signals(os.WTERMSIG(status)).name, "", "the process was ended by a signal")
    return Problem("exit", "", f"the process ended with code {os.waitstatus_to_exitcode(status)}")


def _end(pid: int, *, reap: bool = True) -> None:
    """End a worker of ours, and wait for it unless that is done elsewhere."""
    try:
        os.kill(pid, signal.SIGKILL)
        if reap:
            os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass  # it has ended by itself


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _data_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmData"))


# -- smaller cases that fail alike ---------------------------------------------------------------------------------------------


def minimized(target: Target, case: Case, problem: Problem, folder: Path, *, seconds: float = 20.0) -> Case:
    """A smaller case that fails in the same way: pieces are left out as long as it does, for so many seconds."""
    end = time.monotonic() + seconds

    def fails(smaller: Case) -> bool:
        if time.monotonic() > end:
            return False
        found = next(outcomes(target, lambda _: smaller, range(1), folder)).problem
        return found is not None and found.signature == problem.signature

    for pieces_of in target.pieces:
        case = _without_pieces(case, pieces_of, fails)
    return case


def _without_pieces(case: Case, pieces_of: Pieces, fails: Callable[[Case], bool]) -> Case:
    split, joined = pieces_of
    pieces = split(case.data)
    size = max(1, len(pieces) // 2)
    while True:
        at = 0
        while at < len(pieces):
            fewer = pieces[:at] + pieces[at + size :]
            smaller = replace(case, data=joined(fewer))
            if fails(smaller):
                pieces, case = fewer, smaller
            else:
                at += size
        if size == 1:
            return case
        size //= 2
