"""Contact compared with PyElastica and MuJoCo: rods that collide, a rod laid across another, a rod that falls and coils, piles of
balls.

    python benchmarks/contact.py [--json] [--rounds N] [--only TEXT]

Each case runs in this package with `pliant.simulate` without options ("ours"), and with the fastest of a list of models,
methods and tolerances ("best"). The others have no such defaults: the fastest setting is searched for (elements, step,
stiffness of contacts, solver) whose error is within that of the case; if there is none, the most accurate one is reported. `ratio`
is their time over ours. Errors are relative to the rod's length, compared with the converged solution of the same physics: this
package with more elements and a tolerance of 1e-6, of the coil with as many elements and 1e-4.

    rods collide      Two free rods of 30 cm, crossed, meet with 1 m/s. Error: distance of the places along both, at 20 times.
    rod across rod    A clamped rod falls on another one, and both come to rest. Error: distance of their places at the end.
    rod coils         A rod of 1 m with 200 elements, almost upright, falls on the ground and on itself, with friction. The
                      folds differ from program to program. Error: height of the centre of mass, at 20 times.
    pile of N balls   N balls of 10 mm fall into a box of five planes, with friction, for 0.5 s. Which ball lies where depends on
                      everything, so the mean height of the balls at the end is compared, relative to that of ours, and how far
                      they overlap. The rows also say how many contacts there are at the end; `growth` is the exponent of the
                      cost over that number.

Physics that differ: PyElastica has no friction between rods and no damping of strain rates (it gets a drag instead, on which
places at rest do not depend), and its contacts bear a part of the other forces on an element beside their springs. MuJoCo's rods
are chains of capsules, which do not stretch or shear.

Times are processor times of the motion alone: creating the models and compilation are excluded. The first run of each
setting decides which ones are timed, then all are run alternately, and the fastest round is reported. All run on one thread.
Runs of the others are abandoned after two minutes: their error is then infinite, and their time a lower bound.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from chain import machine
from contact_peers import BallCase, Outcome, RodCase, StraightRod, elastica_run, mujoco_balls_run, mujoco_rods_run

import pliant

ROUNDS = 5
LONG = 5.0
"""Longer runs are not repeated [s]."""

PILE_HEIGHT, PILE_OVERLAP = 0.02, 0.02
"""Difference in mean height and largest overlap, relative to the radius, up to which two piles are equal."""

TILT = math.radians(3)

COLLIDE = RodCase(
    "rods collide", until=0.2, length=0.3, gravity=0.0, beta=1e-3, youngs_modulus=1e7,
    rods=(StraightRod((-0.143, 0, 0), (1, 0, 0)), StraightRod((0, -0.143, 0.012), (0, 1, 0), velocity=(0, 0, -1.0))),
)  # fmt: skip
ACROSS = RodCase(
    "rod across rod", until=1.5, length=0.2, beta=3e-2, drag=10.0, youngs_modulus=1e7,
    rods=(StraightRod((0, 0, 0), (1, 0, 0), clamped=True), StraightRod((0.05, -0.1, 0.011), (0, 1, 0), clamped=True)),
)  # fmt: skip
COIL = RodCase(
    "rod coils", until=1.0, length=1.0, points=21, ground=True, itself=True, friction=0.4, beta=2e-3, drag=1.0,
    rods=(StraightRod((0, 0, 0.02), (0, -math.sin(TILT), math.cos(TILT)), velocity=(0.1, 0, 0)),),
)  # fmt: skip
BALLS = (50, 100, 200, 400, 800)


@dataclass(frozen=True)
class Trial:
    """Description of a program's setting, its error, its time [s], and a function that runs it again."""

    setting: str
    error: float
    seconds: float
    again: Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """A case: the error of a run, the required error, and settings of ours and of the others by name.

    The first of ours is the default.
    """

    case: RodCase
    error: Callable[[Outcome, Outcome], float]
    accuracy: float
    reference: Callable[[], Outcome]
    ours: tuple[dict[str, Any], ...]
    peers: dict[str, tuple[Callable[..., Outcome], tuple[dict[str, Any], ...]]]


