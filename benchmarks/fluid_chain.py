"""A chain of ellipsoids in a fluid beside MuJoCo's.

    python benchmarks/fluid_chain.py             a table
    python benchmarks/fluid_chain.py --json      one JSON object

A chain of links hangs in a current. Both programs compute accelerations from the same state, called from Python; the fastest of
several rounds, in turn, is reported, in a vacuum and in the fluid. MuJoCo's ellipsoids have drag, lift by circulation and spin,
and the part of added mass that is quadratic in the velocities; ours have drag, and added mass also in accelerations. `released` is
the size of the initial accelerations from rest over those of MuJoCo, in which added mass does not resist.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant

LENGTHS = (5, 20, 60)
ROUNDS, ROUND_SECONDS = 15, 0.05
FLUID = 'density="1000" viscosity="0.001" wind="0.3 0 0"'


def chain(count: int, medium: str) -> str:
    """MJCF of a chain of capsules, joined by hinges with alternating axes."""
    link = '<geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.02" density="1200" fluidshape="ellipsoid"/>'
    text = ""
    for k in reversed(range(count)):
        axis, place = ("1 0 0", "0 1 0")[k % 2], "0 0 0" if k == 0 else "0 0 -0.1"
        text = f'<body name="b{k}" pos="{place}"><joint name="j{k}" axis="{axis}"/>{link}{text}</body>'
    return f"<mujoco><option {medium}><flag contact='disable'/></option><worldbody>{text}</worldbody></mujoco>"


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """Fastest time of each call [us], in turn."""
    best = [np.inf] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            count, begin = 0, time.perf_counter()
            while time.perf_counter() - begin < ROUND_SECONDS:
                for _ in range(20):
                    call()
                count += 20
            best[k] = min(best[k], (time.perf_counter() - begin) / count * 1e6)
    return best


def row(count: int) -> dict[str, float]:
    """Times of one chain [us]."""
    import mujoco

    rng = np.random.default_rng(count)
    q, v = 0.3 * rng.normal(size=count), 0.5 * rng.normal(size=count)
    found: dict[str, float] = {"links": count}
    first = {}
    for name, medium in (("vacuum", ""), ("fluid", FLUID)):
        text = chain(count, medium)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "chain.xml"
            file.write_text(text)
            robot = pliant.import_robot(file).robot
        eqs = pliant.derive(robot.replace(surfaces={}, contacts={}))
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q, v
        ours, theirs = fastest(lambda e=eqs: e.forward_dynamics(q, v), lambda m=model, d=data: mujoco.mj_forward(m, d))
        found |= {f"{name}, pliant": ours, f"{name}, MuJoCo": theirs}
        data.qvel[:] = 0
        mujoco.mj_forward(model, data)
        first[name] = np.linalg.norm(eqs.forward_dynamics(q, 0 * v)[0]), np.linalg.norm(data.qacc)
    found["released"] = first["fluid"][0] / first["fluid"][1]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    rows = [row(count) for count in LENGTHS]
    if options.json:
        print(json.dumps({"chain": rows}))
        return
    print("Accelerations of a chain of ellipsoids [us]")
    for one in rows:
        print(", ".join(f"{key} {value:.4g}" for key, value in one.items()))


if __name__ == "__main__":
    main()
