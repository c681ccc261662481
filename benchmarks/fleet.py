"""Steps per second of fleets, and of single robots in the runtime, per core of this machine or on a GPU.

    python benchmarks/fleet.py [--device cuda] [--robots three_section_arm,...] [--seconds 2] [--json]

`steps_per_second`: of all robots together, on one core (`--device cpu`, so that cores can be compared) or one GPU.
`single_per_second`: steps of one robot in the runtime's own loop on one core. Rounds of both alternate, and the best ones are
reported. `real_time` is the simulated time of all robots together per second. Compiling is excluded; `first_step_s` is the time
to create the fleet. For robots that a fleet rejects the row contains the message.
`--accuracy`: distance of the tip of `pcs4` from the converged motion after 1 s.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.analysis.integrators import make_run
from pliant.analysis.integrators.base import Method

PCS4 = """
pliant: 1
name: pcs4
world: {gravity: [0, 0, -9.81 m/s^2]}
sections: {s: {shape: circle, radius: 20 mm}}
materials: {m: {density: 1050 kg/m^3, youngs_modulus: 0.6 MPa, shear_modulus: 0.25 MPa}}
rods:
  arm:
    length: 40 cm
    rotation: {axis: y, angle: 90 deg}
    section: s
    material: m
    damping: [0.15 N*s, 0.15 N*s, 0.15 N*s, 0.0005 N*m^2*s, 0.0005 N*m^2*s, 0.0005 N*m^2*s]
    model: {kind: ebr, elements: 4}
outputs:
  tip: {frame: arm.tip, quantity: position}
"""
"""An arm of four pieces of constant strain, 24 rates, that falls from level."""

FE_ROD = PCS4.replace("kind: ebr, elements: 4", "kind: finite_element, elements: 20").replace(
    "name: pcs4", "name: fe_rod"
)


def stiff_flop() -> pliant.RobotSpec:
    """The module as three pieces of one kind (18 rates)."""
    return pliant.load_text(pliant.load("stiff_flop").to_yaml().replace("kind: pcs", "kind: ebr"))


ROBOTS: dict[str, tuple[Callable[[], pliant.RobotSpec], str, float]] = {
    "cart_pole": (lambda: pliant.load("cart_pole"), "explicit", 1e-3),
    "three_section_arm": (lambda: pliant.load("three_section_arm"), "explicit", 1e-4),
    "three_section_arm, symplectic_euler": (lambda: pliant.load("three_section_arm"), "symplectic_euler", 5e-5),
    "three_section_arm, semi_implicit": (lambda: pliant.load("three_section_arm"), "semi_implicit", 1e-3),
    "three_section_arm, implicit": (lambda: pliant.load("three_section_arm"), "implicit", 5e-3),
    "stiff_flop": (stiff_flop, "explicit", 2e-5),
    "stiff_flop, symplectic_euler": (stiff_flop, "symplectic_euler", 1e-5),
    "pcs4": (lambda: pliant.load_text(PCS4), "explicit", 1e-3),
    "leg": (lambda: pliant.load("leg"), "generalized_alpha", 1e-3),
    "fe_rod": (lambda: pliant.load_text(FE_ROD), "semi_implicit", 1e-3),
    "hopper": (lambda: pliant.load("hopper"), "generalized_alpha", 2e-4),
    "gripper": (lambda: pliant.load("gripper"), "semi_implicit", 1e-3),
}
"""Robots, methods and steps [s]. The runtime steps those from `leg` on: large robots, and robots in contact."""
IN_RUNTIME = ("leg", "fe_rod", "hopper", "gripper")


def one_by_one(eqs: pliant.Equations, method: Method) -> Callable[[int], float]:
    """Time [s of this process] of this number of steps of one robot in the runtime's loop."""
    state = eqs.initial_state()
    run = make_run(eqs.binding, method)

    def timed(steps: int) -> float:
        end = steps * float(method.step or 0)
        run.configure(
            t=0.0, q=state.q, v=state.v, stops=np.array([end]), samples=np.array([end]), step=method.step, fixed=True,
            rtol=1e-6, atol=1e-9, max_step=end,
        )  # fmt: skip
        run.start()
        begin = time.process_time()
        status = run.advance(steps)
        took = time.process_time() - begin
        if run.steps < steps:
            raise RuntimeError(f"the robot could not be stepped on: {status.meaning}")
        return took

    return timed


