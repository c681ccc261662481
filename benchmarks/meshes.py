"""Nets and cloths of growing size: time to derive, processor time and time per step, memory, and how they grow.

    python benchmarks/meshes.py [--json] [--sides 10,32,100]

Each case runs in a separate process, so that its memory is measured separately. Steps are implicit (generalized-alpha) and fixed:
with 32 nodes along a side 5 ms for the net and 10 ms for the cloth, and otherwise in proportion to the length of edges, because a
fabric that falls moves its nodes by more than an edge in a longer step. With `--equal-steps` all sizes take those 5 and 10 ms.
Times per step are processor time of the whole simulation over its steps, and the time on the clock (`wall_ms_per_step`), which is
shorter if factorizations use a second core (`PLIANT_THREADS`). Steps that Newton's method could not solve directly are counted as
`halved`. Growth is the power of the number of nodes, in processor time, between the two largest cases. The time to derive is that
of a second, larger robot of the same type in the process: without imports, and with the code of its elements available.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time

ROBOTS = {"net": 5e-3, "cloth": 10e-3}
"""Robots, and the step that they take with 32 nodes along a side [s]."""


def step_of(robot: str, side: int, equal: bool) -> float:
    """The step that a robot of side x side nodes takes [s]."""
    return ROBOTS[robot] if equal else ROBOTS[robot] * 31 / (side - 1)


def measure(robot: str, side: int, steps: int, equal: bool) -> dict[str, float | str]:
    """One robot of side x side nodes in this process."""
    import pliant

    step = step_of(robot, side, equal)
    assert pliant.derive(pliant.load(robot)).binding.nv  # what happens once
    start = time.process_time()
    eqs = pliant.derive(pliant.load(robot, set={"cells": side - 1}))
    binding = eqs.binding
    derived = time.process_time() - start
    method = pliant.GeneralizedAlpha(step=step, spectral_radius=0.5)
    pliant.simulate(eqs, step, method=method, save_at=[step])  # as above
    start, clock = time.process_time(), time.perf_counter()
    run = pliant.simulate(eqs, steps * step, method=method, save_at=[steps * step])
    used, passed = time.process_time() - start, time.perf_counter() - clock
    return {
        "robot": robot,
        "nodes": side * side,
        "rates": binding.nv,
        "status": str(run.status),
        "derive_s": derived,
        "step_ms": 1e3 * step,
        "steps": run.timing.steps,
        "halved": run.timing.rejected,
        "evaluations_per_step": run.timing.evaluations / max(1, run.timing.steps),
        "ms_per_step": 1e3 * used / max(1, run.timing.steps),
        "wall_ms_per_step": 1e3 * passed / max(1, run.timing.steps),
        "share_of_real_time": steps * step / passed,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sides", default="10,32,100", help="nodes along a side, with commas")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--equal-steps", action="store_true", help="steps of 5 and 10 ms for all sizes")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], int(arguments.one[1]), arguments.steps, arguments.equal_steps)))
        return
    rows = []
    for robot in ROBOTS:
        for side in arguments.sides.split(","):
            command = [sys.executable, __file__, "--one", robot, side, "--steps", str(arguments.steps)]
            command += ["--equal-steps"] if arguments.equal_steps else []
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    growth = {}
    for robot in ROBOTS:
        own = [row for row in rows if row["robot"] == robot]
        if len(own) > 1:
            a, b = own[-2:]
            growth[robot] = math.log(b["ms_per_step"] / a["ms_per_step"]) / math.log(b["nodes"] / a["nodes"])
    if arguments.json:
        print(json.dumps({"cases": rows, "growth": growth}))
        return
    for row in rows:
        print(
            f"{row['robot']:<6} {row['nodes']:>6} nodes  derive {row['derive_s']:6.2f} s  "
            f"{row['ms_per_step']:9.2f} ms ({row['wall_ms_per_step']:.2f} on the clock) per step of {row['step_ms']:5.2f} ms  "
            f"{row['share_of_real_time']:7.3f} of real time  {row['memory_mb']:6.0f} MB  {row['halved']} halved  {row['status']}"
        )
    for robot, power in growth.items():
        print(f"{robot}: time per step grows as n^{power:.2f}")


if __name__ == "__main__":
    main()
