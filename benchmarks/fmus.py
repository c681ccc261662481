"""Bundled robots as FMUs, run by FMPy, beside `simulate`.

    python benchmarks/fmus.py [ROBOT ...] [--fmi 2.0] [--until 0.2] [--tolerance 1e-8] [--json]

Co-simulation steps with the method of the export (generalized-alpha) in steps of 1 ms, or shorter ones if `simulate` fails with
these; its inputs change 20 times in the motion, and those that prescribe motions are led to their next value. The difference is
that of all positions and rates at communication points from `simulate` with the same steps and a controller that gives the same
inputs, relative to the largest position or rate; rates of stiff coordinates are as accurate as Newton's iterations solve a step.

Model exchange, with constant inputs, is integrated by CVODE with a relative tolerance of 1e-8, and an absolute one of as much of
the states' nominal values, beside `simulate` at a tenth of the tolerance. Its errors add up over the motion, and are larger the
smaller a motion is compared with the robot; they fall with the tolerance.

`problems` counts what FMPy's validation finds in the file. So that every robot moves, inputs go up to a tenth of the largest value
they may have (1 in SI units where there is none, 1 kPa for pressures, 0.01 for motions), and robots without inputs and constraints
start with a tenth of the nominal value of every rate. `moved` is the largest rate in the motion.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.validation import validate_fmu

import pliant
from pliant.targets.fmu import variables

STEPS, INTERVALS = (1e-3, 2e-4, 5e-5), 20
FINER = 50


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
            plain = 1e3 if variable.unit == "Pa" else 1.0
            found[variable.name] = high / 10 if np.isfinite(high) else plain
            if variable.name in eqs.model.smooth_inputs:
                found[variable.name] = 0.01
    return found


@dataclass
class Commands:
    """Inputs that change at every sample, from zero to their values and back."""

    values: dict[str, float]
    sample_time: float

    def start(self, now: Any) -> None:
        """Nothing is remembered."""

    def command(self, now: Any) -> dict[str, float]:
        """Inputs from now on."""
        return {name: value * profile(now.t) for name, value in self.values.items()}


def profile(t: Any) -> Any:
    """Share of the largest value of inputs at a time [s]."""
    return np.sin(20.0 * t) ** 2


def simulated(
    eqs: pliant.Equations,
    file: Path,
    kind: str,
    until: float,
    start: dict[str, float],
    tolerance: float = 0.0,
    inputs: dict[str, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates of the FMU at the ends of all intervals, one row each."""
    interval = until / INTERVALS
    q_names, v_names = states(eqs)
    chosen = {"step_size": interval} if kind == "CoSimulation" else {"relative_tolerance": tolerance}
    signals = None
    if inputs:
        times = np.arange(INTERVALS + 1) * interval
        signals = np.zeros(len(times), dtype=[("time", float), *((name, float) for name in inputs)])
        signals["time"] = times
        for name, value in inputs.items():
            signals[name] = value * profile(times)
    every = 1 if kind == "CoSimulation" else FINER  # CVODE takes 500 steps between two outputs and no more
    rows = fmpy.simulate_fmu(
        str(file), fmi_type=kind, stop_time=until, output_interval=interval / every, output=q_names + v_names,
        record_events=False, start_values=start, input=signals, **chosen,
    )[::every]  # fmt: skip
    return np.column_stack([rows[x] for x in q_names]), np.column_stack([rows[x] for x in v_names])


def differences(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[float, ...]:
    """Largest difference of positions and of rates, each relative to the largest one."""
    return tuple(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-9)) for a, b in zip(one, other, strict=True))


def kicked(eqs: pliant.Equations) -> tuple[pliant.State, dict[str, float]]:
    """The state a robot starts from, and the start values of its FMU that differ from the model's own."""
    listed = [x for x in variables(eqs.model) if x.is_state]
    count = len(eqs.model.q_names)
    rates = {x.name: x.start for x in listed[count:]}
    if not (eqs.inputs or len(eqs.constraint_names)):
        rates = {x.name: x.start + 0.1 * x.nominal for x in listed[count:]}
    q, v = np.array([x.start for x in listed[:count]]), np.array(list(rates.values()))
    is_own = all(x.start == rates[x.name] for x in listed[count:])
    return replace(eqs.initial_state(), q=q, v=v), {} if is_own else rates


def fixed_steps(
    eqs: pliant.Equations, begin: pliant.State | None, inputs: dict[str, float], until: float
) -> tuple[float, pliant.Result]:
    """A motion in the largest of the steps that it is possible with [s]."""
    interval = until / INTERVALS
    for longest in STEPS:
        step = interval / math.ceil(interval / longest - 1e-9)
        try:
            return step, pliant.simulate(
                eqs, until, method=pliant.GeneralizedAlpha(step=step), save_every=interval, start=begin,
                inputs=dict.fromkeys(inputs, 0.0), controllers=[Commands(inputs, interval)] if inputs else False,
            )  # fmt: skip
        except pliant.AnalysisFailed:
            if longest == STEPS[-1]:
                raise
    raise AssertionError


def measure(robot: str, version: str, until: float, tolerance: float, folder: Path) -> dict[str, Any]:
    """The row of one robot."""
    eqs = pliant.derive(robot)
    file = folder / f"{robot}.fmu"
    begin, start = kicked(eqs)
    inputs = driven(eqs)
    # an FMU keeps the equilibrium of its export, `simulate` would compute that of the inputs
    is_kept = start or eqs.model.spec.start == "equilibrium"
    step, run = fixed_steps(eqs, begin if is_kept else None, inputs, until)
    since = time.perf_counter()
    pliant.export_fmu(eqs, file, version=version, step=step)
    row: dict[str, Any] = {
        "robot": robot,
        "export_s": time.perf_counter() - since,
        "problems": len(validate_fmu(str(file))),
        "step_s": step,
        "moved": float(np.abs(run.v).max()),
    }
    found = simulated(eqs, file, "CoSimulation", until, start, inputs=inputs)
    row["co_simulation"], row["co_simulation_rates"] = differences(found, (run.q, run.v))
    if fmpy.read_model_description(str(file)).modelExchange is not None:
        run = pliant.simulate(
            eqs, until, inputs=inputs, rtol=tolerance / 10, save_every=until / INTERVALS, start=begin, controllers=False
        )
        found = simulated(eqs, file, "ModelExchange", until, start | inputs, tolerance)
        row["model_exchange"] = max(differences(found, (run.q, run.v)))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("robots", nargs="*", help="all bundled ones by default")
    parser.add_argument("--fmi", default="3.0", help="version of FMI")
    parser.add_argument("--until", type=float, default=0.2, help="seconds")
    parser.add_argument("--tolerance", type=float, default=1e-8, help="of model exchange")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for robot in given.robots or [one.name for one in pliant.bundled_robots()]:
            rows.append(measure(robot, given.fmi, given.until, given.tolerance, Path(folder)))
            if not given.json:
                x = rows[-1]
                exchange = f"{x['model_exchange']:.1e}" if "model_exchange" in x else "-"
                print(
                    f"{x['robot']:22}{x['problems']:>3} problems   moved {x['moved']:.1e}   "
                    f"co-simulation {x['co_simulation']:.1e}, rates {x['co_simulation_rates']:.1e} "
                    f"(steps of {1e3 * x['step_s']:g} ms)   model exchange {exchange:>8}   "
                    f"exported in {x['export_s']:.1f} s",
                    flush=True,
                )
    if given.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
