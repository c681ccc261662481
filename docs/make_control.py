"""Run the control examples, and make the pictures and captions of docs/control.md from them again.

    python docs/make_control.py [PART ...] [--data FOLDER]

Parts: cart_pole, leg, six_leg, three_section_arm, stiff_flop, touch, trunk. The recording of `stiff_flop` is `stiff_flop_free.csv`
in FOLDER, in $PLIANT_DATA, or in ../shared/data beside the checkout; without it that picture stays as it is.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from make_validation import put

import pliant
from pliant import plot
from pliant.show.plot.style import COLOURS, DASHES, GREY, key, style

HERE = Path(__file__).parent
PAGE, PICTURES = HERE / "control.md", HERE / "pictures"
WIDTH = 7.1
"""Of a picture [inch]: two columns of a journal."""
WANTED = {"color": GREY, "linestyle": "-", "linewidth": 3.0, "alpha": 0.5}
"""A broad pale line under the one that follows it."""


def example(name: str) -> Any:
    """An example as a module."""
    file = HERE.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save(figure: Any, name: str) -> None:
    """Write the picture of an example."""
    target = PICTURES / f"control_{name}.png"
    plot.save(figure.axes[0], target)
    print(target)


def cart_pole() -> str:
    """The swing-up beside its plan, and the force."""
    source = example("cart_pole_swing_up")
    run, swing = source.swing_up()
    with style() as plt:
        figure, (angle, place, force) = plt.subplots(1, 3, figsize=(WIDTH, 2.1), layout="constrained")
        columns = ((angle, 1, np.degrees(1.0), "angle of the pole [deg]"), (place, 0, 1.0, "place of the cart [m]"))
        for ax, column, factor, words in columns:
            ax.plot(swing.time, factor * swing.q[:, column], label="planned", **WANTED)
            ax.plot(run.time, factor * run.q[:, column], label="simulated", color=COLOURS[1], linestyle="-")
            ax.set_ylabel(words)
        key(angle)
        force.plot(run.time, run.inputs["force"], color=COLOURS[1], linestyle="-", drawstyle="steps-post")
        for bound in (-source.STRONGEST, source.STRONGEST):
            force.axhline(bound, color=GREY, linewidth=0.8, linestyle=":")
        force.set_ylabel("force of the motor [N]")
        for ax in (angle, place, force):
            ax.set_xlabel("time [s]")
        save(figure, "cart_pole")
    more = 100 * (source.FRICTION / pliant.derive("cart_pole").parameters["friction"] - 1)
    aside, turned = 100 * abs(run.q[0, 0]), np.degrees(abs(np.pi - run.q[0, 1]))
    off, most = np.degrees(abs(run.q[-1, 1])), np.abs(run.inputs["force"]).max()
    return f"""
        `examples/cart_pole_swing_up.py`: `plan` ({swing.iterations} iterations) and `Tracking` at 50 Hz, on a cart
        with {more:.0f} % more friction than in the plan, from a start {aside:.0f} cm and {turned:.0f} degrees off.
        After {run.time[-1]:.0f} s the pole is {off:.3f} degrees from upright; the motor pushed with at most
        {most:.1f} of {source.STRONGEST:.0f} N (dotted)."""


def leg() -> str:
    """The vibration of the leaf spring, free and held, and the torque."""
    done = example("leg_lqr").hold()
    run = done.runs["held"]
    change = run.inputs["hold"] - done.torque
    with style() as plt:
        figure, (middle, torque) = plt.subplots(1, 2, figsize=(WIDTH, 2.3), layout="constrained", width_ratios=(3, 2))
        for name, colour in (("free", GREY), ("held", COLOURS[1])):
            t, x = done.vibration(name)
            middle.plot(t, 1e6 * x, label=name, color=colour, linestyle="-", linewidth=0.9)
        middle.set_ylabel("vibration of the middle [µm]")
        key(middle)
        torque.plot(run.time, 1e3 * change, color=COLOURS[1], linestyle="-", drawstyle="steps-post", linewidth=0.9)
        torque.set_ylabel("change of the torque [mN m]")
        for ax in (middle, torque):
            ax.set_xlabel("time after the push [s]")
        save(figure, "leg")
    before, after = done.flexible.damping_ratio, done.damped.damping_ratio
    return f"""
        `examples/leg_lqr.py`: an LQR on three of the leg's modes at 500 Hz, with a Kalman filter that measures the
        leaf spring's middle with noise of 10 µm. The first flexible mode, at {done.flexible.frequency:.1f} Hz,
        changes its damping ratio from {before:.0e} to {after:.3f}: after 0.45 s {100 * done.left("held"):.0f} % of
        the vibration is left (drawn without the links' slow swing). The torque changes by at most
        {np.abs(change).max():.2f} N m from the {done.torque:.2f} N m at rest."""


def six_leg() -> str:
    """The contact force and the platform's motion sideways, and a table."""
    runs = example("six_leg_docking").dock(5.0)
    rows = [
        "| control | peak of the contact force | its residual vibration | of the platform | largest torque |",
        "|---|---|---|---|---|",
    ]
    with style() as plt:
        figure, (force, place) = plt.subplots(1, 2, figsize=(WIDTH, 2.4), layout="constrained")
        for k, (name, x) in enumerate(runs.items()):
            rows.append(
                f"| {name} | {x.peak:.1f} N | {x.left(x.force):.1f} N | {1e3 * x.vibration:.2f} mm | {x.torque:.1f} N m |"
            )
            look = {"color": COLOURS[k] if k else GREY, "linestyle": DASHES[k] if k else "-", "linewidth": 0.9}
            force.plot(x.run.time, x.force, label=name, **look)
            sideways = x.run["position"].values[:, 0]
            place.plot(x.run.time, 1e3 * (sideways - sideways[0]), label=name, **look)
        force.set_ylabel("contact force [N]")
        place.set_ylabel("platform sideways [mm]")
        key(place)
        for ax in (force, place):
            ax.set_xlabel("time [s]")
        save(figure, "six_leg")
    return "\n".join(rows)


def three_section_arm() -> str:
    """The circle and its error, with the true model and with a wrong one."""
    source = example("three_section_arm_circle")
    true, wrong = source.draw(1700.0), source.draw(1870.0)
    with style() as plt:
        figure, (path, error) = plt.subplots(1, 2, figsize=(WIDTH, 2.7), layout="constrained", width_ratios=(2, 3))
        path.plot(*(1e3 * true.wanted[:, :2].T), label="wanted", **WANTED)
        for words, x, colour, dashes in (
            ("true model", true, COLOURS[1], "-"),
            ("10 % stiffer", wrong, COLOURS[2], ":"),
        ):
            path.plot(*(1e3 * x.run["tip"].values[:, :2].T), color=colour, linestyle=dashes, label=words)
            error.plot(x.run.time, 1e3 * x.error, color=colour, linestyle=dashes, label=words)
        path.set_aspect("equal", adjustable="datalim")
        path.set(xlabel="x [mm]", ylabel="y [mm]")
        path.legend(loc="center", bbox_to_anchor=(0.5, 0.3))
        error.set(xlabel="time [s]", ylabel="error of the tip [mm]")
        error.set_ylim(bottom=0)
        save(figure, "three_section_arm")
    return f"""
        `examples/three_section_arm_circle.py`: `Predictive` control of nine pressures at 50 Hz, a circle of
        {1e3 * source.RADIUS:.0f} mm radius that opens in the first of four seconds and is drawn twice. From then on
        the tip is off by {1e3 * true.rms:.2f} mm RMS with the true model, and by {1e3 * wrong.rms:.2f} mm on an arm
        with 10 % stiffer muscles; {1e3 * np.median(true.seconds):.0f} ms per command."""


def stiff_flop(folder: Path) -> str | None:
    """The recorded path, and the pressures that were found beside the recorded ones."""
    file = folder / "stiff_flop_free.csv"
    if not file.is_file():
        print(f"there is no recording at {file}; the picture of stiff_flop stays as it is", file=sys.stderr)
        return None
    source = example("stiff_flop_path")
    reference, rms = source.recorded(file), source.rms
    true, wrong = (source.follow(reference, stiffness=x) for x in (1.0, 1.1))
    with style() as plt:
        figure, (path, pressure) = plt.subplots(1, 2, figsize=(WIDTH, 2.9), layout="constrained", width_ratios=(2, 3))
        path.plot(*(1e3 * reference.tip[:, :2].T), label="recorded", **WANTED)
        path.plot(*(1e3 * true.tip[:, :2].T), color=COLOURS[1], linestyle="-", linewidth=0.9, label="followed")
        path.set_aspect("equal", adjustable="datalim")
        path.set(xlabel="x [mm]", ylabel="y [mm]")
        key(path)
        for k, (colour, dashes) in enumerate(((COLOURS[1], "-"), (COLOURS[2], DASHES[1]), (COLOURS[4], DASHES[2]))):
            words = "recorded" if k == 0 else None
            pressure.plot(reference.time, 1e-3 * reference.pressures[:, k], label=words, **WANTED)
            pressure.plot(
                reference.time,
                1e-3 * true.pressures[:, k],
                color=colour,
                linestyle=dashes,
                linewidth=0.9,
                label=f"p{k + 1}",
            )
        pressure.set(xlabel="time [s]", ylabel="pressure [kPa]", xlim=(7, 54))
        key(pressure)
        save(figure, "stiff_flop")
    apart = true.pressures - reference.pressures
    rests = apart[np.searchsorted(reference.time, reference.rests)]
    height = true.tip[:, 2] - reference.tip[:, 2]
    return f"""
        `examples/stiff_flop_path.py RECORDING.csv`: `StaticControl` of three pressures at 50 Hz along the recorded
        tip (mean of nine samples, as the recorded pressures are), horizontally: two components for three pressures,
        of which it uses the smallest nonnegative ones. The tip is off by {1e3 * rms(true.error):.2f} mm RMS with the
        true model ({1e3 * true.error.max():.2f} mm at most), and by {1e3 * rms(wrong.error):.2f} mm
        ({1e3 * wrong.error.max():.2f} mm) on a module of 10 % stiffer silicone. The pressures are
        {1e-3 * rms(apart):.1f} kPa RMS from the recorded ones, {1e-3 * rms(rests):.1f} kPa at the {len(rests)} rests
        and there {1e-3 * np.abs(rests).max():.1f} kPa at most. This is the model error, expressed as pressure: the
        three pairs of chambers of the model are identical, those of the real module are not, so it needs less of the
        second and third than was recorded, and some of another pair where the real module does not bend straight away
        from its own. The model has no creep: the recorded tip keeps moving under constant pressures, and to follow it
        the pressures of the model rise. The height, which is not controlled, is {1e3 * rms(height):.1f} mm RMS off."""


def touch() -> str:
    """The force of the surface and its estimates, and the stiffness as it becomes known."""
    source = example("stiff_flop_touch")
    true, wrong = source.touch(), source.touch(1.1)
    with style() as plt:
        figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 2.3), layout="constrained")
        force, other, stiffness = axes
        for ax, x, words, colour in ((force, true, "true model", 1), (other, wrong, "10 % stiffer module", 2)):
            ax.plot(x.time, x.force, label="simulated", **WANTED)
            label = f"estimated, {words}"
            ax.plot(x.time, x.estimate, color=COLOURS[colour], linestyle="-", linewidth=0.9, label=label)
            ax.set_ylabel("force of the surface [N]")
            ax.set_ylim(-0.2, 1.3)
            key(ax)
            stiffness.plot(
                x.time, x.stiffness, color=COLOURS[colour], linestyle=("-", DASHES[1])[colour - 1], label=words
            )
        stiffness.axhline(source.STIFFNESS, color=GREY, linewidth=3.0, alpha=0.5)
        stiffness.set_ylabel("stiffness of the surface [N/m]")
        stiffness.set_ylim(0, 1.6 * source.STIFFNESS)
        stiffness.legend(loc="lower left")
        for ax in axes:
            ax.set_xlabel("time [s]")
        save(figure, "touch")
    rms, mean = ([f(x.error[x.touching]) for x in (true, wrong)] for f in (lambda e: np.sqrt(np.mean(e**2)), np.mean))
    known = [x.stiffness[-1] for x in (true, wrong)]
    return f"""
        `examples/stiff_flop_touch.py`: the module presses twice on a surface of {source.STIFFNESS:.0f} N/m that is
        unknown to the controller and the observer, with up to {true.force.max():.2f} N. `ContactObserver` measures
        the pressures and the tip at {1 / source.SAMPLE:.0f} Hz, the tip with noise of {1e3 * source.NOISE:.2f} mm.
        With the true model the force is off by {rms[0]:.3f} N RMS ({mean[0]:+.3f} N on average) while it presses, and
        the estimated stiffness is {known[0]:.0f} N/m ({100 * (known[0] / source.STIFFNESS - 1):+.0f} %). On a module
        of 10 % stiffer silicone the observer attributes the model error to the force: {mean[1]:+.3f} N on average
        ({rms[1]:.3f} N RMS), although the force estimated before contact is subtracted, and {known[1]:.0f} N/m
        ({100 * (known[1] / source.STIFFNESS - 1):+.0f} %), since the missing stiffness of the arm adds to that of the
        surface. Fit the modulus to a free motion first (`pliant fit`)."""


