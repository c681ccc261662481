"""The tip of a pneumatic module follows a path: python examples/stiff_flop_path.py [RECORDING.csv]

The recording has columns t_s, p1_Pa, p2_Pa, p3_Pa, x_m, y_m, z_m: its tip is the path, and the pressures that the controller
computes are compared with the recorded ones. Without a recording the path is that of the model under the pressures
of its variant `circling`.
"""

import sys
from dataclasses import dataclass
from os import PathLike

import numpy as np

import pliant
from pliant.control import FramePosition, Limits, Reference, StaticControl
from pliant.identify.recording import plateaus
from pliant.language.arguments import ArgumentError
from pliant.language.recording import read_recording

SMOOTHED = 9
"""The recorded tip is averaged over this number of samples, like its pressures, so that both refer to the same times."""
HIGHEST = 200e3
"""Upper bound of the pressures above the surroundings [Pa]; they are never negative."""


@dataclass(frozen=True)
class RecordedRun:
    """Times n [s], reference positions of the tip n x 3 [m], the corresponding pressures n x 3 [Pa], and times at rest [s]."""

    time: np.ndarray
    tip: np.ndarray
    pressures: np.ndarray
    rests: tuple[float, ...]


@dataclass(frozen=True)
class Followed:
    """A run along a reference: its tip n x 3 [m], horizontal error n [m], pressures n x 3 [Pa], time of each command [s]."""

    run: pliant.Result
    tip: np.ndarray
    error: np.ndarray
    pressures: np.ndarray
    seconds: list[float]


def recorded(file: str | PathLike[str], begin: float = 0.0, end: float = np.inf) -> RecordedRun:
    """The part of a recording between two times [s]."""
    whole = read_recording(file)
    rests = [t for t in plateaus(whole, ("p1", "p2", "p3")) if begin <= t <= end]
    recording = whole.window(begin, end)
    tip, pressures = (np.stack([recording.column(x) for x in names], axis=1) for names in ("xyz", ("p1", "p2", "p3")))
    ends = np.pad(tip, ((SMOOTHED // 2, SMOOTHED // 2), (0, 0)), mode="edge")
    mean = np.stack([np.convolve(x, np.full(SMOOTHED, 1 / SMOOTHED), mode="valid") for x in ends.T], axis=1)
    return RecordedRun(recording.time, mean, pressures, tuple(rests))


def generated() -> RecordedRun:
    """Three turns of the model under the pressures of its variant `circling`."""
    run = pliant.simulate(pliant.derive("stiff_flop@circling"), 6.0, save_every=0.05)
    return RecordedRun(run.time, run["tip"].values, np.stack(list(run.inputs.values()), axis=1), ())


def follow(reference: RecordedRun, *, stiffness: float = 1.0) -> Followed:
    """The module on the path; `stiffness` is the ratio of its Young's modulus to that of the controller's model."""
    eqs = pliant.derive("stiff_flop")
    begin, end = reference.time[0], reference.time[-1]
    controller = StaticControl(
        eqs,
        FramePosition("tip", "xy"),  # two coordinates, three pressures: the smallest ones
        Reference.through(reference.time, reference.tip[:, :2]),
        sample_time=0.02,
        proportional=0.5,
        integral=10.0,
        limits=Limits(dict.fromkeys(eqs.inputs, 0.0), dict.fromkeys(eqs.inputs, HIGHEST)),
    )
    module = {"youngs_modulus": stiffness * eqs.parameters["youngs_modulus"]}
    run = pliant.simulate(
        eqs,
        end,
        begin=begin,
        start="equilibrium",
        parameters=module,
        controllers=controller,
        save_at=reference.time,
        method=pliant.GeneralizedAlpha(step=0.005),
    )
    tip = run["tip"].values
    error = np.linalg.norm(tip[:, :2] - reference.tip[:, :2], axis=1)
    return Followed(run, tip, error, np.stack([run.inputs[x] for x in eqs.inputs], axis=1), controller.seconds)


def rms(x: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(x**2)))


def compare_pressures(reference: RecordedRun, done: Followed) -> None:
    """Print the difference between the computed pressures and those of the recording."""
    apart, given = done.pressures - reference.pressures, rms(reference.pressures)
    print(f"pressures: {1e-3 * rms(apart):.1f} kPa RMS apart from those of the path, which have {1e-3 * given:.1f}")
    if not reference.rests:
        # the height of the tip is free, so the mean of all pressures is removed
        assert rms(done.pressures) < given
        return
    for t in reference.rests:
        k = int(np.searchsorted(reference.time, t))
        there, here = (" ".join(f"{1e-3 * p:6.1f}" for p in x[k]) for x in (reference.pressures, done.pressures))
        print(f"at rest, t = {t:5.2f} s: recorded {there} kPa, found {here} kPa")


def main(reference: RecordedRun | None = None) -> float:
    """Root mean square of the tip's horizontal error with the true model [m]."""
    reference = generated() if reference is None else reference
    size = np.linalg.norm(reference.tip[:, :2], axis=1).max()
    print(f"path of {reference.time[-1] - reference.time[0]:.1f} s, up to {1e3 * size:.1f} mm from the middle")
    done = {words: follow(reference, stiffness=x) for words, x in (("true model", 1.0), ("10 % stiffer module", 1.1))}
    for words, x in done.items():
        print(
            f"{words}: error {1e3 * rms(x.error):.2f} mm RMS, at most {1e3 * x.error.max():.2f} mm; "
            f"{1e3 * np.median(x.seconds):.1f} ms per command"
        )
        assert not x.run.remarks, "every point of the path is within reach"
        assert x.pressures.min() >= 0
        assert x.pressures.max() <= HIGHEST
        assert rms(x.error) < (0.01 if words == "true model" else 0.04) * size
    true = done["true model"]
    compare_pressures(reference, true)
    return rms(true.error)


if __name__ == "__main__":
    try:
        given = recorded(sys.argv[1]) if len(sys.argv) > 1 else None
    except ArgumentError as error:
        sys.exit(str(error))
    main(given)
