"""Arms of circular arcs: rate of their forward dynamics, its growth with the number of sections, and experiments.

    python benchmarks/arm_rate.py              tables
    python benchmarks/arm_rate.py --json       one JSON object
    python benchmarks/arm_rate.py --states N   random states of the comparison of energies (1,000,000; 0 leaves it out)

Forward dynamics are those of the compiled equations in a loop in C, one thread, over random states, without calls from Python.
The fastest of many short rounds is reported, because other work on the machine only adds time. "pcc" is the exact mass in closed
form, "pcc_cog" the lumped mass, "quadrature" the same arc with its mass at five Gauss points. Experiments are the three published
ones of `three_section_arm`, simulated as defined in the model file; the fastest of several runs is reported.

Energies compare `pcc_cog` with `pcc` for an arm of ten sections: the difference of kinetic energies in random states, over the
largest energy that occurs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import pliant
from pliant.engine.binding import Binding
from pliant.engine.model.inputs import InputPlan
from pliant.engine.program import Program
from pliant.parts.assembly.system import SystemBuilder
from pliant.parts.geometry import se3
from pliant.parts.motion import ArcCoordinates
from pliant.parts.rod.pcc import arc_motion
from pliant.robot.rod_switch import with_rod_model

RODS = ("s1", "s2", "s3")
COUNTS = (1, 2, 3, 5, 10, 20)
PASSES, ROUNDS, STATES, REPEATS = 4, 100, 50, 2
EXPERIMENTS = {"experiment_1": 9.5, "experiment_2": 7.5, "experiment_3": 8.0}
RUNS = 7
BINS = 60

LOOP = """
typedef int (*forward)(void *, double, const double *, const double *, double *);
double loop(forward f, void *work, int states, int repeats, int n, const double *q, const double *v, double *a) {
  double sum = 0;
  for (int r = 0; r < repeats; ++r)
    for (int i = 0; i < states; ++i) f(work, 0, q + n * i, v + n * i, a), sum += a[0];
  return sum;
}
"""

CHAIN = """
pliant: 1
sections: {{bundle: {{shape: circle, radius: 12.5 mm}}}}
materials: {{muscle: {{density: "=0.1 kg/(0.15 m*pi*(12.5 mm)^2)", youngs_modulus: 1.56 MPa, poissons_ratio: 0.5}}}}
rods:
  arm: {{length: {length} m, section: bundle, material: muscle, damping: [12, 12, 36, 0.0028, 0.0028, 0.0014],
    model: {{kind: {kind}, sections: {count}, coordinates: muscles, muscle_radius: 12.5 mm}}}}
"""


def published_arm(kind: str, variant: str = "") -> Any:
    """Equations of `three_section_arm` with this rod model and the same coordinates and names."""
    spec = pliant.load("three_section_arm" + variant)
    if kind == "pcc_cog":
        for rod in RODS:
            spec = with_rod_model(spec, rod, "pcc_cog")
    return pliant.derive(spec)


def chain(kind: str, count: int) -> Binding:
    """An arm with this number of sections, ready to evaluate."""
    if kind != "quadrature":
        text = CHAIN.format(length=0.15 * count, kind=kind, count=count)
        return pliant.derive(pliant.load_text(text)).binding
    builder, node = SystemBuilder(), 0
    builder.gravity([0, 0, -9.81])
    coordinates = ArcCoordinates("muscles")
    points, weights = np.polynomial.legendre.leggauss(5)
    disc = 0.1 * 0.0125**2 / 4 * ca.diag(ca.DM([1, 1, 2]))
    for _ in range(count):
        constants = coordinates.constants(0.15, (0.0,) * 6, 0.0125)
        fractions = [*((points + 1) / 2), 1.0]
        index = builder.element(node, [(arc_motion(coordinates), se3.identity(), [x, *constants]) for x in fractions])
        nodes = builder.element_at(index).nodes
        for number, weight in zip(nodes, weights / 2, strict=False):
            builder.mass(number, weight * 0.1, ca.DM.zeros(3), weight * disc, se3.identity())
        node = nodes[-1]
    return Binding.of(Program(builder.build(), InputPlan()))


@cache
def compiled_loop() -> ctypes.CDLL:
    """The loop in C."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loop.c").write_text(LOOP, encoding="utf-8")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-O2", "-fPIC", "-shared", "-o", "loop.so", "loop.c"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(str(Path(folder, "loop.so")))
    library.loop.restype = ctypes.c_double
    return library


def microseconds(binding: Binding) -> float:
    """One evaluation of the forward dynamics, in a loop in C."""
    library, workspace = compiled_loop(), binding.program.workspace(binding)
    rng = np.random.default_rng(0)
    q, v = rng.uniform(0, 0.07, (STATES, binding.nq)), rng.uniform(-0.15, 0.15, (STATES, binding.nv))
    a, forward = np.zeros(binding.nv), ctypes.cast(workspace.library.pl_forward, ctypes.c_void_p)
    best = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        library.loop(
            forward,
            ctypes.c_void_p(workspace.address),
            STATES,
            REPEATS,
            binding.nq,
            ctypes.c_void_p(q.ctypes.data),
            ctypes.c_void_p(v.ctypes.data),
            ctypes.c_void_p(a.ctypes.data),
        )
        best = min(best, (time.perf_counter() - start) / (STATES * REPEATS))
    return 1e6 * best


