"""Make the pictures and tables of docs/validation.md again.

    python docs/make_validation.py [PART ...] [--data FOLDER] [--rates FILE] [--findings FILE]

`cases` is the table of all cases of `pliant validate`, from what its `--json` printed to FILE (computed again without it);
`convergence` holds every rod model against the continuous rod; `recording` holds the pneumatic module against its recording
(`stiff_flop_free.csv` in FOLDER, in $PLIANT_DATA, or in ../shared/data beside the checkout), before and after a fit, and
`published_sets` with both published sets of parameters; `sleeve` the
fabric sleeve against its own (`sleeve_recording.csv`); `plates` a grid of beams against a plate. Arms of circular arcs:
`arc_cases` and `arm_experiments` are published ones, `arc_models` the same arm in other rod models, `arc_circles` one rod under
moments and weight, `cog_fit` the constants of `pcc_cog`, `arc_cost` times and energies that `benchmarks/arm_rate.py --json` printed
to FILE (measured again without it). Tables are printed and put between their marks in the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from validation_arcs import arc_cases, arc_circles, arc_cost, arc_models, cog_fit
from validation_arm import arm_experiments
from validation_meshes import plates
from validation_sleeve import sleeve
from validation_tentacle import tentacle_steps

import pliant
from pliant import plot
from pliant.identify.compare import compare
from pliant.identify.fit import cycles, fit
from pliant.identify.recording import drive
from pliant.language.recording import read_recording
from pliant.robot.rod_switch import with_rod_model
from pliant.show.plot.style import COLOURS, style
from pliant.validation.case import catalogue, run_cases

HERE = Path(__file__).parent
PAGE, PICTURES = HERE / "validation.md", HERE / "pictures"
SIZES, ORDERS = (3, 6, 12, 24, 48), (1, 2, 3, 4, 5)
MAPS = (
    ("pcs", {"map": "exponential"}, "pcs", 2),
    ("pcs", {"map": "published"}, "pcs, published map", 1),
    ("cosserat", {"map": "logarithm"}, "cosserat", 2),
    ("cosserat", {"map": "midpoint"}, "cosserat, midpoint", 2),
    ("cosserat", {"map": "published"}, "cosserat, published map", 1),
    ("pseudo_rigid", {"map": "midpoint"}, "pseudo_rigid", 1),
    ("pseudo_rigid", {"map": "published"}, "pseudo_rigid, published map", 1),
    ("finite_element", {}, "finite_element", 2),  # 4 for loads at its nodes, but its weight is lumped there
)
POLYNOMIALS = (
    ({}, "polynomial"),
    ({"orientation": "three"}, "polynomial, three polynomials"),
    ({"map": "published"}, "polynomial, published"),
)
# of the module: where it rests in the recording [s], and what is compared and fitted
RESTS = (8.70, 15.15, 21.70, 26.20, 31.10, 35.10, 39.20, 44.60, 50.90)
KINDS = ("pcs:3", "cosserat:3", "pseudo_rigid:3", "polynomial:3")
WINDOW = (7.0, 54.0)
FITTED = ("youngs_modulus", "damping_time", "chamber_offset")


def convergence() -> str:
    """Errors of every rod model against the continuous rod, drawn, and as a table."""
    sys.path.insert(0, str(HERE.parent / "tests" / "validation"))
    from rod_cases import LOADS, arm, continuous_arm, static

    exact = continuous_arm(0.5)

    def error(word: str, options: dict[str, str]) -> float:
        eqs = arm(word, **options)
        position = eqs.frame("arm.tip", static(eqs, {}, LOADS), parameters=LOADS).position
        return float(np.linalg.norm(position - exact))

    rows = [
        "| rod model | " + " | ".join(map(str, SIZES)) + " | order at the end | in theory |",
        "|---|" + "---|" * (len(SIZES) + 2),
    ]
    lines = {}
    for kind, options, words, order in MAPS:
        errors = np.array([error(f"{kind}:{n}", options) for n in SIZES])
        lines[words] = errors
        last = float(np.log2(errors[-2] / errors[-1]))
        rows.append(f"| {words} | " + " | ".join(f"{1e3 * e:.2g}" for e in errors) + f" | {last:.2f} | {order} |")
    more = ["| rod model | " + " | ".join(f"order {n}" for n in ORDERS) + " |", "|---|" + "---|" * len(ORDERS)]
    curves = {}
    for options, words in POLYNOMIALS:
        curves[words] = np.array([error(f"polynomial:{n}", options) for n in ORDERS])
        more.append(f"| {words} | " + " | ".join(f"{1e3 * e:.2g}" for e in curves[words]) + " |")
    draw(lines, curves)
    return "\n".join([*rows, "", *more])


def draw(lines: dict[str, np.ndarray], curves: dict[str, np.ndarray]) -> None:
    """Errors over the number of elements, and over the order of the polynomials."""
    with style() as plt:
        _, (left, right) = plt.subplots(1, 2, figsize=(7.1, 3.2), layout="constrained", sharey=True)
        for ax, series, x in ((left, lines, SIZES), (right, curves, ORDERS)):
            for k, (words, errors) in enumerate(series.items()):
                ax.plot(
                    x, 1e3 * errors, marker="os^vD<>P"[k], color=COLOURS[k % len(COLOURS)], label=words, markersize=3.5
                )
            ax.set_yscale("log")
            ax.legend(loc="best", fontsize=6)
        left.set_xscale("log")
        left.set_xticks(SIZES, SIZES)
        left.minorticks_off()
        left.set_xlabel("elements")
        right.set_xticks(ORDERS)
        right.set_xlabel("order of the polynomials")
        left.set_ylabel("error of the tip [mm]")
        plot.save(left, PICTURES / "convergence.png")


def recording(folder: Path) -> str:
    """The module against its recording: unfitted, and fitted on odd cycles and tested on even ones."""
    file = folder / "stiff_flop_free.csv"
    if not file.is_file():
        sys.exit(f"there is no recording at {file}; say where it is with --data or PLIANT_DATA")
    measured, robot = read_recording(file), pliant.load("stiff_flop")
    before = compare(pliant.derive(robot), {"arm": KINDS}, measured, begin=WINDOW[0], end=WINDOW[1], rest_at=RESTS)
    plot.save(plot.compare(before), PICTURES / "stiff_flop_compare.png")
    rows = [
        "| rod model | unfitted: at rest | in motion | fitted: at rest | in motion | on held-out cycles | "
        "E [kPa] | damping time [ms] | offset [mm] |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in before:
        eqs = pliant.derive(with_rod_model(robot, "arm", row.rod))
        _, driven = drive(eqs, measured)
        odd = cycles(measured, driven) % 2 == 1
        found = fit(eqs, FITTED, measured, use=odd, begin=WINDOW[0], end=WINDOW[1])
        fitted = pliant.load("stiff_flop", set=dict(found.parameters))
        (after,) = compare(
            pliant.derive(fitted), {"arm": [row.rod]}, measured, begin=WINDOW[0], end=WINDOW[1], rest_at=RESTS
        )
        E, damping, offset = found.parameters.values()
        cells = (
            row.static_mean_error_mm,
            row.mean_error_mm,
            after.static_mean_error_mm,
            after.mean_error_mm,
            found.after_test_mm,
        )
        rows.append(
            f"| `{row.rod}` | "
            + " | ".join(f"{x:.2f} mm" for x in cells)
            + f" | {E / 1e3:.0f} | {1e3 * damping:.2g} | {1e3 * offset:.1f} |"
        )
        print(rows[-1], flush=True)
    return "\n".join(rows)


SETS = (
    ("stiff_flop", "neo_hookean", "the authors' program: 44 mm, 120 kPa, pairs at +-30 degrees"),
    ("stiff_flop", "mean_stretch", "the same"),
    ("stiff_flop", "linear", "the same"),
    ("stiff_flop@paper_table", "mean_stretch", "the paper's table: 50 mm, 205 kPa, pairs at +-20 degrees"),
    ("stiff_flop@paper_table", "neo_hookean", "the same"),
    ("stiff_flop@paper_table", "linear", "the same"),
)
"""Published sets of the module's parameters: the model, the law of its rod, and words."""