def trunk() -> str:
    """The trunk from two sides, its clearance, and the tensions."""
    source = example("trunk_obstacle")
    eqs, around = source.trunk(4)
    motion = source.planned(eqs, source.ball(around, source.MARGIN))
    controller = source.tracking(eqs, motion)
    straight = source.reach(eqs, source.tracking(eqs, source.planned(eqs)))
    done, stiffer = (source.reach(eqs, controller, stiffness=x) for x in (1.0, 1.1))
    poses = {f"{t:g} s": done.run.q[round(t / source.SAMPLE)] for t in (0.0, 1.2, 1.5, 1.8, 5.0)}
    with style() as plt:
        figure = plt.figure(figsize=(WIDTH, 5.4), layout="constrained")
        (side, below), (gap, tension) = figure.subplots(2, 2, height_ratios=(3, 2))
        draw_poses(side, source, eqs, poses, done.run, "yz")
        draw_poses(below, source, eqs, poses, done.run, "yx")
        runs = {"around": done, "around, 10 % stiffer": stiffer, "straight": straight}
        for (words, x), k, dashes in zip(runs.items(), (1, 4, 2), ("-", DASHES[4], DASHES[1]), strict=True):
            gap.plot(x.run.time, 1e3 * x.clearance, color=COLOURS[k], linestyle=dashes, label=words)
        gap.axhline(0, color=GREY, linewidth=0.8)
        gap.set_ylabel("clearance [mm]")
        gap.legend(loc="lower right")
        for name, column in zip(source.TENDONS, done.tensions.T, strict=True):
            tension.plot(done.run.time, column, label=name, linewidth=0.9)
        for bound in (source.WEAKEST, source.STRONGEST):
            tension.axhline(bound, color=GREY, linewidth=0.8, linestyle=":")
        tension.set_ylabel("tension [N]")
        key(tension)
        for ax in (gap, tension):
            ax.set_xlabel("time [s]")
        figure.get_layout_engine().set(w_pad=0.08)
        save(figure, "trunk")
    return f"""
        `examples/trunk_obstacle.py`: `plan_slow` on equilibria of the full model ({len(eqs.rates)} coordinates,
        {motion.iterations} iterations), `Tracking` at 50 Hz by six tendons, which also keep the free shoulder from
        swinging; it uses the full state, which would have to be estimated on a real trunk. In the simulation the
        trunk, with its thickness, stays {1e3 * done.clearance.min():.1f} mm clear of the ball and ends
        {1e3 * done.error:.2f} mm from its target (cross; where its line crosses the ball in one view, it passes next
        to or above it in the other); tensions stay between {done.tensions.min():.1f} and {done.tensions.max():.1f} N
        (bounds dotted); {1e3 * np.median(done.seconds):.0f} ms per command. A trunk of 10 % stiffer silicone stays
        {1e3 * stiffer.clearance.min():.1f} mm clear and ends {1e3 * stiffer.error:.2f} mm off. Planned without the
        ball it runs {-1e3 * straight.clearance.min():.0f} mm into it."""


