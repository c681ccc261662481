"""Many runs of `stiff_flop`, 10 s each with random parameters and pressures: on one core, on all, and on a local Dask cluster.

    python benchmarks/many.py [--runs 10000] [--json]

One core, all cores and the cluster alternate, with a part of the runs each time, so that other work on the machine affects all
equally. Starting the cluster and deriving the equations in its processes is not counted. Progress goes to stderr.
`efficiency_of_plain_products` is that of matrix products in as many threads: on a busy machine it is below 1, and runs
cannot do better (set OPENBLAS_NUM_THREADS=1).
`python_share` is the share of one core's time during which Python's lock is held: everything but calls of the runtime that release
it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pliant
from pliant.engine.libraries import FUNCTIONS, runtime
from pliant.study.many import cores

UNTIL = 10.0
TURNS, LEAST = 10, 200
COMPARED = 25
PARAMETERS = {
    "youngs_modulus": "80:200 kPa",
    "length": "40:50 mm",
    "damping_time": "10:30 ms",
    "sensor_mass": "10:20 g",
}
PRESSURES = {"p1": "0:30 kPa", "p2": "0:30 kPa", "p3": "0:30 kPa"}


def seconds(work: Any) -> float:
    """Time that some work takes [s]."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def products() -> None:
    """Work without Python: the speed-up of its threads is the maximum on this machine."""
    matrix = np.ones((150, 150))
    for _ in range(300):
        matrix @ matrix


def on_threads(work: Any) -> None:
    """The same work on all cores concurrently."""
    threads = [threading.Thread(target=work) for _ in range(cores())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def python_share(eqs: pliant.Equations, cases: pliant.Cases) -> float:
    """Share of a thread's time outside of calls of the runtime that release Python's lock."""
    library, inside = runtime(), [0.0]
    own = {name: getattr(library, name) for name in FUNCTIONS if name != "pl_layout_size"}

    def timed(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments)
            finally:
                inside[0] += time.thread_time() - begin

        return call

    try:
        for name, function in own.items():
            setattr(library, name, timed(function))
        begin = time.thread_time()
        pliant.simulate_many(eqs, cases, UNTIL, workers=1)
        return 1 - inside[0] / (time.thread_time() - begin)
    finally:
        for name, function in own.items():
            setattr(library, name, function)


def largest_difference(eqs: pliant.Equations, cases: pliant.Cases, found: Any) -> float:
    """Largest difference of any kept number from that of the single run."""
    worst = 0.0
    for k in np.linspace(0, len(cases) - 1, min(COMPARED, len(cases))).astype(int):
        case = cases[int(k)]
        inputs = {name: case[name] for name in PRESSURES}
        alone = pliant.simulate(eqs, UNTIL, parameters={name: case[name] for name in PARAMETERS}, inputs=inputs)
        pairs = ((alone.q, found.q), (alone.v, found.v), (alone["tip"].values, found["output.tip"]))
        worst = max(worst, *(float(np.max(np.abs(own - many.values[k]))) for own, many in pairs))
    return worst


@contextmanager
def local_cluster(eqs: pliant.Equations, cases: pliant.Cases) -> Iterator[Any]:
    """A client of a local Dask cluster with one process per core, which has its equations; None if Dask is not installed."""
    try:
        import distributed
    except ModuleNotFoundError:
        yield None
        return
    with (
        distributed.LocalCluster(n_workers=cores(), threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pliant.simulate_many(eqs, cases[: 4 * cores()], UNTIL, executor=client)
        yield client


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def memory_mb() -> float:
    """Largest memory of the process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(runs: int) -> dict[str, Any]:
    """All figures."""
    eqs = pliant.derive("stiff_flop")
    cases = pliant.cases({**PARAMETERS, **PRESSURES}, f"sobol:{runs}")
    few = cases[: min(200, runs)]
    say("warming up, share of Python")
    first = pliant.simulate_many(eqs, few, UNTIL, workers=1)
    share = min(python_share(eqs, cases[: min(1000, runs)]) for _ in range(3))
    one = both = dask = plain_one = plain_both = 0.0
    begin, kept, parts = memory_mb(), 0.0, np.array_split(np.arange(runs), min(TURNS, max(1, runs // LEAST)))
    with local_cluster(eqs, cases) as client:
        for k, part in enumerate(parts, 1):
            say(f"turn {k} of {len(parts)}")
            here = cases[int(part[0]) : int(part[-1]) + 1]
            one += seconds(lambda here=here: pliant.simulate_many(eqs, here, UNTIL, workers=1))
            both += seconds(lambda here=here: pliant.simulate_many(eqs, here, UNTIL))
            if client is not None:
                dask += seconds(lambda here=here: pliant.simulate_many(eqs, here, UNTIL, executor=client))
            plain_one += seconds(products)
            plain_both += seconds(lambda: on_threads(products))
            kept = max(kept, first.nbytes / len(few) * len(here) / 1e6)
    grown = memory_mb() - begin
    return {
        "runs": runs,
        "cores": cores(),
        "one_core_s": one,
        "all_cores_s": both,
        "efficiency": one / (cores() * both),
        "efficiency_of_plain_products": plain_one / plain_both,
        "python_share": share,
        "dask_s": dask or None,
        "dask_over_threads": dask / both or None,
        "largest_difference": largest_difference(eqs, few, first),
        "memory_mb": memory_mb(),
        "memory_growth_mb": grown,
        "results_of_a_part_mb": kept,
    }


def main() -> None:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measured(given.runs)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:22} {value:.4g}" if isinstance(value, float) else f"{name:22} {value}")


if __name__ == "__main__":
    main()
