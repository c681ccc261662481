"""Bundled robots as FMUs, run by FMPy, beside `simulate`.

    python benchmarks/fmus.py [ROBOT ...] [--fmi 2.0] [--until 0.2] [--json]

Co-simulation steps with the method of the export (generalized-alpha) in steps of 1 ms; the difference is that of all
positions and rates at communication points from `simulate` with the same steps, relative to the largest position or rate.
Model exchange is integrated by CVODE with a relative tolerance of 1e-8, beside `simulate` at its defaults with the same
tolerance. `problems` counts what FMPy's validation finds in the file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.validation import validate_fmu

import pliant
from pliant.io.fmu import variables

STEP, INTERVAL, TOLERANCE = 1e-3, 1e-2, 1e-8


def states(eqs: pliant.Equations) -> tuple[list[str], list[str]]:
    """Names of the positions and of the rates in an FMU."""
    every = [x for x in variables(eqs.model) if x.is_state]
    return [x.name for x in every[: len(eqs.model.q_names)]], [x.name for x in every[len(eqs.model.q_names) :]]


def simulated(eqs: pliant.Equations, file: Path, kind: str, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates of the FMU at all multiples of the interval, one row each."""
    q_names, v_names = states(eqs)
    chosen = {"step_size": INTERVAL} if kind == "CoSimulation" else {"relative_tolerance": TOLERANCE}
    rows = fmpy.simulate_fmu(
        str(file), fmi_type=kind, stop_time=until, output_interval=INTERVAL, output=q_names + v_names,
        record_events=False, **chosen,
    )  # fmt: skip
    return np.column_stack([rows[x] for x in q_names]), np.column_stack([rows[x] for x in v_names])


def difference(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """Largest difference of positions and of rates, each relative to the largest one."""
    return float(max(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-3) for a, b in zip(one, other, strict=True)))


def measure(robot: str, version: str, until: float, folder: Path) -> dict[str, Any]:
    """The row of one robot."""
    eqs = pliant.derive(robot)
    file = folder / f"{robot}.fmu"
    begin = time.perf_counter()
    pliant.export_fmu(eqs, file, version=version, step=STEP)
    row: dict[str, Any] = {
        "robot": robot,
        "export_s": time.perf_counter() - begin,
        "problems": len(validate_fmu(str(file))),
    }
    times = np.arange(round(until / INTERVAL) + 1) * INTERVAL
    run = pliant.simulate(eqs, until, method=pliant.GeneralizedAlpha(step=STEP), save_at=times)
    row["co_simulation"] = difference(simulated(eqs, file, "CoSimulation", until), (run.q, run.v))
    if fmpy.read_model_description(str(file)).modelExchange is not None:
        run = pliant.simulate(eqs, until, rtol=TOLERANCE, save_at=times)
        row["model_exchange"] = difference(simulated(eqs, file, "ModelExchange", until), (run.q, run.v))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("robots", nargs="*", help="all bundled ones by default")
    parser.add_argument("--fmi", default="3.0", help="version of FMI")
    parser.add_argument("--until", type=float, default=0.2, help="seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for robot in given.robots or [one.name for one in pliant.bundled_robots()]:
            rows.append(measure(robot, given.fmi, given.until, Path(folder)))
            if not given.json:
                x = rows[-1]
                exchange = f"{x['model_exchange']:.1e}" if "model_exchange" in x else "-"
                print(
                    f"{x['robot']:22}{x['problems']:>3} problems   co-simulation {x['co_simulation']:.1e}"
                    f"   model exchange {exchange:>8}   exported in {x['export_s']:.1f} s",
                    flush=True,
                )
    if given.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
