"""Bundled robots as FMUs, run by FMPy, beside `simulate`.

    python benchmarks/fmus.py [ROBOT ...] [--fmi 2.0] [--until 0.2] [--json]

Co-simulation steps with the method of the export (generalized-alpha) in steps of 1 ms; the difference is that of all
positions and rates at communication points from `simulate` with the same steps, relative to the largest position or rate.
Model exchange is integrated by CVODE with a relative tolerance of 1e-8, beside `simulate` at its defaults with the same
tolerance. `problems` counts what FMPy's validation finds in the file. So that every robot moves, inputs have a tenth of the
largest value they may have (1 in SI units where there is none, 1 kPa for pressures), and robots without inputs and constraints
start with a rate of 0.01 of their last coordinate. `moved` is the largest rate in the motion.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.validation import validate_fmu

import pliant
from pliant.io.fmu import variables

STEP, INTERVAL, TOLERANCE = 1e-3, 1e-2, 1e-8
FINER = 50
LENGTHS = ("m", "rad", "m/s", "rad/s", "m/s^2", "rad/s^2")
"""Units of inputs that prescribe motions, which stay as they are."""


def states(eqs: pliant.Equations) -> tuple[list[str], list[str]]:
    """Names of the positions and of the rates in an FMU."""
    every = [x for x in variables(eqs.model) if x.is_state]
    return [x.name for x in every[: len(eqs.model.q_names)]], [x.name for x in every[len(eqs.model.q_names) :]]


def driven(eqs: pliant.Equations) -> dict[str, float]:
    """Values of the inputs."""
    found: dict[str, float] = {}
    for variable in variables(eqs.model):
        if variable.name in eqs.inputs:
            high = eqs.declared_bounds(variable.name)[1]
            plain = 1e3 if variable.unit == "Pa" else 0.0 if variable.unit in LENGTHS else 1.0
            found[variable.name] = high / 10 if np.isfinite(high) else plain
    return found


def simulated(
    eqs: pliant.Equations, file: Path, kind: str, until: float, start: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates of the FMU at all multiples of the interval, one row each."""
    q_names, v_names = states(eqs)
    chosen = {"step_size": INTERVAL} if kind == "CoSimulation" else {"relative_tolerance": TOLERANCE}
    every = 1 if kind == "CoSimulation" else FINER  # CVODE takes 500 steps between two outputs and no more
    rows = fmpy.simulate_fmu(
        str(file), fmi_type=kind, stop_time=until, output_interval=INTERVAL / every, output=q_names + v_names,
        record_events=False, start_values=start, **chosen,
    )[::every]  # fmt: skip
    return np.column_stack([rows[x] for x in q_names]), np.column_stack([rows[x] for x in v_names])


def difference(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """Largest difference of positions and of rates, each relative to the largest one."""
    return float(max(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-9) for a, b in zip(one, other, strict=True)))


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
    start, kicked = driven(eqs), eqs.initial_state()
    here = eqs.at(inputs=start)
    if not start and not len(eqs.constraint_names):
        v = kicked.v.copy()
        v[-1] += 0.01
        kicked = replace(kicked, v=v)
        start = {states(eqs)[1][-1]: float(v[-1])}
    run = pliant.simulate(
        here, until, method=pliant.GeneralizedAlpha(step=STEP), save_at=times, start=kicked, controllers=False
    )
    row["moved"] = float(np.abs(run.v).max())
    row["co_simulation"] = difference(simulated(eqs, file, "CoSimulation", until, start), (run.q, run.v))
    if fmpy.read_model_description(str(file)).modelExchange is not None:
        run = pliant.simulate(here, until, rtol=TOLERANCE, save_at=times, start=kicked, controllers=False)
        row["model_exchange"] = difference(simulated(eqs, file, "ModelExchange", until, start), (run.q, run.v))
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
                    f"{x['robot']:22}{x['problems']:>3} problems   moved {x['moved']:.1e}   co-simulation {x['co_simulation']:.1e}"
                    f"   model exchange {exchange:>8}   exported in {x['export_s']:.1f} s",
                    flush=True,
                )
    if given.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
