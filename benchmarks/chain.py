"""A chain of revolute joints with alternating axes: forward dynamics and derivatives compared with Pinocchio.

    python benchmarks/chain.py              a table
    python benchmarks/chain.py --json       one JSON object

Both libraries are called from Python, once per evaluation, with existing NumPy arrays, and the times
include that call (it is also given alone, as the time for a chain of one joint). Ours returns new arrays each time;
Pinocchio writes into its `data`, and for derivatives leaves the results there. Both are called alternately, in several rounds
and the fastest round is reported, because other work on the machine only adds time. Of Pinocchio's two versions
of the articulated-body algorithm (local and world frames) the faster one is reported.

Derive and compile times are those of a new process with an empty cache folder ("cold") and of another one with the
folder the first has filled ("cached"), without the time to import packages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.geometry import se3, so3
from pliant.parts.motion import SCREW

GRAVITY = (0.0, 0.0, -9.81)
GROWTH = (15, 30, 60, 120, 240)
COMPILED = (5, 20, 100)
ROUNDS = 25
ROUND_SECONDS = 0.02


def bodies(count: int) -> list[dict[str, Any]]:
    """Random placements and inertias, the same for both libraries; axes x, y, z in turn."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(count):
        A = rng.normal(size=(3, 3))
        out.append(
            {
                "axis": np.eye(3)[i % 3],
                "rotation": np.array(so3.exp(ca.DM(rng.normal(size=3)))),
                "position": 0.3 * rng.normal(size=3),
                "mass": rng.uniform(0.5, 2),
                "com": 0.1 * rng.normal(size=3),
                "inertia": 0.01 * A @ A.T + 0.02 * np.eye(3),
            }
        )
    return out


def our_chain(count: int) -> Binding:
    """The chain in this package, ready to evaluate."""
    builder = SystemBuilder()
    builder.gravity(GRAVITY)
    for body in bodies(count):
        placement = (ca.DM(body["rotation"]), ca.DM(body["position"]))
        builder.element(builder.last_node(), [(SCREW, placement, [0, 0, 0, *body["axis"]])])
        node = builder.last_node()
        builder.mass(node, body["mass"], ca.DM(body["com"]), ca.DM(body["inertia"]), se3.identity())
    return Binding.of(Program(builder.build(), InputPlan()))


def their_chain(count: int) -> tuple[Any, Any]:
    """The chain in Pinocchio: model and data."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(GRAVITY)
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    joint = 0
    for i, body in enumerate(bodies(count)):
        placement = pin.SE3(body["rotation"], body["position"])
        joint = model.addJoint(joint, kinds[i % 3](), placement, f"joint{i}")
        inertia = pin.Inertia(body["mass"], body["com"], body["inertia"])
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model, model.createData()


def fastest(
    functions: dict[str, Callable[[], Any]], *, rounds: int = ROUNDS, seconds: float = ROUND_SECONDS
) -> dict[str, float]:
    """Time per call [us] of each function: alternating rounds of this duration, the best round of each."""
    best = dict.fromkeys(functions, np.inf)
    calls = {}
    for name, function in functions.items():
        start = time.perf_counter()
        function()
        calls[name] = max(3, int(seconds / (time.perf_counter() - start)))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls[name]):
                function()
            best[name] = min(best[name], (time.perf_counter() - start) / calls[name])
    return {name: 1e6 * seconds for name, seconds in best.items()}


def state(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random angles [rad] and rates [rad/s]."""
    rng = np.random.default_rng(1)
    return rng.normal(size=count), rng.normal(size=count)


def side_by_side(count: int) -> dict[str, float]:
    """Times [us] of both libraries for one chain, and the largest relative difference of their results."""
    import pinocchio as pin

    binding, (model, data) = our_chain(count), their_chain(count)
    (q, v), tau = state(count), np.zeros(count)
    times = fastest(
        {
            "forward_us": lambda: binding.forward(0.0, q, v),
            "aba_local_us": lambda: pin.aba(model, data, q, v, tau),
            "aba_world_us": lambda: pin.aba(model, data, q, v, tau, pin.Convention.WORLD),
            "derivatives_us": lambda: binding.forward_derivatives(0.0, q, v),
            "pinocchio_derivatives_us": lambda: pin.computeABADerivatives(model, data, q, v, tau),
        }
    )
    times["pinocchio_aba_us"] = min(times.pop("aba_local_us"), times.pop("aba_world_us"))
    pin.computeABADerivatives(model, data, q, v, tau)
    ours, theirs = binding.forward_derivatives(0.0, q, v), (data.ddq, data.ddq_dq, data.ddq_dv)
    times["difference"] = max(
        np.abs(x - y).max() / np.abs(y).max() for x, y in zip(ours, theirs, strict=True) if y.any()
    )
    return times


