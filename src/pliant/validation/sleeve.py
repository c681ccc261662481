"""The fabric sleeve compared with its recording: evaluation of the trackers, the driven model, and a fit on the first half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.analysis.integrators import GeneralizedAlpha
from pliant.analysis.motion.simulate import simulate
from pliant.engine.equations import Equations
from pliant.identify.recording import drive
from pliant.language.recording import Recording, read_recording
from pliant.robot.reader import load

HELD = 0.5
"""Time for which the arm stays at its first angle before the release [s], while the fabric settles on it."""
MIDDLE = 0.175
"""Distance of node 8 from the clamps, along the drawing [m]."""
LINK, CLAMPS = 0.27, 0.03
"""Published length of the link, and distance of the clamps from its top [m]."""
PUBLISHED_SCALE = 0.25
"""The length of which the authors' 10 cm are 40 % [m]. They call it l_zs and do not define it."""


@dataclass(frozen=True)
class TrackerData:
    """Data of the trackers, in the authors' axes rotated about the vertical so that the arm swings in the x-z plane.

    Attributes:
        time: of the samples [s]; angle: of the arm from hanging down, towards +x [rad].
        fabric: position of node 8 relative to the joint (n x 3) [m]; radius: its mean distance from the joint along the arm [m].
        arm: distance of the further link tracker from the joint [m]: a lower bound of its length.
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


def read_sleeve(file: Path) -> TrackerData:
    """Angle, joint and node 8 from the recording. Plane of the swing, joint and distances are determined from the first half
    alone."""
    recording = read_recording(file)

    def place(name: str) -> np.ndarray:
        x, y, z = (recording.column(f"{name}_{axis}") for axis in "xyz")
        return np.stack([-y, z, x], axis=1)

    near, far, fabric = place("arm1"), place("arm2"), place("fabB")
    along = (far - near) / np.linalg.norm(far - near, axis=1)[:, None]
    first = np.arange(len(along)) < len(along) // 2
    # the direction in the horizontal plane that the arm swings in
    swing = np.linalg.svd(along[first, :2] - along[first, :2].mean(axis=0))[2][0]
    swing = swing * np.sign(swing[0])
    turn = np.array([[swing[0], swing[1], 0], [-swing[1], swing[0], 0], [0, 0, 1]])
    near, far, fabric, along = (x @ turn.T for x in (near, far, fabric, along))
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
    return TrackerData(recording.time, angle, fabric, radius, max(distances), first)


def driven_sleeve(measured: TrackerData) -> Equations:
    """The bundled sleeve with its arm fixed at the first angle, then driven as recorded."""
    # the model's joint rotates the hanging arm towards -x
    swung = -(measured.angle - measured.angle[0])
    before = np.arange(0, HELD, 0.025)
    time, swing = np.r_[before, measured.time + HELD], np.r_[0 * before, swung]
    return drive(derive(load("sleeve", variant="driven")), Recording("sleeve", time, {"swing": swing}))[0]


def readings(measured: TrackerData) -> dict[str, dict[str, float]]:
    """Position of the fabric on the arm, in three interpretations of the publication and the recording (distances
    from the joint [m]).

    The far tracker is 360 mm from the joint, although the published length of the link is 270 mm.
    """
    above = measured.arm - LINK
    return {
        "as published": {"clamps": CLAMPS, "reach": LINK},
        "as published, from the link's top": {"clamps": CLAMPS + above, "reach": measured.arm},
        "node 8 where it was recorded": {"clamps": measured.radius - MIDDLE, "reach": measured.arm},
    }


def follow(
    eqs: Equations, measured: TrackerData, values: dict[str, float], *, first_half: bool = False
) -> np.ndarray | None:
    """Displacement of the model's node 8 since the release at the recorded times [m]; None if it could not be computed."""
    times = measured.time[measured.first] if first_half else measured.time
    run = simulate(
        eqs,
        HELD + times[-1],
        parameters={"start": -measured.angle[0], **values},
        method=GeneralizedAlpha(step=2.5e-3),
        save_at=tuple(HELD + times),
    )
    place = np.asarray(run["middle"])
    return place - place[0] if run.status == "completed" else None


def error(moved: np.ndarray, measured: TrackerData, samples: np.ndarray) -> float:
    """Mean distance from the recorded displacement in these samples [m]."""
    return float(np.linalg.norm(moved - measured.moved[samples], axis=1).mean())


Choices = Mapping[str, Sequence[float]]


def fit_on_first_half(
    eqs: Equations, measured: TrackerData, place: dict[str, float], choices: Choices
) -> tuple[dict[str, float], float]:
    """The parameters among all combinations of `choices` with the smallest error in the first half, and that error [m].

    The second half is neither simulated nor used. A grid, because the folds of fabric on an arm depend on its
    parameters discontinuously.
    """
    found = []
    for combination in product(*choices.values()):
        values = {**place, **dict(zip(choices, combination, strict=True))}
        moved = follow(eqs, measured, values, first_half=True)
        if moved is not None:
            found.append((error(moved, measured, measured.first), values))
    least, values = min(found, key=lambda entry: entry[0])
    return values, least


def main_frequency(signal: np.ndarray, time: np.ndarray) -> float:
    """Frequency of the highest peak of a signal's spectrum [Hz]."""
    frequency, height = spectrum(signal, time)
    return float(frequency[height.argmax()])


def spectrum(signal: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and heights of the spectrum of a signal without its mean, windowed, relative to the highest."""
    height = np.abs(np.fft.rfft((signal - signal.mean()) * np.hanning(len(signal)), 4096))
    return np.fft.rfftfreq(4096, float(time[1] - time[0])), height / height.max()
