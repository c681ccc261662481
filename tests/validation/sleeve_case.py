"""The fabric sleeve against its recording: what is read off the trackers, the driven model, and a fit on the first half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

import pliant
from pliant.solve.recording import Recording, drive, read_recording

HELD = 0.5
"""Time for which the arm is held at its first angle before the release [s]; the fabric comes to lie on it."""
MIDDLE = 0.175
"""Distance of node 8 from the clamps, along the drawing [m]."""


@dataclass(frozen=True)
class Measured:
    """What the trackers say, in the authors' axes turned about the vertical so that the arm swings in the x-z plane.

    Attributes:
        time: of the samples [s]; angle: of the arm from hanging down, towards +x [rad].
        fabric: place of node 8 against the joint (n x 3) [m]; radius: its mean distance from the joint along the arm [m].
        arm: distance of the further link tracker from the joint [m]: the arm is at least as long.
        first: samples of the first half.
    """

    time: np.ndarray
    angle: np.ndarray
    fabric: np.ndarray
    radius: float
    arm: float
    first: np.ndarray

    @property
    def moved(self) -> np.ndarray:
        """Displacement of node 8 since the first sample (n x 3) [m]."""
        return np.asarray(self.fabric - self.fabric[0])

    @property
    def amplitude(self) -> float:
        """Half the horizontal width of the motion in the second half [m]."""
        return float(np.ptp(self.fabric[~self.first, 0]) / 2)


def read_sleeve(file: Path) -> Measured:
    """Angle, joint and node 8 from the recording. Joint and radius come from the first half alone."""
    recording = read_recording(file)

    def place(name: str) -> np.ndarray:
        x, y, z = (recording.column(f"{name}_{axis}") for axis in "xyz")
        return np.stack([-y, z, x], axis=1)

    near, far, fabric = place("arm1"), place("arm2"), place("fabB")
    along = (far - near) / np.linalg.norm(far - near, axis=1)[:, None]
    # the direction in the horizontal plane that the arm swings in
    swing = np.linalg.svd(along[:, :2] - along[:, :2].mean(axis=0))[2][0]
    swing = swing * np.sign(swing[0])
    turn = np.array([[swing[0], swing[1], 0], [-swing[1], swing[0], 0], [0, 0, 1]])
    near, far, fabric, along = (x @ turn.T for x in (near, far, fabric, along))
    first = np.arange(len(along)) < len(along) // 2
    joint, distances = np.zeros(3), []
    for tracker in (near, far):
        # tracker = joint + distance along + offset across, by least squares
        across = np.cross([0, 1, 0], along)
        rows = np.concatenate([np.tile(np.eye(3), (first.sum(), 1)), np.zeros((3 * first.sum(), 2))], axis=1)
        rows[:, 3], rows[:, 4] = along[first].ravel(), across[first].ravel()
        found = np.linalg.lstsq(rows, tracker[first].ravel(), rcond=None)[0]
        joint += found[:3] / 2
        distances.append(float(found[3]))
    fabric = fabric - joint
    radius = float(np.einsum("ij,ij->i", fabric, along)[first].mean())
    angle = np.arctan2(along[:, 0], -along[:, 2])
    return Measured(recording.time, angle, fabric, radius, max(distances), first)


def driven_sleeve(measured: Measured) -> pliant.Equations:
    """The bundled sleeve with its arm held at the first angle, then led as recorded."""
    # the model's joint turns the hanging arm towards -x
    swung = -(measured.angle - measured.angle[0])
    before = np.arange(0, HELD, 0.025)
    time, swing = np.r_[before, measured.time + HELD], np.r_[0 * before, swung]
    return drive(pliant.derive(pliant.load("sleeve", variant="driven")), Recording("sleeve", time, {"swing": swing}))[0]


def geometry(measured: Measured) -> dict[str, float]:
    """Where the fabric sits on the arm, as the trackers say."""
    return {"clamps": measured.radius - MIDDLE, "reach": measured.arm}


def follow(eqs: pliant.Equations, measured: Measured, values: dict[str, float]) -> np.ndarray | None:
    """Displacement of the model's node 8 since the release at the recorded times [m]; None if it could not be computed."""
    run = pliant.simulate(
        eqs,
        HELD + measured.time[-1],
        parameters={"start": -measured.angle[0], **values},
        method=pliant.GeneralizedAlpha(step=2.5e-3),
        save=pliant.At(tuple(HELD + measured.time)),
    )
    place = np.asarray(run["middle"])
    return place - place[0] if run.status == "completed" else None


def errors(moved: np.ndarray, measured: Measured) -> tuple[float, float]:
    """Mean distance from the recorded displacement in the first and the second half [m]."""
    distance = np.linalg.norm(moved - measured.moved, axis=1)
    return float(distance[measured.first].mean()), float(distance[~measured.first].mean())


def fit_on_first_half(
    eqs: pliant.Equations, measured: Measured, place: dict[str, float], moduli: Sequence[float], times: Sequence[float]
) -> tuple[dict[str, float], np.ndarray]:
    """The pair of Young's modulus [Pa] and damping time [s] on a grid with the least error in the first half, and its motion.

    A grid, because fabric that falls in folds on an arm depends on its parameters in jumps.
    """
    found = []
    for E, damping in product(moduli, times):
        values = {**place, "E": E, "damping_time": damping}
        moved = follow(eqs, measured, values)
        if moved is not None:
            found.append((errors(moved, measured)[0], values, moved))
    _, values, moved = min(found, key=lambda entry: entry[0])
    return values, moved


def main_frequency(signal: np.ndarray, time: np.ndarray) -> float:
    """Frequency of the highest peak of a signal's spectrum [Hz]."""
    frequency, height = spectrum(signal, time)
    return float(frequency[height.argmax()])


def spectrum(signal: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and heights of the spectrum of a signal without its mean, windowed, as a share of the highest."""
    height = np.abs(np.fft.rfft((signal - signal.mean()) * np.hanning(len(signal)), 4096))
    return np.fft.rfftfreq(4096, float(time[1] - time[0])), height / height.max()
