"""The three published experiments of the pneumatic arm for docs/validation.md, in the form of the publication's figures.

Used by make_validation.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant import plot
from pliant.robot.rod_switch import with_rod_model
from pliant.show.plot.style import COLOURS, style

PICTURES = Path(__file__).parent / "pictures"
EXPERIMENTS = {"experiment_1": 9.5, "experiment_2": 7.5, "experiment_3": 8.0}
"""Published experiments and how long they last [s]."""
SECTIONS = (1, 2, 3)
AXES = {"X": COLOURS[1], "Y": "black", "Z": COLOURS[2]}
"""Colours as published: blue, black and red."""


def arm_experiments() -> str:
    """The experiments of the bundled arm as `pcc` and `pcc_cog`, drawn; planes, bends and muscles at the end as a table."""
    rows = [
        "| experiment | largest \\|y\\| of a tip [mm] | bends at the end [deg] | planes 1 to 2, 2 to 3, 1 to 3 [deg] | "
        "longest muscle [mm] | shortest [mm] | tip without stops [mm] | `pcc_cog` from `pcc`: largest, mean [mm] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    drawn = {}
    for experiment in EXPERIMENTS:
        run, lumped, free = three_runs(experiment)
        drawn[experiment] = run, lumped
        rows.append(row(experiment, run, lumped, free))
    draw(drawn)
    return "\n".join(rows)


def three_runs(experiment: str) -> tuple[Any, Any, Any]:
    """An experiment as `pcc` and as `pcc_cog`, and as `pcc` without stops."""
    kinds = (("pcc", True), ("pcc_cog", True), ("pcc", False))
    run, lumped, free = (simulated(experiment, EXPERIMENTS[experiment], *kind) for kind in kinds)
    return run, lumped, free


def simulated(experiment: str, until: float, kind: str, stops: bool) -> Any:
    """An experiment with that model of the sections, with or without the stops of the muscles."""
    spec = pliant.load(f"three_section_arm@{experiment}", set={} if stops else {"stop_stiffness": 0})
    for section in SECTIONS:
        spec = with_rod_model(spec, f"s{section}", kind)
    run = pliant.simulate(
        pliant.derive(spec), until, save_every=0.01, rtol=1e-6
    )  # digits of the table do not depend on steps
    assert run.status == "completed", run.message
    return run


def tips(run: Any) -> np.ndarray:
    """Tips of the sections, 3 x times x 3 [mm]."""
    return np.array([1e3 * run[f"s{section}.tip"].position for section in SECTIONS])


def row(experiment: str, run: Any, lumped: Any, free: Any) -> str:
    """A row of the table."""
    places = tips(run)
    off = float(np.abs(places[..., 1]).max())
    bends = ", ".join(f"{np.degrees(run[f'angle_{k}'].values[-1]):.0f}" for k in SECTIONS)
    n = []
    for k in SECTIONS:
        plane = float(run[f"plane_{k}"].values[-1])
        n.append(run[f"s{k}"].rotation[-1] @ (-np.sin(plane), np.cos(plane), 0))
    planes = ", ".join(f"{np.degrees(np.arccos(min(1, abs(n[a] @ n[b])))):.0f}" for a, b in ((0, 1), (1, 2), (0, 2)))
    muscles = 1e3 * run.q
    apart = np.linalg.norm(tips(lumped) - places, axis=2)
    moved = np.linalg.norm(tips(free)[2, -1] - places[2, -1])
    numbers = f"{muscles.max():.1f} | {muscles.min():.1f} | {moved:.1f} from there"
    shown = "below 1e-9" if off < 1e-9 else f"{off:.0f}"
    return f"| {experiment[-1]} | {shown} | {bends} | {planes} | {numbers} | {apart.max():.1f}, {apart.mean():.2f} |"


def draw(drawn: dict[str, tuple[Any, Any]]) -> None:
    """As published: coordinates of the three tips over time, integral dynamics dashed and lumped ones solid, differences below."""
    with style() as plt:
        _, grid = plt.subplots(4, 3, figsize=(7.1, 7.2), layout="constrained", sharex="col", sharey="row")
        for column, (experiment, (run, lumped)) in enumerate(drawn.items()):
            exact, other = tips(run), tips(lumped)
            apart = np.linalg.norm(exact - other, axis=2)
            for k, section in enumerate(SECTIONS):
                ax = grid[k, column]
                for axis, (letter, colour) in enumerate(AXES.items()):
                    ax.plot(run.time, other[k, :, axis], color=colour, linestyle="-", linewidth=0.9, label=letter)
                    ax.plot(run.time, exact[k, :, axis], color=colour, linestyle=(0, (4, 3)), linewidth=1.6, alpha=0.6)
                if column == 0:
                    ax.set_ylabel(f"tip of section {section} [mm]")
            below = grid[3, column]
            below.plot(run.time, apart.max(axis=0), color=COLOURS[2], linestyle="-", label="largest of the tips")
            below.plot(run.time, apart.mean(axis=0), color=COLOURS[1], linestyle=(0, (4, 3)), label="mean of the tips")
            below.set_xlabel("time [s]")
            grid[0, column].set_title(experiment.replace("_", " "))
        grid[3, 0].set_ylabel("lumped from exact [mm]")
        handles, words = grid[0, 0].get_legend_handles_labels()
        looks = [
            plt.Line2D([], [], color="grey", linestyle="-", linewidth=0.9),
            plt.Line2D([], [], color="grey", linestyle=(0, (4, 3)), linewidth=1.6, alpha=0.6),
        ]
        grid[0, 0].figure.legend(
            [*handles, *looks], [*words, "pcc_cog (lumped)", "pcc (exact mass)"], ncols=5, loc="outside upper center"
        )
        grid[3, 1].legend(loc="upper right")
        plot.save(grid, PICTURES / "three_section_tips.png")