# -- this package ------------------------------------------------------------------------------------------------------


def rods_text(case: RodCase, model: str) -> str:
    """The model file."""
    bodies, joints, rods, contacts = [], [], [], []
    frames = ", ".join(f"p{i}: {case.length * i / (case.points - 1)!r}" for i in range(1, case.points - 1))
    for n, rod in enumerate(case.rods):
        x, y, z = rod.direction
        turn = f"rotation: {{axis: [{-y!r}, {x!r}, 0], angle: {float(np.arccos(z))!r}}}"
        place = f"position: {list(rod.start)}"
        if not rod.clamped:
            place = f"parent: base{n}"
            bodies.append(f"  base{n}: {{mass: 0.01 g}}")
            starts = zip("xyz", rod.start, rod.velocity, strict=True)
            motion = ", ".join(f"{axis}: {{initial: {at!r}, rate: {rate!r}}}" for axis, at, rate in starts)
            joints.append(f"  flight{n}: {{type: free, child: base{n}, {motion}}}")
        rods.append(
            f"  rod{n}: {{{place}, {turn}, length: {case.length}, section: wire, material: rubber, "
            f"rayleigh: {{beta: {case.beta}}}, frames: {{{frames}}}{model}}}"
        )
    names = [f"rod{n}" for n in range(len(case.rods))]
    if len(names) > 1:
        contacts.append(f"  rods: {{between: [{', '.join(names)}], friction: {case.friction}}}")
    if case.itself:
        contacts += [f"  {name}_itself: {{between: {name}, friction: {case.friction}}}" for name in names]
    if case.ground:
        contacts.append(f"  ground: {{between: [[{', '.join(names)}], floor], friction: {case.friction}}}")
    parts = {"bodies": bodies, "joints": joints, "rods": rods, "contacts": contacts}
    if case.ground:
        parts["surfaces"] = ["  floor: {type: plane}"]
    return "\n".join([
        "pliant: 1", f"world: {{gravity: [0, 0, {-case.gravity}]}}", "materials:",
        f"  rubber: {{density: {case.density}, youngs_modulus: {case.youngs_modulus}, poissons_ratio: {case.poissons_ratio}}}",
        "sections:", f"  wire: {{shape: circle, radius: {case.radius}}}",
        *(line for name, lines in parts.items() if lines for line in (f"{name}:", *lines)),
    ])  # fmt: skip


@cache
def rods_equations(case: RodCase, kind: str, elements: int) -> pliant.Equations:
    """Equations of the case, run once, so that everything is compiled. Without a kind the rods have the default model."""
    model = f", model: {{kind: {kind}, elements: {elements}}}" if kind else ""
    eqs = pliant.derive(pliant.load_text(rods_text(case, model)))
    pliant.simulate(eqs, 1e-3)
    return eqs


def our_run(case: RodCase, *, kind: str = "", elements: int = 0, **options: Any) -> Outcome:
    """The case in this package."""
    eqs = rods_equations(case, kind, elements)
    begin = time.process_time()
    run = pliant.simulate(eqs, case.until, save_at=case.times, **options)
    seconds = time.process_time() - begin
    frames = ["", *(f".p{i}" for i in range(1, case.points - 1)), ".tip"]
    places = np.array([[run[f"rod{n}{frame}"].position for frame in frames] for n in range(len(case.rods))])
    return Outcome(places.transpose(2, 0, 1, 3)[-len(case.times) :], seconds)


def balls_text(case: BallCase) -> str:
    """The model file of a pile."""
    ball = f"{{mass: {case.mass}, shape: {{type: sphere, radius: {case.radius}}}}}"
    starts = [
        ", ".join(f"{axis}: {{initial: {x!r}}}" for axis, x in zip("xyz", p, strict=True)) for p in case.places.tolist()
    ]
    walls = [(f"w{i}", normal, place) for i, (normal, place) in enumerate(case.walls)]
    return "\n".join([
        "pliant: 1", "bodies:", *(f"  b{i}: {ball}" for i in range(case.count)),
        "joints:", *(f"  f{i}: {{type: free, child: b{i}, {start}}}" for i, start in enumerate(starts)),
        "surfaces:", *(f"  {name}: {{type: plane, normal: {list(n)}, position: {list(p)}}}" for name, n, p in walls),
        "contacts:", f"  touch: {{between: all, friction: {case.friction}, stiffness: {case.stiffness}}}",
    ])  # fmt: skip


