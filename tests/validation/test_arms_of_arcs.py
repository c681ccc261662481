"""The bundled arms of circular arcs move as published, and as other rod models of the same arm."""

from typing import Any

import numpy as np
import pytest
from arm_cases import PRESSURES, STIFF, pneumatic_arm

from pliant import derive, equilibrium, load, simulate


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
    assert 0.025 < apart < 0.045
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


def normals(run: Any) -> np.ndarray:
    """Normals of the sections' planes of bending in world axes at the end of a run, 3 x 3."""
    planes = [float(run[f"plane_{i}"].values[-1]) for i in (1, 2, 3)]
    axes = [(-np.sin(plane), np.cos(plane), 0.0) for plane in planes]
    return np.array([run[f"s{i}"].rotation[-1] @ axis for i, axis in zip((1, 2, 3), axes, strict=True)])


def test_the_first_experiment_stays_in_a_plane():
    """As published: muscles l33, l22 and l11 bend all sections in the plane y = 0."""
    run = simulate(derive("three_section_arm@experiment_1"), 9.5, save_every=0.02)
    for section in (1, 2, 3):
        assert np.abs(run[f"s{section}.tip"].position[:, 1]).max() < 1e-9
    assert np.ptp(run["tip"].values[:, 0]) > 0.1
    assert np.degrees(run["angle_1"].values[-1]) > 90


def test_the_second_and_third_experiments_bend_in_different_planes():
    """As published; in experiment 2 the base section is bent by the weight of the others alone."""
    for experiment, until in ((2, 7.5), (3, 8.0)):
        run = simulate(derive(f"three_section_arm@experiment_{experiment}"), until, save_every=0.02)
        n = normals(run)
        assert np.degrees(np.arccos(abs(n[1] @ n[2]))) > 30
        assert all(run[f"angle_{i}"].values[-1] > 0.1 for i in (1, 2, 3))


def test_turn_and_offset_place_the_sections():
    """Against poses put together by hand: each section is an arc, then `offset` along the tangent and `turn` about it."""
    eqs = derive(load("three_section_arm", set={"turn": "-70 deg", "offset": "13 mm"}))
    q = np.array([0.02, 0.005, 0.01, 0.0, 0.03, 0.01, 0.015, 0.0, 0.025])
    T = np.eye(4)
    for k in range(3):
        lengths = q[3 * k : 3 * k + 3]
        angles = 2 * np.pi / 3 * np.arange(3)
        lean = -2 / (3 * 0.0125) * np.array([np.cos(angles) @ lengths, np.sin(angles) @ lengths])
        bend, towards = np.linalg.norm(lean), np.arctan2(lean[1], lean[0])
        L = 0.15 + lengths.mean()
        arc = np.eye(4)
        arc[:3, 3] = (L / bend * (1 - np.cos(bend)), 0, L / bend * np.sin(bend))
        arc[:3, :3] = [[np.cos(bend), 0, np.sin(bend)], [0, 1, 0], [-np.sin(bend), 0, np.cos(bend)]]
        T = T @ _about_z(towards) @ arc @ _about_z(-towards)
        np.testing.assert_allclose(eqs.frame(f"s{k + 1}.tip", q).position, T[:3, 3], atol=1e-12)
        joint = _about_z(np.radians(-70))
        joint[2, 3] = 0.013
        T = T @ joint


def _about_z(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T


def test_muscles_stop_at_the_ends_of_their_range():
    """Pressed far beyond them, they rest where the stop carries what the muscle does not, and within the range nothing acts."""
    eqs = derive("three_section_arm")
    pressures = {"p31": 900e3, "p32": 900e3, "p33": 900e3}
    rest = equilibrium(eqs, inputs=pressures)
    # stretched straight, with its own weight
    force = 900e3 * 2.2e-4 + 0.05 * 9.81 / 3 - 1700 * rest.coordinates["s3.l31"]
    assert rest.coordinates["s3.l31"] == pytest.approx(0.070 + force / 50e3, abs=1e-9)
    free = equilibrium(derive(load("three_section_arm", set={"stop_stiffness": 0})), inputs=pressures)
    assert free.coordinates["s3.l31"] == pytest.approx((900e3 * 2.2e-4 + 0.05 * 9.81 / 3) / 1700, abs=1e-9)
    # no force within the range, its ends included
    q = np.array([0.0, 0.035, 0.070] * 3)
    without = derive(load("three_section_arm", set={"stop_stiffness": 0}))
    np.testing.assert_array_equal(eqs.bias(q, np.zeros(9)), without.bias(q, np.zeros(9)))