def published_sets(folder: Path) -> str:
    """The module against its recording with both published sets of parameters, nothing fitted."""
    measured = read_recording(folder / "stiff_flop_free.csv")
    rows = ["| parameters | model | law | at rest | in motion |", "|---|---|---|---|---|"]
    for name, law, words in SETS:
        robot = pliant.load(name)
        robot = robot.replace(rods={"arm": robot.rods["arm"].model_copy(update={"law": law})})
        (found,) = compare(
            pliant.derive(robot), {"arm": ["pcs:3"]}, measured, begin=WINDOW[0], end=WINDOW[1], rest_at=RESTS
        )
        errors = f"{found.static_mean_error_mm:.2f} mm | {found.mean_error_mm:.2f} mm"
        rows.append(f"| {words} | `{name}` | `{law}` | {errors} |")
    return "\n".join(rows)


def cases(folder: Path, findings: Path | None) -> str:
    """All cases of `pliant validate` with their errors."""
    if findings is None:
        found = run_cases(catalogue().values(), folder).as_dict()
    else:
        found = json.loads(findings.read_text(encoding="utf-8"))
    rows = ["| case | | error | tolerance |", "|---|---|---|---|"]
    theme = ""
    for case in found["cases"]:
        if case["theme"] != theme:
            theme = case["theme"]
            rows.append(f"| **{theme}** | | | |")
        unit = f" {case['unit']}" if case["measure"] == "absolute" and case["unit"] else ""
        cells = (f"`{case['name']}`", case["title"], f"{case['error']:.2g}{unit}", f"{case['tolerance']:.3g}{unit}")
        rows.append(f"| {' | '.join(cells)} |")
    failed = [case["name"] for case in found["cases"] if not case["ok"]] + [case["name"] for case in found["not_run"]]
    if failed:
        sys.exit(f"failed or not run: {', '.join(failed)}")
    return "\n".join(rows)


