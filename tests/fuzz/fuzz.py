"""Fuzzing: `make fuzz MINUTES=10 TARGET=models SEED=1` feeds damaged input to the package until the time is over.

Case n of a seed is always the same: `python tests/fuzz/fuzz.py --target models --seed 1 --case 123` runs a single one and prints
what happens. Failing cases are minimized and written to `tests/fuzz/corpus`, which `make test` replays.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

os.environ.setdefault("PLIANT_COMPILE", "quick")

from fuzz_targets import TARGETS, Case, Target
from watching import Outcome, attempt, minimized, outcomes

import pliant

CORPUS = Path(__file__).parent / "corpus"
TURN = 30.0
"""Seconds of one target before it is the next one's turn, and between lines of progress."""
LAZY = ("matplotlib.pyplot", "sympy", "pandas", "meshio", "mujoco", "distributed")
"""Packages that commands import on their first use."""


def import_all() -> None:
    """Import the whole package and what it uses, once for all workers: they are forked, and would each take seconds for it."""
    for module in walk_packages(pliant.__path__, "pliant."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LAZY:
        with contextlib.suppress(ImportError):
            import_module(name)


def case_of(target: Target, seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    return target.make(random.Random(f"{seed} {target.name} {number}"))


class Campaign:
    """Successive cases of one target, their outcomes, and where to continue."""

    def __init__(self, target: Target, seed: int, first: int, folder: Path, corpus: Path) -> None:
        self.target, self.seed, self.next, self.folder, self.corpus = target, seed, first, folder, corpus
        self.found: Counter[str] = Counter()
        self.done, self.seconds, self.slowest = 0, 0.0, 0.0
        self.case(first)  # creates the data of cases, once for all workers

    def go_on(self, *, seconds: float, most: int) -> None:
        """Run cases for some time, and at most so many in all."""
        end, said = time.monotonic() + seconds, time.monotonic()
        numbers = range(self.next, self.next + most - self.done)
        for outcome in outcomes(self.target, self.case, numbers, self.folder):
            self.next, self.done = outcome.number + 1, self.done + 1
            self.seconds, self.slowest = self.seconds + outcome.seconds, max(self.slowest, outcome.seconds)
            if outcome.problem is not None:
                self.note(outcome)
            if time.monotonic() > end:
                break
            if time.monotonic() > said + TURN:
                said = time.monotonic()
                print(self, flush=True)
        print(self, flush=True)

    def case(self, number: int) -> Case:
        """One of the cases."""
        return case_of(self.target, self.seed, number)

    def note(self, outcome: Outcome) -> None:
        """Count a failure; the first of its kind is made small, written down and shown."""
        problem = outcome.problem
        assert problem is not None
        self.found[problem.signature] += 1
        if self.found[problem.signature] > 1:
            return
        try:
            case = self.case(outcome.number)
        except Exception as error:
            print(
                f"{self.target.name} --seed {self.seed} --case {outcome.number} cannot be drawn: {error!r}", flush=True
            )
            return
        small = minimized(self.target, case, problem, self.folder)
        path = self.corpus / self.target.name / f"{hashlib.sha256(small.data).hexdigest()[:12]}{small.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small.data)
        last = problem.text.strip().splitlines()[-1:] or [""]
        print(f"{self.target.name} --seed {self.seed} --case {outcome.number}: {problem.signature}: {last[0][:300]}")
        print(f"    {path}", flush=True)

    def __str__(self) -> str:
        rate = self.done / self.seconds if self.seconds else 0.0
        return (
            f"{self.target.name:<12} {self.done:>7} cases  {sum(self.found.values()):>4} failed in {len(self.found)} ways  "
            f"slowest {self.slowest:5.2f} s  {rate:6.0f} per second"
        )


def main() -> int:
    """Run the command line: 1 if anything has failed."""
    parser = argparse.ArgumentParser(description="Feed damaged input to the package.")
    parser.add_argument("--target", default="all", help=f"one of {', '.join(TARGETS)}, or several with commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many of each target")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="run this one alone, in this process")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder that failing inputs are written to")
    given = parser.parse_args()
    chosen = [TARGETS[name] for name in (TARGETS if given.target == "all" else given.target.split(","))]
    import_all()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.case is not None:
            return one(chosen[0], given.seed, given.case, folder)
        campaigns = [Campaign(target, given.seed, given.first, folder, given.corpus) for target in chosen]
        end = time.monotonic() + 60 * given.minutes
        while open_ := [each for each in campaigns if each.done < given.cases]:
            left = end - time.monotonic()
            if left <= 0:
                break
            for each in open_:
                each.go_on(seconds=left if len(open_) == 1 else min(TURN, left / len(open_)), most=given.cases)
    for each in campaigns:
        for signature, count in each.found.most_common():
            print(f"{each.target.name}: {count} x {signature}")
    return int(any(each.found for each in campaigns))


def one(target: Target, seed: int, number: int, folder: Path) -> int:
    """One case in this process, with its output."""
    case = case_of(target, seed, number)
    sys.stdout.write(case.data.decode("utf-8", errors="backslashreplace") if len(case.data) < 10_000 else "")
    problem = attempt(target, case, folder)
    print(f"\n{'valid, or rejected with a clear message' if problem is None else problem.text}")
    return int(problem is not None)


if __name__ == "__main__":
    sys.exit(main())
