"""What a fluid adds to an evaluation of bundled robots: buoyancy, drag and added mass.

    python benchmarks/fields.py [--json]

For `trunk` and `snake` alone and in water (at rest, with viscosity): processor time of one evaluation of accelerations, of the
unbalanced forces, and of the matrices of small motions. Each is the smallest of several rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

import pliant

ROBOTS = ("trunk", "snake")
WATER = {"density": 1000, "viscosity": 1e-3}
ROUNDS, SECONDS = 9, 0.05


def fastest(call: Callable[[], object]) -> float:
    """Processor time of a call [us]."""
    call()
    count = 1
    while True:
        begin = time.process_time()
        for _ in range(count):
            call()
        if (took := time.process_time() - begin) > SECONDS / 10:
            break
        count *= 4
    count = max(int(count * SECONDS / took), 1)
    best = np.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(count):
            call()
        best = min(best, (time.process_time() - begin) / count)
    return float(1e6 * best)


def evaluations(eqs: pliant.Equations) -> dict[str, float]:
    """Times of evaluations in a moving state [us]."""
    binding, state = eqs.binding, eqs.initial_state()
    rng = np.random.default_rng(0)
    q = np.asarray(state.q)
    _, moves = binding.sizes(q)
    v = 0.3 * rng.normal(size=len(moves)) * moves
    a, none = 0 * v, np.zeros(eqs.model.system.rows)
    binding.forward(0.0, q, v)
    return {
        "accelerations": fastest(lambda: binding.forward(0.0, q, v)),
        "forces": fastest(lambda: binding.inverse(0.0, q, v, a)),
        "matrices": fastest(lambda: binding.linearized(0.0, q, v, a, none)),
    }


def main() -> None:
    """Print a table, or the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in ROBOTS:
        spec = pliant.load(name)
        wet = spec.replace(world=spec.world.model_copy(update={"fluid": pliant.parts.Fluid(**WATER)}))
        found[name] = {"alone": evaluations(pliant.derive(spec)), "in water": evaluations(pliant.derive(wet))}
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for name, both in found.items():
        for what, alone in both["alone"].items():
            wet_time = both["in water"][what]
            print(f"{name:6} {what:14} {alone:8.1f} us {wet_time:8.1f} us  +{100 * (wet_time / alone - 1):.0f} %")


if __name__ == "__main__":
    main()
