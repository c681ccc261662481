"""Profile of a fixed-step simulation: compiled steps and everything else in Python.

    python benchmarks/step_loop.py [--json]

For each robot and method the whole `simulate` call is timed with a separate profiler: the fraction of time spent inside
the compiled loop (`advance`) is measured around that call, the rest is Python.
"""

from __future__ import annotations

import argparse
import json
import os
import time

from pliant import ExplicitRungeKutta, GeneralizedAlpha, SemiImplicit, derive, load, simulate
from pliant.engine.layout import RuntimeStatus
from pliant.engine.time_loop import TimeLoop

CASES = (
    ("four_bar", GeneralizedAlpha(step=1e-3), 100.0),
    ("four_bar", SemiImplicit(step=1e-3), 100.0),
    ("double_pendulum", ExplicitRungeKutta(step=1e-3), 200.0),
    ("spring_mass_chain", SemiImplicit(step=1e-3), 100.0),
)


def measure(robot: str, method: object, until: float) -> dict[str, object]:
    """Seconds inside and outside the compiled loop for one simulation."""
    eqs = derive(load(robot))
    simulate(eqs, 0.1, method=method)  # compile and warm up
    inside = 0.0
    plain = TimeLoop.advance

    def timed(self: TimeLoop, max_steps: int) -> RuntimeStatus:
        nonlocal inside
        start = time.perf_counter()
        status = plain(self, max_steps)
        inside += time.perf_counter() - start
        return status

    TimeLoop.advance = timed
    try:
        start = time.perf_counter()
        run = simulate(eqs, until, method=method, save_at=[until])
        whole = time.perf_counter() - start
    finally:
        TimeLoop.advance = plain
    return {
        "robot": robot,
        "method": method.name,
        "steps": run.timing.steps,
        "us_per_step": 1e6 * inside / run.timing.steps,
        "loop_s": run.timing.run_s,
        "python_share_of_loop": 1 - inside / run.timing.run_s,
        "python_share_of_call": 1 - inside / whole,
        "realtime_factor": until / run.timing.run_s,
    }


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = [measure(*case) for case in CASES]
    if arguments.json:
        print(json.dumps({"rows": rows}, indent=2))
        return
    print(f"{'robot':<20}{'method':<20}{'us/step':>9}{'Python in loop':>16}{'Python in call':>16}{'x real time':>13}")
    for row in rows:
        print(
            f"{row['robot']:<20}{row['method']:<20}{row['us_per_step']:>9.2f}{row['python_share_of_loop']:>15.2%}"
            f"{row['python_share_of_call']:>16.2%}{row['realtime_factor']:>13.0f}"
        )


if __name__ == "__main__":
    main()
