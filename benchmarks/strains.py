"""Free strains of a rod: rates and time to simulate a cantilever that is released under its weight, at default settings.

    python benchmarks/strains.py [--json] [--repeats N]

A soft rod, 30 cm long and 1 cm thick, is straight and is released; 1 s is simulated with all strains and with fewer. Wall times are
the smallest of a few repeats; `cpu_s` is the processor time of that run, which a busy machine disturbs less. `tip_off_mm` is the
distance of the tip at equilibrium from that of the rod with all strains: the effect of the omitted strains.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np

import pliant

ROD = """
pliant: 1
sections: {round: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods:
  arm:
    rotation: {axis: y, angle: 90 deg}
    length: 30 cm
    section: round
    material: rubber
    strains: STRAINS
    model: MODEL
"""
CASES = (
    ("pcs:10", "null"),
    ("pcs:10", "planar"),
    ("pcs:10", "[planar, unshearable]"),
    ("pcs:10", "kirchhoff"),
    ("pcs:10", "[planar, kirchhoff]"),
    ("cosserat:10", "null"),
    ("cosserat:10", "planar"),
    ("gvs:2", "null"),
    ("gvs:2", "[planar, unshearable]"),
    ("gvs:2", "kirchhoff"),
)
UNTIL = 1.0


def released(word: str, strains: str, repeats: int) -> dict[str, float]:
    """Rates of a rod, and the time to simulate it [s]."""
    kind, _, number = word.partition(":")
    model = f"{{kind: {kind}, {'order' if kind == 'gvs' else 'elements'}: {number}}}"
    eqs = pliant.derive(pliant.load_text(ROD.replace("STRAINS", strains).replace("MODEL", model)))
    pliant.simulate(eqs, 0.01)
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        run = pliant.simulate(eqs, UNTIL)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
        if run.time[-1] < UNTIL:
            raise SystemExit(f"{word} with strains {strains} stopped at {run.time[-1]} s: {run.status}")
    wall, cpu = min(times)
    rest = pliant.equilibrium(eqs).frames["arm.tip"].position
    return {"rates": len(eqs.rates), "wall_s": wall, "cpu_s": cpu, "rest": rest.tolist()}


def measure(repeats: int) -> list[dict[str, object]]:
    """All cases in order, each beside the one of its model with all strains."""
    rows: list[dict[str, object]] = []
    full: dict[str, dict[str, float]] = {}
    for word, strains in CASES:
        found = released(word, strains, repeats)
        if strains == "null":
            full[word] = found
        whole = full[word]
        rest, whole_rest = np.array(found.pop("rest")), whole.get("rest")
        whole["rest"] = rest.tolist() if whole_rest is None else whole_rest
        rows.append(
            {
                "model": word,
                "strains": "all" if strains == "null" else strains,
                **found,
                "times_faster": whole["cpu_s"] / found["cpu_s"],
                "tip_off_mm": 1e3 * float(np.linalg.norm(rest - np.array(whole["rest"]))),
            }
        )
    return rows


def main() -> None:
    """Print a table, or one JSON object."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each rod (3)")
    given = parser.parse_args()
    rows = measure(given.repeats)
    if given.json:
        print(json.dumps({"until_s": UNTIL, "rods": rows}, indent=2))
        return
    print(f"1 s of a released cantilever\n{'model':14s} {'strains':24s} rates   wall s    cpu s   faster   tip off")
    for row in rows:
        print(
            f"{row['model']:14s} {row['strains']:24s} {row['rates']:5d} {row['wall_s']:8.3f} {row['cpu_s']:8.3f} "
            f"{row['times_faster']:8.1f} {row['tip_off_mm']:6.2f} mm"
        )


if __name__ == "__main__":
    main()