def derive_and_compile(count: int, folder: Path) -> float:
    """Seconds until the first evaluation in a new process with this cache folder."""
    command = [sys.executable, __file__, "--compile-only", str(count)]
    environment = os.environ | {"PLIANT_CACHE": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def compile_only(count: int) -> float:
    """Seconds to build a chain and to evaluate it once."""
    start = time.perf_counter()
    our_chain(count).forward(0.0, *state(count))
    return time.perf_counter() - start


def measure(joints: int) -> dict[str, Any]:
    """All figures."""
    cold, cached = {}, {}
    for count in COMPILED:
        with tempfile.TemporaryDirectory() as folder:
            cold[str(count)] = round(derive_and_compile(count, Path(folder)), 3)
            cached[str(count)] = round(derive_and_compile(count, Path(folder)), 3)
    main, single = side_by_side(joints), side_by_side(1)
    growth = {}
    for count in GROWTH:
        binding, (q, v) = our_chain(count), state(count)
        growth[str(count)] = fastest({"us": lambda e=binding, q=q, v=v: e.forward(0.0, q, v)})["us"]  # type: ignore[misc]
    return {
        "joints": joints,
        **{name: round(value, 2) for name, value in main.items() if name != "difference"},
        "difference": main["difference"],
        "single_joint": {name: round(value, 2) for name, value in single.items() if name != "difference"},
        "forward_us_by_joints": {n: round(us, 2) for n, us in growth.items()},
        "forward_us_per_joint": {n: round(us / int(n), 4) for n, us in growth.items()},
        "derive_compile_s": cold,
        "derive_compile_cached_s": cached,
        "machine": machine(),
    }


def machine(packages: Sequence[str] = ("numpy", "casadi", "pin")) -> dict[str, str]:
    """The machine of the measurement, with versions of packages."""
    processor = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), processor)
    except OSError:
        pass
    versions = {name: version(name) for name in packages}
    return {"processor": processor, "python": platform.python_version(), **versions}


def table(figures: dict[str, Any]) -> str:
    """Print the figures."""
    single = figures["single_joint"]
    lines = [
        f"chain of {figures['joints']} revolute joints    [us per call, from Python]    ours   Pinocchio   ratio",
        _row("forward dynamics", figures["forward_us"], figures["pinocchio_aba_us"]),
        _row("accelerations with derivatives", figures["derivatives_us"], figures["pinocchio_derivatives_us"]),
        _row("one joint: forward dynamics", single["forward_us"], single["pinocchio_aba_us"]),
        _row("one joint: with derivatives", single["derivatives_us"], single["pinocchio_derivatives_us"]),
        f"largest relative difference of results: {figures['difference']:.1e}",
        "",
        "joints    forward dynamics [us]    per joint [us]",
    ]
    for count, us in figures["forward_us_by_joints"].items():
        lines.append(f"{count:>6} {us:18.2f} {figures['forward_us_per_joint'][count]:21.3f}")
    lines += ["", "joints    derive and compile [s]    from the cache [s]"]
    for count, seconds in figures["derive_compile_s"].items():
        lines.append(f"{count:>6} {seconds:18.2f} {figures['derive_compile_cached_s'][count]:23.3f}")
    return "\n".join([*lines, "", ", ".join(f"{k} {v}" for k, v in figures["machine"].items())])


def _row(name: str, ours: float, theirs: float) -> str:
    return f"{name:<52} {ours:14.2f} {theirs:11.2f} {theirs / ours:7.2f}"


def main() -> None:
    """Command line."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--joints", type=int, default=60, help="length of the chain compared with Pinocchio")
    parser.add_argument("--compile-only", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile_only:
        print(compile_only(options.compile_only))
        return
    figures = measure(options.joints)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
