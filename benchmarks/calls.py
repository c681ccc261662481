"""Calls from Python: microseconds per evaluation, for robots of all sizes.

    python benchmarks/calls.py              a table
    python benchmarks/calls.py --json       one JSON object

Every figure is one call of the public interface with existing NumPy arrays, including checks and new arrays for its results;
`at` changes the value of an input, and "at, forward" evaluates with it. "compiled" is forward dynamics called repeatedly
by compiled code, without Python (and without the search for redundant constraint rows); the additional time of the public call
is "overhead". Pinocchio's own forward dynamics (`pin.aba`) of the same chain of ball joints, which writes into
its `data`, is given for comparison.

All calls are made alternately, in many short rounds, and the fastest round is reported: other work on the machine only adds
time.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.engine.layout import ArgumentsStruct
from pliant.engine.libraries import address, build_library, extension_module

BALLS = 20
ROBOTS = ("pendulum", "cart_pole", "four_bar", "three_section_arm", f"{BALLS} ball joints", "six_leg")
ROUNDS = 300
ROUND_SECONDS = 0.4e-3

REPEAT = """
void repeat(int (*call)(void *, const void *, double *const *), void *work, const void *x, double *const *out, int n) {
  for (int i = 0; i < n; ++i) call(work, x, out);
}
"""


def ball_joints(count: int) -> pliant.RobotSpec:
    """A chain of equal bodies on ball joints."""
    body = "{mass: 1, inertia: {principal: [0.02, 0.03, 0.04]}, frames: {tip: {position: [0, 0, -0.3]}}}"
    lines = ["pliant: 1", "bodies:", *(f"  b{i}: {body}" for i in range(count)), "joints:"]
    for i in range(count):
        lines.append(f"  j{i}: {{type: spherical, parent: {f'b{i - 1}.tip' if i else 'world'}, child: b{i}}}")
    return pliant.load_text("\n".join(lines))


def compiled_calls(eqs: pliant.Equations, q: np.ndarray, v: np.ndarray) -> Callable[[int], None]:
    """Repeated forward dynamics, without Python."""
    library = ctypes.CDLL(str(build_library("repeat", {"repeat.c": REPEAT}, ["repeat.c"], ("-O2",))))
    library.repeat.argtypes = [*[ctypes.c_void_p] * 4, ctypes.c_int]
    binding = eqs.binding
    results = [np.zeros(binding.nv), np.zeros(max(1, binding.m))]
    out = (ctypes.c_void_p * 2)(*(x.ctypes.data for x in results))
    arguments = ArgumentsStruct(q=q.ctypes.data, v=v.ctypes.data)
    work = binding.program.workspace(binding)
    function = address("pl_call_forward")

    def repeat(count: int) -> None:
        library.repeat(function, work.address, ctypes.addressof(arguments), out, count)
        assert results[0].any(), (arguments, "the evaluation has given nothing")

    return repeat


def repeated(call: Callable[[], Any]) -> Callable[[int], None]:
    """Repeated calls."""

    def repeat(count: int) -> None:
        for _ in itertools.repeat(None, count):
            call()

    return repeat


def our_calls(robot: str) -> tuple[dict[str, int], dict[str, Callable[[int], None]]]:
    """Sizes of a robot, and its calls by name."""
    eqs = pliant.derive(ball_joints(BALLS) if robot.endswith("ball joints") else robot)
    q, v = (np.array(x) for x in eqs.initial_state())
    v += 0.1
    a, multipliers, frame = np.zeros(len(v)), np.zeros(eqs.binding.m), eqs.frame_names[-1]
    calls: dict[str, Callable[[], Any]] = {
        "forward dynamics": lambda: eqs.forward_dynamics(q, v),
        "inverse dynamics": lambda: eqs.inverse_dynamics(q, v, a),
        "mass matrix": lambda: eqs.mass_matrix(q),
        "linearization": lambda: eqs.linearization(q, v, a=a, multipliers=multipliers),
        "energy": lambda: eqs.energy(q, v),
        "frame": lambda: eqs.frame(frame, q, v),
        "frame Jacobian": lambda: eqs.frame_jacobian(frame, q),
    }
    if eqs.inputs:
        name, values = eqs.inputs[0], itertools.count(1.0, 1e-3)
        calls["at"] = lambda: eqs.at(inputs={name: next(values)})
        calls["at, forward"] = lambda: eqs.at(inputs={name: next(values)}).forward_dynamics(q, v)
    sizes = {"rates": len(v), "constraints": eqs.binding.m, "inputs": len(eqs.inputs)}
    return sizes, {"compiled": compiled_calls(eqs, q, v), **{k: repeated(call) for k, call in calls.items()}}


def pinocchio_calls(count: int) -> dict[str, Callable[[int], None]]:
    """Forward dynamics of the chain by Pinocchio."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model, parent, tip = pin.Model(), 0, pin.SE3(np.eye(3), np.array([0, 0, -0.3]))
    for i in range(count):
        placement = tip if i else pin.SE3.Identity()
        parent = model.addJoint(parent, pin.JointModelSpherical(), placement, f"j{i}")
        model.appendBodyToJoint(parent, pin.Inertia(1.0, np.zeros(3), np.diag([0.02, 0.03, 0.04])), pin.SE3.Identity())
    data, q, v, tau = model.createData(), pin.neutral(model), np.full(model.nv, 0.1), np.zeros(model.nv)
    return {"pinocchio": repeated(lambda: pin.aba(model, data, q, v, tau))}


def fastest(calls: dict[str, Callable[[int], None]]) -> dict[str, float]:
    """Microseconds per call."""
    counts, best = {}, dict.fromkeys(calls, float("inf"))
    for name, repeat in calls.items():
        repeat(2)
        begin = time.perf_counter()
        repeat(5)
        counts[name] = max(1, int(ROUND_SECONDS / (time.perf_counter() - begin) * 5))
    for _ in range(ROUNDS):
        for name, repeat in calls.items():
            begin = time.perf_counter()
            repeat(counts[name])
            best[name] = min(best[name], 1e6 * (time.perf_counter() - begin) / counts[name])
    return best


def measure(robot: str) -> dict[str, Any]:
    """One row of the table [us]."""
    sizes, calls = our_calls(robot)
    if robot.endswith("ball joints"):
        calls |= pinocchio_calls(BALLS)
    found = fastest(calls)
    return {"robot": robot, **sizes, "overhead": found["forward dynamics"] - found["compiled"], **found}


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = [measure(robot) for robot in ROBOTS]
    module = extension_module().__name__
    if arguments.json:
        print(json.dumps({"module": module, "unit": "us", "rows": rows}, indent=2))
        return
    names = dict.fromkeys(name for row in rows for name in row if name != "robot")
    print(f"{'[us]':<18}" + "".join(f"{row['robot']:>19}" for row in rows))
    for name in names:
        cells = (
            f"{row[name]:>19.2f}" if isinstance(row.get(name), float) else f"{row.get(name, ''):>19}" for row in rows
        )
        print(f"{name:<18}" + "".join(cells))
    print(f"called through {module}")


if __name__ == "__main__":
    main()
