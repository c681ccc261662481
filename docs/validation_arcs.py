"""Arms of circular arcs for docs/validation.md: published cases, other rod models of the same arms, cost, and energies.

Used by make_validation.py. Every function draws its picture and returns its tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from validation_arm import EXPERIMENTS

import pliant
from pliant import plot
from pliant.robot.rod_switch import with_rod_model
from pliant.show.plot.style import COLOURS, DASHES, GREY, style
from pliant.show.scene import make_scene

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE.parent / "tests" / "validation"))
from arm_cases import PRESSURES, STIFF, pneumatic_arm  # noqa: E402

PICTURES = HERE / "pictures"
BENCHMARK = HERE.parent / "benchmarks" / "arm_rate.py"


def small(millimetres: Any) -> str:
    """A distance; what is only rounding is called so, because its digits differ between machines."""
    return "below 1e-9" if millimetres < 1e-9 else f"{millimetres:.1g}"


# -- two sections: the published cases ---------------------------------------------------------------------------------

CASES = {"cc_arm_2": "free fall", "cc_arm_2@in_plane": "in plane", "cc_arm_2@out_of_plane": "out of plane"}
VIEWS = (("x", "z"), ("x", "z"), ("x", "y"))
INTERVALS = (0.05, 0.067, 0.067)
"""Of the published time-lapse pictures [s]."""
UNTIL, NEAR, NEARER = 4.0, 0.02, 0.002
"""How long the cases are simulated [s], and shares of the tip's way within which it counts as settled."""
READINGS = (
    ("K / L0, c (the bundled arm)", {}),
    ("K / L0, c / L0 (loads as printed, masses M)", {"damping": 0.05 / 0.24}),
    ("K, c (all as printed, masses M / L0 as well)", {"bending": 0.25 * 0.24}),
    ("K, c / L0", {"bending": 0.25 * 0.24, "damping": 0.05 / 0.24}),
)
"""Bending stiffness and damping of the section in terms of the printed K and c, and the parameters that differ."""


def arc_cases() -> str:
    """The three cases of the two-section arm, drawn; when they settle, and what other readings of the numbers would do."""
    runs = {}
    rows = [
        "| case | within 2 % after | within 0.2 % after | passes of rest | curvatures at rest [1/m] | planes at rest [deg] |",
        "|---|---|---|---|---|---|",
    ]
    for name, words in CASES.items():
        eqs = pliant.derive(name)
        run, rest, seconds, swings = fall(eqs, {})
        runs[words] = (eqs, run)
        out = rest.outputs
        bends = f"{1 / out['radius_1']:.2f}, {1 / out['radius_2']:.2f}"
        planes = ", ".join(f"{np.degrees(out[f'plane_{i}']):.0f}" for i in (1, 2))
        rows.append(f"| {words} | {settled(seconds)} | {swings} | {bends} | {planes} |")
    rows += [
        "",
        "| free fall, read as | within 2 % after | within 0.2 % after | passes of rest | first curvature at rest [1/m] |",
        "|---|---|---|---|---|",
    ]
    eqs = runs["free fall"][0]
    for words, parameters in READINGS:
        _, rest, seconds, swings = fall(eqs, parameters)
        rows.append(f"| {words} | {settled(seconds)} | {swings} | {1 / rest.outputs['radius_1']:.2f} |")
    draw_cases(runs)
    return "\n".join(rows)


def settled(seconds: tuple[float, float]) -> str:
    """Two cells."""
    return " | ".join(f"{x:.2f} s" for x in seconds)


def fall(eqs: Any, parameters: dict[str, float]) -> tuple[Any, Any, tuple[float, float], int]:
    """The motion, where it comes to rest, when the tip stays within 2 % and 0.2 % of its way, and how often the curvature of
    the first section passed its rest until it stays within 0.2 %."""
    run = pliant.simulate(eqs, UNTIL, save_every=0.002, parameters=parameters, rtol=1e-8)
    rest = pliant.equilibrium(eqs, start=run.q[-1], parameters=parameters)
    assert run.status == "completed", run.message
    assert rest.status == "converged", rest.message
    away = np.linalg.norm(run["second.tip"].position - rest.frames["second.tip"].position, axis=1)
    last = [int(np.flatnonzero(away > near * away[0])[-1]) for near in (NEAR, NEARER)]
    assert last[1] < len(away) - 1, "it does not settle in the time simulated"
    names = ("first.bend_x", "first.bend_y")
    bend = np.column_stack([run[name].values - rest.coordinates[name] for name in names])
    along = bend @ bend[0]
    far = along[np.abs(along) > NEARER * np.abs(along[0])]
    seconds = float(run.time[last[0] + 1]), float(run.time[last[1] + 1])
    return run, rest, seconds, int(np.count_nonzero(np.diff(np.sign(far))))


