"""Kill (-9) every operation that writes files at random times, and check that nothing is lost or half-written.

    python tools/kill_test.py [--kills 200] [--seed 1] [--only sweep]

Jobs: `simulate` (a result over an earlier one, with parts on the way), `sweep` (journal and manifest), `compile` (libraries in a
cache), `report` (a page) and `picture`. Each is completed once, to measure its duration; then it is started again and
again and killed after a random fraction of that time, alone or with its compilers. After each kill every file
has to be complete, earlier results have to exist, and the next start has to work; at the end no other
files may be left. Otherwise exits with 1, and prints the seed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pliant
from pliant.cli import run as command
from pliant.engine import compiling
from pliant.engine.libraries import build_library

CASES = 100
UNTIL = 10.0
VARY = {"length": "0.3:0.7 m"}


class Lost(AssertionError):
    """Something is missing, half-written or left behind."""


def need(is_so: object, words: str) -> None:
    """Raise Lost unless the condition holds."""
    if not is_so:
        raise Lost(words)


class Job:
    """An operation that writes files into a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self) -> None:
        """Create the initial files."""

    def work(self) -> None:
        """The operation that is killed."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise Lost if a file is not complete."""
        raise NotImplementedError

    def finish(self) -> None:
        """Complete the operation after all kills, and check the files."""
        self.work()
        self.check()

    def files(self) -> set[str]:
        """Names in the folder."""
        return {path.name for path in self.folder.iterdir()}


