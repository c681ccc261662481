"""The released leg: speed against real time, energy balance, and sensitivity to the number of elements.

    python benchmarks/leg.py [--json]

Each run is repeated and the fastest one is reported. The energy balance is the change of total - supplied + dissipated energy,
relative to the largest kinetic energy.
"""

from __future__ import annotations

import argparse
import json
import os

import numpy as np

import pliant

SECONDS, REPEATS = 3.0, 3


def leg(elements: int) -> pliant.Equations:
    """The released leg with this number of elements in its spring."""
    spec = pliant.load("leg", variant="released")
    rod = spec.rods["leaf"]
    model = rod.model.model_copy(update={"elements": elements})
    return pliant.derive(spec.model_copy(update={"rods": {"leaf": rod.model_copy(update={"model": model})}}))


def measure(elements: int, step: float, repeats: int) -> dict[str, float]:
    """Three seconds after release with this step [s]."""
    eqs = leg(elements)
    rest = pliant.equilibrium(eqs)
    method = pliant.GeneralizedAlpha(step=step, spectral_radius=0.8)
    runs = [pliant.simulate(eqs, SECONDS, start=rest, method=method, save_every=0.01) for _ in range(repeats)]
    run = min(runs, key=lambda each: each.timing.run_s)
    energy = run.energy
    balance = energy["total"] - energy["total"][0] - energy["supplied"] + energy["dissipated"]
    return {
        "elements": elements,
        "step_s": step,
        "run_s": run.timing.run_s,
        "times_real_time": SECONDS / run.timing.run_s,
        "energy_balance": float(np.abs(balance).max() / energy["kinetic"].max()),
        "constraint_error": float(run.constraint_error.max()),
        "q1_end_rad": float(run["q1"].values[-1]),
    }


def main() -> None:
    """Print the table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [measure(10, 1e-3, REPEATS), measure(20, 1e-3, REPEATS), measure(10, 5e-5, 1)]
    if given.json:
        print(json.dumps({"seconds": SECONDS, "rows": rows}, indent=2))
        return
    names = list(rows[0])
    print("  ".join(f"{name:>16s}" for name in names))
    for row in rows:
        print("  ".join(f"{row[name]:16.6g}" for name in names))


if __name__ == "__main__":
    main()