def together(fleet: pliant.Fleet, device: str) -> Callable[[int], float]:
    """Time [s] of this number of steps of a fleet, from its start."""

    def timed(steps: int) -> float:
        fleet.reset()
        if device == "cpu":
            begin = time.process_time()
            fleet.step(n=steps)
            return time.process_time() - begin
        import cupy

        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        fleet.step(n=steps)
        cupy.cuda.Device().synchronize()
        return time.perf_counter() - begin

    return timed


def rate(timed: Callable[[int], float], per_step: int, seconds: float, rounds: int = 4) -> Callable[[], float]:
    """A function that returns the steps per second of another round, whose length fits the time."""
    steps = 1
    while (took := timed(steps)) < 0.05:
        steps *= 2
    steps = max(1, int(steps * seconds / rounds / took))
    return lambda: per_step * steps / timed(steps)


def row(name: str, device: str, precision: str, count: int, seconds: float) -> dict[str, Any]:
    """Rates of one robot."""
    load, method_name, step = ROBOTS[name]
    eqs = pliant.derive(load())
    found: dict[str, Any] = {"robot": name.partition(",")[0], "device": device, "precision": precision, "count": count}
    try:
        begin = time.perf_counter()
        threads = {"threads": 1} if device == "cpu" else {}
        options: dict[str, Any] = {
            "device": device,
            "precision": precision,
            "method": method_name,
            "step": step,
            **threads,
        }
        fleet = pliant.Fleet(eqs, count, **options)
        fleet.step()
        first = time.perf_counter() - begin
    except ValueError as reason:
        return {**found, "method": method_name, "refused": str(reason)}
    fleet_round = rate(together(fleet, device), count, seconds)
    single_round = rate(one_by_one(eqs, fleet.method), 1, seconds)
    rounds = [(fleet_round(), single_round()) for _ in range(4)]
    many, single = (max(each) for each in zip(*rounds, strict=True))
    if fleet.failed.any():
        return {**found, "method": method_name, "refused": f"{int(fleet.failed.sum())} robots diverged"}
    return {
        **found, "steps_per_second": many, "single_per_second": single, "method": method_name, "step": step,
        "rates": len(eqs.rates), "real_time": many * step, "times_single": many / single, "first_step_s": first,
        "failed": int(fleet.failed.sum()), "engine": fleet.engine,
    }  # fmt: skip


def accuracy() -> dict[str, float]:
    """Distance [m] of the tip of `pcs4` from the converged motion after 1 s, in the steps of the benchmark."""
    eqs, (_, method, step) = pliant.derive(pliant.load_text(PCS4)), ROBOTS["pcs4"]
    exact = pliant.simulate(eqs, 1.0, method="implicit", rtol=1e-9, save_at=[1.0])
    place = eqs.frame("arm.tip", exact.final.q).position
    found = {}
    for precision in ("double", "single"):
        options: dict[str, Any] = {"precision": precision, "method": method, "step": step, "threads": 1}
        fleet = pliant.Fleet(eqs, 256, **options)
        fleet.step(n=round(1 / step))
        found[precision] = float(np.abs(fleet.frame("arm.tip").position[0] - place).max())
    return found


def robots(name: str, device: str) -> int:
    """Number of robots stepped together."""
    if name in IN_RUNTIME:
        return 8 if device == "cpu" else 32768
    return 256 if device == "cpu" else 131072


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--robots", default="")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = [name for name in ROBOTS if not given.robots or name.partition(",")[0] in given.robots.split(",")]
    rows = [
        row(name, given.device, precision, robots(name, given.device), given.seconds)
        for name in names
        for precision in (("double",) if name in IN_RUNTIME else ("double", "single"))
    ]
    answer: dict[str, Any] = {"rows": rows}
    if given.accuracy:
        answer["accuracy"] = accuracy()
    if given.json:
        print(json.dumps(answer, indent=1))
        return
    for each in rows:
        what = f"{each['robot']:18} {each['method']:14} {each['precision']:7}"
        if "refused" in each:
            print(f"{what} {each['refused']}")
            continue
        print(
            f"{what} {each['steps_per_second']:.3g} steps/s, {each['times_single']:.1f} times one by one "
            f"({each['single_per_second']:.3g}); first step after {each['first_step_s']:.1f} s"
        )
    if given.accuracy:
        print(answer["accuracy"])


if __name__ == "__main__":
    main()
