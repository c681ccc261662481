"""Soft rods: speed on a recording, real-time factors, time to prepare, and growth with the number of elements.

    python benchmarks/rods.py [--json] [--data FOLDER] [--only PART ...]

Parts: recording, realtime, preparation, growth, undamped. The recording is `stiff_flop_free.csv` in FOLDER, in $PLIANT_DATA, or in
../shared/data beside the checkout; without it the module is driven by pressures of similar size and rate. Wall times are the
smallest of a few repeats; `cpu_s` is the processor time of that run, which a busy machine disturbs less. Cold preparation compiles
into an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import pliant
from pliant.analysis.integrators import Method, make_run
from pliant.identify.compare import DEFAULT_METHOD
from pliant.identify.recording import drive
from pliant.language.recording import Recording, read_recording
from pliant.robot.rod_switch import with_rod_model

RECORDED = ("cosserat:3", "pcs:3", "polynomial:3", "pseudo_rigid:3", "finite_element:3")
REALTIME = tuple(
    f"{kind}:{n}" for kind in ("pcs", "cosserat", "pseudo_rigid", "finite_element") for n in (3, 5, 10)
) + ("polynomial:1", "polynomial:3", "polynomial:5")
PREPARED = (3, 10, 100)
GROWTH = (10, 30, 100, 300, 500)
GROWN = ("pcs", "pseudo_rigid", "pcc", "cosserat", "finite_element")
METHODS = (pliant.Rosenbrock, pliant.GeneralizedAlpha)
ROUND = 0.02  # seconds of a round of steps
PARTS = ("recording", "realtime", "preparation", "growth", "undamped")


def recording(folder: Path) -> Recording:
    """The module's recording, or pressures like it."""
    file = folder / "stiff_flop_free.csv"
    if file.is_file():
        return read_recording(file)
    t = np.arange(0, 54.65, 0.05)
    push = [np.clip(4 * np.sin(2 * np.pi * (t / 18 - k / 3)) - 2.5, 0, 1) * (30e3 + 1.5e3 * t) for k in range(3)]
    return Recording("made up", t, {f"p{k + 1}": x for k, x in enumerate(push)})


def drive_module(kind: str, against: Recording) -> dict[str, object]:
    """The module under the recording's pressures."""
    eqs, _ = drive(pliant.derive(with_rod_model(pliant.load("stiff_flop"), "arm", kind)), against)
    begin, end = float(against.time[0]), float(against.time[-1])
    options = {"begin": begin, "method": DEFAULT_METHOD, "save_at": against.time, "save_between": True}
    pliant.simulate(eqs, end, **options)  # compile and warm up
    loops = []
    for _ in range(3):
        used = time.process_time()
        run = pliant.simulate(eqs, end, **options)
        loops.append((run.timing.run_s, time.process_time() - used))
    wall = min(loop[0] for loop in loops)
    return {
        "run_s": wall,
        "cpu_s": min(loop[1] for loop in loops),
        "realtime_factor": (end - begin) / wall,
        "steps": run.timing.steps,
        "status": run.status,
    }


CHILD = """
import json, os, sys, time
import pliant
from pliant.analysis.integrators import Method, make_run
from pliant.robot.rod_switch import with_rod_model
start, before = time.perf_counter(), os.times()
eqs = pliant.derive(with_rod_model(pliant.load("cantilever"), "rod", sys.argv[1]))
eqs.binding
wall, used = time.perf_counter() - start, os.times()
print(json.dumps({"s": wall, "cpu_s": sum(used[:4]) - sum(before[:4])}))
"""


