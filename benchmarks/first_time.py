"""Time of the first use: imports, the first command, and deriving and compiling each bundled robot.

`cold` is `load`, `derive` and the first evaluation in a new process with an empty cache folder, waiting for compilers
(PLIANT_COMPILE=wait); `warm` is the same in a new process with that cache. Both exclude the imports, which are listed separately:
`import pliant`, `pliant --help`, and `pliant simulate four_bar` with an empty cache, as whole processes. Kernels that the
installation has prebuilt are used; --no-prebuilt hides them.

    python benchmarks/first_time.py [--json] [--robots four_bar,trunk] [--rounds 3] [--no-prebuilt]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pliant.engine.libraries import cache_folder, runtime_library
from pliant.robot.reader import bundled_robots

FIRST_USE = """
import sys, time
import pliant
from pliant.engine import libraries
from pathlib import Path
pliant.simulate, pliant.derive, pliant.load
if "--no-prebuilt" in sys.argv:
    libraries.PREBUILT_KERNELS = Path("/nowhere")
start = time.perf_counter()
eqs = pliant.derive(pliant.load(sys.argv[1]))
state = eqs.state({})
eqs.forward_dynamics(state.q, state.v)
print(time.perf_counter() - start)
"""


@contextmanager
def empty_cache() -> Iterator[str]:
    """A cache folder without kernels. The runtime is that of the installation, or is compiled here if its sources are newer."""
    runtime_library()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for kind in ("runtime", "processor"):
            for file in cache_folder().glob(f"{kind}-*"):
                shutil.copy(file, folder)
        yield folder


def python(arguments: list[str], cache: str) -> tuple[float, str]:
    """Seconds and output of a Python process with that cache folder."""
    environment = {**os.environ, "PLIANT_CACHE": cache, "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def fastest(arguments: list[str], rounds: int) -> float:
    """Seconds of a process with an empty cache, the fastest of several; the first one writes what Python compiles."""
    times = []
    for _ in range(rounds + 1):
        with empty_cache() as cache:
            times.append(python(arguments, cache)[0])
    return min(times[1:])


def first_use(robot: str, rounds: int, options: list[str]) -> dict[str, str | float]:
    """Seconds of a robot's first use without and with a filled cache, the fastest of several each."""
    os.environ["PLIANT_COMPILE"] = "wait"
    cold, warm = [], []
    for _ in range(rounds):
        with empty_cache() as cache:
            command = ["-c", FIRST_USE, robot, *options]
            cold.append(float(python(command, cache)[1]))
            warm.append(float(python(command, cache)[1]))
    return {"robot": robot, "cold_s": min(cold), "warm_s": min(warm)}


def main() -> None:
    """Measure and print."""
    names = [robot.name for robot in bundled_robots()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--robots", default=",".join(names), help="names of bundled robots, by comma")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest of so many counts")
    parser.add_argument("--no-prebuilt", action="store_true", help="compile kernels that the installation has prebuilt")
    given = parser.parse_args()
    os.environ.pop("PLIANT_COMPILE", None)
    starts = {
        "import_s": fastest(["-c", "import pliant"], given.rounds),
        "help_s": fastest(["-m", "pliant", "--help"], given.rounds),
        "first_simulate_s": fastest(["-m", "pliant", "simulate", "four_bar"], given.rounds),
    }
    options = ["--no-prebuilt"] if given.no_prebuilt else []
    measured = (first_use(robot, given.rounds, options) for robot in given.robots.split(","))
    if given.json:
        print(json.dumps({"rows": list(measured), **starts}, indent=2))
        return
    print(f"import pliant {starts['import_s']:.3f} s, pliant --help {starts['help_s']:.3f} s,", end=" ")
    print(f"pliant simulate four_bar {starts['first_simulate_s']:.2f} s\n")
    print(f"{'robot':24s} {'cold':>8s} {'warm':>8s}   [s]", flush=True)
    rows = []
    for row in measured:
        rows.append(row)
        print(f"{row['robot']:24s} {row['cold_s']:8.2f} {row['warm_s']:8.3f}", flush=True)
    for word in ("cold", "warm"):
        times = [float(row[f"{word}_s"]) for row in rows]
        print(f"{word}: median {statistics.median(times):.3f} s, slowest {max(times):.3f} s")


if __name__ == "__main__":
    main()