def draw_cases(runs: dict[str, Any]) -> None:
    """Time-lapse, curvatures and planes of bending: a column for each case."""
    with style() as plt:
        _, grid = plt.subplots(3, 3, figsize=(7.1, 6.0), layout="constrained")
        for column, (words, (eqs, run)) in enumerate(runs.items()):
            film, curvature, plane = grid[:, column]
            i, j = ("xyz".index(letter) for letter in VIEWS[column])
            times = np.arange(0, 1.2, INTERVALS[column])
            for k, t in enumerate(times):
                scene = make_scene(eqs, run.q[int(np.searchsorted(run.time, t - 1e-9))], None)
                for number, rod in enumerate(scene.rods):
                    shade = 0.15 + 0.85 * (k / len(times)) ** 2
                    points = 1e3 * np.asarray(rod.points)
                    film.plot(
                        points[:, i], points[:, j], color=COLOURS[number + 1], alpha=shade, linewidth=0.9, linestyle="-"
                    )
            film.set_aspect("equal", adjustable="datalim")
            film.set_xlabel(f"{VIEWS[column][0]} [mm]")
            film.set_ylabel(f"{VIEWS[column][1]} [mm]")
            film.set_title(f"{words}, every {1e3 * INTERVALS[column]:.0f} ms")
            for number, rod_name in enumerate(("first", "second")):
                x, y = (np.asarray(run[f"{rod_name}.bend_{axis}"].values) for axis in "xy")
                look = {"color": COLOURS[number + 1], "linestyle": DASHES[number], "label": f"{rod_name} section"}
                curvature.plot(run.time, np.hypot(x, y), **look)
                plane.plot(run.time, np.degrees(np.unwrap(run[f"plane_{number + 1}"])), **look)
            for ax, label in ((curvature, "curvature [1/m]"), (plane, "plane of bending [deg]")):
                ax.set_xlim(0, 2)
                ax.set_xlabel("time [s]")
                ax.set_ylabel(label)
            if words != "out of plane":
                plane.set_ylim(-180, 180)
                plane.set_yticks((-180, -90, 0, 90, 180))
            else:
                closer = plane.inset_axes((0.4, 0.28, 0.58, 0.42))
                for number, dashes in enumerate(DASHES[:2]):
                    angles = np.degrees(np.unwrap(run[f"plane_{number + 1}"]))
                    closer.plot(
                        run.time, angles - angles[-1], color=COLOURS[number + 1], linestyle=dashes, linewidth=0.9
                    )
                closer.set_xlim(0, 1)
                closer.set_ylim(-1.5, 1.5)
                closer.tick_params(labelsize=6)
                closer.set_title("from rest [deg]", fontsize=6, pad=2)
        grid[1, 0].legend(loc="center right")
        plot.save(grid, PICTURES / "cc_arm_2_cases.png")


# -- three sections: the published experiments in other rod models -----------------------------------------------------

MODELS = (
    ("pcc", 1.0, ""),
    ("pcc_cog", 1.0, ""),
    ("cosserat:5", 1.0, ""),
    ("cosserat:5", STIFF, ", stiff in shear and twist"),
    ("pcc:4", 1.0, ""),
)


def arc_models() -> str:
    """The experiments as several rod models: tips drawn, and how far they are from that of `pcc`; the same at rest."""
    rows = ["| experiment | rod model | largest [mm] | mean [mm] | at the end [mm] |", "|---|---|---|---|---|"]
    drawn: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
    for experiment, until in EXPERIMENTS.items():
        tips: dict[str, np.ndarray] = {}
        for word, factor, remark in MODELS:
            eqs = pneumatic_arm(word, f"@{experiment}", shear=factor, twist=factor)
            run = pliant.simulate(eqs, until, save_every=0.01, rtol=1e-6)
            assert run.status == "completed", run.message
            tips[word + remark] = 1e3 * run["s3.tip"].position
            if word != "pcc":
                apart = np.linalg.norm(tips[word + remark] - tips["pcc"], axis=1)
                numbers = f"{apart.max():.1f} | {apart.mean():.2f} | {apart[-1]:.2f}"
                rows.append(f"| {experiment[-1]} | `{word}`{remark} | {numbers} |")
        drawn[experiment] = run.time, tips
    draw_experiments(drawn)
    return "\n".join([*rows, "", *at_rest()])