@cache
def balls_equations(case: BallCase) -> pliant.Equations:
    """Equations of a pile, evaluated once."""
    eqs = pliant.derive(pliant.load_text(balls_text(case)))
    pliant.simulate(eqs, 1e-3)
    return eqs


def our_balls_run(case: BallCase, **options: Any) -> dict[str, float]:
    """A pile in this package: time, contacts at the end, mean height and largest overlap, relative to the radius."""
    eqs = balls_equations(case)
    begin = time.process_time()
    run = pliant.simulate(eqs, case.until, save_at=[case.until], **options)
    seconds = time.process_time() - begin
    contacts = eqs.contacts(run.q[-1], run.v[-1])
    height = float(run.q[-1].reshape(case.count, 7)[:, 2].mean())
    return {
        "seconds": seconds,
        "contacts": len(contacts),
        "height": height / case.radius,
        "overlap": -float(contacts.gap.min()) / case.radius,
        "steps": run.timing.steps,
    }


# -- side by side ------------------------------------------------------------------------------------------------------


def path_error(case: RodCase, run: Outcome, reference: Outcome) -> float:
    """Largest distance of points at any time."""
    return float(np.linalg.norm(run.places - reference.places, axis=-1).max()) / case.length


def end_error(case: RodCase, run: Outcome, reference: Outcome) -> float:
    """Largest distance of points at the end."""
    return float(np.linalg.norm(run.places[-1] - reference.places[-1], axis=-1).max()) / case.length


def height_error(case: RodCase, run: Outcome, reference: Outcome) -> float:
    """Largest difference of the height of the centre of mass at any time."""
    heights = [np.trapezoid(outcome.places[..., 2], axis=-1) / (case.points - 1) for outcome in (run, reference)]
    return float(np.abs(heights[0] - heights[1]).max()) / case.length


