"""The part of docs/validation.md about the fabric sleeve: its table and its picture."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from pliant import plot
from pliant.show.plot.style import COLOURS, style
from pliant.validation.recordings import (
    PUBLISHED_SCALE,
    TrackerData,
    driven_sleeve,
    error,
    fit_on_first_half,
    follow,
    main_frequency,
    read_sleeve,
    readings,
    spectrum,
)

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"

CHOICES = {
    "thickness": (0.03, 0.06),
    "grip": (0.4, 0.8, 1.6),
    "E": (2e4, 5e4, 1e5, 5e5),
    "damping_time": (0.01, 0.03, 0.1),
}
"""Diameters of the arm [m], coefficients of friction, Young's moduli [Pa] and damping times [s] that the sleeve is tried with."""


def sleeve(folder: Path) -> str:
    """The fabric sleeve against its recording: everything chosen by the first half, and judged once by the second."""
    file = folder / "sleeve_recording.csv"
    if not file.is_file():
        sys.exit(f"there is no recording at {file}; say where it is with --data or PLIANT_DATA")
    measured = read_sleeve(file)
    eqs = driven_sleeve(measured)
    fitted = {}
    for words, place in readings(measured).items():
        fitted[words] = fit_on_first_half(eqs, measured, place, CHOICES)
        print(words, fitted[words], flush=True)
    # from here on nothing is chosen any more
    chosen = min(fitted, key=lambda words: fitted[words][1])
    rows = [
        "| where the fabric sits | clamps [mm] | diameter of the arm [mm] | friction | E [kPa] | damping time [ms] | first half | "
        "second half | of the amplitude | of 25 cm | vertical / horizontal frequency |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for words, (values, first) in fitted.items():
        moved = follow(eqs, measured, values)
        if moved is None:
            sys.exit(f"the sleeve could not be computed to the end ({words})")
        second = error(moved[~measured.first], measured, ~measured.first)
        ratio = main_frequency(moved[:, 2], measured.time) / main_frequency(moved[:, 0], measured.time)
        rows.append(
            f"| {words}{' (chosen)' if words == chosen else ''} | {1e3 * values['clamps']:.0f} | {1e3 * values['thickness']:.0f} | "
            f"{values['grip']:g} | {values['E'] / 1e3:.0f} | {1e3 * values['damping_time']:.0f} | {1e3 * first:.0f} mm | "
            f"{1e3 * second:.0f} mm | {100 * second / measured.amplitude:.0f} % | "
            f"{100 * second / PUBLISHED_SCALE:.0f} % | {ratio:.2f} |"
        )
        if words == chosen:
            draw_sleeve(measured, moved)
    recorded = measured.moved
    ratio = main_frequency(recorded[:, 2], measured.time) / main_frequency(recorded[:, 0], measured.time)
    rows.append(f"| recorded: amplitude {1e3 * measured.amplitude:.0f} mm | | | | | | | | | | {ratio:.2f} |")
    return "\n".join(rows)


def draw_sleeve(measured: TrackerData, moved: np.ndarray) -> None:
    """Horizontal and vertical motion of the node over time, and their spectra; recorded and computed."""
    with style() as plt:
        _, axes = plt.subplots(2, 2, figsize=(7.1, 3.6), layout="constrained", width_ratios=[2, 1], sharex="col")
        for (left, right), k, words in zip(axes, (0, 2), ("horizontal", "vertical"), strict=True):
            for motion, name, look in ((measured.moved, "recorded", "-"), (moved, "model", "--")):
                colour = COLOURS[0] if name == "recorded" else COLOURS[1]
                left.plot(measured.time, 1e3 * motion[:, k], look, color=colour, label=name)
                frequency, height = spectrum(motion[:, k], measured.time)
                right.plot(frequency, height, look, color=colour)
            left.axvline(measured.time[measured.first][-1], color="0.6", linewidth=0.8)
            left.set_ylabel(f"{words} [mm]")
            right.set_xlim(0, 4)
            right.set_ylabel("spectrum [-]")
        axes[0, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="upper right")
        axes[0, 0].set_title("fitted to the left of the line, held out to the right", fontsize=7)
        axes[1, 0].set_xlabel("time [s]")
        axes[1, 1].set_xlabel("frequency [Hz]")
        plot.save(axes[0, 0], PICTURES / "sleeve_recording.png")
