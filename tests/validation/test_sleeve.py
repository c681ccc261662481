"""The fabric sleeve against its recording, which is read from the folder in PLIANT_DATA or from ../shared/data."""

import os
from pathlib import Path

import numpy as np
import pytest

from pliant.validation.recordings import (
    driven_sleeve,
    error,
    fit_on_first_half,
    follow,
    main_frequency,
    read_sleeve,
    readings,
)

FILE = Path(os.environ.get("PLIANT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "sleeve_recording.csv"


@pytest.fixture(scope="module")
def measured():
    if not FILE.is_file():
        pytest.skip(f"no recording at {FILE}; set PLIANT_DATA to its folder")
    return read_sleeve(FILE)


def test_the_trackers_show_a_pendulum(measured):
    """The trackers on the link stay at their distances: a joint fits both, and the fabric's tracker turns with it."""
    assert 0.2 < measured.radius < measured.arm
    assert np.abs(np.linalg.norm(measured.fabric, axis=1) - measured.radius).max() < 0.02
    assert np.degrees(measured.angle[0]) == pytest.approx(56, abs=2)


def test_fitted_on_the_first_half_the_fabric_follows_in_the_second(measured):
    """Closer than the 40 % of the amplitude that were published, and up and down twice per swing."""
    eqs = driven_sleeve(measured)
    place = readings(measured)["as published, from the link's top"]
    values, _ = fit_on_first_half(eqs, measured, place, {"E": (1e5, 5e5), "damping_time": (0.03, 0.1)})
    moved = follow(eqs, measured, values)
    assert error(moved[~measured.first], measured, ~measured.first) < 0.4 * measured.amplitude
    # no motion at all, or one of the wrong phase, would not pass
    assert np.linalg.norm(measured.moved[~measured.first], axis=1).mean() > measured.amplitude
    for motion in (moved, measured.moved):
        ratio = main_frequency(motion[:, 2], measured.time) / main_frequency(motion[:, 0], measured.time)
        assert ratio == pytest.approx(2, abs=0.1)