def at_rest() -> list[str]:
    """What causes the difference at rest: tips of stiffened rods against that of `pcc`, with and without weight."""
    rows = ["| rod model | stiffness | from `pcc` [mm] | both without weight [mm] |", "|---|---|---|---|"]
    stiffer = f"{STIFF:.0f} times as stiff"
    cases = (
        ("cosserat:8", 1.0, 1.0, "of the section"),
        ("cosserat:8", STIFF, 1.0, f"shear {stiffer}"),
        ("cosserat:8", 1.0, STIFF, f"twist {stiffer}"),
        ("cosserat:8", STIFF, STIFF, f"both {stiffer}"),
        ("finite_element:4", STIFF, STIFF, f"both {stiffer}"),
        ("pcc:2", 1.0, 1.0, "neither shear nor twist"),
        ("pcc:8", 1.0, 1.0, "neither shear nor twist"),
    )
    arcs = [rest_tip("pcc", weightless=weightless) for weightless in (False, True)]
    for word, shear, twist, words in cases:
        apart = 1e3 * np.linalg.norm(rest_tip(word, shear=shear, twist=twist) - arcs[0])
        # without weight nothing shears or twists, and it does not matter how stiff that is
        plain = shear == twist == 1.0
        alone = small(1e3 * np.linalg.norm(rest_tip(word, weightless=True) - arcs[1])) if plain else ""
        rows.append(f"| `{word}` | {words} | {apart:.2f} | {alone} |")
    return rows


def rest_tip(word: str, **options: Any) -> np.ndarray:
    """Tip of the arm at rest under its pressures [m]."""
    found = pliant.equilibrium(pneumatic_arm(word, **options), inputs=PRESSURES)
    assert found.status == "converged", found.message
    return np.asarray(found.frames["s3.tip"].position)


def draw_experiments(drawn: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]) -> None:
    """Tips over time as three rod models, and distances from that of `pcc`: a column for each experiment."""
    with style() as plt:
        _, grid = plt.subplots(2, 3, figsize=(7.1, 4.6), layout="constrained", sharey="row", sharex="col")
        for (upper, lower), (experiment, (time, tips)) in zip(grid.T, drawn.items(), strict=True):
            for k, word in enumerate(("pcc", "pcc_cog", "cosserat:5")):
                for axis in range(3):
                    label = "xyz"[axis] if k == 0 else None
                    dashes = ("-", (0, (4, 3)), (0, (1, 1)))[k]
                    width = (1.0, 2.0, 1.2)[k]
                    upper.plot(
                        time, tips[word][:, axis], color=COLOURS[axis], linestyle=dashes, linewidth=width, label=label
                    )
            for k, (words, path) in enumerate(tips.items()):
                apart = np.linalg.norm(path - tips["pcc"], axis=1)
                if k:
                    lower.plot(time, apart, color=COLOURS[k], linestyle=DASHES[k], label=words)
            upper.set_title(experiment.replace("_", " "))
            lower.set_yscale("log")
            lower.set_ylim(1e-3, 1e3)
            lower.set_xlabel("time [s]")
        grid[0, 0].set_ylabel("tip [mm]")
        grid[1, 0].set_ylabel("distance of tips from pcc [mm]")
        styles = [
            plt.Line2D([], [], color=GREY, linestyle=s, linewidth=w)
            for s, w in (("-", 1.0), ((0, (4, 3)), 2.0), ((0, (1, 1)), 1.2))
        ]
        handles, words = grid[0, 0].get_legend_handles_labels()
        grid[0, 0].figure.legend(
            [*handles, *styles], [*words, "pcc", "pcc_cog", "cosserat:5"], ncols=6, loc="outside upper center"
        )
        handles, words = grid[1, 0].get_legend_handles_labels()
        grid[0, 0].figure.legend(handles, words, ncols=4, loc="outside lower center")
        plot.save(grid, PICTURES / "three_section_experiments.png")


# -- loads that keep an arc a circle, and weight, which does not -------------------------------------------------------

