"""Many random robots: motions, exported C, and rods of two models at rest, with the outcome of each seed in a file.

    python tools/many_robots.py --seeds 0-2000 --log random.jsonl
    python tools/many_robots.py --seeds 0-200 --log rods.jsonl --checks rods
    python tools/many_robots.py --seeds 0-2000 --log exports.jsonl --checks export --compiler tcc

Each line of the file is a check of a seed with its outcome and processor time; the same command continues where it was stopped. The
checks are those of the tests `test_random_robots.py`, `test_random_exports.py` and `test_random_rods.py`, which run a few seeds.
tcc (Debian's package of that name) compiles exported robots in a fraction of the time of gcc.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
CHECKS = ("motion", "export", "rods")


def checks(store: Path, compiler: str) -> dict[str, Callable[[int, Path], None]]:
    """The checks by name, of a seed and an empty folder. `store`: a folder for object files of exported C."""
    sys.path[:0] = [str(TESTS / "validation"), str(TESTS / "targets" / "c")]
    import c_export
    import test_random_exports
    import test_random_robots
    import test_random_rods

    c_export.store, c_export.compiler = store, compiler
    if compiler != "gcc":
        c_export.WARNINGS = ()
    return {
        "motion": test_random_robots.test_a_random_robot_moves_as_physics_says,
        "export": test_random_exports.test_a_random_robot_moves_in_c_as_here,
        "rods": lambda seed, folder: test_random_rods.test_rod_models_agree_as_they_are_refined(seed),
    }


def outcome(check: Callable[[int, Path], None], seed: int) -> dict[str, object]:
    """The outcome of a check: `ok`, or the failure with its location, and the processor time [s], including compilers."""
    begin, found = used(), "ok"
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(seed, Path(folder))
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {str(error)[:400]}"
    return {"found": found, "seconds": round(used() - begin, 2)}


def used() -> float:
    """Processor time of this process and of those that it has waited for [s]."""
    spent = (resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(x.ru_utime + x.ru_stime for x in spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-2000", metavar="FIRST-END")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--checks", default=",".join(CHECKS), help=f"some of {', '.join(CHECKS)}")
    parser.add_argument("--compiler", default="gcc", help="compiles the exported equations: gcc or tcc")
    given = parser.parse_args()
    first, end = (int(x) for x in given.seeds.split("-"))
    os.environ.setdefault("PLIANT_COMPILE", "quick")
    warnings.simplefilter("ignore")
    lines = given.log.read_text(encoding="utf-8").splitlines() if given.log.exists() else []
    known = {(line["seed"], line["check"]): line for line in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as store:
        run = checks(Path(store), given.compiler)
        for seed in range(first, end):
            for check in given.checks.split(","):
                if (seed, check) not in known:
                    known[seed, check] = line = {"seed": seed, "check": check, **outcome(run[check], seed)}
                    with given.log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
    failures = [line for line in known.values() if line["found"] != "ok"]
    for line in failures:
        print(f"{line['check']} {line['seed']}: {line['found']}")
    print(f"{len(known)} checks, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