def settings(**choices: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """All combinations."""
    return tuple(dict(zip(choices, values, strict=True)) for values in product(*choices.values()))


def elastica_settings(
    elements: tuple[int, ...], steps: tuple[float, ...], stiffness: float, damping: float = 0.0
) -> tuple[dict[str, Any], ...]:
    """Settings of PyElastica: stiffness [N/m] and damping [N s/m] of contacts are chosen by its user."""
    return settings(elements=elements, step=steps, stiffness=(stiffness,), damping=(damping,))


def comparisons() -> Iterator[Comparison]:
    """The cases with rods."""
    fine: dict[str, Any] = {"kind": "finite_element", "elements": 40, "rtol": 1e-6}
    ours = ({}, *settings(kind=("finite_element", "cosserat"), elements=(8, 12, 20), rtol=(1e-3, 1e-2)))
    mujoco = settings(elements=(10, 20, 40), step=(5e-4, 2e-4, 1e-4), reference=("0.002 1",), solver=("Newton", "CG"))
    steps = (2e-4, 1e-4, 5e-5, 2.5e-5)
    for case, measure in ((COLLIDE, path_error), (ACROSS, end_error)):
        yield Comparison(case, partial(measure, case), 0.01, partial(our_run, case, **fine), ours, {
            "PyElastica": (elastica_run, elastica_settings((20, 40), steps, 1e4)),
            "MuJoCo": (mujoco_rods_run, mujoco),
        })  # fmt: skip
    two_hundred = settings(kind=("cosserat", "finite_element"), elements=(200,))
    yield Comparison(
        COIL, partial(height_error, COIL), 0.05, partial(our_run, COIL, kind="cosserat", elements=200, rtol=1e-4),
        (*two_hundred, *settings(kind=("cosserat",), elements=(200,), rtol=(1e-2,))), {
            "PyElastica": (elastica_run, elastica_settings((200,), (2e-4, 1e-4, 5e-5), 1e3, damping=0.1)),
            "MuJoCo": (mujoco_rods_run, settings(elements=(200,), step=(5e-4, 2e-4), reference=("0.002 1",), solver=("CG",))),
        },
    )  # fmt: skip


def tried(run: Callable[..., Outcome], comparison: Comparison, setting: dict[str, Any], reference: Outcome) -> Trial:
    """A setting that has been run once."""
    again = partial(run, comparison.case, **setting)
    outcome = again()
    error = np.inf if outcome.failed else comparison.error(outcome, reference)
    words = ", ".join(f"{name} {value}" for name, value in setting.items()) or "defaults"
    report(f"  {run.__module__}.{run.__name__}: {words}: error {error:.2%}, {outcome.seconds:.2f} s")
    return Trial(words, error, outcome.seconds, lambda: again().seconds)


def quickest(trials: list[Trial], accuracy: float) -> Trial:
    """The fastest trial within the accuracy, or else the most accurate one."""
    good = [trial for trial in trials if trial.error <= accuracy]
    return min(good, key=lambda trial: trial.seconds) if good else min(trials, key=lambda trial: trial.error)


def compare(comparison: Comparison, rounds: int) -> list[dict[str, Any]]:
    """A row per peer."""
    case = comparison.case
    report(case.name)
    reference = comparison.reference()
    mine = [tried(our_run, comparison, setting, reference) for setting in comparison.ours]
    chosen = {"ours": mine[0], "best": quickest(mine, comparison.accuracy)}
    for peer, (run, choices) in comparison.peers.items():
        run(replace(case, until=case.until / 1000, samples=1), **choices[0])  # compiles the case
        chosen[peer] = quickest(
            [tried(run, comparison, setting, reference) for setting in choices], comparison.accuracy
        )
    seconds = {name: trial.seconds for name, trial in chosen.items()}
    for _ in range(rounds - 1):
        for name, trial in chosen.items():
            if seconds[name] < LONG:
                seconds[name] = min(seconds[name], trial.again())
    return [
        {
            "case": case.name, "peer": peer, "ours_s": seconds["ours"], "peer_s": seconds[peer],
            "ratio": seconds[peer] / seconds["ours"], "best_s": seconds["best"], "best_ratio": seconds[peer] / seconds["best"],
            "ours_error": chosen["ours"].error, "best_error": chosen["best"].error, "peer_error": chosen[peer].error,
            "ours": chosen["ours"].setting, "best": chosen["best"].setting, "peer_setting": chosen[peer].setting,
        }
        for peer in comparison.peers
    ]  # fmt: skip


def piles(counts: tuple[int, ...], rounds: int) -> list[dict[str, Any]]:
    """A row per number of balls."""
    rows = []
    for count in counts:
        case = BallCase(count)
        report(case.name)
        ours = repeated(partial(our_balls_run, case), rounds)
        report(f"  ours: {ours}")
        theirs = {}
        for setting in settings(step=(2e-3, 1e-3), reference=("0.02 1", "0.004 1"), solver=("Newton", "CG")):
            words = ", ".join(f"{name} {value}" for name, value in setting.items())
            theirs[words] = repeated(partial(mujoco_balls_run, case, **setting), rounds)
            report(f"  MuJoCo: {words}: {theirs[words]}")
        words, peer = pick_pile(theirs, ours)
        rows.append({
            "case": case.name, "peer": "MuJoCo", "ours_s": ours["seconds"], "peer_s": peer["seconds"],
            "ratio": peer["seconds"] / ours["seconds"], "peer_setting": words, "contacts": ours["contacts"],
            "peer_contacts": peer["contacts"], "ours_overlap": ours["overlap"], "peer_overlap": peer["overlap"],
            "peer_error": abs(peer["height"] / ours["height"] - 1), "steps": ours["steps"],
        })  # fmt: skip
    return rows


def pick_pile(theirs: dict[str, dict[str, float]], ours: dict[str, float]) -> tuple[str, dict[str, float]]:
    """The fastest of MuJoCo's runs with a pile as high as ours and no more overlap; else the one with the closest height."""
    off = {words: abs(run["height"] / ours["height"] - 1) for words, run in theirs.items()}
    good = [words for words in theirs if off[words] < PILE_HEIGHT and theirs[words]["overlap"] < PILE_OVERLAP]
    words = min(good, key=lambda word: theirs[word]["seconds"]) if good else min(off, key=lambda word: off[word])
    return words, theirs[words]


def repeated(run: Callable[[], dict[str, float]], rounds: int) -> dict[str, float]:
    """The fastest of several runs; long ones are run once."""
    found = [run()]
    while len(found) < rounds and found[0]["seconds"] < LONG:
        found.append(run())
    return min(found, key=lambda figures: figures["seconds"])


def growth(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Exponents of the time over the number of contacts, by least squares in logarithms."""
    sides = {"ours": ("contacts", "ours_s"), "MuJoCo": ("peer_contacts", "peer_s")}
    return {
        name: float(np.polyfit(np.log([row[x] for row in rows]), np.log([row[y] for row in rows]), 1)[0])
        for name, (x, y) in sides.items()
    }


def measure(rounds: int, only: str) -> dict[str, Any]:
    """All figures."""
    rows = [row for c in comparisons() if only in c.case.name for row in compare(c, rounds)]
    counts = tuple(count for count in BALLS if only in BallCase(count).name)
    heaps = piles(counts, rounds)
    figures: dict[str, Any] = {"rows": [*rows, *heaps], "machine": machine(("numpy", "casadi", "pyelastica", "mujoco"))}
    if len(heaps) > 1:
        figures["growth"] = growth(heaps)
    return figures


def table(figures: dict[str, Any]) -> str:
    """Print the figures."""
    lines = [f"{'':<28}{'time [s]':>25}{'ratio':>17}{'error':>22}"]
    lines.append(
        f"{'case':<17}{'peer':<11}"
        + "".join(f"{x:>8}" for x in ("ours", "best", "peer", "ours", "best", "ours", "best", "peer"))
    )
    for row in figures["rows"]:
        seconds = "".join(_cell(row.get(key), "{:.3g}") for key in ("ours_s", "best_s", "peer_s"))
        ratios = "".join(_cell(row.get(key), "{:.2f}") for key in ("ratio", "best_ratio"))
        errors = "".join(_cell(row.get(key), "{:.2%}") for key in ("ours_error", "best_error", "peer_error"))
        lines.append(f"{row['case']:<17}{row['peer']:<11}{seconds}{ratios}{errors}")
    heaps = [row for row in figures["rows"] if "contacts" in row]
    if heaps:
        lines += [
            "",
            f"{'':<17}{'contacts':>16}{'largest overlap / radius':>28}",
            f"{'pile':<17}" + f"{'ours':>8}{'MuJoCo':>8}" + f"{'ours':>20}{'MuJoCo':>8}",
        ]
        lines += [
            f"{row['case']:<17}{row['contacts']:>8}{row['peer_contacts']:>8}{row['ours_overlap']:>20.2%}{row['peer_overlap']:>8.2%}"
            for row in heaps
        ]
    if "growth" in figures:
        lines += [
            "",
            "time grows with contacts to the power of "
            + ", ".join(f"{x:.2f} ({name})" for name, x in figures["growth"].items()),
        ]
    best = {(row["case"], row["best"]) for row in figures["rows"] if "best" in row}
    lines += ["", *(f"best of ours, {case}: {words}" for case, words in sorted(best))]
    lines += [f"{row['peer']}, {row['case']}: {row['peer_setting']}" for row in figures["rows"]]
    return "\n".join([*lines, "", ", ".join(f"{k} {v}" for k, v in figures["machine"].items())])


def _cell(value: float | None, form: str) -> str:
    return f"{'-' if value is None else form.format(value):>8}"


def report(text: str) -> None:
    """Print the progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Command line."""
    os.environ.setdefault("PLIANT_COMPILE", "wait")  # what is measured is compiled code
    os.environ.setdefault("PLIANT_THREADS", "1")
    warnings.filterwarnings(
        "ignore", message=".*elements where .* were requested.*"
    )  # ends at the places that are compared
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each of the chosen settings is timed")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name holds this text")
    options = parser.parse_args()
    figures = measure(options.rounds, options.only)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