def put(name: str, text: str, target: Path = PAGE) -> None:
    """Put a table between its marks in the page."""
    page = target.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not marks.search(page):
        sys.exit(f"{target} has no place for '{name}'")
    target.write_text(marks.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page), encoding="utf-8")
    print(text)


def main() -> None:
    """Make the requested parts, or all."""
    beside = HERE.parents[1] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("PLIANT_DATA", beside)), help="of the recording"
    )
    parser.add_argument("--findings", type=Path, help="what pliant validate --json printed")
    parser.add_argument("--rates", type=Path, help="what benchmarks/arm_rate.py --json printed")
    parts: dict[str, Callable[[argparse.Namespace], str]] = {
        "cases": lambda given: cases(given.data, given.findings),
        "convergence": lambda given: convergence(),
        "recording": lambda given: recording(given.data),
        "published_sets": lambda given: published_sets(given.data),
        "tentacle": lambda given: tentacle_steps(given.data),
        "sleeve": lambda given: sleeve(given.data),
        "plates": lambda given: plates(),
        "arc_circles": lambda given: arc_circles(),
        "arc_cases": lambda given: arc_cases(),
        "arm_experiments": lambda given: arm_experiments(),
        "arc_models": lambda given: arc_models(),
        "cog_fit": lambda given: cog_fit(),
        "arc_cost": lambda given: arc_cost(given.rates),
    }
    parser.add_argument("parts", nargs="*", help=f"{', '.join(parts)}; all by default")
    given = parser.parse_args()
    for part in given.parts or parts:
        if part not in parts:
            parser.error(f"unknown part '{part}'; the parts: {', '.join(parts)}")
        put(part, parts[part](given))


if __name__ == "__main__":
    main()
