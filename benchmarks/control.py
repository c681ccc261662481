"""Controllers: computation time of a command, compared with the sample time.

    python benchmarks/control.py             a table
    python benchmarks/control.py --json      one JSON object

Every controller runs in its loop with the nonlinear robot, one thread. "set-up" is everything before the first sample
(designs, and objects created on first use); "first" is the first command alone; median and worst are over all commands of the run.
The worst of many commands is that of a busy machine: run it on a quiet one. Garbage is collected before each run, because a
full collection takes as long as many commands and may fall into any of them.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import gc
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import pliant
from pliant.control import (
    ConstraintControl,
    Coordinates,
    FramePosition,
    Limits,
    Pid,
    PidControl,
    Predictive,
    Reference,
    StateFeedback,
    StaticControl,
    discretize,
    kalman,
    lqr,
    reduce,
)
from pliant.control.path_control import Compensation

FILLED = 150e3
"""Pressure in the arm's muscles at rest [Pa]."""


class Timed:
    """A controller with time measurement."""

    def __init__(self, build: Callable[[], Any]) -> None:
        begin = time.perf_counter()
        self.controller = build()
        self.setup = time.perf_counter() - begin
        self.sample_time, self.delay = self.controller.sample_time, getattr(self.controller, "delay", 0.0)
        self.noise, self.seed = getattr(self.controller, "noise", {}), 0
        self.seconds: list[float] = []

    def start(self, now: pliant.Now) -> None:
        begin = time.perf_counter()
        self.controller.start(now)
        self.setup += time.perf_counter() - begin

    def command(self, now: pliant.Now) -> Mapping[str, float]:
        begin = time.perf_counter()
        answer: Mapping[str, float] = self.controller.command(now)
        self.seconds.append(time.perf_counter() - begin)
        return answer


def arm() -> tuple[pliant.Equations, dict[str, Any], np.ndarray, Limits]:
    """The pneumatic arm at rest with its muscles filled: equations, how to start a run, tip, limits."""
    eqs = pliant.derive("three_section_arm")
    filled = dict.fromkeys(eqs.inputs, FILLED)
    rest = pliant.equilibrium(eqs, inputs=filled)
    limits = Limits(dict.fromkeys(eqs.inputs, 0.0), dict.fromkeys(eqs.inputs, 600e3))
    return eqs, {"start": rest, "inputs": filled, "rtol": 1e-5}, rest.frames["s3.tip"].position, limits


def circle(tip: np.ndarray) -> Reference:
    """A circle of 50 mm that passes through the tip's place at rest, half a turn per second."""
    return Reference.circle(tip - [0.05, 0, 0], [0.05, 0, 0], [0, 0.05, 0], 0.5)


def predictive(horizon: int) -> tuple[pliant.Equations, dict[str, Any], Callable[[], Any]]:
    """Nine pressures by a program over a horizon."""
    eqs, how, tip, limits = arm()
    path = circle(tip)
    return eqs, how, lambda: Predictive(
        eqs, ("tip",), path.value, sample_time=0.02, horizon=horizon, effort=1e-16, change=1e-15, limits=limits,
        preferred=np.full(len(eqs.inputs), FILLED),
    )  # fmt: skip


def static() -> tuple[pliant.Equations, dict[str, Any], Callable[[], Any]]:
    """Nine pressures by the model's equilibria."""
    eqs, how, tip, limits = arm()
    task = FramePosition("s3.tip")
    return eqs, how, lambda: StaticControl(eqs, task, circle(tip), sample_time=0.02, limits=limits)


def pid(compensation: Compensation) -> tuple[pliant.Equations, dict[str, Any], Callable[[], Any]]:
    """Nine pressures by a spring and a damper at the tip."""
    eqs, how, tip, limits = arm()
    gains = Pid(20.0, 1.0)
    task = FramePosition("s3.tip")
    return eqs, how, lambda: PidControl(eqs, task, circle(tip), gains, compensation, 0.005, limits=limits)


def constraint() -> tuple[pliant.Equations, dict[str, Any], Callable[[], Any]]:
    """Nine pressures by inverse dynamics in all nine coordinates."""
    eqs, how, _, limits = arm()
    rest = how["start"].q
    path = Reference.circle(rest - 5e-3, np.full(9, 5e-3), np.zeros(9), 0.5)
    task = Coordinates(eqs.coordinates)
    return eqs, how, lambda: ConstraintControl(eqs, task, path, Pid.critical(0.05), 0.005, limits=limits)


def feedback() -> tuple[pliant.Equations, dict[str, Any], Callable[[], Any]]:
    """The leg's torque by a regulator on three modes, with an observer."""
    eqs = pliant.derive("leg@pretensioned")
    rest = pliant.equilibrium(eqs)

    def build() -> StateFeedback:
        slow = reduce(pliant.linearize(eqs, at=rest).select(outputs=("middle",)), keep=3)
        sampled = discretize(slow.linear, 2e-3)
        regulator = lqr(sampled, states=np.diag([0.0, 0.1, 0.1, 1.0, 1.0]), inputs=300.0)
        observer = kalman(sampled, process=0.0, inputs=1.0, outputs=1e-8)
        return StateFeedback(eqs, regulator, slow, observer, noise={"middle": 1e-5})

    return eqs, {"start": rest, "method": pliant.GeneralizedAlpha(step=5e-4)}, build


CASES: dict[str, tuple[Callable[[], Any], float]] = {
    "predictive, 5 samples ahead": (lambda: predictive(5), 2.0),
    "predictive, 10 samples ahead": (lambda: predictive(10), 2.0),
    "equilibria (statics)": (static, 2.0),
    "pid, measured pose": (lambda: pid("measured"), 1.0),
    "pid, reference pose": (lambda: pid("reference"), 1.0),
    "constraint (computed torque)": (constraint, 1.0),
    "lqr with observer, leg": (feedback, 0.5),
}
"""Each case with the time to simulate [s]."""


def measured(case: Callable[[], Any], until: float) -> dict[str, float]:
    """Times of one controller in its loop [ms]."""
    eqs, how, build = case()
    timed = Timed(build)
    gc.collect()
    run = pliant.simulate(eqs, until, controllers=timed, **how)
    assert run.status == "completed", run.message
    times = 1e3 * np.array(timed.seconds)
    return {
        "sample_ms": 1e3 * timed.sample_time,
        "setup_ms": 1e3 * timed.setup,
        "first_ms": float(times[0]),
        "median_ms": float(np.median(times)),
        "worst_ms": float(times.max()),
        "commands": len(times),
    }


def main() -> None:
    """Print the table."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    rows = {name: measured(*case) for name, case in CASES.items()}
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'controller':32}{'sample':>9}{'set-up':>9}{'first':>9}{'median':>9}{'worst':>9}   [ms]")
    for name, row in rows.items():
        keys = ("sample_ms", "setup_ms", "first_ms", "median_ms", "worst_ms")
        print(f"{name:32}" + "".join(f"{row[key]:9.2f}" for key in keys) + f"   {row['commands']} commands")


if __name__ == "__main__":
    main()
