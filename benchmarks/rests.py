"""Equilibria of every bundled robot, of model files, and of random rods: success, number of iterations, and time.

    python benchmarks/rests.py [--json] [--random N] [--seed N] [--models FOLDER] [--only bundled models random]

Robots with rods are tried with every rod model that fits them. Model files are those of FOLDER, or of ../shared/findings/models
beside the checkout. Random rods have slenderness 10 to 10,000, loads of up to 30 E I / L^2, moments, follower forces, weight,
tendons, chambers, springs and pinned tips, in any combination. `seconds` is the time of `equilibrium` alone; deriving and compiling
are excluded. If none is found, the robot is simulated from the same start, with the rod's own damping: `why` states what the pose
found lacks, and whether the motion comes to rest.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.robot.rod_switch import with_rod_model

KINDS = {
    "pcs": 6, "cosserat": 8, "pseudo_rigid": 8, "polynomial": 3, "pcc": 2, "pcc_cog": 2, "finite_element": 6, "timoshenko": 6,
}  # fmt: skip
"""Kinds of rods, and how fine they are in robots."""
FINENESS = {"polynomial": "order", "pcc": "sections", "pcc_cog": "sections"}
MODELS = Path(__file__).resolve().parents[1] / ".." / "shared" / "findings" / "models"
SLOW = 5.0
"""Time limit of a search [s]."""


def rest_of(robot: str, rod: str, eqs: Any, period: float) -> dict[str, Any]:
    """One search; `period` [s] is a time in which the robot swings."""
    bound, zero = eqs.binding, np.zeros(len(eqs.rates))
    row: dict[str, Any] = {"robot": robot, "rod": rod, "found": False, "stable": None, "iterations": 0, "seconds": 0.0}
    begin = time.perf_counter()
    try:
        bound.linearized(0.0, eqs.initial_state().q, zero, zero, np.zeros(bound.m))  # what happens once
        begin = time.perf_counter()
        rest = pliant.equilibrium(eqs, on_failure="return")
    except Exception as reason:
        return {**row, "seconds": time.perf_counter() - begin, "why": f"{type(reason).__name__}: {str(reason)[:150]}"}
    row |= {"seconds": time.perf_counter() - begin, "iterations": rest.iterations, "stable": rest.stable}
    row["found"] = rest.status == "converged"
    if not row["found"]:
        row["why"] = rest.message.split(". ")[0].split("; ", 1)[-1] + "; " + motion_of(eqs, period)
    return row


def motion_of(eqs: Any, period: float) -> str:
    """Whether a damped motion from the start comes to rest."""
    method = pliant.GeneralizedAlpha(step=period / 100, spectral_radius=0.8)
    try:
        run = pliant.simulate(eqs, 200 * period, method=method, save_every=period)
    except Exception as reason:
        run = getattr(reason, "result", None)
        if run is None:
            return f"it could not be simulated ({type(reason).__name__})"
    kinetic = np.asarray(run.dataset["kinetic"])
    still = str(run.status) == "completed" and kinetic[-1] <= 1e-8 * kinetic.max(initial=1e-300)
    return "a damped motion comes to rest" if still else "a damped motion does not come to rest either"


def with_kinds(name: str, robot: Any) -> Iterator[tuple[str, str, Any]]:
    """The robot as it is, and with all of its rods of each kind that fits them."""
    yield name, "as given" if robot.rods else "-", robot
    for kind, count in KINDS.items() if robot.rods else ():
        changed = robot
        try:
            for rod in robot.rods:
                changed = with_rod_model(changed, rod, f"{kind}:{count}")
        except (pliant.SpecError, ValueError):
            continue
        yield name, f"{kind}:{count}", changed


def robots(only: list[str], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Bundled robots and model files."""
    if "bundled" in only:
        for bundled in pliant.bundled_robots():
            yield from with_kinds(bundled.name, pliant.load(bundled.name))
    if "models" in only:
        if not folder.is_dir():
            print(f"no model files in {folder}: skipped", file=sys.stderr)
        for file in sorted(folder.glob("*.yaml")):
            # keywords of earlier versions in some of the files
            text = re.sub(r"\bat: start\b", "at: initial", re.sub(r"\bdt:", "step:", file.read_text()))
            try:
                yield from with_kinds(file.name, pliant.load_text(text))
            except pliant.SpecError as reason:
                print(f"{file.name}: skipped ({str(reason)[:150]})", file=sys.stderr)


def direction(rng: np.random.Generator) -> np.ndarray:
    """A random unit vector."""
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def list_text(x: Any) -> str:
    """Numbers as a list of a model file."""
    return "[" + ", ".join(repr(float(y)) for y in x) + "]"


def around(rng: np.random.Generator, offset: float) -> str:
    """A random place in a section at a distance [m] from its centre."""
    angle = rng.uniform(0, 2 * np.pi)
    return list_text([offset * np.cos(angle), offset * np.sin(angle)])


