"""Stability under loads without a potential: by the motion, not by the sign of the stiffness."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load, load_text
from pliant.rod.switch import with_rod_model
from pliant.solve.stability import growth

BENDING = 1e7 * np.pi / 4 * 0.01**4


@pytest.mark.parametrize("word", ["ebr:8", "eba:8"])
def test_a_rod_under_a_dead_moment_is_stable_until_it_flutters(word):
    eqs = derive(with_rod_model(load("cantilever"), "rod", word))
    small = equilibrium(eqs, parameters={"tip_moment": 0.05})
    assert (small.status, small.stable) == ("converged", True)
    # a moment about a fixed axis has no potential in space: rolled up far enough, the undamped rod flutters out of its plane
    large = equilibrium(eqs, parameters={"tip_moment": 0.4})
    assert (large.status, large.stable) == ("converged", False)
    assert "flutters at" in large.message


BECK = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 10 MPa, poissons_ratio: 0.5}}
rods:
  rod:
    length: 1 m
    section: round
    material: rubber
    stiffness_factors: [1000, 1000, 1000, 1, 1, 1]
    model: {kind: ebr, elements: 12}
loads: {tip: {frame: rod.tip, force: [0, 0, =-push], expressed_in: AXES}}
"""


def test_columns_of_beck_and_euler():
    """A follower force makes a column flutter at 20.05 EI / L^2, a dead one makes it buckle at pi^2 / 4."""
    for axes, critical, says in (("rod.tip", 20.05, "flutters"), ("world", np.pi**2 / 4, "unstable")):
        eqs = derive(load_text(BECK.replace("AXES", axes)))
        for share in (0.9, 1.1):
            found = equilibrium(eqs, parameters={"push": share * critical * BENDING})
            assert np.linalg.norm(found.frames["rod.tip"].position[:2]) < 1e-9
            assert found.stable is (share < 1)
            assert share < 1 or says in found.message


def test_growth_of_small_systems():
    one = np.eye(2)
    none = np.zeros((2, 2))
    assert growth(np.array([[2, 1.0], [-0.1, 1]]), none, one).growing == 0
    # circulatory forces larger than the difference of the frequencies
    assert growth(np.array([[1.1, 1.0], [-1.0, 1]]), none, one).growing == 2
    # equal frequencies: any circulatory force makes them flutter, and damping can hold it
    equal = np.array([[1.0, 1e-3], [-1e-3, 1]])
    assert growth(equal, none, one).growing == 2
    assert growth(equal, 0.1 * one, one).growing == 0
    # a force that neither grows nor comes back
    drifting = growth(np.array([[0, 1.0], [0, 1]]), none, one)
    assert drifting.growing == 0
    assert drifting.neutral > 0
    assert growth(np.array([[-1.0, 1.0], [0, 1]]), none, one).remark == "it gives way and grows by a factor e in 1 s"
