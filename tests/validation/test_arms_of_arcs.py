"""The bundled arms of circular arcs move as published, and as other rod models of the same arm."""

from typing import Any

import numpy as np
import pytest
from arm_cases import PRESSURES, STIFF, pneumatic_arm

from pliant import derive, equilibrium, simulate


def test_free_fall_swings_and_settles():
    """Two oscillations, and rest before 1.2 s (the study: "around 1.2 s"), with its stiffness read as K / L0."""
    run = simulate(derive("cc_arm_2"), 2.0, save_every=0.01)
    time, bend = np.asarray(run["first.bend_x"].time), np.asarray(run["first.bend_x"].values)
    end = bend[-1]
    moved = bend[0] - end
    assert np.abs(bend[time >= 1.2] - end).max() < 0.02 * abs(moved)
    # how often it passes its rest while it is still further away than it is allowed to be after 1.2 s
    away = (bend - end)[np.abs(bend - end) > 0.02 * abs(moved)]
    assert 2 <= np.count_nonzero(np.diff(np.sign(away))) <= 4


def test_published_loads_bend_in_the_published_planes():
    in_plane = equilibrium(derive("cc_arm_2@in_plane"))
    assert in_plane.outputs["plane_1"] == pytest.approx(np.pi / 2, abs=1e-6)
    assert in_plane.frames["second.tip"].position[1] == pytest.approx(0.0, abs=1e-9)
    assert in_plane.frames["second.tip"].position[2] > 0.1
    sideways = equilibrium(derive("cc_arm_2@out_of_plane"))
    assert abs(sideways.frames["second.tip"].position[1]) > 0.01


def rest_tip(word: str, **options: Any) -> np.ndarray:
    found = equilibrium(pneumatic_arm(word, **options), inputs=PRESSURES)
    assert found.status == "converged"
    return found.frames["s3.tip"].position


def test_without_weight_pressure_makes_circles():
    """Pressures put the same moment and force on every section of a rod: every model that has circles is exact."""
    arcs = rest_tip("pcc", weightless=True)
    assert np.linalg.norm(arcs - [0, 0, 0.45]) > 0.1
    for word in ("pcc_cog", "cosserat:8"):
        np.testing.assert_allclose(rest_tip(word, weightless=True), arcs, atol=1e-9)


def test_weight_twists_the_pneumatic_arm_and_bends_it_unevenly():
    """With weight arcs differ from a rod by twist, which they do not have, and by curvature that varies along a section."""
    arcs, rod = rest_tip("pcc"), rest_tip("cosserat:8")
    # masses differ, weights do not
    np.testing.assert_allclose(rest_tip("pcc_cog"), arcs, atol=1e-8)
    apart = np.linalg.norm(rod - arcs)
    assert 0.010 < apart < 0.020
    # twist makes most of it, shear next to nothing
    assert np.linalg.norm(rest_tip("cosserat:8", twist=STIFF) - arcs) < 0.35 * apart
    assert np.linalg.norm(rest_tip("cosserat:8", shear=STIFF) - rod) < 0.05 * apart
    # without twist and shear, several arcs per section come to what the rod does
    stiff = rest_tip("cosserat:8", shear=STIFF, twist=STIFF)
    remain = [np.linalg.norm(rest_tip(word) - stiff) for word in ("pcc", "pcc:2", "pcc:4")]
    assert remain[2] < 0.001
    assert remain[0] > 3 * remain[1] > 6 * remain[2]


def test_muscle_lengths_are_the_coordinates():
    eqs = derive("three_section_arm")
    assert eqs.coordinates == tuple(f"s{i}.l{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
    # a pressure is the force on its own muscle's length
    q, v = eqs.initial_state()
    change = eqs.bias(q, v, inputs={"p22": 1e5}) - eqs.bias(q, v)
    np.testing.assert_allclose(change, -22.0 * np.eye(9)[4], atol=1e-9)