def prepare(kind: str) -> dict[str, float]:
    """Derive and compile in a separate process: with an empty cache, and again from the resulting cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PLIANT_CACHE": folder}
        times = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", CHILD, kind], env=environment, capture_output=True, text=True, check=True
            )
            times.append(json.loads(done.stdout))
    return {"cold_s": times[0]["s"], "cold_cpu_s": times[0]["cpu_s"], "cached_s": times[1]["s"]}


def grow(kind: str) -> dict[str, dict[object, object]]:
    """Cost of an implicit step of a hanging rod that is released, for increasing numbers of elements: by method, with the exponent
    of the growth from 30 elements on."""
    rows: dict[str, dict[object, object]] = {method.__name__: {} for method in METHODS}
    for n in GROWTH:
        eqs = pliant.derive(with_rod_model(pliant.load("cantilever", set={"gravity": 9.81}), "rod", f"{kind}:{n}"))
        for method in METHODS:
            per_step = _quickest_step(eqs, method(step=1e-3))
            rows[method.__name__][n] = {"us_per_step": 1e6 * per_step, "us_per_step_and_element": 1e6 * per_step / n}
    for row in rows.values():
        long = [(n, cell["us_per_step"]) for n, cell in row.items() if n >= 30]  # type: ignore[index, operator]
        row["exponent"] = float(np.polyfit(*np.log(np.array(long, dtype=float)).T, 1)[0])
    return rows


def _quickest_step(eqs: pliant.Equations, method: Method, rounds: int = 12) -> float:
    """Smallest processor time of a step [s] over the rounds of one run, in the compiled loop alone."""
    q, v = eqs.initial_state()
    run = make_run(eqs.binding, method)
    run.configure(
        t=0.0, q=q, v=v, stops=np.array([100.0]), samples=np.zeros(0), step=1e-3, fixed=True, rtol=1, atol=1, max_step=1e-3
    )  # fmt: skip
    run.start()
    run.advance(2)
    least, steps = np.inf, 1
    for _ in range(rounds):
        used = time.process_time()
        run.advance(steps)
        used = time.process_time() - used
        least = min(least, used / steps)
        steps = max(1, min(100, int(ROUND / least)))
    return least


def undamped(kind: str) -> dict[str, object]:
    """The module released under pressure without damping: it must neither diverge nor gain energy."""
    eqs = pliant.derive(with_rod_model(pliant.load("stiff_flop"), "arm", kind))
    run = pliant.simulate(eqs, 2.0, inputs={"p1": 60e3}, parameters={"damping_time": 1e-12}, rtol=1e-6)
    energy = run.energy["total"].values - run.energy["supplied"].values + run.energy["dissipated"].values
    swing = float(np.ptp(run.energy["kinetic"].values))
    return {"status": run.status, "steps": run.timing.steps, "energy_drift": float(np.ptp(energy)) / swing}


def measure(parts: tuple[str, ...], folder: Path) -> dict[str, object]:
    """All figures of the chosen parts, by name."""
    against = recording(folder)
    out: dict[str, object] = {"recording_file": against.file, "duration_s": float(against.time[-1] - against.time[0])}
    if "recording" in parts:
        out["recording"] = {kind: drive_module(kind, against) for kind in RECORDED}
    if "realtime" in parts:
        out["realtime"] = {kind: _factors(drive_module(kind, against), against) for kind in REALTIME}
    if "preparation" in parts:
        kinds = {
            kind: {n: prepare(f"{kind}:{n}") for n in PREPARED}
            for kind in ("pcs", "cosserat", "pseudo_rigid", "finite_element")
        }
        out["preparation"] = kinds | {"polynomial": {n: prepare(f"polynomial:{n}") for n in (3, 5)}}
    if "growth" in parts:
        out["growth"] = {f"{kind} {method}": row for kind in GROWN for method, row in grow(kind).items()}
    if "undamped" in parts:
        out["undamped"] = {kind: undamped(kind) for kind in ("pcs:3", "cosserat:3", "pseudo_rigid:3", "polynomial:3")}
    return out


def _factors(run: dict[str, object], against: Recording) -> dict[str, float]:
    duration = float(against.time[-1] - against.time[0])
    return {"realtime_factor": run["realtime_factor"], "by_cpu": duration / run["cpu_s"]}


def table(found: dict[str, object]) -> None:
    """Print the figures."""
    for part, rows in found.items():
        if not isinstance(rows, dict):
            print(f"{part}: {rows}")
            continue
        print(f"\n{part}")
        for name, row in rows.items():
            cells = row.items() if isinstance(row, dict) else [("", row)]
            words = []
            for key, value in cells:
                inner = value.items() if isinstance(value, dict) else [("", value)]
                numbers = ", ".join(
                    f"{k} {v:.3g}".strip() if isinstance(v, float) else f"{k} {v}".strip() for k, v in inner
                )
                words.append(f"{key}: {numbers}" if key != "" else numbers)
            print(f"  {name:8s} " + "   ".join(words))


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("PLIANT_DATA", beside)), help="folder of the recording"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure")
    given = parser.parse_args()
    found = measure(tuple(given.only), given.data)
    print(json.dumps(found, indent=2)) if given.json else table(found)


if __name__ == "__main__":
    main()