ROD = """
pliant: 1
world: {gravity: [0, 0, =-weight]}
parameters: {moment: 0 N*m, weight: 0 m/s^2, shear: 1}
sections: {round: {shape: circle, radius: 15 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm: {rotation: [{axis: y, angle: 90 deg}], length: 0.3 m, section: round, material: rubber, model: {kind: pcc},
    stiffness_factors: [=shear, =shear, 1, 1, 1, 1]}
loads: {tip: {frame: arm.tip, moment: [0, =moment, 0]}}
"""
LENGTH, BENDING, FINE = 0.3, 200e3 * np.pi / 4 * 0.015**4, "cosserat:60"
TURNS = (45, 90, 180, 270)
WEIGHTS = (0.25, 1.0, 4.0)
ARCS = ("pcc", "pcc:2", "pcc:4", "pcc:8")


def arc_circles() -> str:
    """One arc against a fine rod under moments at the tip, and arcs under weight."""
    spec = pliant.load_text(ROD)
    models = {word: pliant.derive(with_rod_model(spec, "arm", word)) for word in (*ARCS, FINE)}
    poses: dict[tuple[str, str, float], np.ndarray] = {}

    def tip(word: str, name: str, value: float, shear: float = 1.0) -> np.ndarray:
        found = pliant.equilibrium(
            models[word], parameters={name: value, "shear": shear}, stability="any"
        )  # a following moment
        assert found.status == "converged", found.message
        poses.setdefault((word, name, value), found.q)
        return np.asarray(found.frames["arm.tip"].position)

    rows = [f"| turned by a moment | tip of one arc from `{FINE}` [mm] |", "|---|---|"]
    for degrees in TURNS:
        moment = np.radians(degrees) * BENDING / LENGTH
        apart = np.linalg.norm(tip("pcc", "moment", moment) - tip(FINE, "moment", moment))
        rows.append(f"| {degrees} deg | {small(1e3 * apart)} |")
    words = " | ".join(f"`{word}`" for word in ARCS)
    rows += [
        "",
        f"| weight, w L^3 / EI | tip sinks by [mm] | shear alone [mm] | {words} |",
        "|---|---|---|" + "---|" * len(ARCS),
    ]
    for weight in WEIGHTS:
        load = 1000 * np.pi * 0.015**2 * weight * LENGTH**3 / BENDING
        fine, unsheared = (tip(FINE, "weight", weight, shear) for shear in (1.0, STIFF))
        others = [unsheared, *(tip(word, "weight", weight) for word in ARCS)]
        cells = " | ".join(f"{1e3 * np.linalg.norm(other - fine):.2f}" for other in others)
        rows.append(f"| {load:.1f} | {-1e3 * fine[2]:.0f} | {cells} |")
    draw_circles(models, poses)
    return "\n".join(rows)


