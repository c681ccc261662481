"""Derivatives on the group of configurations against differences."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.analysis.numerics.configuration_group import ConfigurationGroup

FREE = """
pliant: 1
bodies: {hull: {mass: 1, inertia: {principal: [1, 2, 3]}}}
joints: {flight: {type: free, child: hull}}
"""


@pytest.mark.parametrize("angle", [1e-6, 1e-2, 0.5, 2.5])
def test_cotangents_of_differences(angle: float) -> None:
    """Small turns by a series, large ones by the formula."""
    eqs = pliant.derive(pliant.load_text(FREE))
    group, rng = ConfigurationGroup(eqs.model.system), np.random.default_rng(3)
    turn = rng.standard_normal(6)
    q0 = eqs.binding.increment(eqs.initial_state().q, rng.standard_normal(6))
    q1 = eqs.binding.increment(q0, angle * turn / np.linalg.norm(turn[group.rotation_v]))
    by, along, step = rng.standard_normal(6), rng.standard_normal(6), 1e-4
    sides = [by @ group.difference(q0, eqs.binding.increment(q1, k * step * along)) for k in (1, -1, 2, -2)]
    expected = (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12 * step)
    assert group.undo_difference(q0, q1, by) @ along == pytest.approx(expected, rel=1e-8)