def random_rod(rng: np.random.Generator) -> tuple[str, str, float]:
    """A rod with random loads: what it is, its model, and a period of its bending [s]."""
    kind = list(KINDS)[rng.integers(len(KINDS))]
    count = int(rng.integers(1, 5)) if kind in FINENESS else int(rng.integers(3, 17))
    slenderness, length, modulus = 10 ** rng.uniform(1, 4), 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(5, 11)
    radius = length / slenderness
    area = np.pi * radius**2
    bending = modulus * area * radius**2 / 4
    unit = bending / length**2
    weight = rng.uniform(0, 30) * unit if rng.uniform() < 0.5 else 0.0
    density = max(weight / (9.81 * area * length), 1e-8 * modulus)

    period = length**2 * np.sqrt(density * area / bending)
    stiffness = np.array([modulus * area / 2.8] * 2 + [modulus * area, bending, bending, bending / 1.4])
    parts: dict[str, list[str]] = {"loads": [], "tendons": [], "links": [], "constraints": []}
    words, chambers = [], ""
    if rng.uniform() < 0.4:
        words.append("force")
        parts["loads"].append(
            f"  force: {{frame: rod.tip, force: {list_text(rng.uniform(0, 30) * unit * direction(rng))}}}"
        )
    if rng.uniform() < 0.2:
        words.append("follower")
        force = list_text(rng.uniform(0, 10) * unit * direction(rng))
        parts["loads"].append(f"  follower: {{frame: rod.tip, force: {force}, expressed_in: rod.tip}}")
    if rng.uniform() < 0.3:
        words.append("moment")
        moment = list_text(rng.uniform(0, 6) * unit * length * direction(rng) * [1, 1, 0])
        parts["loads"].append(f"  moment: {{frame: rod.tip, moment: {moment}}}")
    if rng.uniform() < 0.3:
        words.append("tendon")
        through = f"{{rod: rod, offset: {around(rng, rng.uniform(0.01, 0.13) * length)}}}"
        pull = float(rng.uniform(0, 30) * unit)
        parts["tendons"].append(f"  pull: {{type: tension, through: [{through}], tension: {pull!r}}}")
    if rng.uniform() < 0.3:
        words.append("chamber")
        offset, inside = 0.6 * radius, 0.3 * radius
        pressure = float(rng.uniform(-3, 3) * bending / length / offset / (np.pi * inside**2))
        chambers = (
            f", chambers: {{one: {{pressure: {pressure!r}, radius: {inside!r}, positions: [{around(rng, offset)}]}}}}"
        )
    if rng.uniform() < 0.3:
        words.append("spring")
        place = list_text(np.array([0, 0, length]) + 0.5 * length * direction(rng))
        spring = float(10 ** rng.uniform(-1, 2) * unit / length)
        ends = f"[{{frame: world, position: {place}}}, rod.tip]"
        parts["links"].append(f"  spring: {{type: axial, between: {ends}, spring: {spring!r}}}")
    if rng.uniform() < 0.2 and kind != "timoshenko":
        words.append("pin")
        place = np.array([0, 0, length]) + 0.3 * length * rng.uniform() * direction(rng)
        place *= min(1.0, 0.97 * length / np.linalg.norm(place))
        ends = f"[rod.tip, {{frame: world, position: {list_text(place)}}}]"
        parts["constraints"].append(f"  pin: {{between: {ends}, components: [x, y, z], expressed_in: world}}")
    model = f"{{kind: {kind}, {FINENESS.get(kind, 'elements')}: {count}}}"
    damping = list_text(0.02 * period * stiffness)
    lines = [
        "pliant: 1",
        f"world: {{gravity: {list_text(9.81 * direction(rng) if weight else np.zeros(3))}}}",
        f"sections: {{round: {{shape: circle, radius: {radius!r}}}}}",
        f"materials: {{stuff: {{density: {density!r}, youngs_modulus: {modulus!r}, poissons_ratio: 0.4}}}}",
        "rods:",
        f"  rod: {{length: {length!r}, section: round, material: stuff, damping: {damping}, model: {model}{chambers}}}",
    ]
    for key, items in parts.items():
        lines += [f"{key}:", *items] if items else []
    label = f"L/r {slenderness:.0f}, {'+'.join(words + ['weight'] * (weight > 0)) or 'no load'}"
    return f"{kind}:{count}|{label}", "\n".join(lines), float(period)


def rows(only: list[str], folder: Path, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """All searches; rod models that do not fit a robot are skipped."""
    for name, kind, robot in robots(only, folder):
        try:
            eqs = pliant.derive(robot)
        except (pliant.SpecError, ValueError):
            continue
        yield rest_of(name, kind, eqs, 1.0)
    for k in range(count if "random" in only else 0):
        label, text, period = random_rod(np.random.default_rng([seed, k]))
        kind, _, what = label.partition("|")
        yield rest_of(f"random {k}: {what}", kind, pliant.derive(pliant.load_text(text)), period)


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares and extremes of some rows."""
    iterations = [row["iterations"] for row in found if row["found"]]
    seconds = [row["seconds"] for row in found]
    return {
        "searches": len(found),
        "found": sum(row["found"] for row in found),
        "median_iterations": float(np.median(iterations)) if iterations else None,
        "most_iterations": max(iterations, default=None),
        "median_s": float(np.median(seconds)) if seconds else None,
        "longest_s": max(seconds, default=None),
        "over_5_s": sum(s > SLOW for s in seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--random", type=int, default=200, help="how many random rods")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument(
        "--only", nargs="+", choices=("bundled", "models", "random"), default=["bundled", "models", "random"]
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for row in rows(given.only, given.models, given.random, given.seed):
        found.append(row)
        if not given.json:
            state = {True: "stable", False: "unstable", None: "neutral"}[row["stable"]] if row["found"] else "NOT FOUND"
            numbers = f"{row['iterations']:5d} {row['seconds']:8.3f} s"
            print(f"{row['robot']:54s} {row['rod']:18s} {state:9s} {numbers}  {row.get('why', '')}", flush=True)
    groups = {"robots": [], "random": []}  # type: dict[str, list[dict[str, Any]]]
    for row in found:
        groups["random" if row["robot"].startswith("random ") else "robots"].append(row)
    totals = {name: summary(group) for name, group in groups.items() if group}
    if given.json:
        print(json.dumps({"rows": found, "summary": totals}, indent=1))
        return
    for name, total in totals.items():
        print(f"\n{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in total.items() if value is not None))


if __name__ == "__main__":
    main()
