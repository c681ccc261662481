"""The bundled arms of circular arcs move as published, and as other rod models of the same arm."""

import numpy as np
import pytest

from pliant import Every, derive, equilibrium, load, simulate
from pliant.rod.switch import with_rod_model


def test_free_fall_swings_and_settles():
    """Two oscillations and rest after about 1.2 s, with the study's stiffness read as K / L0."""
    run = simulate(derive("cc_arm_2"), 2.0, save=Every(0.01))
    time, bend = np.asarray(run["first.bend_x"].time), np.asarray(run["first.bend_x"].value)
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


def test_the_pneumatic_arm_in_other_rod_models():
    """At rest under pressure the sections stay nearly circular; the rest of the difference is shear and twist."""
    spec = load("three_section_arm")
    pressures = {"p33": 200e3, "p22": 150e3, "p11": 150e3}
    tips = []
    for word in (None, "cog", "eba:8"):
        chosen = spec
        for rod in ("s1", "s2", "s3") if word else ():
            chosen = with_rod_model(chosen, rod, word)
        tips.append(equilibrium(derive(chosen), inputs=pressures).frames["s3.tip"].position)
    # masses differ, weights do not
    np.testing.assert_allclose(tips[1], tips[0], atol=1e-8)
    np.testing.assert_allclose(tips[2], tips[0], atol=0.02)


def test_muscle_lengths_are_the_coordinates():
    eqs = derive("three_section_arm")
    assert eqs.coordinates == tuple(f"s{i}.l{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
    # a pressure is the force on its own muscle's length
    q, v = eqs.initial_state()
    change = eqs.bias(q, v, inputs={"p22": 1e5}) - eqs.bias(q, v)
    np.testing.assert_allclose(change, -22.0 * np.eye(9)[4], atol=1e-9)