def quietly(arguments: list[str]) -> None:
    """Run a command of pliant without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = command(arguments)
    need(code == 0, f"pliant {' '.join(arguments)} ended with {code}")


class SimulateJob(Job):
    """A result that replaces an earlier one; intermediate results are written every few milliseconds."""

    def begin(self) -> None:
        self.eqs = pliant.derive("four_bar")
        self.out = self.folder / "run.nc"
        pliant.simulate(self.eqs, 0.1, out=self.out)
        self.first = self.out.read_bytes()

    def work(self) -> None:
        from pliant.analysis.motion import run as module

        module.PACE = module.Pace(least_save_cost=0.0)
        pliant.simulate(self.eqs, UNTIL, method=pliant.ExplicitRungeKutta(step=1e-3), save_every=0.1, out=self.out)

    def check(self) -> None:
        need(self.files() <= {"run.nc", "run.partial.nc"}, f"left behind: {self.files()}")
        found = pliant.load_result(self.out)
        need(self.out.read_bytes() == self.first or found.time[-1] == UNTIL, "the earlier result is gone")
        need(not found.is_partial, "a part in the place of a result")
        if (part := self.folder / "run.partial.nc").exists():
            need(pliant.load_result(part).is_partial, "a partial result that does not say so")

    def finish(self) -> None:
        self.work()
        self.check()
        need(self.files() == {"run.nc"}, f"left behind: {self.files()}")


class SweepJob(Job):
    """A sweep that continues after an interruption."""

    def begin(self) -> None:
        self.eqs = pliant.derive("pendulum")
        self.done: set[int] = set()

    def work(self) -> None:
        pliant.sweep(self.eqs, VARY, self.folder / "runs", sample=f"sobol:{CASES}", until=0.5, workers=1)

    def check(self) -> None:
        folder = self.folder / "runs"
        known = {"manifest.json", "cases.json", "runs.journal", "results.nc", "lock"}
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        need(names <= known, f"left behind: {names}")
        if "manifest.json" not in names:
            need(not self.done, "the manifest is gone")
            return
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            now = {int(k) for k in np.flatnonzero(pliant.load_sweep(folder).status.values == "completed")}
        need(now >= self.done, f"{len(self.done - now)} finished cases are gone")
        self.done = now
        if len(now) == CASES:  # begin a new one
            for path in folder.iterdir():
                path.unlink()
            self.done = set()

    def finish(self) -> None:
        self.work()
        alone = pliant.simulate_many(self.eqs, pliant.cases(VARY, f"sobol:{CASES}"), 0.5)
        need(pliant.load_sweep(self.folder / "runs").identical(alone), "a sweep that was killed gives other numbers")


class CompileJob(Job):
    """Libraries in a cache; two of them, the second with a note."""

    def begin(self) -> None:
        self.count = 0
        os.environ["PLIANT_CACHE"] = str(self.folder / "cache")

    def source(self) -> dict[str, str]:
        """Another library each time, which takes some time to compile."""
        lines = "".join(f"x = x * {k}.0 + {self.count}.5;" for k in range(2000))
        return {"a.c": f"double answer(double x) {{ {lines} return x; }}\n"}

    def work(self) -> None:
        compiling.writable_cache.cache_clear()
        path = build_library(f"killed{self.count}", self.source(), ["a.c"], ("-O1",))
        compiling.put_text(path.with_suffix(".note"), "x" * 10_000)

    def check(self) -> None:
        cache = self.folder / "cache"
        for path in cache.glob(f"*{compiling.SUFFIX}") if cache.exists() else ():
            if path.with_suffix(".sum").exists():
                need(compiling.is_sound(path, private=True), f"{path.name} is damaged")
        for path in cache.glob("*.note") if cache.exists() else ():
            need(len(path.read_text()) == 10_000, f"{path.name} is half written")
        self.work()  # the next start works immediately
        self.count += 1

    def finish(self) -> None:
        for path in [*(self.folder / "cache").glob("build-*"), *(self.folder / "cache").glob("part-*")]:
            os.utime(path, (0, 0))  # what is abandoned for long is removed with the next library
        self.count += 1
        self.work()
        left = {path.name for path in (self.folder / "cache").iterdir()}
        left = {name for name in left if not name.endswith((compiling.SUFFIX, ".sum", ".note", ".lock"))}
        need(not left, f"left behind: {left}")


class FileJob(Job):
    """A file that a command writes, replacing an earlier one."""

    name, tail = "", b""

    def begin(self) -> None:
        self.work()

    def check(self) -> None:
        need(self.files() == {self.name}, f"left behind: {self.files()}")
        need((self.folder / self.name).read_bytes().rstrip().endswith(self.tail), f"{self.name} is half written")


class ReportJob(FileJob):
    """A page with everything that was computed."""

    name, tail = "report.html", b"</html>"

    def work(self) -> None:
        quietly(["simulate", "four_bar", "--until", "0.5", "--report", str(self.folder / self.name)])


class PictureJob(FileJob):
    """A picture."""

    name, tail = "robot.png", b"IEND\xaeB`\x82"

    def work(self) -> None:
        quietly(["picture", "four_bar", "--out", str(self.folder / self.name)])


JOBS: dict[str, type[Job]] = {
    "simulate": SimulateJob, "sweep": SweepJob, "compile": CompileJob, "report": ReportJob, "picture": PictureJob,
}  # fmt: skip


def forked(work: Callable[[], None]) -> int:
    """A process that performs an operation, in a separate group, with all imports of this module."""
    if number := os.fork():
        return number
    os.setsid()
    code = 1
    try:
        work()
        code = 0
    except Exception as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def kill_once(job: Job, seconds: float, rng: random.Random) -> bool:
    """Start a job and kill it; returns whether it was still running."""
    number = forked(job.work)
    time.sleep(rng.uniform(0.0, 1.1 * seconds))
    # a job whose compilers continue is the harder case: they still write into its folder
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if rng.random() < 0.5 else os.kill)(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    need(os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the next start does not work")
    return os.WIFSIGNALED(status)


def kill(name: str, kills: int, seed: int, folder: Path) -> str:
    """Kill one type of job this many times, and print a summary. Raises Lost."""
    rng = random.Random(f"{seed} {name}")
    job = JOBS[name](folder)
    job.begin()
    start = time.perf_counter()
    _, status = os.waitpid(forked(job.work), 0)
    seconds = time.perf_counter() - start
    need(status == 0, "it does not even work undisturbed")
    job.check()
    seen: Counter[bool] = Counter()
    for _ in range(kills):
        seen[kill_once(job, seconds, rng)] += 1
        job.check()
    job.finish()
    return f"{name}: {kills} kills of a job of {seconds:.2f} s, {seen[True]} while it was at work; nothing lost"


def main() -> int:
    """Kill all jobs in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=JOBS)
    chosen = parser.parse_args()
    names = [chosen.only] if chosen.only else list(JOBS)
    os.environ["PLIANT_COMPILE"] = "quick"
    for name in names:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                print(kill(name, max(1, chosen.kills // len(names)), chosen.seed, Path(folder)), flush=True)
            except Lost as what:
                print(f"{name}, seed {chosen.seed}: {what}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
