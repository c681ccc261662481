"""Bundled robots in water."""

from __future__ import annotations

import numpy as np
import pytest

import pliant


def test_water_carries_the_arm_of_the_octopus() -> None:
    """Its weight in water is (1100 - 1000)/1100 of that in air, and so is a small deflection sideways."""
    spec, aside = pliant.load("octopus_arm"), []
    still = {f"bend[{k}]": 0.0 for k in range(1, 9)}
    for fluid in ({"density": 1000}, None):
        world = {"gravity": [-0.02, 0, 0]} | ({"fluid": fluid} if fluid else {})
        rest = pliant.equilibrium(pliant.derive(spec.replace(world=world)), inputs=still)
        aside.append(rest.frames["segment[8].tip"].position[0])
    assert aside[0] / aside[1] == pytest.approx(1 / 11, rel=1e-3)


@pytest.mark.slow
def test_the_swimmer_swims_farther_than_with_other_waves() -> None:
    """The bundled wave is the best one at its period."""
    eqs, far = pliant.derive("swimmer"), []
    for factor in (0.85, 1.0, 1.15):
        run = pliant.simulate(eqs.at(parameters={"waves": 1.27 * factor}), 4.0)
        far.append(float(np.asarray(run["head"])[-1, 0]))
    assert far[1] > 1.3
    assert far[1] > max(far[0], far[2])