def fastest(bindings: dict[Any, Binding]) -> dict[Any, float]:
    """Microseconds of each, measured alternately, so that disturbances affect all of them."""
    found = dict.fromkeys(bindings, np.inf)
    for _ in range(PASSES):
        for name, binding in bindings.items():
            found[name] = min(found[name], microseconds(binding))
    return found


def experiment_seconds(kind: str) -> dict[str, float]:
    """Fastest simulation of each experiment."""
    out = {}
    for name, until in EXPERIMENTS.items():
        eqs = published_arm(kind, f"@{name}")
        pliant.simulate(eqs, 0.01)
        out[name] = min(pliant.simulate(eqs, until).timing.run_s for _ in range(RUNS))
    return out


def energy_errors(states: int) -> dict[str, Any]:
    """Kinetic energy of `pcc_cog` against `pcc`, ten sections: mean, mean absolute and worst difference over the largest, and
    the histogram of the differences."""
    rng = np.random.default_rng(0)
    bindings = [chain(kind, 10) for kind in ("pcc", "pcc_cog")]
    exact, lumped = np.empty(states), np.empty(states)
    for i in range(states):
        q, v = rng.uniform(0, 0.07, 30), rng.uniform(-0.15, 0.15, 30)
        exact[i], lumped[i] = (binding.energies(0.0, q, v)[0] for binding in bindings)
    error = (lumped - exact) / exact.max()
    counts, edges = np.histogram(error, bins=BINS)
    return {
        "states": states,
        "mean": float(error.mean()),
        "mean_absolute": float(np.abs(error).mean()),
        "worst": float(np.abs(error).max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def cold_seconds(kind: str, count: int) -> float:
    """Derive and compile in a new process with an empty cache folder, without the time to import packages."""
    text = CHAIN.format(length=0.15 * count, kind=kind, count=count)
    code = (
        "import sys, time, pliant; text = sys.stdin.read(); start = time.perf_counter(); "
        "pliant.derive(pliant.load_text(text)).binding; print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PLIANT_CACHE": folder}
        done = subprocess.run(
            [sys.executable, "-c", code], input=text, env=environment, capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def measure(states: int) -> dict[str, Any]:
    """All figures, as the JSON object."""
    rates = fastest({kind: published_arm(kind).binding for kind in ("pcc", "pcc_cog")})
    kinds = ("pcc", "pcc_cog", "quadrature")
    times = fastest({(kind, count): chain(kind, count) for count in COUNTS for kind in kinds})
    growth = {kind: {str(count): times[kind, count] for count in COUNTS} for kind in kinds}
    found: dict[str, Any] = {
        "pcc_khz": 1e3 / rates["pcc"],
        "pcc_cog_khz": 1e3 / rates["pcc_cog"],
        "growth": growth,
        "experiment_run_s": {kind: experiment_seconds(kind) for kind in ("pcc", "pcc_cog")},
        "cold_s": {kind: {str(count): cold_seconds(kind, count) for count in (3, 20)} for kind in ("pcc", "pcc_cog")},
    }
    if states:
        found["energy_error"] = energy_errors(states)
    return found


def table(found: dict[str, Any]) -> str:
    """Print the figures."""
    lines = [f"three_section_arm: {found['pcc_khz']:.0f} kHz as pcc, {found['pcc_cog_khz']:.0f} kHz as pcc_cog", ""]
    lines += ["sections    " + "".join(f"{count:>9}" for count in COUNTS)]
    for kind, times in found["growth"].items():
        lines.append(f"{kind:<12}" + "".join(f"{x:>6.2f} us" for x in times.values()))
    lines += ["", "experiments [s]"]
    for kind, runs in found["experiment_run_s"].items():
        lines.append(f"{kind:<12}" + "  ".join(f"{x:.3f}" for x in runs.values()))
    lines += ["", "derive and compile, empty cache [s]"]
    for kind, cold in found["cold_s"].items():
        lines.append(f"{kind:<12}" + "  ".join(f"{count} sections: {x:.1f}" for count, x in cold.items()))
    if "energy_error" in found:
        e = found["energy_error"]
        text = f"mean {e['mean']:.1e}, mean absolute {e['mean_absolute']:.1e}, worst {e['worst']:.1e}"
        lines += ["", f"energy of pcc_cog against pcc, ten sections, {e['states']} states: {text}"]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--states", type=int, default=1_000_000, help="random states of the comparison of energies")
    arguments = parser.parse_args()
    found = measure(arguments.states)
    print(json.dumps(found) if arguments.json else table(found))


if __name__ == "__main__":
    main()
