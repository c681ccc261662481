"""Beam links: what stops a body stops it wherever it is and however it turns."""

import numpy as np
import pytest

from pliant import derive, load_text, simulate
from pliant.parts import Beam

BALL = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
bodies: {ball: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {fall: {type: free, child: ball, z: {initial: 20 cm}, x: {initial: PLACE}, orientation: {rate: [SPIN, 0, 0]}}}
links:
  ground:
    type: beam
    between: [world, ball]
    stiffness: [0, 0, 10 kN/m, 0, 0, 0]
    damping: [0, 0, 20, 0, 0, 0]
    rest: [0, 0, 0, 0, 0, 0]
    direction: negative
"""


@pytest.mark.parametrize(("place", "spin"), [("0", "0"), ("30 cm", "0"), ("0", "0.3 rad/s"), ("10 cm", "3 rad/s")])
def test_a_stop_holds_a_ball_wherever_it_lands_and_however_it_turns(place, spin):
    eqs = derive(load_text(BALL.replace("PLACE", place).replace("SPIN", spin)))
    run = simulate(eqs, 3.0)
    height = run["fall.z"].values
    assert height.min() == pytest.approx(-0.0135, abs=2e-4)  # 9.81 (0.2 + d) = 1e4 d^2 / 2, less what is damped
    assert height[-1] == pytest.approx(-9.81 / 1e4, rel=1e-3)
    spun = run.v[:, eqs.rates.index("fall.orientation.wx")]
    assert np.ptp(spun) < 1e-7  # the ground puts no moment on it


def test_how_deformations_are_measured_by_default():
    ends = {"between": ("world", "ball"), "stiffness": (1,) * 6}
    assert Beam(**ends).measure == "midpoint"
    assert Beam(**ends, direction="positive").measure == "first"
    assert Beam(**ends, direction="positive", map="midpoint").measure == "midpoint"
    assert Beam(**ends, map="published").measure == "published"
