"""Rod models in motion: energy is kept, and all kinds tell the same story in statics, modes and dynamics."""

import numpy as np
import pytest
from rod_cases import LOADS, arm, static

from pliant import modes, simulate

KINDS = {"pcs:16": {}, "cosserat:24": {}, "finite_element:12": {}, "pseudo_rigid:24": {}, "polynomial:4": {}}
PULL = {"gravity": 2.0, "fx": -0.3, "fy": 0.6, "fz": 0.4}
FORCES = {"gravity": 2.0, "fy": 0.3, "fz": 0.2, "mx": 0.05, "mz": 0.06}


@pytest.fixture(scope="module")
def robots():
    return {word: arm(word) for word in KINDS}


def test_all_kinds_agree_in_statics_and_modes(robots):
    tips, frequencies = [], []
    for eqs in robots.values():
        tips.append(eqs.frame("arm.tip", static(eqs, {}, LOADS), parameters=LOADS).position)
        # without the dead moment, which has no potential: the stiffness is symmetric then
        q = static(eqs, {}, PULL)
        frequencies.append(modes(eqs, at=q, parameters=PULL, count=4).frequencies)
    for position, found in zip(tips[1:], frequencies[1:], strict=True):
        assert position == pytest.approx(tips[0], abs=5e-3)
        assert found == pytest.approx(frequencies[0], rel=0.02)


def test_all_kinds_agree_in_motion(robots):
    times = np.linspace(0, 0.4, 9)
    paths = []
    for eqs in robots.values():
        run = simulate(eqs, 0.4, rtol=1e-5, parameters=FORCES, save_at=times)
        assert run.status == "completed"
        paths.append([eqs.frame("arm.tip", q, parameters=FORCES).position for q in run.q])
    travelled = np.linalg.norm(np.array(paths[0]) - paths[0][0], axis=1).max()
    assert travelled > 0.05
    for path in paths[1:]:
        assert np.abs(np.array(path) - paths[0]).max() < 0.02 * travelled