def draw_circles(models: dict[str, Any], poses: dict[tuple[str, str, float], np.ndarray]) -> None:
    """Centre lines under moments and under weight: arcs as lines, the fine rod as dots."""
    with style() as plt:
        _, (left, right) = plt.subplots(1, 2, figsize=(7.1, 3.2), layout="constrained")
        for (word, name, value), q in poses.items():
            # pictures see one arc by its two ends, which do not tell by how much more than half a turn it bends
            beyond = name == "moment" and value > 1.01 * np.pi * BENDING / LENGTH
            if beyond or (name == "weight" and word not in ("pcc", "pcc:2", FINE)):
                continue
            (rod,) = make_scene(models[word], q, {name: value}).rods
            x, _, z = 1e3 * np.asarray(rod.points).T
            k = 0 if word == FINE else 1 + ARCS.index(word)
            first = value in (np.radians(TURNS[0]) * BENDING / LENGTH, WEIGHTS[0])
            every = max(1, len(x) // 20)
            look = {"marker": "o", "linestyle": "none", "markersize": 2.2} if word == FINE else {"linestyle": DASHES[k]}
            step = every if word == FINE else 1
            ax = left if name == "moment" else right
            words = {"pcc": "one arc", "pcc:2": "two arcs"}.get(word, word)
            ax.plot(x[::step], z[::step], color=COLOURS[k], label=words if first else None, **look)
        left.set_title(f"a moment at the tip: {', '.join(map(str, TURNS[:-1]))} deg")
        right.set_title("weight: " + ", ".join(f"{w:g}" for w in WEIGHTS) + " m/s$^2$")
        for ax in (left, right):
            ax.set_aspect("equal", adjustable="datalim")
            ax.set_xlabel("x [mm]")
            ax.set_ylabel("z [mm]")
            ax.legend(loc="best")
        plot.save(left, PICTURES / "arcs_and_circles.png")


# -- cost and energies, from the benchmark -----------------------------------------------------------------------------

LOOKS = {
    "pcc": (COLOURS[1], "o", "-"),
    "pcc_cog": (COLOURS[2], "s", DASHES[1]),
    "quadrature": (COLOURS[0], "^", DASHES[4]),
}


def arc_cost(file: Path | None) -> str:
    """Time per evaluation over the number of sections, and the energy error of `pcc_cog`: what the benchmark printed to that
    file, or prints now."""
    if file is None:
        done = subprocess.run([sys.executable, str(BENCHMARK), "--json"], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
    else:
        found = json.loads(file.read_text(encoding="utf-8"))
    growth, energy = found["growth"], found["energy_error"]
    counts = list(growth["pcc"])
    rows = [
        "| time per evaluation [us] | " + " | ".join(counts) + " | growth from 10 to 20 |",
        "|---|" + "---|" * (len(counts) + 1),
    ]
    for kind, times in growth.items():
        cells = " | ".join(f"{times[count]:.2f}" for count in counts)
        rows.append(f"| {kind} | {cells} | {times['20'] / times['10']:.2f} |")
    rows += ["", "| states | mean | mean absolute | worst |", "|---|---|---|---|"]
    rows += [f"| {energy['states']:,} | {energy['mean']:.1e} | {energy['mean_absolute']:.1e} | {energy['worst']:.1e} |"]
    draw_growth(growth)
    draw_energy(energy)
    return "\n".join(rows)


PUBLISHED = (0.998, 0.9966, 0.9984, 0.9975, 0.9914, 0.9993)
"""Coefficients of determination as published, in the order of the constants."""
TERMS = ("|w x p|^2", "(w x p).p'", "|p'|^2", "|w x r|^2", "(w x r).r'", "|r'|^2")
"""What each constant multiplies, in words of `pliant.parts.rod.pcc`."""


def cog_fit() -> str:
    """The constants of `pcc_cog`, fitted again, and the quality of the fit."""
    from fit_pcc_cog_constants import fit

    rows = [
        "| term | constant | R^2 about zero | R^2 about the mean | R^2 published | R^2 about zero, bends up to 120 deg |",
        "|---|---|---|---|---|---|",
    ]
    mild = fit(bend=2 * np.pi / 3)[1]
    for name, k, zero, mean, theirs, small in zip(TERMS, *fit(), PUBLISHED, mild, strict=True):
        words = name.replace("|", "\\|")
        rows.append(f"| {words} | {k:.4f} | {zero:.4f} | {mean:.4f} | {theirs} | {small:.4f} |")
    return "\n".join(rows)


def draw_growth(growth: dict[str, dict[str, float]]) -> None:
    """Time over the number of sections, and the gain over quadrature."""
    with style() as plt:
        _, (left, right) = plt.subplots(1, 2, figsize=(7.1, 2.6), layout="constrained")
        counts = np.array([int(count) for count in growth["pcc"]])
        reference = np.array([*growth["quadrature"].values()])
        for kind, times in growth.items():
            colour, marker, dashes = LOOKS[kind]
            look = {"color": colour, "marker": marker, "linestyle": dashes, "label": kind, "markersize": 3.5}
            left.plot(counts, [*times.values()], **look)
            if kind != "quadrature":
                right.plot(counts, reference / [*times.values()], **look)
        left.set_ylabel("time per evaluation [µs]")
        right.set_ylabel("times as fast as quadrature")
        right.set_ylim(0, 1.1 * max(right.get_ylim()))
        left.set_ylim(0, None)
        for ax in (left, right):
            ax.set_xlabel("sections")
            ax.set_xticks((1, 5, 10, 15, 20))
            ax.legend(loc="best")
        plot.save(left, PICTURES / "arc_growth.png")


def draw_energy(energy: dict[str, Any]) -> None:
    """How many states have which energy error."""
    edges, counts = (np.array(energy["histogram"][name]) for name in ("edges", "counts"))
    with style() as plt:
        _, ax = plt.subplots(figsize=(4.6, 2.6), layout="constrained")
        ax.stairs(counts, 1e3 * edges, fill=True, color=COLOURS[3])
        ax.axvline(1e3 * energy["mean"], color=COLOURS[0], linewidth=0.8, label="mean")
        ax.axvline(0, color=GREY, linewidth=0.8, linestyle=DASHES[4], label="zero")
        ax.set_yscale("log")
        ax.set_xlabel("energy of pcc_cog minus that of pcc, over the largest energy [1/1000]")
        ax.set_ylabel(f"states of {energy['states']:,}")
        ax.legend(loc="best")
        plot.save(ax, PICTURES / "cog_energy.png")