def draw_poses(ax: Any, source: Any, eqs: pliant.Equations, poses: dict[str, np.ndarray], run: Any, plane: str) -> None:
    """Centre lines of the trunk, the path of its tip, the ball and the target, seen in a plane of the world."""
    from matplotlib.patches import Circle

    sides = ["xyz".index(letter) for letter in plane]
    plot.shape(eqs, poses, plane=plane, ax=ax)
    factor = 1e3 if "[mm]" in ax.get_xlabel() else 1.0
    ax.add_patch(Circle(factor * source.CENTRE[sides], factor * source.RADIUS, color=GREY, alpha=0.45, linewidth=0))
    ax.plot(*(factor * run["tip"].values[:, sides].T), color=GREY, linewidth=0.9, linestyle=":")
    ax.plot(*(factor * source.TARGET[sides]), marker="+", color=COLOURS[6], markersize=9)
    ax.locator_params(nbins=6)
    ax.set_title({"yz": "from the side", "yx": "from below"}[plane], loc="right", y=0.93)
    if plane == "yx":
        ax.get_legend().remove()


def main() -> None:
    """Make the requested parts, or all."""
    beside = HERE.parents[1] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("PLIANT_DATA", beside)), help="of the recording"
    )
    parts: dict[str, Callable[[argparse.Namespace], str | None]] = {
        "cart_pole": lambda given: cart_pole(),
        "leg": lambda given: leg(),
        "six_leg": lambda given: six_leg(),
        "three_section_arm": lambda given: three_section_arm(),
        "stiff_flop": lambda given: stiff_flop(given.data),
        "touch": lambda given: touch(),
        "trunk": lambda given: trunk(),
    }
    parser.add_argument("parts", nargs="*", help=f"{', '.join(parts)}; all by default")
    given = parser.parse_args()
    for part in given.parts or parts:
        if part not in parts:
            parser.error(f"unknown part '{part}'; the parts: {', '.join(parts)}")
        caption = parts[part](given)
        if caption is not None:
            words = " ".join(caption.split())
            lines = "\n".join(textwrap.wrap(words, 130, break_on_hyphens=False))
            put(part, caption if caption.startswith("|") else lines, PAGE)


if __name__ == "__main__":
    main()
